package copydir

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A stamp is the same as long as nothing is changed, also after a move.
func TestStamp(t *testing.T) {
	dir := put(t, map[string]string{"a": "a", "d/b": "b", "e/": "", "l": "-> a"})
	stamp := func() string {
		t.Helper()
		s, err := Stamp(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := stamp()
	if err := os.Rename(dir, dir+"-2"); err != nil {
		t.Fatal(err)
	}
	dir += "-2"
	if _, err := os.ReadDir(dir); err != nil || stamp() != first {
		t.Errorf("moving and reading it changes it, %v", err)
	}
	info, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	last := first
	for what, change := range map[string]func() error{
		"a new file":         func() error { return os.WriteFile(filepath.Join(dir, "d/new"), nil, 0o600) },
		"an empty directory": func() error { return os.Mkdir(filepath.Join(dir, "e/e"), 0o700) },
		"permissions":        func() error { return os.Chmod(filepath.Join(dir, "d/b"), 0o600) },
		"another target": func() error {
			return errors.Join(os.Remove(filepath.Join(dir, "l")), os.Symlink("b", filepath.Join(dir, "l")))
		},
		"another content of the same size and time": func() error {
			name := filepath.Join(dir, "a")
			return errors.Join(os.Remove(name), os.WriteFile(name, []byte("b"), 0o644), os.Chtimes(name, info.ModTime(), info.ModTime()))
		},
	} {
		if err := change(); err != nil {
			t.Fatal(what, err)
		}
		if now := stamp(); now == last {
			t.Errorf("%s is not seen", what)
		} else {
			last = now
		}
	}
	if _, err := Stamp(t.Context(), filepath.Join(dir, "a")); err == nil {
		t.Error("a file has a stamp")
	}
	if id := Identity(dir); id != Identity(dir+"/.") || Identity(dir+"/none") != "" {
		t.Errorf("identity %q", id)
	}
	if IsMount(dir) || IsMount(dir+"/none") {
		t.Error("it is the top of a file system")
	}
}
