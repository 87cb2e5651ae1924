package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestReplacedWorkspace: a session in a directory above puts a link in the place of the
// workspace, between the look before a command and the moment in which the sandbox is made.
// So the cage is asked itself, without that look.
func TestReplacedWorkspace(t *testing.T) {
	for _, kind := range kinds(t) {
		t.Run(string(kind), func(t *testing.T) {
			top := t.TempDir()
			w, secret := filepath.Join(top, "w"), filepath.Join(top, "secret")
			for _, dir := range []string{w, secret} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(secret, "key"), []byte("TOPSECRET"), 0o644); err != nil {
				t.Fatal(err)
			}
			ws := open(t, sandbox.Options{Dir: w, Kind: kind})
			defer ws.Close()
			read := func() (string, error) {
				r, out, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				p, err := ws.Cage.Start(&workspace.Spawn{Args: []string{"cat", "key"}, Dir: w, Stdout: out, Stderr: out})
				out.Close()
				if err == nil {
					p.Wait()
					err = errors.Join(p.Kill(), p.Status())
				}
				var said strings.Builder
				buf := make([]byte, 4096)
				for n, rerr := r.Read(buf); n > 0 && rerr == nil; n, rerr = r.Read(buf) {
					said.Write(buf[:n])
				}
				r.Close()
				return said.String(), err
			}
			if said, _ := read(); !strings.Contains(said, "No such file") {
				t.Fatalf("before: %q", said)
			}
			if err := errors.Join(os.Rename(w, w+".old"), os.Symlink(secret, w)); err != nil {
				t.Fatal(err)
			}
			said, err := read()
			if err == nil || strings.Contains(said, "TOPSECRET") {
				t.Fatalf("the command read %q: %v", said, err)
			}
			if text := said + err.Error(); !strings.Contains(text, "was moved or replaced while it was in use") {
				t.Errorf("it does not say why: %q", text)
			}
			if err := errors.Join(os.Remove(w), os.Rename(w+".old", w)); err != nil {
				t.Fatal(err)
			}
			if said, _ := read(); !strings.Contains(said, "No such file") {
				t.Errorf("when the directory is back: %q", said)
			}
		})
	}
}
