//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOpenDir: no link leads to a directory that is opened by its path.
func TestOpenDir(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"a/w", "b/w"} {
		if err := os.MkdirAll(in(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "b/w", "up": "b", "a/abs": in("b/w"), "gone": "nowhere"} {
		if err := os.Symlink(target, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{
		"a/w": nil, "b/w": nil, "link": ErrMoved, "up/w": ErrMoved, "a/abs": ErrMoved, "gone": fs.ErrNotExist, "none": fs.ErrNotExist,
	} {
		root, err := OpenDir(in(name))
		if err == nil {
			root.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if _, err := statByName(in(name)); !errors.Is(err, want) {
			t.Errorf("%s by name: %v, want %v", name, err, want)
		}
	}
}
