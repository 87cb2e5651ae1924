//go:build unix

package workspace_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus/workspace"
)

// TestReplaced: a command does not start where the workspace was moved away and something
// else is at its path.
func TestReplaced(t *testing.T) {
	for what, replace := range map[string]func(t *testing.T, w string){
		"a link": func(t *testing.T, w string) {
			must(t, os.Rename(w, w+".old"), os.Symlink(filepath.Dir(w)+"/secret", w))
		},
		"a directory": func(t *testing.T, w string) { must(t, os.Rename(w, w+".old"), os.Mkdir(w, 0o755)) },
		"a link above": func(t *testing.T, w string) {
			up := filepath.Dir(w)
			must(t, os.Rename(up, up+".old"), os.MkdirAll(up+".other/w", 0o755), os.Symlink(up+".other", up))
		},
	} {
		t.Run(what, func(t *testing.T) {
			up := filepath.Join(t.TempDir(), "up")
			w := filepath.Join(up, "w")
			must(t, os.MkdirAll(w, 0o755), os.Mkdir(filepath.Join(up, "secret"), 0o755))
			d := openDir(t, w)
			run := func() error { return d.Run(t.Context(), &workspace.Cmd{Args: []string{"true"}}) }
			if _, err := exec.LookPath("true"); err != nil {
				t.Skip(err)
			}
			must(t, run())
			replace(t, w)
			if replaced := (*workspace.ReplacedError)(nil); !errors.As(run(), &replaced) {
				t.Errorf("the error is %v", run())
			}
		})
	}
}
