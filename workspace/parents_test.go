package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A command that runs at the same time puts a link in the place of a directory, after it was
// decided what a call may change: no directory is made and no file removed where the link
// leads.
func TestParentsThatAreReplacedMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an ordinary user makes no links there")
	}
	for _, c := range []struct {
		name    string
		changes []Change
		fails   string // the file whose change the guard refuses, after the link was put there
	}{
		{"a directory is made", []Change{{Name: "a/new/f", Data: []byte("x")}}, ""},
		{"what was made is taken back", []Change{{Name: "a/config/f", Data: []byte("x")}, {Name: "g", Data: []byte("x")}}, "g"},
		{"a file is written", []Change{{Name: "a/f", Data: []byte("x")}}, ""},
		{"a file is removed", []Change{{Name: "a/config"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			if err := errors.Join(os.Mkdir(filepath.Join(top, "a"), 0o755), os.Mkdir(filepath.Join(top, ".git"), 0o755),
				os.WriteFile(filepath.Join(top, ".git", "config"), []byte("mine"), 0o644)); err != nil {
				t.Fatal(err)
			}
			d, err := NewDir(top)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			last := c.changes[len(c.changes)-1].Name
			d.Guard = func(name string) error {
				if name != last {
					return nil
				}
				if err := errors.Join(os.Rename(filepath.Join(top, "a"), filepath.Join(top, "b")), os.Symlink(".git", filepath.Join(top, "a"))); err != nil {
					t.Error(err)
				}
				if name == c.fails {
					return errors.New("no")
				}
				return nil
			}
			if err := d.Change(t.Context(), c.changes); err == nil {
				t.Error("it was changed")
			}
			entries, err := os.ReadDir(filepath.Join(top, ".git"))
			text, rerr := os.ReadFile(filepath.Join(top, ".git", "config"))
			if err != nil || len(entries) != 1 || string(text) != "mine" {
				t.Errorf(".git has %v, and its config %q, %v", entries, text, rerr)
			}
		})
	}
}
