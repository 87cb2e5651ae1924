package run

import (
	"context"
	"errors"
	"fmt"
	"github.com/openmanus-go/openmanus"
	"sync"
)

// A park is a child that waits: for a person, or for another process that
// drives it.
type park struct {
	driven bool  // by another process
	seen   int64 // events of it and those below
	unpark context.CancelFunc
}

// events counts what has happened in a tree.
func events(nodes []Node) (n int64) {
	for _, node := range nodes {
		n += node.State.Seq
	}
	return n
}

// wait parks a child until one of the sessions below it that have not ended
// grows, unless somebody has spoken already: then it goes on.
func (d *driver) wait(ctx context.Context, t openmanus.Task, driven bool) error {
	nodes, err := Tree(ctx, d.Journal, openmanus.ChildID(d.id, t.Child))
	if err != nil {
		return err
	}
	if !driven && len(questionsIn(nodes)) == 0 {
		if d.idle[t.Child] == events(nodes) {
			return fmt.Errorf("session %s has not ended, and there is nothing to do in it", openmanus.ChildID(d.id, t.Child))
		}
		d.idle[t.Child] = events(nodes)
		return nil // to be started again: somebody has spoken
	}
	ctx, cancel := context.WithCancel(ctx)
	d.parked[t.Child] = &park{driven, events(nodes), cancel}
	var once sync.Once
	for _, n := range nodes {
		if n.State.Outcome.Status != "" {
			continue
		}
		d.followers.Go(func() {
			for range d.Journal.Follow(ctx, n.Session, n.State.Seq) { // also an error is a reason to look again
				once.Do(func() {
					select {
					case d.stirred <- t.Child:
					case <-ctx.Done():
					}
				})
				return
			}
		})
	}
	return nil
}

// unpark lets a child go on that somebody spoke to.
func (d *driver) unpark(ctx context.Context, child string) {
	if p := d.parked[child]; p != nil {
		p.unpark()
		delete(d.parked, child)
		d.start(ctx, nil)
	}
}

// rest is what a driver does when nothing is under way: it ends the children
// that nobody waits for any more, and looks for those that somebody has spoken
// to. It returns ErrDriven if all that is left to do is in the hands of others.
func (d *driver) rest(ctx context.Context) error {
	for _, c := range d.s.Children {
		if d.s.Abandoned(c) {
			b, err := d.dismiss(ctx, c)
			if err != nil {
				return err
			}
			return d.advance(ctx, b)
		}
	}
	var driven error
	asking := false
	for child, p := range d.parked {
		nodes, err := Tree(ctx, d.Journal, openmanus.ChildID(d.id, child))
		switch {
		case err != nil:
			return err
		case events(nodes) != p.seen:
			d.unpark(ctx, child)
			return nil
		case p.driven:
			driven = fmt.Errorf("session %s: %w", openmanus.ChildID(d.id, child), openmanus.ErrDriven)
		}
		asking = asking || len(questionsIn(nodes)) > 0
	}
	if asking {
		return nil
	}
	return driven
}

// dismiss ends a child whose call has got another result, and reports on it.
func (d *driver) dismiss(ctx context.Context, c *openmanus.ChildState) (openmanus.Body, error) {
	s, err := openmanus.Load(ctx, d.Journal, c.Child)
	if errors.Is(err, openmanus.ErrNoSession) {
		return openmanus.ChildDone{Call: c.Call, Child: c.Child, Status: openmanus.Halted, Reason: openmanus.ByPerson, Text: "it was never begun"}, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Outcome.Status == "" {
		b := openmanus.Interrupted{ID: fmt.Sprintf("parent-%d", s.Seq)}
		if _, err := d.Journal.Append(ctx, c.Child, b); err != nil && !errors.Is(err, openmanus.ErrExists) {
			return nil, err
		}
	}
	// It dismisses its own children. Who else drives it does so too.
	if err := d.Wake(ctx, c.Child); err != nil && !errors.Is(err, openmanus.ErrDriven) {
		return nil, err
	}
	b, err := d.Report(ctx, d.id, openmanus.Task{Call: c.Call, Child: c.Child[len(d.id)+1:]})
	if err == nil && b == nil {
		err = fmt.Errorf("session %s goes on although it was interrupted: %w", c.Child, openmanus.ErrDriven)
	}
	return b, err
}
