package lawtest_test

import (
	"fmt"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	floorsBegin = "<!-- floors: begin -->\n"
	floorsEnd   = "<!-- floors: end -->"
)

// TestFloorsAreDrawn holds the table in docs/design.md against storeys. With
// UPDATE=1 in the environment it writes the table.
func TestFloorsAreDrawn(t *testing.T) {
	file := filepath.Join(top, "docs", "design.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), floorsBegin)
	was, after, ok2 := strings.Cut(rest, floorsEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the floors, between %q and %q", file, floorsBegin, floorsEnd)
	}
	want := drawFloors(t)
	switch {
	case was == want:
	case os.Getenv("UPDATE") != "":
		if err := os.WriteFile(file, []byte(before+floorsBegin+want+floorsEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the floors in docs/design.md are not those of import_test.go: UPDATE=1 go test ./internal/lawtest -run TestFloorsAreDrawn\n%s", want)
	}
}

// drawFloors returns a table of the public packages, from the top down.
func drawFloors(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| floor | package | purpose |\n|---|---|---|\n")
	for i := len(storeys) - 1; i >= 0; i-- {
		s := storeys[i]
		fmt.Fprintf(&b, "| **%s** | | *%s* |\n", s.name, s.what)
		for _, f := range s.floors {
			if strings.Contains(f.pkg, "/internal/") {
				continue // part of the package that it lies in
			}
			fmt.Fprintf(&b, "| | `%s` | %s |\n", path.Join("openmanus", f.pkg), synopsis(t, f.pkg))
		}
	}
	return b.String()
}

// synopsis returns what the first sentence of a package's comment says of it.
func synopsis(t *testing.T, pkg string) string {
	files, err := filepath.Glob(filepath.Join(top, filepath.FromSlash(pkg), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Doc == nil {
			continue
		}
		text := new(doc.Package).Synopsis(f.Doc.Text())
		for _, prefix := range []string{"Package " + f.Name.Name + " ", "Command " + path.Base(pkg) + " "} {
			text = strings.TrimPrefix(text, prefix)
		}
		return strings.TrimSuffix(text, ".")
	}
	t.Errorf("the package %q has no comment", pkg)
	return ""
}
