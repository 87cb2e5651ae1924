package snapshot

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus"
)

// A saved is what [Tracker.Save] writes, by encoding/gob.
type saved struct {
	Version int
	Top     *node
	Tree    Tree
	Spent   spent
}

const savedVersion = 3

// Save writes what the tracker knows of the directory, so that the first Take of
// another tracker, in this process or a later one, need not read every file. It is a
// cache: without it nothing is lost but time and space.
func (t *Tracker) Save(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := bufio.NewWriter(w)
	if err := gob.NewEncoder(b).Encode(saved{savedVersion, t.top, t.tree, t.spent}); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	return b.Flush()
}

// Load reads what Save wrote for the same directory, before the first Take. It trusts
// what it reads. If a blob does not exist any more, or r has something else, Load
// returns an error and the tracker is as before.
func (t *Tracker) Load(ctx context.Context, r io.Reader) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var k saved
	if err := gob.NewDecoder(bufio.NewReader(r)).Decode(&k); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if k.Version != savedVersion || k.Top == nil || k.Top.Object == nil {
		return fmt.Errorf("snapshot: it is of version %d, not %d", k.Version, savedVersion)
	}
	checked := make(map[openmanus.Ref]bool)
	var missing error
	k.Top.packs(func(ref openmanus.Ref) {
		if checked[ref] || missing != nil {
			return
		}
		checked[ref] = true
		missing = t.has(ctx, ref)
	})
	if missing != nil {
		return fmt.Errorf("snapshot: %w", missing)
	}
	k.Top.share(t.have, t.lists)
	t.top, t.tree, t.spent = k.Top, k.Tree, k.Spent
	return nil
}

// A Haver is implemented by blobs that know without reading one whether it exists. The error
// is [fs.ErrNotExist] if it does not.
type Haver interface {
	Has(ctx context.Context, ref openmanus.Ref) error
}

// has returns an error if there is no such blob.
func (t *Tracker) has(ctx context.Context, ref openmanus.Ref) error {
	if h, ok := t.pack.blobs.(Haver); ok {
		return h.Has(ctx, ref)
	}
	blob, err := t.pack.blobs.Get(ctx, ref)
	if err != nil {
		return err
	}
	return blob.Close()
}

// Know tells the tracker of a tree that others have stored, such as one that was made in
// the directory by [Reader.Fill]: what it has of content is not stored again.
func (t *Tracker) Know(ctx context.Context, r *Reader, tree Tree) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lists[tree.Root.Sum] = &tree.Root
	for c, err := range r.Diff(ctx, Tree{}, tree) {
		switch {
		case err != nil:
			return err
		case c.Now.Content == nil:
		case c.Now.Kind == Dir:
			t.lists[c.Now.Content.Sum] = c.Now.Content
		default:
			t.have[c.Now.Content.Sum] = c.Now.Content
		}
	}
	return nil
}

// share makes equal content one object, and adds it to have or, of directories, to
// lists. No directory counts as unchanged.
func (n *node) share(have, lists map[Sum]*Object) {
	object := func(have map[Sum]*Object, o **Object) {
		if *o == nil {
			return
		}
		if known := have[(*o).Sum]; known != nil {
			*o = known
			return
		}
		have[(*o).Sum] = *o
	}
	n.Fresh = true // the options may be others now: every name is looked at once
	for _, it := range n.Items {
		if it.Dir == nil {
			object(have, &it.Content)
			continue
		}
		it.Dir.share(have, lists)
		it.Content = it.Dir.Object
	}
	object(lists, &n.Object)
}
