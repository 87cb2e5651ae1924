package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestProbeCache says when bubblewrap is tried out, and that commands run either way.
func TestProbeCache(t *testing.T) {
	testbed.Need(t, "bwrap")
	file := filepath.Join(t.TempDir(), "not", "there", "yet")
	open := func() (*workspace.Dir, *bubblewrap) {
		t.Helper()
		ws, err := Open(t.Context(), Options{Dir: t.TempDir(), Kind: Bubblewrap, ProbeCache: file})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		return ws, ws.Cage.(*bubblewrap)
	}
	runs := func(ws *workspace.Dir) {
		t.Helper()
		var out strings.Builder
		err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"cat", "/etc/hostname"}, Stdout: &out, Stderr: &out})
		if err != nil || out.String() != "openmanus\n" {
			t.Fatal(err, out.String())
		}
	}
	ws, b := open()
	if b.args == nil {
		t.Error("it was not tried out the first time")
	}
	runs(ws)
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	ws, b = open()
	if b.args != nil {
		t.Error("it was tried out again")
	}
	runs(ws)

	for name, other := range map[string]string{
		"of another start of the machine": strings.Replace(string(kept), "-", "_", 1),
		"of another program":              strings.Replace(string(kept), "worked: ", "worked: /other", 1),
		"empty":                           "",
		"no memo":                         "\x00",
	} {
		if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, b = open(); b.args == nil {
			t.Errorf("%s: it was not tried out", name)
		}
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(kept) {
		t.Errorf("%v\n%s\nwant\n%s", err, again, kept)
	}

	// A kind that has stopped working is probed again, and reported, the next
	// time.
	_, b = open()
	if err := b.ready(); err != nil {
		t.Fatal(err)
	}
	b.args = []string{"--no-such-argument"}
	if _, err := b.Start(&workspace.Spawn{Args: []string{"true"}, Dir: b.view.ws}); err == nil {
		t.Error("it started")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a memo that was wrong was kept")
	}
}
