//go:build unix

package snapshot

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// settle takes snapshots until the times of everything tell whether it changed.
func (p *place) settle() Tree {
	p.Helper()
	for {
		tree := p.take().Tree
		if !p.tracker.top.anyFresh() {
			return tree
		}
	}
}

func (n *node) anyFresh() bool {
	return n.Fresh || slices.ContainsFunc(n.Items, func(it *item) bool {
		return it.Fresh || it.Dir != nil && it.Dir.anyFresh()
	})
}

// Only the times of unchanged files are read; every change is found all the same.
func TestChangesAreFoundAmongMuch(t *testing.T) {
	p := newPlace(t, Options{
		MaxFile: 100, Skip: func(name string) bool { return name == "skipped" },
	})
	for _, name := range []string{"a", "d/a", "d/e/f/a", "d/e/f/b", "d/g/a", "h/i/a", "skipped/a", "j/a", "j/k/a"} {
		p.write(name, name)
	}
	p.write("h/left", string(make([]byte, 101)))
	if err := os.Symlink("a", filepath.Join(p.dir, "h/link")); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(p.dir, name) }
	before := p.settle()
	canCheck := p.tracker.top.clean == p.tracker.walks
	for _, c := range []struct {
		name   string
		change func() error
		want   []string
	}{
		{"nothing", func() error { return nil }, nil},
		{"a file deep below", func() error { return os.WriteFile(in("d/e/f/a"), []byte("other"), 0o644) }, []string{"~d/e/f/a"}},
		{"a new file", func() error { return os.WriteFile(in("h/i/b"), nil, 0o644) }, []string{"+h/i/b"}},
		{"a new directory", func() error { return os.Mkdir(in("d/new"), 0o755) }, []string{"+d/new"}},
		{"a file is gone", func() error { return os.Remove(in("d/e/f/b")) }, []string{"-d/e/f/b"}},
		{"permissions of a directory", func() error { return os.Chmod(in("d/g"), 0o700) }, []string{"~d/g"}},
		{"permissions of a file", func() error { return os.Chmod(in("d/g/a"), 0o700) }, []string{"~d/g/a"}},
		{"a link leads elsewhere", func() error {
			return errors.Join(os.Remove(in("h/link")), os.Symlink("b", in("h/link")))
		}, []string{"~h/link"}},
		{"another directory of the same name", func() error {
			return errors.Join(os.Rename(in("j/k"), in("away")), os.Mkdir(in("j/k"), 0o755), os.Rename(in("away/a"), in("j/k/b")), os.Remove(in("away")))
		}, []string{"-j/k/a", "+j/k/b"}},
		{"a link to what was the directory", func() error {
			return errors.Join(os.Rename(in("d/e"), in("moved")), os.Symlink("../moved", in("d/e")))
		}, []string{"~d/e", "-d/e/f", "-d/e/f/a", "+moved", "+moved/f", "+moved/f/a"}},
	} {
		if err := c.change(); err != nil {
			t.Fatal(err)
		}
		taken := p.take()
		if got := p.diff(before, taken.Tree); !slices.Equal(got, c.want) {
			t.Errorf("%s: changes %q, not %q", c.name, got, c.want)
		}
		if taken.Changed != (c.want != nil) || taken.LeftOut != 1 || taken.Left[0].Name != "h/left" {
			t.Errorf("%s: %+v", c.name, taken)
		}
		if top := p.tracker.top; canCheck && c.want == nil && top.whole != p.tracker.walks {
			t.Errorf("%s: it was walked through", c.name)
		}
		before = p.settle()
	}
	// A later process finds names that are not skipped any more.
	var b bytes.Buffer
	if err := p.tracker.Save(&b); err != nil {
		t.Fatal(err)
	}
	var err error
	if p.tracker, err = NewTracker(p.root, p.blobs, Options{MaxFile: 100}); err != nil {
		t.Fatal(err)
	}
	if err := p.tracker.Load(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if got, want := p.diff(before, p.take().Tree), []string{"+skipped", "+skipped/a"}; !slices.Equal(got, want) {
		t.Errorf("changes %q, not %q", got, want)
	}
}

// The limit of names counts also those that have not changed.
func TestLimitOfNames(t *testing.T) {
	p := newPlace(t, Options{MaxFiles: 6})
	for _, name := range []string{"d/a", "d/e/a", "f/a"} {
		p.write(name, name)
	}
	p.settle()
	p.write("f/one-more", "")
	if _, err := p.tracker.Take(t.Context()); !errors.Is(err, ErrTooMany) {
		t.Errorf("%v", err)
	}
}
