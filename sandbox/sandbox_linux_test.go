package sandbox_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// kinds are the cages of this machine.
var kinds = []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock}

func TestConforms(t *testing.T) {
	for _, kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
				return open(t, sandbox.Options{Dir: dir, Kind: kind})
			})
		})
	}
}

func open(t testing.TB, o sandbox.Options) *workspace.Dir {
	t.Helper()
	o.Warn = func(text string) { t.Log(text) }
	ws, err := sandbox.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := ws.Sandbox(); got != string(o.Kind) {
		t.Fatalf("the sandbox is %q, want %q", got, o.Kind)
	}
	return ws
}

func TestNoneIsAPlainDirectory(t *testing.T) {
	ws, err := sandbox.Open(t.Context(), sandbox.Options{Dir: t.TempDir(), Kind: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if ws.Sandbox() != "" {
		t.Errorf("its sandbox is %q", ws.Sandbox())
	}
	_ = os.Getpid
}
