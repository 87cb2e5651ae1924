package snapshot

import (
	"context"

	"github.com/openmanus-go/openmanus"
)

// Needs collects the packs that trees need. It is not safe for concurrent use.
type Needs struct {
	r     *Reader
	Packs map[openmanus.Ref]bool
	seen  map[Part]bool // lists that were read, by their places
}

// NewNeeds returns an empty collection.
func (r *Reader) NewNeeds() *Needs {
	return &Needs{r: r, Packs: make(map[openmanus.Ref]bool), seen: make(map[Part]bool)}
}

// Add adds the packs that a tree needs. It reads the lists of all its directories that
// no tree before has. The error is [ErrGone] if one is not there any more.
func (n *Needs) Add(ctx context.Context, t Tree) error { return n.list(ctx, &t.Root, 2) }

// list adds what a list needs, whose pages have at most depth-1 levels.
func (n *Needs) list(ctx context.Context, o *Object, depth int) error {
	if len(o.Parts) == 0 || n.seen[o.Parts[0]] {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	n.seen[o.Parts[0]] = true
	n.object(o)
	data, err := n.r.bytes(ctx, o)
	if err != nil {
		return err
	}
	entries, pages, err := decodeList(data, o.Parts[0].Pack)
	if err != nil {
		return err
	}
	if len(pages) > 0 && depth == 1 {
		return errList
	}
	for _, p := range pages {
		if err := n.list(ctx, p, depth-1); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if e.isDir() && e.Content != nil {
			if err := n.list(ctx, e.Content, 2); err != nil {
				return err
			}
		} else if e.Content != nil {
			n.object(e.Content)
		}
	}
	return nil
}

func (n *Needs) object(o *Object) {
	for _, p := range o.Parts {
		n.Packs[p.Pack] = true
	}
}
