package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestBothNames: commands find a workspace by the path of a link that it was opened by, and
// by its own.
func TestBothNames(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			real, link := filepath.Join(top, "disk", "ws"), filepath.Join(top, "home", "ws")
			for _, dir := range []string{real, filepath.Dir(link)} {
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(real, link); err != nil {
				t.Fatal(err)
			}
			ws := open(t, sandbox.Options{Dir: link, Kind: kind})
			defer ws.Close()
			var out strings.Builder
			err = ws.Run(t.Context(), &workspace.Cmd{Stdout: &out, Stderr: &out, Args: []string{"sh", "-c", "cd " + link + " && echo one > a && cd " + real + " && cat a && echo two >> " + link + "/a; cat a; pwd"}})
			if err != nil || !strings.Contains(out.String(), "one\none\ntwo\n"+real) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}
