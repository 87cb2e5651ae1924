package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/install"
	"github.com/openmanus-go/openmanus/tools"
)

// TestNeedMatplotlib: whose interpreter it is decides what is offered. Programs of the
// workspace never run outside the sandbox, whatever their names are.
func TestNeedMatplotlib(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, ".venv/bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, ".venv"), elsewhere); err != nil {
		t.Skip("this system has no links:", err)
	}
	h := &Host{installer: &install.Installer{Present: func() bool { return true }, GOOS: "plan9"}}
	for _, c := range []struct {
		i    tools.Figureless
		asks bool
		want string
	}{
		{tools.Figureless{Executable: "/usr/bin/python3", Prefix: "/usr"}, true, "python3-matplotlib"},
		{tools.Figureless{Executable: "/opt/it's/python", Prefix: "/opt/it's"}, true, `'/opt/it'\''s/python' -m pip install matplotlib`},
		{tools.Figureless{Executable: dir + "/.venv/bin/python", Prefix: dir + "/.venv"}, false, `"network": true`},
		{tools.Figureless{Executable: elsewhere + "/bin/python", Prefix: "/opt/python"}, false, `"network": true`},
	} {
		err := h.needMatplotlib(t.Context(), openmanus.Call{}, c.i, dir)
		ask := (*openmanus.Ask)(nil)
		if errors.As(err, &ask) != c.asks || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.i, err)
		}
	}
}

// TestNeeds: a session that only reads installs nothing, and a container is not ours to change.
func TestNeeds(t *testing.T) {
	h := &Host{Options: Options{Config: new(config.Config)}}
	for _, c := range []struct {
		approve, sandbox string
		browser, inside  bool
	}{
		{openmanus.ApproveAsk, "bubblewrap", true, true},
		{openmanus.ApproveAll, "none", true, true},
		{openmanus.ApproveReadOnly, "bubblewrap", false, false},
		{openmanus.ApproveAsk, "docker", true, false},
		{openmanus.ApproveAsk, "gvisor", true, false},
	} {
		n := h.needsOf(openmanus.Spec{Approve: c.approve}, c.sandbox)
		if (n.browser != nil) != c.browser || (n.chromium != nil) != c.inside || (n.matplotlib != nil) != c.inside {
			t.Errorf("%s in %s: %+v", c.approve, c.sandbox, n)
		}
	}
}
