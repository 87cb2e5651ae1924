package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A driver drives one session. Its own goroutine appends and folds; each model
// request, call and child under way has another one, which reads a copy of the
// state.
type driver struct {
	*Session
	l        *Local
	hub      *hub
	pipeline pipeline
	running  map[string]*job // by job.key
	done     chan *job       // unbuffered: the driver receives every job
	spare    chan func()     // read by goroutines that have finished a job, until drive ends
	seen     atomic.Int64    // State.Seq, for the goroutine that follows the journal

	waiting   map[string]*childWait // children that wait, by Task.Child
	woken     chan string           // receives a child in waiting whose tree has grown
	followers sync.WaitGroup        // the goroutines that follow the children in waiting
	stalled   map[string]int64      // events in the trees of children that had nothing to do
}

// newDriver returns a driver for x, which was just loaded. Each event that x folds
// goes to the subscribers.
func newDriver(l *Local, x *Session, h *hub) *driver {
	d := &driver{
		Session: x, l: l, hub: h,
		running: make(map[string]*job), done: make(chan *job), spare: make(chan func()),
		waiting: make(map[string]*childWait), woken: make(chan string), stalled: make(map[string]int64),
	}
	x.checked = new(checkedInputs)
	d.pipeline.journal, _ = l.Journal.(openmanus.Pipeliner)
	x.applied = func(ev openmanus.Event) {
		d.seen.Store(ev.Seq)
		d.unspool(ev)
		d.told(ev, x.State.Turn)
	}
	return d
}

// told passes on a stored event, after which the session is in the turn.
func (d *driver) told(ev openmanus.Event, turn int) {
	d.hub.stored(ev, turn)
	if d.l.OnEvent != nil {
		d.l.OnEvent(d.ID, d.State.Config.Workspace, ev.Seq)
	}
}

// unspool forgets what a call has printed whose result is stored.
func (d *driver) unspool(ev openmanus.Event) {
	if done, ok := ev.Body.(openmanus.CallDone); ok && d.l.Spool != nil {
		d.l.Spool.Remove(d.ID, done.Call)
	}
}

// ErrLost says that a driver stopped because its lease was lost.
var ErrLost = errors.New("lost the right to drive the session")

