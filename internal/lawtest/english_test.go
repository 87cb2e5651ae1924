package lawtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	// A sentence whose subject is a clause hides who does what: "What it read is kept."
	clauseFirst = regexp.MustCompile(`(?:^|[.!?:] |\*\*)((?:Who|Whose|What|Of) [a-z].*)`)
	sentenceEnd = regexp.MustCompile(`[.!?](?:\s|$)`)
	personified = regexp.MustCompile(`(?i)\b(?:let|lets|letting) go of\b|\bwhat (?:be)?came of\b`)
)

// Comments and pages have sentences whose subject is a person or a part of the program.
func TestPlainEnglish(t *testing.T) {
	files := 0
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != top && (strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")):
			return filepath.SkipDir
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "bin" || d.Name() == "gallery"):
			return filepath.SkipDir
		}
		switch filepath.Ext(name) {
		case ".go":
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files++
			for _, group := range f.Comments {
				plain(t, name, group.Text())
			}
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok {
					commentNames(t, name, fn)
				}
			}
		case ".md":
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			files++
			for line := range strings.Lines(string(data)) {
				if !strings.HasPrefix(line, "#") { // a heading is no sentence
					plain(t, name, strings.TrimLeft(line, "-*| 0123456789."))
				}
			}
		}
		return nil
	})
	if err != nil || files < 1000 {
		t.Fatalf("%d files were read: %v", files, err)
	}
}

// plain reports the sentences of a text that are not in plain English.
func plain(t *testing.T, name, text string) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\n", " "))
	for _, said := range clauses(text) {
		t.Errorf("%s: a clause in place of a subject: %s", name, said)
	}
	if m := personified.FindString(text); m != "" {
		t.Errorf("%s: %q: programs release resources, and events have outcomes", name, m)
	}
}

// commentNames reports the comment of a function that begins with another name: the function was
// renamed, and its comment was not. An s at the end may be that of "name's".
func commentNames(t *testing.T, name string, fn *ast.FuncDecl) {
	first, _, _ := strings.Cut(fn.Doc.Text(), " ")
	if first = strings.TrimRight(first, "':,.s\n"); first == "" || !unicode.IsLower(rune(first[0])) || strings.HasPrefix(fn.Name.Name, "Test") {
		return // a sentence
	}
	if first != strings.TrimRight(fn.Name.Name, "s") {
		t.Errorf("%s: the comment of %s begins with %s", name, fn.Name.Name, first)
	}
}

// clauses returns the sentences of a text that begin with a clause and are no questions.
// "Of returns …" is about a function.
func clauses(text string) (all []string) {
	for {
		m := clauseFirst.FindStringSubmatchIndex(text)
		if m == nil {
			return all
		}
		said := text[m[2]:]
		if end := sentenceEnd.FindStringIndex(said); end != nil {
			said = said[:end[0]+1]
		}
		if !strings.HasSuffix(said, "?") && !strings.HasPrefix(said, "Of returns ") {
			all = append(all, said)
		}
		text = text[m[2]+len("Of"):]
	}
}

func TestClausesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"Get returns a blob.":                                   0,
		"It reads a file. What it read is kept.":                1,
		"Who follows gets all. Of the rest, none. What is it?":  2,
		"Of returns the digest.":                                0,
		"The caller decides what is kept, and who may read it.": 0,
	} {
		if got := clauses(text); len(got) != want {
			t.Errorf("%q has the clauses %q, not %d", text, got, want)
		}
	}
}

// maxTop is how many files and directories the repository has at its top, where a reader
// begins.
const maxTop = 45

func TestTheTopIsSeenAtAGlance(t *testing.T) {
	ignored, err := os.ReadFile(filepath.Join(top, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(top)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != ".git" && !strings.Contains("\n"+string(ignored), "\n/"+e.Name()+"/\n") {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxTop {
		t.Errorf("%d entries, and at most %d are seen at a glance: move some into the package that they serve: %v", len(names), maxTop, names)
	}
}
