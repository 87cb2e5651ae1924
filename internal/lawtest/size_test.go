package lawtest_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// A sized is what is measured of a package.
type sized struct {
	lines, tests, exports int
	methods               map[string]int // by the type
}

// The house is at most so large. A change that needs less of something lowers its bound.
const (
	maxLines      = 205_600 // in all
	maxMethods    = 165     // of a type
	maxSwitches   = 3       // over more than six kinds of events
	maxOfAnEvent  = 8       // files that know of a late one
	maxOfATool    = 3
	maxOfAKey     = 7
	maxOfProvider = 1
	maxOfAPanel   = 2
)

// TestSize measures the house, and bounds it. With -v it prints the table: make size.
func TestSize(t *testing.T) {
	house := make(map[string]*sized)
	texts := make(map[string]string) // of the product, without tests and what is generated
	var switches []string
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.ToSlash(strings.TrimPrefix(name, top+string(filepath.Separator)))
		switch {
		case d.IsDir() && (slices.Contains([]string{".git", "bin", "dist", "node_modules", "testdata"}, d.Name()) || at == "bench" || at == "scripts"):
			return fs.SkipDir
		case d.IsDir(), !slices.Contains([]string{".go", ".ts", ".svelte"}, path.Ext(at)), strings.HasSuffix(at, ".test.ts"), strings.HasSuffix(at, "/schema.ts"):
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		dir, lines := path.Dir(at), strings.Count(string(data), "\n")
		if house[dir] == nil {
			house[dir] = &sized{methods: make(map[string]int)}
		}
		if strings.HasSuffix(at, "_test.go") {
			house[dir].tests += lines
			return nil
		}
		texts[at] = string(data)
		house[dir].lines += lines
		if path.Ext(at) != ".go" {
			return nil
		}
		found, err := house[dir].read(name, data)
		for _, line := range found {
			switches = append(switches, fmt.Sprintf("%s:%d", at, line))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	all := 0
	t.Logf("%7s %7s %7s  %s", "lines", "tests", "exports", "package, and the type with the most methods")
	for _, dir := range slices.SortedFunc(maps.Keys(house), func(a, b string) int { return cmp.Or(house[b].lines-house[a].lines, strings.Compare(a, b)) }) {
		s := house[dir]
		most := ""
		for name, n := range s.methods {
			if n > s.methods[most] || n == s.methods[most] && name < most {
				most = name
			}
		}
		if s.methods[most] > maxMethods {
			t.Errorf("%s.%s has %d methods, more than %d", dir, most, s.methods[most], maxMethods)
		}
		all += s.lines
		t.Logf("%7d %7d %7d  %s (%s %d)", s.lines, s.tests, s.exports, dir, most, s.methods[most])
	}
	t.Logf("%7d in all", all)
	if all > maxLines {
		t.Errorf("there are %d lines, more than %d", all, maxLines)
	}
	t.Logf("%7d switches have more than six kinds of events: %s", len(switches), strings.Join(switches, ", "))
	if len(switches) > maxSwitches {
		t.Errorf("%d switches have more than six kinds of events, and at most %d may: %q", len(switches), maxSwitches, switches)
	}
	for _, c := range []struct {
		change, of string
		files      func(string) bool
		word       func(name string) string // what names one of them in a file
		names      []string
		max        int
	}{
		{"an event", "a late event", func(f string) bool { return path.Ext(f) == ".go" }, func(n string) string { return `\b(openmanus\.)?` + n + `\b[{,:)]` }, []string{"ModeSet", "Rewound", "CallLate", "Titled", "TakenOver", "Elided", "Snapped"}, maxOfAnEvent},
		{"a tool", "a tool", func(string) bool { return true }, func(n string) string { return "[\"'`]" + n + "[\"'`]|(?m)^\\s*" + n + ":" }, []string{"read_untrusted", "apply_patch", "read_output", "web_fetch", "glob"}, maxOfATool},
		{"a key", "a key of the configuration", func(f string) bool { return path.Ext(f) == ".go" }, func(n string) string { return `\b` + n + `\b` }, []string{"fan_out", "max_steps", "stuck"}, maxOfAKey},
		{"a provider", "a provider", func(f string) bool { return path.Ext(f) == ".go" && !strings.HasPrefix(f, "llm/ollama") }, func(n string) string { return `/llm/` + n + `"` }, []string{"ollama"}, maxOfProvider},
		{"a panel", "a panel of the page", func(f string) bool { return path.Ext(f) != ".go" }, func(n string) string { return `/` + n + `\.svelte["']` }, []string{"Notebook", "Terminal", "Plan"}, maxOfAPanel},
	} {
		most := 0
		for _, name := range c.names {
			re, in := regexp.MustCompile(c.word(name)), []string(nil)
			for f, text := range texts {
				if c.files(f) && re.MatchString(text) {
					in = append(in, f)
				}
			}
			slices.Sort(in)
			most = max(most, len(in))
			t.Logf("%7d files know of %s, %s", len(in), c.of, name)
			if len(in) > c.max {
				t.Errorf("%d files know of %s, %s, and at most %d may: %q", len(in), c.of, name, c.max, in)
			}
		}
	}
}

// read counts the exported names and the methods of a file, and returns the lines of
// switches with more than six kinds of events.
func (s *sized) read(name string, data []byte) (switches []int, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, data, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				s.exports++
			}
			if d.Recv != nil {
				s.methods[receiver(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						s.exports++
					}
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						if n.IsExported() {
							s.exports++
						}
					}
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sw, ok := n.(*ast.TypeSwitchStmt); ok && bodiesIn(sw) > 6 {
			switches = append(switches, set.Position(sw.Pos()).Line)
		}
		return true
	})
	return switches, nil
}

// receiver returns the name of a type.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// bodiesIn counts the kinds of events that have a case in a switch.
func bodiesIn(sw *ast.TypeSwitchStmt) (n int) {
	for _, c := range sw.Body.List {
		for _, of := range c.(*ast.CaseClause).List {
			name := ""
			switch of := of.(type) {
			case *ast.Ident:
				name = of.Name
			case *ast.SelectorExpr:
				name = of.Sel.Name
			}
			for _, b := range openmanus.BodyTypes() {
				if fmt.Sprintf("%T", b.Zero) == "openmanus."+name {
					n++
				}
			}
		}
	}
	return n
}