// drive drives the session until nothing is left to do, ctx ends, the lease is
// lost, or something fails. It is the only goroutine that appends and folds: jobs,
// the journal and waiting children reach it through channels. Before it returns,
// it cancels all jobs, waits for them, and records what they did. It returns nil
// if the session has ended or waits for the user.
func (d *driver) drive(ctx context.Context, lost <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	var listener sync.WaitGroup
	defer listener.Wait()
	defer d.followers.Wait()
	defer cancel()
	defer close(d.spare)
	changed, followErr := make(chan struct{}, 1), make(chan error, 1)
	after := d.State.Seq
	d.seen.Store(after)
	listener.Go(func() { d.listen(ctx, after, changed, followErr) })

	err := d.takeOver(ctx)
	if err == nil {
		err = d.recordSandbox(ctx)
	}
	if err == nil {
		err = d.restore(ctx)
	}
	if err == nil {
		err = d.advance(ctx)
	}
	for err == nil {
		if len(d.running) == 0 && d.pipeline.next() != nil {
			err = d.settleTo(ctx, 0)
			continue
		}
		if len(d.running) == 0 {
			seq := d.State.Seq
			if err = d.whenIdle(ctx); err != nil || seq == d.State.Seq && len(d.running) == 0 {
				break
			}
			continue
		}
		timer := d.timer()
		select {
		case j := <-d.done:
			err = d.finish(ctx, j)
		case <-d.pipeline.next():
			err = d.settle(ctx)
		case <-changed:
			if err = d.settleTo(ctx, 0); err == nil {
				err = d.l.catchUp(ctx, d.Session)
			}
			if err == nil {
				err = d.advance(ctx)
			}
		case child := <-d.woken:
			d.wakeChild(ctx, child)
		case <-timer.C:
			if err = d.settleTo(ctx, 0); err != nil {
				break
			}
			err = d.advance(ctx, openmanus.Stopped{
				Turn: d.State.Turn, Re: d.State.Seq, Reason: openmanus.NoTime, Error: d.State.TimeUp(),
			})
		case why := <-followErr:
			err = fmt.Errorf("session %s: following its journal: %w", d.ID, why)
		case <-lost:
			err = fmt.Errorf("session %s: %w", d.ID, ErrLost)
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		d.cancelStale()
	}
	cancel()
	return errors.Join(err, d.drain(context.WithoutCancel(ctx)))
}

// listen follows the journal. It sends on changed when the journal may have events
// that the state lacks, and sends one error on followErr if it cannot go on.
func (d *driver) listen(ctx context.Context, after int64, changed chan<- struct{}, followErr chan<- error) {
	for ev, err := range d.l.Journal.Follow(ctx, d.ID, after) {
		if err != nil {
			followErr <- err
			return
		}
		if ev.Seq <= d.seen.Load() {
			continue
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// stale is the age of the last event from which on its session does not count as
// having run without a break.
const stale = 10 * time.Second

// takeOver records that this worker goes on with a session that was running, so
// that the time since the last event does not count.
func (d *driver) takeOver(ctx context.Context) error {
	if d.State.Status() != openmanus.Running || d.State.Fresh && time.Since(d.State.Updated) < stale {
		return nil
	}
	err := d.l.Append(ctx, d.Session, openmanus.TakenOver{N: d.State.TakenOver, Worker: d.l.Name})
	if errors.Is(err, openmanus.ErrExists) { // without a Locker, another process may do so at the same time
		return d.l.catchUp(ctx, d.Session)
	}
	return err
}

// recordSandbox records the sandbox that is in use, if it is not the recorded one:
// a session may go on where another kind is available.
func (d *driver) recordSandbox(ctx context.Context) error {
	used := d.Flow.Agent().Sandbox
	if used == "" || used == d.State.Config.Sandbox || d.State.Status() != openmanus.Running {
		return nil
	}
	c := d.State.Config
	c.N, c.Sandbox, c.Limits = c.N+1, used, d.State.Limits
	err := d.l.Append(ctx, d.Session, c)
	if errors.Is(err, openmanus.ErrExists) { // without a Locker, another process may do so at the same time
		return d.l.catchUp(ctx, d.Session)
	}
	return err
}

// restore puts back the files that a process which was killed did not.
func (d *driver) restore(ctx context.Context) error {
	if d.State.Unfinished == nil || d.l.Changes == nil {
		return nil
	}
	snapped, err := d.l.Changes.Restore(ctx, d.ID, d.State)
	if err != nil {
		return fmt.Errorf("session %s: put files back: %w", d.ID, err)
	}
	err = d.l.Append(ctx, d.Session, snapped)
	if errors.Is(err, openmanus.ErrExists) { // without a Locker, another process may do so at the same time
		return d.l.catchUp(ctx, d.Session)
	}
	return err
}

// timer returns a timer that fires when the session reaches its time limit.
func (d *driver) timer() *time.Timer {
	limit := d.State.Limits.Time
	if limit < 0 || d.State.Status() != openmanus.Running {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(max(0, limit-d.State.Active-time.Since(d.State.Updated)))
}

// advance appends bodies, in one commit with the events of all tasks that they
// lead to and that are done by recording them; folds them; and starts the jobs of
// the other tasks. It repeats this until nothing is left to record: other
// processes may append in between, so that other tasks are due than were planned.
func (d *driver) advance(ctx context.Context, bodies ...openmanus.Body) error {
	for {
		if err := d.l.refresh(ctx, d.Session); err != nil {
			return errors.Join(err, d.recordAll(ctx, bodies))
		}
		written, err := d.plan(ctx, bodies)
		if err != nil {
			return errors.Join(err, d.recordAll(ctx, bodies))
		}
		if len(written) == 0 {
			d.start(ctx)
			return nil
		}
		if d.pipeline.journal != nil {
			if err := d.send(ctx, bodies, written); err != nil {
				return err
			}
			d.start(ctx)
			bodies = nil
			continue
		}
		switch err := d.l.Append(ctx, d.Session, written...); {
		case errors.Is(err, openmanus.ErrExists): // another process was first
			if err := d.giveWay(ctx, bodies, err); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			d.start(ctx)
		}
		bodies = nil
	}
}

// giveWay is called when another process was first to record one of the planned
// events. It records bodies, which have happened, one by one, and folds what the
// others appended. If there is nothing new, why is an error that does not go away.
func (d *driver) giveWay(ctx context.Context, bodies []openmanus.Body, why error) error {
	seq := d.State.Seq
	if err := d.recordAll(ctx, bodies); err != nil {
		return err
	}
	if err := d.l.catchUp(ctx, d.Session); err != nil {
		return err
	}
	if d.State.Seq == seq && len(bodies) == 0 {
		return fmt.Errorf("session %s cannot go on: the journal refuses the next event: %w", d.ID, why)
	}
	return nil
}

// plan returns bodies and the events of all tasks that they lead to and that
// are done by recording them, so that one commit has them all.
func (d *driver) plan(ctx context.Context, bodies []openmanus.Body) ([]openmanus.Body, error) {
	bodies = slices.Clip(bodies)
	ahead := d.Session // a copy as soon as there is something to foresee
	add := func(b openmanus.Body) {
		if ahead == d.Session {
			ahead = d.ahead()
		}
		ahead.foresee(b)
	}
	for _, b := range bodies {
		add(b)
		bodies = append(bodies, refused(ahead.State, b)...)
	}
	for more := true; more; {
		more = false
		for _, t := range d.Flow.Next(ahead.State) {
			if !d.recordsAlone(ahead, t) {
				continue
			}
			if t.Do == openmanus.MakeCall && t.Re > d.State.Seq {
				continue // it has seen events whose numbers are known only after the commit
			}
			done, err := d.l.Do(ctx, ahead, t)
			if err != nil {
				return nil, err
			}
			for _, b := range done {
				if end := capEnd(b, d.State.Seq); end != nil {
					return append(bodies, end), nil
				}
				bodies, more = append(bodies, b), true
				add(b)
				bodies = append(bodies, refused(ahead.State, b)...)
			}
		}
	}
	return bodies, nil
}

// refused returns the results of calls that do not run because of b, which s, a copy,
// has just been folded with: those of a reply that was cut off, and those after a
// call that has ended the work. The fold has these results already; the events say
// so to people.
func refused(s *openmanus.State, b openmanus.Body) (results []openmanus.Body) {
	switch b := b.(type) {
	case openmanus.ModelSaid:
		for _, said := range b.Message.Calls() {
			if c := s.Call(said.ID); c != nil && c.Done != nil {
				results = append(results, *c.Done)
			}
		}
	case openmanus.CallDone:
		i := slices.IndexFunc(s.Calls, func(c *openmanus.CallState) bool { return c.ID == b.Call })
		if b.IsError || i < 0 || !s.Calls[i].Hints.Final {
			return nil
		}
		for _, c := range s.Calls[i+1:] {
			if c.Done != nil && c.Done.IsError && c.Ruled == nil && c.Ruling == nil && c.Attempts == 0 {
				results = append(results, *c.Done)
			}
		}
	}
	return results
}

// capEnd returns b, if it ends the session, as having seen nothing after the
// event seq: the next event may be what a person says. It returns nil for any
// other body.
func capEnd(b openmanus.Body, seq int64) openmanus.Body {
	switch b := b.(type) {
	case openmanus.Stopped:
		b.Re = min(b.Re, seq)
		return b
	case openmanus.ModelFailed:
		b.Re = min(b.Re, seq)
		return b
	case openmanus.Ended:
		b.Re = min(b.Re, seq)
		return b
	}
	return nil
}
