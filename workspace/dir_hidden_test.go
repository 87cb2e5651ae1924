package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/workspacetest"
)

// access hides secret.csv and private/, and leaves asked.csv to calls that name it.
func access(name string) workspace.Access {
	switch {
	case name == "private" || strings.HasPrefix(name, "private/") || strings.HasSuffix(name, "secret.csv"):
		return workspace.Hidden
	case name == "asked.csv":
		return workspace.ByName
	}
	return workspace.Free
}

// hidingDir is a workspace with a file of every access, and links to them.
func hidingDir(t *testing.T) *workspace.Dir {
	t.Helper()
	d := newDir(t, t.TempDir())
	t.Cleanup(func() { d.Close() })
	d.Access = access
	for name, text := range map[string]string{
		"free.csv": "free", "asked.csv": "asked", "secret.csv": "secret", "sub/secret.csv": "secret",
		"sub/free.csv": "free", "private/key": "secret",
	} {
		put(t, filepath.Join(d.Dir(), name), text)
	}
	for link, target := range map[string]string{
		"link": "secret.csv", "absolute": filepath.Join(d.Dir(), "secret.csv"), "dir": "private",
		"chain": "link", "sub/up": "../private", "good": "sub/free.csv",
	} {
		if err := os.Symlink(target, filepath.Join(d.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func TestDirWithHiddenFilesConforms(t *testing.T) {
	workspacetest.Run(t, func(t *testing.T, dir string) workspace.Workspace {
		d := newDir(t, dir)
		d.Access = access
		return d
	})
}

func TestHiddenFilesDoNotExist(t *testing.T) {
	d := hidingDir(t)
	for _, name := range []string{
		"secret.csv", "sub/secret.csv", "private", "private/key", "link", "absolute", "dir", "dir/key", "chain",
		"sub/up/key", "private/none",
	} {
		if data, err := fs.ReadFile(d.FS(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadFile(%s) = %q, %v; want fs.ErrNotExist", name, data, err)
		}
		if _, err := fs.Stat(d.FS(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s): %v, want fs.ErrNotExist", name, err)
		}
		if _, err := fs.ReadDir(d.FS(), name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("ReadDir(%s): %v, want fs.ErrNotExist", name, err)
		}
	}
	for _, name := range []string{"secret.csv", "link", "private/key", "dir/key", "private/new", "dir/new", "new-secret.csv"} {
		if err := d.WriteFile(t.Context(), name, []byte("x")); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("WriteFile(%s): %v, want fs.ErrPermission", name, err)
		}
	}
	for _, name := range []string{"secret.csv", "private/key", "dir/key"} {
		if err := d.Remove(t.Context(), name); err == nil {
			t.Errorf("Remove(%s) succeeded", name)
		}
	}
	var seen []string
	err := fs.WalkDir(d.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		seen = append(seen, name)
		return err
	})
	want := []string{".", "absolute", "asked.csv", "chain", "dir", "free.csv", "good", "link", "sub", "sub/free.csv", "sub/up"}
	if err != nil || !slices.Equal(seen, want) {
		t.Errorf("a walk sees %q, %v; want %q", seen, err, want)
	}
	if got, err := fs.ReadFile(d.FS(), "good"); err != nil || string(got) != "free" {
		t.Errorf("through a link to a free file: %q, %v", got, err)
	}
	if !workspace.Hides(d.FS(), "a.zip/secret.csv") || workspace.Hides(d.FS(), "a.zip/free.csv") {
		t.Error("Hides does not say what Access says of a file in an archive")
	}
}

func TestUnnamedLeavesOutWhatMustBeNamed(t *testing.T) {
	d := hidingDir(t)
	if got, err := fs.ReadFile(d.FS(), "asked.csv"); err != nil || string(got) != "asked" {
		t.Errorf("a file that is named: %q, %v", got, err)
	}
	rest := workspace.Unnamed(d.FS())
	if got, err := fs.ReadFile(rest, "asked.csv"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not named: %q, %v", got, err)
	}
	if entries, _ := fs.ReadDir(rest, "."); slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "asked.csv" }) {
		t.Error("it is listed")
	}
	if err := d.WriteFile(t.Context(), "asked.csv", []byte("x")); err != nil {
		t.Errorf("writing it: %v", err)
	}
	if other := (fstest.MapFS{}); len(other) != 0 || workspace.Unnamed(other) == nil || workspace.Hides(other, "x") {
		t.Error("another file system hides nothing")
	}
}

// A link that points to a hidden file and to another one in turn never shows the
// hidden file, and nothing is written into its directory.
func TestNoRaceShowsAHiddenFile(t *testing.T) {
	d := hidingDir(t)
	put(t, filepath.Join(d.Dir(), "open/key"), "free")
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		at := filepath.Join(d.Dir(), "moving")
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			os.Remove(at)
			os.Symlink([]string{"open", "private"}[i%2], at)
		}
	})
	for range 2000 {
		if data, err := fs.ReadFile(d.FS(), "moving/key"); err == nil && string(data) == "secret" {
			t.Error("read the hidden file")
			break
		}
	}
	for range 50 {
		d.WriteFile(t.Context(), "moving/new", nil) // may fail; must not reach private
	}
	close(done)
	swapping.Wait()
	if entries, err := os.ReadDir(filepath.Join(d.Dir(), "private")); err != nil || len(entries) != 1 {
		t.Errorf("private has %d files, %v; want 1", len(entries), err)
	}
}
