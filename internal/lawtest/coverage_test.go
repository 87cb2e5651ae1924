package lawtest_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// coverage is the table of docs/coverage.md: section, then case, then the references of that case.
type coverage map[string]map[string][]string

// parseCoverage reads the tables of a Markdown text. A row without a
// reference must say "not built".
func parseCoverage(t *testing.T, text string) coverage {
	t.Helper()
	all, section := coverage{}, ""
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(name)
			all[section] = map[string][]string{}
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || section == "" || strings.Contains(line, "---") {
			continue
		}
		name, tests := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		if tests == "tests" {
			continue // the head of a table
		}
		refs := []string{}
		for _, m := range quoted.FindAllStringSubmatch(tests, -1) {
			refs = append(refs, m[1])
		}
		if len(refs) == 0 && tests != "not built" {
			t.Errorf("%s, %s: neither a test nor \"not built\"", section, name)
		}
		if _, twice := all[section][name]; twice {
			t.Errorf("%s lists %s twice", section, name)
		}
		all[section][name] = refs
	}
	return all
}

// missing says why a reference is dangling, or returns "". A reference is the
// path of a file, or DIRECTORY/TestName; root is the root of the module.
func missing(root, ref string) string {
	dir, name := path.Split(ref)
	if !strings.HasPrefix(name, "Test") && !strings.HasPrefix(name, "Fuzz") {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(ref))); err != nil {
			return "there is no such file"
		}
		return ""
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*_test.go"))
	if err != nil || len(files) == 0 {
		return "there are no tests in that directory"
	}
	declares := regexp.MustCompile(`(?m)^func ` + name + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		if declares.Match(text) {
			return ""
		}
	}
	return "no test in that directory has this name"
}

// TestFeatures checks docs/features.md: each feature has a test, and each test that it names exists.
func TestFeatures(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, "docs", "features.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := parseCoverage(t, "## Features\n"+string(text))["Features"]
	if len(rows) < 20 {
		t.Errorf("docs/features.md has %d features", len(rows))
	}
	for name, refs := range rows {
		for _, ref := range refs {
			if why := missing(top, ref); why != "" {
				t.Errorf("docs/features.md: %s: %s: %s", name, ref, why)
			}
		}
	}
}

// TestCoverage checks docs/coverage.md: each reference exists, and each case, law, target and incident has a row.
func TestCoverage(t *testing.T) {
	const root = "../.."
	text, err := os.ReadFile(filepath.Join(root, "docs", "coverage.md"))
	if err != nil {
		t.Fatal(err)
	}
	all := parseCoverage(t, string(text))
	for section, cases := range all {
		for name, refs := range cases {
			for _, ref := range refs {
				if why := missing(root, ref); why != "" {
					t.Errorf("docs/coverage.md: %s, %s: %s: %s", section, name, ref, why)
				}
			}
		}
	}
	for _, want := range []struct {
		section, prefix string
		last            int
	}{
		{"Conformance with OpenManus", "", 45},
		{"Laws", "", 13},
		{"Reliability targets", "R", 11},
	} {
		for n := 1; n <= want.last; n++ {
			if _, ok := all[want.section][want.prefix+strconv.Itoa(n)]; !ok {
				t.Errorf("docs/coverage.md: %s: there is no row for %s%d", want.section, want.prefix, n)
			}
		}
	}
	if len(all["Incidents"]) < 10 {
		t.Errorf("docs/coverage.md: %d incidents, want at least 10", len(all["Incidents"]))
	}
}

// The test above can fail.
func TestCoverageFindsWhatIsMissing(t *testing.T) {
	for ref, want := range map[string]bool{
		"docs/coverage.md":                                false,
		"docs/none.md":                                    true,
		"internal/lawtest/TestCoverage":                   false,
		"internal/lawtest/TestCoverageFinds":              true,
		"internal/none/TestCoverage":                      true,
		"internal/lawtest/TestCoverageFindsWhatIsMissing": false,
	} {
		if got := missing("../..", ref) != ""; got != want {
			t.Errorf("missing(%q) is %t, want %t", ref, got, want)
		}
	}
	got := parseCoverage(t, "## A\n| case | subject | tests |\n|---|---|---|\n| 1 | x | `a/TestB` `c.txt` |\n| 2 | y | not built |\n")
	if refs := got["A"]["1"]; !slices.Equal(refs, []string{"a/TestB", "c.txt"}) || len(got["A"]) != 2 {
		t.Errorf("parsed %v", got)
	}
}
