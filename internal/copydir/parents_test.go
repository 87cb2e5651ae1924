package copydir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// A command that runs in the directory during a merge puts a link in the place of a
// directory, after it was decided what is merged: nothing changes where the link leads.
func TestParentsThatAreReplacedDuringAMerge(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an ordinary user makes no links there")
	}
	for _, c := range []struct {
		name       string
		base, from map[string]string
		at         string // the name about which the merge asks when the link is put there
		conflict   bool
	}{
		{"a new file", map[string]string{"a/x": "1"}, map[string]string{"a/x": "1", "a/pre-commit": "+x EVIL"}, "a/pre-commit", true},
		{"a new file in a new directory", map[string]string{"a/x": "1"}, map[string]string{"a/x": "1", "a/hooks/pre-commit": "+x EVIL"}, "a/hooks/pre-commit", true},
		{"a new link", map[string]string{"a/x": "1"}, map[string]string{"a/x": "1", "a/pre-commit": "-> EVIL"}, "a/pre-commit", true},
		{"another content", map[string]string{"a/config": "1"}, map[string]string{"a/config": "EVIL"}, "a/config", true},
		{"a file that is gone", map[string]string{"a/config": "1", "a/x": "1"}, map[string]string{"a/x": "1"}, "a/config", true},
		{"a directory that is gone", map[string]string{"a/config/": "", "a/x": "1"}, map[string]string{"a/x": "1"}, "a/config", false},
		{"a new directory", map[string]string{"a/x": "1"}, map[string]string{"a/x": "1", "a/new/": ""}, "a/new", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, from, to := put(t, c.base), put(t, c.from), put(t, c.base)
			git := filepath.Join(to, ".git")
			change(t, to, map[string]string{".git/config": "mine"})
			replaced := false
			m := Merge{Base: base, From: from, To: to, Skip: func(name string) bool { return filepath.Base(name) == ".git" }, Beside: ".theirs"}
			m.Leave = func(name string) string {
				if name == c.at && !replaced {
					replaced = true
					if err := errors.Join(os.Rename(filepath.Join(to, "a"), filepath.Join(to, "b")), os.Symlink(".git", filepath.Join(to, "a"))); err != nil {
						t.Error(err)
					}
				}
				return ""
			}
			out, err := m.Do(t.Context())
			if err != nil || (len(out.Conflicts) > 0) != c.conflict || !replaced {
				t.Errorf("%+v, %v", out, err)
			}
			entries, err := os.ReadDir(git)
			text, rerr := os.ReadFile(filepath.Join(git, "config"))
			if err != nil || len(entries) != 1 || string(text) != "mine" {
				t.Errorf(".git has %v, and its config %q, %v", entries, text, rerr)
			}
		})
	}
}

// A directory that somebody has replaced by a link is neither copied nor merged into, if it
// is opened without following one.
func TestADirectoryThatIsALinkNow(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an ordinary user makes no links there")
	}
	base, secret := put(t, map[string]string{"x": "1"}), put(t, map[string]string{"key": "secret"})
	link := filepath.Join(t.TempDir(), "w")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	dst := filepath.Join(t.TempDir(), "copy")
	if _, err := Copy(t.Context(), dst, link, Options{Open: regular.OpenDir}); !errors.Is(err, regular.ErrMoved) {
		t.Errorf("it was copied: %v", err)
	}
	if _, err := os.Lstat(dst); err == nil {
		t.Error("there is a copy")
	}
	m := Merge{Base: base, From: put(t, map[string]string{"x": "2"}), To: link, Open: regular.OpenDir}
	if _, err := m.Do(t.Context()); !errors.Is(err, regular.ErrMoved) {
		t.Errorf("it was merged: %v", err)
	}
}
