package lawtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocsHaveTheExamples holds the programs in docs/extending.md and in the READMEs against
// their source. With UPDATE=1 in the environment it copies the source there.
func TestDocsHaveTheExamples(t *testing.T) {
	haveExamples(t, filepath.Join("docs", "extending.md"), 4)
	haveExamples(t, "README.md", 1)
	haveExamples(t, filepath.Join("docs", "README.zh-CN.md"), 1)
}

// TestReadmeCountsModules counts the modules beside this one that its program has.
func TestReadmeCountsModules(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./examples/agent")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	if n := len(slices.Compact(modules)) - 1; n != 8 {
		t.Errorf("the program in the READMEs has %d other modules, and they say eight", n)
	}
	for page, words := range map[string]string{"README.md": "brings eight other modules", "docs/README.zh-CN.md": "另外八个模块"} {
		if text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(page))); err != nil || !strings.Contains(string(text), words) {
			t.Errorf("%s does not say %q: %v", page, words, err)
		}
	}
}

func haveExamples(t *testing.T, page string, programs int) {
	file := filepath.Join(top, page)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	place := regexp.MustCompile(`(?s)<!-- (examples/[a-z]+/main\.go) -->\n.*?<!-- end -->`)
	want := place.ReplaceAllFunc(text, func(found []byte) []byte {
		n++
		name := string(place.FindSubmatch(found)[1])
		source, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		return []byte("<!-- " + name + " -->\n```go\n" + string(source) + "```\n<!-- end -->")
	})
	switch {
	case n != programs:
		t.Errorf("%s has %d programs, want %d", page, n, programs)
	case string(want) == string(text):
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what examples/ has: UPDATE=1 go test ./internal/lawtest -run TestDocsHaveTheExamples", page)
	}
}
