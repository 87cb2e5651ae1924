package snapshot

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// Where no file can be opened any more, there is no snapshot, and none that lacks content:
// a file would count as one that cannot be read, and what a call did to it would stay.
func TestNoMoreDescriptors(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a/b/c", "one")
	p.take()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 64
	failed := 0
	for free := range 12 {
		p.write("a/b/c", fmt.Sprint("two ", free))
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		var open []*os.File
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			open = append(open, f)
		}
		for i, f := range open {
			if i < free {
				f.Close()
			}
		}
		taken, err := p.tracker.Take(t.Context())
		for _, f := range open {
			f.Close()
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		switch {
		case errors.Is(err, syscall.EMFILE):
			failed++
		case err != nil:
			t.Error(err)
		case taken.LeftOut > 0 || p.cat(taken.Tree, "a/b/c") != fmt.Sprint("two ", free):
			t.Errorf("with %d descriptors: %+v", free, taken)
		}
	}
	if failed == 0 || failed == 12 {
		t.Errorf("%d of 12 failed", failed)
	}
	if got := p.cat(p.take().Tree, "a/b/c"); got != "two 11" {
		t.Errorf("afterwards it is %q", got)
	}
}

// A file of a snapshot that cannot be read is none that somebody has removed.
func TestUndoWithoutThePresent(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "one")
	before := p.take().Tree
	p.write("a", "two")
	after := p.take().Tree
	p.write("b", "three")
	now := p.take()
	blobs := &lossy{Blobs: p.blobs, gone: make(map[openmanus.Ref]bool)}
	for _, ref := range now.Packs {
		blobs.gone[ref] = true
	}
	if plan, err := NewReader(blobs).Undo(t.Context(), now.Tree, []Step{{Before: before, After: after}}); !errors.Is(err, ErrGone) {
		t.Errorf("%+v, %v", plan, err)
	}
}
