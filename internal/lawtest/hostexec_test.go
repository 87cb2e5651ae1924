package lawtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// ownStarts are the files that may use os/exec, os or syscall to start or find programs
// themselves, with the reason. All others use internal/hostexec.
var ownStarts = map[string]string{
	"internal/hostexec/hostexec.go": "the home of it",
	"workspace/cage.go":             "the path comes from the cage",
	"workspace/dir_env.go":          "the program of a command, by the PATH that the command has",
	"sandbox/forward_linux.go":      "it runs in the sandbox",
	"sandbox/inside_linux.go":       "it runs in the container",
	"sandbox/supervisor_linux.go":   "the command itself, restricted",
	"sandbox/cgroup_linux.go":       "/bin/true",
}

// notShipped are folders whose programs no person runs.
var notShipped = []string{
	"bench/", "scripts/", "internal/testbed/", "internal/pgtest/", "llm/llmtest/", "workspace/workspacetest/",
}

// TestProgramsOfTheMachineAreFoundInOneWay checks that no code which ships looks a program
// up by PATH, or starts one, but by internal/hostexec: PATH may lead to where an agent
// writes.
func TestProgramsOfTheMachineAreFoundInOneWay(t *testing.T) {
	looks := map[string]map[string]bool{
		"os/exec": {"Command": true, "CommandContext": true, "LookPath": true},
		"os":      {"StartProcess": true},
		"syscall": {"ForkExec": true, "StartProcess": true, "Exec": true},
	}
	used := map[string]bool{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(top, name)
		if err != nil || relErr != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if base := d.Name(); rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		for _, folder := range notShipped {
			if strings.HasPrefix(rel, folder) {
				return nil
			}
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imported := map[string]string{} // by the name in the file
		for _, i := range f.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			local := path[strings.LastIndexByte(path, '/')+1:]
			if i.Name != nil {
				local = i.Name.Name
			}
			imported[local] = path
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := s.X.(*ast.Ident)
			if !ok || !looks[imported[x.Name]][s.Sel.Name] {
				return true
			}
			if ownStarts[rel] == "" {
				t.Errorf("%s uses %s.%s: find and start programs of the machine by internal/hostexec", rel, x.Name, s.Sel.Name)
			}
			used[rel] = true
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, why := range ownStarts {
		if !used[file] {
			t.Errorf("%s is among the exceptions (%s), and starts nothing", file, why)
		}
	}
}
