package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openmanus-go/openmanus/workspace"
)

// A hidden file is reached by no name: not by its own, not by a link, not after
// it was renamed, and not by making it.
func TestHide(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need rights there")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("home/.config/own/rules", "secret")
	write("home/plain", "plain")
	if err := os.Symlink(".config/own", filepath.Join(dir, "home/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, dir+"-link"); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.NewDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	ws.Hide(dir+"-link/home/.config/own", filepath.Join(dir, "later"), filepath.Dir(dir), t.TempDir())
	hidden := func(name string) {
		t.Helper()
		_, read := fs.ReadFile(ws.FS(), name)
		_, stat := fs.Stat(ws.FS(), name)
		for what, err := range map[string]error{"read": read, "stat": stat, "write": ws.WriteFile(t.Context(), name, []byte("x")), "remove": ws.Remove(t.Context(), name)} {
			gone := errors.Is(err, fs.ErrNotExist) && what != "write"
			if !gone && !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s %s: %v", what, name, err)
			}
		}
	}
	hidden("home/.config/own/rules")
	hidden("home/link/rules")
	hidden("home/.config/own/new/file")
	hidden("later/file")
	if _, err := fs.ReadDir(ws.FS(), "home/link"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("listing: %v", err)
	}
	if list, err := fs.ReadDir(ws.FS(), "home/.config"); len(list) > 0 || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if err := os.Rename(filepath.Join(dir, "home/.config"), filepath.Join(dir, "home/moved")); err != nil {
		t.Fatal(err)
	}
	hidden("home/moved/own/rules")
	if data, err := os.ReadFile(filepath.Join(dir, "home/moved/own/rules")); string(data) != "secret" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
	for _, name := range []string{"home/plain", "home/.config/other"} {
		if err := ws.WriteFile(t.Context(), name, []byte("y")); err != nil {
			t.Error(err)
		}
		if data, err := fs.ReadFile(ws.FS(), name); string(data) != "y" || err != nil {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
