package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A childWait is a child session that waits: for a person, or for the process
// that drives it. The driver follows the journals of the child and of the
// sessions below it, and drives the child again when one of them has grown.
type childWait struct {
	driven bool               // another process drives it
	seen   int64              // events of the child and those below it
	stop   context.CancelFunc // stops following
}

// countEvents returns how many events the sessions of a tree have. If the number
// has grown, something was appended to one of them.
func countEvents(nodes []Node) (n int64) {
	for _, node := range nodes {
		n += node.State.Seq
	}
	return n
}

// waitForChild waits until one of the sessions in a child's tree that have not
// ended grows. driven reports that another process drives the child. If the
// child does not wait for anything, because a person has answered meanwhile, it
// is driven again at once.
func (d *driver) waitForChild(ctx context.Context, t openmanus.Task, driven bool) error {
	child := openmanus.ChildID(d.ID, t.Child)
	nodes, err := Tree(ctx, d.l.Journal, child)
	if err != nil {
		return err
	}
	seen := countEvents(nodes)
	if !driven && len(QuestionsIn(nodes)) == 0 {
		if d.stalled[t.Child] == seen {
			return fmt.Errorf("session %s has not ended, and there is nothing to do in it", child)
		}
		d.stalled[t.Child] = seen
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	d.waiting[t.Child] = &childWait{driven, seen, cancel}
	var once sync.Once
	for _, n := range nodes {
		if n.State.Outcome.Status != "" {
			continue
		}
		d.followers.Go(func() {
			for range d.l.Journal.Follow(ctx, n.Session, n.State.Seq) { // an error, too, is a reason to look again
				once.Do(func() {
					select {
					case d.woken <- t.Child:
					case <-ctx.Done():
					}
				})
				return
			}
		})
	}
	return nil
}

// looksForRest is how often a session that another process drives is looked at: it rests
// if somebody below it waits for the user, and nothing happens.
const looksForRest = 2 * time.Second

// untilItRests waits until a session that another process drives has ended, or waits for
// the user.
func (l *Local) untilItRests(ctx context.Context, session string) error {
	s, err := openmanus.Load(ctx, l.Journal, session)
	for err == nil && s.Outcome.Status == "" {
		seq := s.Seq
		following, cancel := context.WithTimeout(ctx, looksForRest)
		for ev, ferr := range l.Journal.Follow(following, session, s.Seq) {
			if ferr != nil {
				cancel()
				return ferr
			}
			if s.Apply(ev); s.Outcome.Status != "" {
				break
			}
		}
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if s.Seq == seq {
			var asked []Question
			if asked, err = Questions(ctx, l.Journal, session); err != nil || len(asked) > 0 {
				break
			}
		}
	}
	return err
}

// wakeChild drives a child again that waited.
func (d *driver) wakeChild(ctx context.Context, child string) {
	if w := d.waiting[child]; w != nil {
		w.stop()
		delete(d.waiting, child)
		d.start(ctx)
	}
}

// whenIdle is called when nothing is under way. It ends a child whose call has
// another result, or wakes a child whose tree has grown. If all that is left to
// do is in the hands of other processes, it returns [openmanus.ErrDriven].
func (d *driver) whenIdle(ctx context.Context) error {
	for _, c := range d.State.Children {
		if d.State.Abandoned(c) {
			b, err := d.endChild(ctx, c)
			if err != nil {
				return err
			}
			return d.advance(ctx, b)
		}
	}
	var driven error
	asking := false
	for child, w := range d.waiting {
		id := openmanus.ChildID(d.ID, child)
		nodes, err := Tree(ctx, d.l.Journal, id)
		switch {
		case err != nil:
			return err
		case countEvents(nodes) != w.seen:
			d.wakeChild(ctx, child)
			return nil
		case w.driven:
			driven = fmt.Errorf("session %s: %w", id, openmanus.ErrDriven)
		}
		asking = asking || len(QuestionsIn(nodes)) > 0
	}
	if asking {
		return nil
	}
	return driven
}

// endChild interrupts a child whose call has another result, and returns the
// event that reports on it.
func (d *driver) endChild(ctx context.Context, c *openmanus.ChildState) (openmanus.Body, error) {
	s, err := openmanus.Load(ctx, d.l.Journal, c.Child)
	if errors.Is(err, openmanus.ErrNoSession) {
		return openmanus.ChildDone{
			Call: c.Call, Child: c.Child, Status: openmanus.Halted, Reason: openmanus.ByPerson, Text: "it was not opened",
		}, nil
	}
	if err != nil {
		return nil, err
	}
	if s.Outcome.Status == "" {
		b := openmanus.Interrupted{ID: fmt.Sprintf("parent-%d", s.Seq)}
		if _, err := d.l.Journal.Append(ctx, c.Child, b); err != nil && !errors.Is(err, openmanus.ErrExists) {
			return nil, err
		}
	}
	// The child ends its own children in the same way, whichever process drives it.
	if err := d.l.Wake(ctx, c.Child); err != nil && !errors.Is(err, openmanus.ErrDriven) {
		return nil, err
	}
	name := c.Child[len(openmanus.ChildID(d.ID, "")):]
	b, err := d.l.Do(ctx, d.Session, openmanus.Task{Do: openmanus.Delegate, Call: c.Call, Child: name})
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("session %s goes on although it was interrupted: %w", c.Child, openmanus.ErrDriven)
	}
	if err != nil {
		return nil, err
	}
	return b[0], nil
}
