package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestDirConforms(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
		return newDir(t, dir)
	})
}

func newDir(t *testing.T, dir string) *workspace.Dir {
	t.Helper()
	d, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestNewDirSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"): "does not exist: make the directory",
		file:                          "is a file: choose a directory",
	} {
		if _, err := workspace.NewDir(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("NewDir(%s): %v, want %q", path, err, want)
		}
	}
}

func TestNewDirResolvesThePath(t *testing.T) {
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(link))
	d := newDir(t, "link")
	defer d.Close()
	if d.Dir() != real {
		t.Errorf("Dir() = %s, want %s", d.Dir(), real)
	}
}

func TestEnvIsAddedToEveryCommand(t *testing.T) {
	d := newDir(t, t.TempDir())
	defer d.Close()
	d.Env = []string{"A=dir", "B=dir"}
	var out strings.Builder
	err := d.Run(t.Context(), &workspace.Cmd{Args: []string{"sh", "-c", "echo $A $B"}, Env: []string{"B=cmd"}, Stdout: &out})
	if err != nil || out.String() != "dir cmd\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

func TestTheProgramIsLookedUpInTheCommandsPath(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "mine"), []byte("#!/bin/sh\necho mine\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, t.TempDir())
	defer d.Close()
	var out strings.Builder
	err := d.Run(t.Context(), &workspace.Cmd{Args: []string{"mine"}, Env: []string{"PATH=" + bin + ":/bin"}, Stdout: &out})
	if err != nil || out.String() != "mine\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}

// A program in the working directory is not run by accident, even if PATH has
// it.
func TestTheWorkingDirectoryIsNotSearched(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ls"), []byte("#!/bin/sh\necho trap\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	d := newDir(t, dir)
	defer d.Close()
	var out strings.Builder
	err := d.Run(t.Context(), &workspace.Cmd{Args: []string{"ls"}, Env: []string{"PATH=.:" + os.Getenv("PATH")}, Stdout: &out})
	if err != nil || out.String() != "ls\n" {
		t.Errorf("%v: %q", err, out.String())
	}
}
