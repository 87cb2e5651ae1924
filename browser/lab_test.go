package browser

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// TestLab plays the scripts in testdata/lab: what an agent does with the components of
// libraries that others wrote, in the builds that npm has of them. A script is one of
// [TestRuns] with more kinds of files: "bundle NAME.jsx" is a program that esbuild makes
// into /NAME.js. /lab/PATH is a file below bin/lab/node_modules.
func TestLab(t *testing.T) {
	modules, err := filepath.Abs("../bin/lab/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(modules); err != nil {
		testbed.Lacks(t, fmt.Errorf("make deps installs what this needs: %w", err))
	}
	node := testbed.Node(t, modules)
	files := http.StripPrefix("/lab/", http.FileServer(http.Dir(modules)))
	eachScript(t, "testdata/lab/*.txtar", func(t *testing.T, a *txtar.Archive) {
		dir := t.TempDir()
		pages := map[string]http.HandlerFunc{"/lab/{path...}": files.ServeHTTP}
		kept := a.Files[:0]
		for _, f := range a.Files {
			var name string
			if n, _ := fmt.Sscanf(f.Name, "bundle %s", &name); n == 0 {
				kept = append(kept, f)
				continue
			}
			source, built := filepath.Join(dir, name), filepath.Join(dir, name+".js")
			if err := os.WriteFile(source, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			const build = `require("esbuild").buildSync({entryPoints: [process.argv[1]], outfile: process.argv[2], bundle: true, nodePaths: [process.env.NODE_PATH], jsx: "automatic", logLevel: "error",
				define: {"process.env.NODE_ENV": '"production"'}})`
			cmd := exec.Command(node, "-e", build, source, built)
			cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			pages["/"+name+".js"] = func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, built) }
		}
		a.Files = kept
		play(t, a, pages)
	})
}
