package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/sandbox"
)

// TestFileToolsMakeNoRepository writes files as a file tool does, in a workspace with a
// bare repository and a directory that is nearly one.
func TestFileToolsMakeNoRepository(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"bare/HEAD", "bare/objects/x", "bare/refs/x", "half/HEAD", "plain/x"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("ref: refs/heads/main\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws := open(t, sandbox.Options{Dir: dir, Kind: sandbox.Landlock})
	defer ws.Close()
	for name, refused := range map[string]bool{
		"bare/hooks/pre-commit": true, "bare/config": true, "bare/sub/notes.txt": true, "half/config": true,
		"half/objects/pack/x": true, "HEAD": true, "plain/head": true, ".git/config": true, "a/.git": true,
		"half/notes.txt": false, "plain/config": false, "objects/x": false, "config": false,
	} {
		err := ws.WriteFile(t.Context(), name, []byte("x"))
		if (err != nil) != refused {
			t.Errorf("%s: %v, want refused %v", name, err, refused)
		}
		if err != nil && !strings.Contains(err.Error(), "git") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
