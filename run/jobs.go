package run

import (
	"context"
	"errors"

	"github.com/openmanus-go/openmanus"
)

// A job is a task under way, in a goroutine of its own.
type job struct {
	key    string          // a session has at most one job of a key
	turn   int             // the outcome that it works on; -1: none
	call   string          // the call that it runs; "": none
	child  *openmanus.Task // the delegation whose child it drives; nil: none
	cancel context.CancelCauseFunc
	after  *commit          // the last commit that it began on, if that is not stored yet
	ended  bool             // received from driver.done
	bodies []openmanus.Body // the outcome
	err    error
}

// start begins the jobs of all tasks that need one and have none. While events
// are being stored, it begins those alone that have no effect: requests to the
// model, and calls that only read.
func (d *driver) start(ctx context.Context) {
	var last *commit // that is being stored
	if c := d.pipeline.commits; len(c) > 0 {
		last = c[len(c)-1]
	}
	storing := last != nil
	var then *Session // as it is now, for all jobs that begin
	for _, t := range d.Flow.Next(d.State) {
		if d.recordsAlone(d.Session, t) {
			continue
		}
		j := &job{turn: t.Turn}
		work := d.l.Do
		switch t.Do {
		case openmanus.Use:
			j.key, j.call = t.Call, t.Call
			if storing && !d.State.Call(t.Call).Hints.ReadOnly {
				continue
			}
		case openmanus.Delegate:
			j.key, j.turn, j.child = "child/"+t.Child, -1, &t
			work = d.l.driveChild
			if storing || d.waiting[t.Child] != nil {
				continue
			}
		case openmanus.Rule: // which asks hooks, whose programs may do something
			j.key, j.call = "rule/"+t.Call, t.Call
			if storing {
				continue
			}
		default:
			j.key = string(t.Do)
			d.remember()
		}
		if d.running[j.key] != nil {
			continue
		}
		if then == nil {
			then = d.clone()
		}
		ctx, cancel := context.WithCancelCause(ctx)
		j.cancel, j.after = cancel, last
		d.running[j.key] = j
		x := then
		d.do(func() {
			defer cancel(nil)
			j.bodies, j.err = work(ctx, x, t)
			d.done <- j
		})
	}
}

// do runs f in another goroutine: if possible in one that has finished an earlier
// job of the session, because its stack is already as large as jobs need it.
func (d *driver) do(f func()) {
	select {
	case d.spare <- f:
		return
	default:
	}
	go func() {
		f()
		f = nil // it refers to a state
		for next := range d.spare {
			next()
		}
	}()
}

// driveChild opens the child session of t, unless it exists, and drives it until
// it ends or waits. It returns the report if the child has ended.
func (l *Local) driveChild(ctx context.Context, x *Session, t openmanus.Task) ([]openmanus.Body, error) {
	b, err := l.Do(ctx, x, t)
	if err != nil || len(b) > 0 { // it has ended, or could not be opened
		return b, err
	}
	child := openmanus.ChildID(x.ID, t.Child)
	away := false
	if l.Elsewhere != nil {
		if away, err = l.Elsewhere(ctx, x.ID, child); err != nil {
			return nil, err
		}
	}
	if away {
		err = l.untilItRests(ctx, child)
	} else {
		err = l.Wake(ctx, child)
	}
	if err != nil {
		return nil, err
	}
	return l.Do(ctx, x, t)
}

// finish records the outcome of j, and of all other jobs that have just ended, in
// one commit with what they lead to. A child that has not ended is waited for. The
// outcome of a stale job is dropped if it failed, and otherwise recorded as a late
// result.
func (d *driver) finish(ctx context.Context, j *job) error {
	var bodies []openmanus.Body
	var err error
	for j != nil {
		j.ended = true
		if j.after != nil && j.call == "" {
			most := 0 // a summary is recorded when all that it replaces is stored
			if j.key == string(openmanus.Reply) {
				most = maxAhead
			}
			err = errors.Join(err, d.settleTo(ctx, most))
		}
		dropped := d.running[j.key] != j // another may have its key by now
		if !dropped {
			delete(d.running, j.key)
		}
		driven := j.child != nil && errors.Is(j.err, openmanus.ErrDriven)
		switch {
		case dropped:
		case j.child != nil && (j.err == nil && len(j.bodies) == 0 || driven) && !d.isStale(j):
			err = errors.Join(err, d.waitForChild(ctx, *j.child, driven))
		default:
			if j.err != nil && !d.isStale(j) {
				err = errors.Join(err, j.err)
			}
			for _, b := range j.bodies {
				if !(d.isStale(j) && isFailure(b)) && !d.runsAgain(b) {
					bodies = append(bodies, b)
				}
			}
		}
		select {
		case j = <-d.done:
		default:
			j = nil
		}
	}
	if err != nil {
		return errors.Join(err, d.recordAll(ctx, bodies))
	}
	return d.advance(ctx, bodies...)
}

// recordAll records the outcomes of jobs one by one, each unless another one was
// recorded before.
func (d *driver) recordAll(ctx context.Context, bodies []openmanus.Body) error {
	var errs []error
	for _, b := range bodies {
		errs = append(errs, d.l.Record(ctx, d.ID, b))
	}
	return errors.Join(errs...)
}

// isFailure reports whether b is the result of a call that failed. If the call
// has another result already, only a success is worth a note.
func isFailure(b openmanus.Body) bool {
	c, ok := b.(openmanus.CallDone)
	return ok && c.IsError && !c.Partial
}

// runsAgain reports whether b is what a call had printed that runs again when the
// session goes on.
func (d *driver) runsAgain(b openmanus.Body) bool {
	done, ok := b.(openmanus.CallDone)
	if !ok || !done.Partial {
		return false
	}
	c := d.State.Call(done.Call)
	return c != nil && c.Done == nil && (c.Hints.ReadOnly || c.Hints.Idempotent)
}

// isStale reports whether the outcome of j no longer matters: its call has
// another result, its turn is over, or the session has ended.
func (d *driver) isStale(j *job) bool {
	if j.call != "" {
		c := d.State.Call(j.call)
		return c == nil || c.Done != nil || j.key != j.call && c.Ruled != nil
	}
	return d.State.Outcome.Status != "" || j.turn >= 0 && j.turn != d.State.Turn
}

// cancelStale cancels the jobs whose outcome no longer matters.
func (d *driver) cancelStale() {
	for _, j := range d.running {
		if d.isStale(j) {
			j.cancel(openmanus.ErrGivenUp)
		}
	}
}

// drain waits for all jobs, which have been cancelled, and records what they did
// nevertheless.
func (d *driver) drain(ctx context.Context) error {
	bodies, err := d.flush()
	for len(d.running) > 0 {
		j := <-d.done
		delete(d.running, j.key)
		for _, b := range j.bodies {
			if !d.runsAgain(b) {
				bodies = append(bodies, b)
			}
		}
	}
	return errors.Join(err, d.recordAll(ctx, bodies))
}
