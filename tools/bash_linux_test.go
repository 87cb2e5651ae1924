package tools

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	sys "golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// When a call that was given up returns, what it started is dead already, and
// not a moment later: its locks are free.
func TestGivenUpCallsReturnAfterTheKilling(t *testing.T) {
	const command = "(setsid flock lock sleep 1000 &); while flock -n lock true; do :; done; echo ready; sleep 1000"
	for name, open := range map[string]func(t *testing.T, ws workspace.Workspace) (openmanus.Tool, map[string]any){
		"bash": func(t *testing.T, ws workspace.Workspace) (openmanus.Tool, map[string]any) {
			return newBash(t, ws), map[string]any{"command": command}
		},
		"python": func(t *testing.T, ws workspace.Workspace) (openmanus.Tool, map[string]any) {
			return newPython(t, ws), map[string]any{"code": "import os\nos.system('" + command + "')"}
		},
		"python, kept": func(t *testing.T, ws workspace.Workspace) (openmanus.Tool, map[string]any) {
			return newPython(t, ws), map[string]any{"code": "import os\nos.system('" + command + "')", "keep_state": true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ws := newProcWorkspace(t)
			tool, in := open(t, ws)
			f, err := os.Create(filepath.Join(ws.Dir(), "lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for range 3 {
				ctx, cancel := context.WithCancel(t.Context())
				live := newSeenWriter("ready")
				go func() { <-live.seen; cancel() }()
				if _, err := runProcIn(t, tool, ctx, "s", in, live); err == nil {
					t.Fatal("it was not given up")
				}
				if err := sys.Flock(int(f.Fd()), sys.LOCK_EX|sys.LOCK_NB); err != nil {
					t.Errorf("a process of the call still holds its lock: %v", err)
				}
				if err := sys.Flock(int(f.Fd()), sys.LOCK_UN); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
