package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// A command that runs at the same time gives a directory another name, in which another
// command must not see something, after the look before that one's start and before bwrap
// mounts what covers it: the other command does not begin.
func TestHiddenDirectoryMovedWhileTheSandboxIsMade(t *testing.T) {
	testbed.Need(t, "bwrap")
	real, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	top := t.TempDir()
	ws, bin, now := filepath.Join(top, "ws"), filepath.Join(top, "bin"), filepath.Join(top, "now")
	hidden := filepath.Join(ws, "p", "data")
	script := "#!/bin/sh\nif [ -e " + now + " ]; then rm " + now + "; mv " + ws + "/p " + ws + "/q; fi\nexec " + real + " \"$@\"\n"
	if err := errors.Join(os.MkdirAll(hidden, 0o755), os.Mkdir(bin, 0o755), os.WriteFile(filepath.Join(hidden, "key"), []byte("TOPSECRET"), 0o644),
		os.WriteFile(filepath.Join(bin, "bwrap"), []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w := open(t, sandbox.Options{Dir: ws, Kind: sandbox.Bubblewrap, Hide: []string{hidden}})
	defer w.Close()
	out, err := shell(t, w, "cat p/data/key q/data/key; echo ran")
	if err != nil || strings.Contains(out, "TOPSECRET") || !strings.Contains(out, "ran") {
		t.Fatalf("before: %q, %v", out, err)
	}
	if err := os.WriteFile(now, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err = shell(t, w, "cat p/data/key q/data/key; echo ran")
	if err == nil || strings.Contains(out, "TOPSECRET") || strings.Contains(out, "ran") {
		t.Fatalf("the command began: %q, %v", out, err)
	}
	if !strings.Contains(err.Error(), "was moved or replaced") {
		t.Errorf("it does not say why: %v", err)
	}
}

// A directory keeps its place if commands must not see something in it: at another place the
// next command would.
func TestDirectoriesWithHiddenFilesKeepTheirPlace(t *testing.T) {
	for name, o := range map[string]sandbox.Options{
		"a directory that is hidden":     {Hide: []string{"p/data"}},
		"a file that a rule denies":      {Deny: func(name string) bool { return name == "p/data/key" }},
		"a directory that a rule denies": {Deny: func(name string) bool { return name == "p/data" }},
	} {
		t.Run(name, func(t *testing.T) {
			ws := t.TempDir()
			if err := errors.Join(os.MkdirAll(filepath.Join(ws, "p", "data"), 0o755), os.MkdirAll(filepath.Join(ws, "other", "sub"), 0o755),
				os.WriteFile(filepath.Join(ws, "p", "data", "key"), []byte("TOPSECRET"), 0o644)); err != nil {
				t.Fatal(err)
			}
			for i, dir := range o.Hide {
				o.Hide[i] = filepath.Join(ws, dir)
			}
			o.Dir, o.Kind = ws, sandbox.Bubblewrap
			w := open(t, o)
			defer w.Close()
			if out, err := shell(t, w, "mv other moved && mv moved/sub sub && echo fine"); err != nil || !strings.Contains(out, "fine") {
				t.Errorf("other directories move: %q, %v", out, err)
			}
			out, err := shell(t, w, "mv p q; mkdir x; mv p x/; python3 -c 'import os; os.rename(\"p\", \"y\")'; ls")
			if err != nil || !strings.Contains(out, "p keeps its name and its place, because") {
				t.Errorf("it may be moved: %q, %v", out, err)
			}
			out, err = shell(t, w, "cat p/data/key q/data/key x/p/data/key y/data/key; true")
			if err != nil || strings.Contains(out, "TOPSECRET") {
				t.Errorf("the next command sees it: %q, %v", out, err)
			}
		})
	}
}

// shell runs a script in the workspace, and returns what it printed.
func shell(t *testing.T, w *workspace.Dir, script string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := w.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", script}, Stdout: &out, Stderr: &out})
	return out.String(), err
}
