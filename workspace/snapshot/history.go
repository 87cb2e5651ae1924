package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Taken is a snapshot.
type Taken struct {
	Tree Tree
	// Packs are the blobs that the tree needs and that the tree before did not.
	// Whoever records the tree must keep them.
	Packs []openmanus.Ref
	// Changed says that the tree differs from the one before.
	Changed bool
	// Left are the first names whose content is not kept, with the reason, and
	// LeftOut is how many there are.
	Left    []Left
	LeftOut int
}

// Left is a name whose content is not kept.
type Left struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

const maxLeft = 20

// A Holder is implemented by blobs that others may delete: Hold keeps a blob for
// some time, as Put does, for an event that is about to refer to it. The error is
// [fs.ErrNotExist] if there is no such blob any more.
type Holder interface {
	Hold(ctx context.Context, ref openmanus.Ref) error
}

// Take takes a snapshot for a directory with one history, which begins with the first
// Take: of that, Changed is true, and what came before by [Tracker.Load] counts as
// recorded. See [History.Take].
func (t *Tracker) Take(ctx context.Context) (Taken, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.one == nil {
		t.one = t.After(Tree{})
	}
	return t.one.take(ctx, nil)
}

// A History is the snapshots of one session of a directory, while nothing else deletes
// what the session has recorded. Several of the same directory share a tracker.
type History struct {
	t     *Tracker
	last  Tree
	whole bool                   // no tree was returned whose packs are sure to be kept
	known map[openmanus.Ref]bool // packs that were returned
}

// After returns the history that goes on after the tree last, which is the zero Tree
// if there is none.
func (t *Tracker) After(last Tree) *History {
	return &History{t: t, last: last, whole: true, known: make(map[openmanus.Ref]bool)}
}

// Take returns what the directory contains now. [Taken.Packs] and [Taken.Changed] are
// relative to the tree before, whose packs the caller has recorded. The first changed
// one has all packs: those of the tree before may have been deleted since.
//
// It stores the content that no tree before had. Files that change while they are
// read may be in the tree with a mixture of contents; the next snapshot reads them
// again. After an error history and tracker are as before, and can be used again.
func (h *History) Take(ctx context.Context) (Taken, error) {
	return h.TakeTelling(ctx, nil)
}

// TakeTelling is Take. If told is not nil, it is called after each file that is read, with
// how many were, from the goroutine of the caller.
func (h *History) TakeTelling(ctx context.Context, told func(files int)) (Taken, error) {
	h.t.mu.Lock()
	defer h.t.mu.Unlock()
	return h.take(ctx, told)
}

// take does the work of Take. h.t.mu is held.
func (h *History) take(ctx context.Context, told func(files int)) (Taken, error) {
	t := h.t
	defer t.pack.rest()
	// Where others took the snapshot before, what did not change since is not
	// recorded in this history.
	whole := h.whole || !slices.Equal(h.last.Root.Parts, t.tree.Root.Parts)
	taken, err := h.walk(ctx, whole, told)
	if errors.Is(err, errGone) {
		t.top, t.tree = nil, Tree{}
		clear(t.have)
		clear(t.lists)
		taken, err = h.walk(ctx, whole, told) // reads everything again
	}
	if err != nil || !taken.Changed {
		taken.Packs = nil // the caller records nothing
		return taken, err
	}
	h.last, h.whole = taken.Tree, false
	for _, ref := range taken.Packs {
		h.known[ref] = true
	}
	return taken, nil
}

// errGone says that packs of what did not change do not exist any more.
var errGone = errors.New("packs of the snapshot before are gone")

// walk takes a snapshot. Its packs are those that the history does not know and the last
// tree of the tracker did not need or, if whole is set, may have needed.
func (h *History) walk(ctx context.Context, whole bool, told func(files int)) (Taken, error) {
	t := h.t
	w := walk{t: t, h: h, ctx: ctx, told: told, now: time.Now(), held: make(map[openmanus.Ref]bool)}
	t.spent.renew(w.now)
	before := t.spent
	device, _ := w.device(t.root)
	w.mount = device
	w.check()
	top, err := w.dir(t.root, ".", t.top, false)
	if err == nil {
		err = t.pack.flush(ctx)
	}
	changed := err == nil && top.Object.Sum != h.last.Root.Sum
	if changed && whole {
		err = w.holdAll(top)
	}
	if err != nil {
		t.forget(t.pack.reset())
		t.spent = before
		return Taken{}, err
	}
	for _, ref := range t.pack.take() {
		w.needs(ref)
	}
	t.top, t.tree = top, Tree{Root: *top.Object, Files: top.Files, Bytes: top.Bytes}
	return Taken{Tree: t.tree, Packs: w.packs, Changed: changed, Left: w.left, LeftOut: w.leftOut}, nil
}

// needs notes a pack that the tree needs and that is kept.
func (w *walk) needs(ref openmanus.Ref) {
	if !w.held[ref] && !w.h.known[ref] {
		w.held[ref] = true
		w.packs = append(w.packs, ref)
	}
}

// hold reports whether the packs of o exist, and keeps them for the tree. Content that
// an earlier tree had may have been deleted with it.
func (w *walk) hold(o *Object) (bool, error) {
	for _, p := range o.Parts {
		if p.Pack == "" || w.t.pack.mine[p.Pack] || w.h.known[p.Pack] { // it is being written, or the history keeps it
			continue
		}
		is, known := w.held[p.Pack]
		if !known {
			err := w.t.keep(w.ctx, p.Pack)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, fmt.Errorf("%w: %w", errStore, err)
			}
			if is = err == nil; is {
				w.needs(p.Pack)
			} else {
				w.held[p.Pack] = false
			}
		}
		if !is {
			return false, nil
		}
	}
	return true, nil
}

// holdAll keeps all packs of the tree. The error is errGone if one does not exist.
func (w *walk) holdAll(top *node) (err error) {
	top.packs(func(ref openmanus.Ref) {
		if err != nil || w.held[ref] || w.h.known[ref] || w.t.pack.mine[ref] {
			return // it is kept, or was just stored
		}
		if err = w.t.keep(w.ctx, ref); errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", errGone, err)
		} else if err == nil {
			w.needs(ref)
		}
	})
	return err
}

// keep keeps a pack as [Holder] says, or only looks whether it exists.
func (t *Tracker) keep(ctx context.Context, ref openmanus.Ref) error {
	if h, ok := t.pack.blobs.(Holder); ok {
		return h.Hold(ctx, ref)
	}
	return t.has(ctx, ref)
}

// stored returns the object with a sum that is among those that are stored, or nil.
func (w *walk) stored(have map[Sum]*Object, sum Sum) (*Object, error) {
	o := have[sum]
	if o == nil {
		return nil, nil
	}
	ok, err := w.hold(o)
	if err != nil || ok {
		return o, err
	}
	delete(have, sum)
	return nil, nil
}
