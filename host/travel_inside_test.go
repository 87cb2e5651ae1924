package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// traveller returns a host with a store, and a workspace with so many files.
func traveller(t testing.TB, files int) (*Host, string) {
	t.Helper()
	data, dir := t.TempDir(), filepath.Join(t.TempDir(), "w")
	db, err := store.Open(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Sources{Flags: map[string]string{"data-dir": data}, Env: func(name string) (string, bool) { return data, name == "HOME" }})
	if err != nil {
		t.Fatal(err)
	}
	h, err := New(Options{Config: cfg, Store: db})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		db.Close()
	})
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.txt", i%10, i%100, i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, bytes.Repeat([]byte(fmt.Sprintln("line", i)), 180), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return h, dir
}

// A directory becomes what was recorded, whatever it is: empty, changed, something else.
func TestBring(t *testing.T) {
	h, dir := traveller(t, 300)
	taken, why := h.follower.directory(dir).take(t.Context(), "s", "", nil)
	if why != "" {
		t.Fatal(why)
	}
	tree := taken.Tree.String()
	for name, change := range map[string]func() error{
		"nothing": func() error { return nil },
		"gone":    func() error { return os.RemoveAll(dir) },
		"emptied": func() error { return os.RemoveAll(filepath.Join(dir, "d1")) },
		"a file":  func() error { return os.WriteFile(filepath.Join(dir, "d1/e1/f1.txt"), []byte("other"), 0o600) },
		"more":    func() error { return os.WriteFile(filepath.Join(dir, "more"), []byte("more"), 0o600) },
		"a link":  func() error { return os.Symlink("/etc", filepath.Join(dir, "link")) },
		"replaced": func() error {
			if err := os.RemoveAll(filepath.Join(dir, "d2")); err != nil {
				return err
			}
			return os.Symlink(t.TempDir(), filepath.Join(dir, "d2"))
		},
	} {
		if err := h.follower.forget(dir); err != nil { // as on another machine
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := h.bring(t.Context(), dir, tree); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		now, err := h.follower.directory(dir).tracker.After(taken.Tree).Take(t.Context())
		if err != nil || now.Changed {
			t.Errorf("%s: the directory is another one: %v", name, err)
			for c, err := range h.reader.Diff(t.Context(), taken.Tree, now.Tree) {
				t.Logf("%s: %+v, %+v, %v", c.Name, c.Was, c.Now, err)
			}
		}
	}
	if err := h.bring(t.Context(), dir, "nonsense"); err == nil {
		t.Error("a tree that is none was brought")
	}
	fresh := filepath.Join(t.TempDir(), "new", "w")
	if err := h.bring(t.Context(), fresh, ""); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error(err)
	}
}

// BenchmarkBring brings 20,000 files of two kilobytes into an empty directory.
func BenchmarkBring(b *testing.B) {
	h, dir := traveller(b, 20_000)
	taken, why := h.follower.directory(dir).take(b.Context(), "s", "", nil)
	if why != "" {
		b.Fatal(why)
	}
	for b.Loop() { // into new directories: ext4 is slow to make files where some were just removed
		b.StopTimer()
		h.reader = snapshot.NewReader(h.Store)
		fresh := filepath.Join(b.TempDir(), "w")
		b.StartTimer()
		if err := h.bring(b.Context(), fresh, taken.Tree.String()); err != nil {
			b.Fatal(err)
		}
	}
}
