//go:build unix

package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

// empty returns an empty directory.
func empty(t testing.TB) *os.Root {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// A directory is made as it was at any time, whatever has become of the first.
func TestFillAtAnyTime(t *testing.T) {
	for seed := range programs() / 10 { // each is put on the disk many times
		h := newHistory(t, uint64(seed), sharedNames, sharedNames)
		for i, step := range h.steps {
			for _, beside := range []*os.Root{nil, h.root} {
				root := empty(t)
				out, err := h.reader.Fill(t.Context(), root, step.Before, FillOptions{Beside: beside})
				if err != nil || out.LeftOut != 0 || out.Files < step.Before.Files {
					t.Fatalf("program %d: %+v, %v", seed, out, err)
				}
				if got := listing(t, root); !reflect.DeepEqual(got, h.lists[i]) {
					t.Fatalf("program %d, step %d:\n%v\nwant\n%v", seed, i, got, h.lists[i])
				}
			}
		}
	}
}

func TestFill(t *testing.T) {
	p := newPlace(t, Options{MaxFile: 1000})
	large := strings.Repeat("x", 1001)
	p.write("d/large", large)
	p.write("d/larger", large)
	p.write("same", "same")
	p.write("lies", "before")
	p.write("skip/below", "x")
	p.write(".git", "gitdir: elsewhere")
	for _, err := range []error{
		syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600),
		os.Chmod(filepath.Join(p.dir, "same"), 0o640),
		os.Chmod(filepath.Join(p.dir, "d"), os.ModeSetgid|0o750),
		os.Chtimes(filepath.Join(p.dir, "d"), time.Time{}, time.Unix(1e9, 0)),
		os.Chtimes(filepath.Join(p.dir, "lies"), time.Time{}, time.Unix(1e9, 0)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tree := p.take().Tree
	p.write("d/larger", large+"!")
	p.write("lies", "after!") // of the same size and time
	if err := os.Chtimes(filepath.Join(p.dir, "lies"), time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	skip := func(name string) string {
		if name == "skip" || name == ".git" {
			return "not wanted"
		}
		return ""
	}
	root := empty(t)
	out, err := p.reader.Fill(t.Context(), root, tree, FillOptions{Skip: skip, Beside: p.root})
	if err != nil {
		t.Fatal(err)
	}
	why := "the snapshot does not have its content (it has 1001 bytes, more than the limit of 1000), and the file has changed since"
	left := []Left{{".git", "not wanted"}, {"d/larger", why}, {"pipe", "a pipe, a socket or a device"}, {"skip", "not wanted"}}
	if !reflect.DeepEqual(out.Left, left) || out.LeftOut != 4 || out.Files != 3 {
		t.Errorf("%+v", out)
	}
	for name, want := range map[string]string{"d/large": large, "same": "same", "lies": "before"} {
		if data, err := root.ReadFile(name); string(data) != want || err != nil {
			t.Errorf("%s has %.20q, %v", name, data, err)
		}
	}
	if info, err := root.Stat("same"); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := root.Stat("d"); err != nil || info.Mode() != os.ModeDir|os.ModeSetgid|0o750 || info.ModTime().Unix() != 1e9 {
		t.Errorf("%v %v, %v", info.Mode(), info.ModTime(), err)
	}

	// Files from others get only plain permissions.
	foreign := empty(t)
	if _, err := p.reader.Fill(t.Context(), foreign, tree, FillOptions{Foreign: true}); err != nil {
		t.Fatal(err)
	}
	if info, err := foreign.Stat("d"); err != nil || info.Mode() != os.ModeDir|0o750 {
		t.Errorf("%v, %v", info.Mode(), err)
	}

	// An existing file is an error, and so is the end of the context.
	if _, err := p.reader.Fill(t.Context(), root, tree, FillOptions{}); !errors.Is(err, os.ErrExist) {
		t.Errorf("into a directory that is not empty: %v", err)
	}
	for n := 0; ; n++ {
		root := empty(t)
		_, err := p.reader.Fill(&dying{t.Context(), n}, root, tree, FillOptions{Beside: p.root})
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || n > 1000 {
			t.Fatal(n, err)
		}
	}
}
