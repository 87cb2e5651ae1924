package lawtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependencies checks that docs/dependencies.md names each direct
// dependency of go.mod. A row may leave out the host and the major version, and
// may name several modules of one owner together.
func TestDependencies(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(top, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			rows = append(rows, cells[1])
		}
	}
	direct := regexp.MustCompile(`(?m)^\t(\S+) v[^/\n]*$`).FindAllStringSubmatch(string(mod), -1)
	if len(direct) < 20 {
		t.Fatalf("%d direct dependencies in go.mod: this test does not read it well", len(direct))
	}
	for _, m := range direct {
		if !hasRow(rows, m[1]) {
			t.Errorf("docs/dependencies.md has no row for %s: say what it does, and its licence", m[1])
		}
	}
	for _, none := range []string{"github.com/example/none", "golang.org/x/none"} {
		if hasRow(rows, none) {
			t.Errorf("a row is taken for one of %s", none)
		}
	}
}

// hasRow reports whether a word of a row names a module: its path, the end of
// it, or the repository that it lies in, each without the major version.
func hasRow(rows []string, module string) bool {
	path := regexp.MustCompile(`/v\d+$`).ReplaceAllString(module, "")
	_, short, _ := strings.Cut(path, "/") // without the host
	for _, row := range rows {
		for _, word := range strings.FieldsFunc(row, func(r rune) bool { return strings.ContainsRune(" ,()", r) }) {
			if word == path || strings.HasSuffix(path, "/"+word) || strings.HasPrefix(short+"/", word+"/") && strings.Contains(word, "/") {
				return true
			}
		}
	}
	return false
}
