package sandbox_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// A module that was edited twice in a second, to the same length, runs as it is now.
func TestPythonRunsWhatAFileSaysNow(t *testing.T) {
	testbed.Need(t, testbed.Python)
	second := time.Unix(1_700_000_000, 0)
	for _, kind := range append([]sandbox.Kind{sandbox.None}, kinds(t)...) {
		dir := t.TempDir()
		ws := open(t, sandbox.Options{Dir: dir, Kind: kind})
		for _, text := range []string{"x = 1\n", "x = 2\n"} {
			if err := os.WriteFile(filepath.Join(dir, "lib.py"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(filepath.Join(dir, "lib.py"), second, second); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"/usr/bin/python3", "-c", "import lib; print('x =', lib.x)"}, Stdout: &out, Stderr: &out})
			if err != nil || out.String() != text {
				t.Errorf("%s: %v, %q, want %q", kind, err, out.String(), text)
			}
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	}
}
