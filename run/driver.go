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
	"github.com/openmanus-go/openmanus/llm"
)

// A driver drives one session: one goroutine that appends and folds, and one
// for each model request, call and child under way.
type driver struct {
	*Local
	id      string
	s       *openmanus.State
	flow    openmanus.Flow
	hub     *hub
	memo    *llm.Memo
	config  [3]int          // the configuration and the cuts that memo belongs to
	running map[string]*job // by key
	done    chan *job       // unbuffered: every job is received
	seen    atomic.Int64    // s.Seq, for the goroutine that listens

	pipeline pipeline

	parked    map[string]*park // children that wait, by Task.Child
	stirred   chan string      // one of parked has been spoken to
	followers sync.WaitGroup   // of parked
	idle      map[string]int64 // events of children in which there was nothing to do
}

// A job is a task under way.
type job struct {
	key         string
	turn        int             // of a reply
	call        string          // of the running of a call
	child       *openmanus.Task // of the driving of a child
	cancel      context.CancelFunc
	speculative bool           // begun on events that are not stored yet
	ended       bool           // received from driver.done
	body        openmanus.Body // what came of it, or nil
	err         error
}

// ErrLost is why a driver stops whose lease was lost.
var ErrLost = errors.New("lost the right to drive the session")

func (d *driver) drive(ctx context.Context, lost <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	var listener sync.WaitGroup
	defer listener.Wait()
	defer d.followers.Wait()
	defer cancel()
	grown, deaf := make(chan struct{}, 1), make(chan error, 1)
	after := d.s.Seq
	d.seen.Store(after)
	listener.Go(func() { d.listen(ctx, after, grown, deaf) })

	err := d.takeOver(ctx)
	if err == nil {
		err = d.recordSandbox(ctx)
	}
	if err == nil {
		err = d.advance(ctx)
	}
	for err == nil {
		if len(d.running) == 0 && d.pipeline.next() != nil {
			err = d.settleAll(ctx)
			continue
		}
		if len(d.running) == 0 {
			seq := d.s.Seq
			if err = d.rest(ctx); err != nil || seq == d.s.Seq && len(d.running) == 0 {
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
		case <-grown:
			if err = d.settleAll(ctx); err == nil {
				err = d.catchUp(ctx)
			}
			if err == nil {
				err = d.advance(ctx)
			}
		case child := <-d.stirred:
			d.unpark(ctx, child)
		case <-timer.C:
			if err = d.settleAll(ctx); err != nil {
				break
			}
			err = d.advance(ctx, openmanus.Stopped{Turn: d.s.Turn, Re: d.s.Seq, Reason: openmanus.NoTime, Error: d.s.TimeUp()})
		case why := <-deaf:
			err = fmt.Errorf("session %s: following its journal: %w", d.id, why)
		case <-lost:
			err = fmt.Errorf("session %s: %w", d.id, ErrLost)
		case <-ctx.Done():
			err = ctx.Err()
		}
		timer.Stop()
		d.cancelStale()
	}
	cancel()
	return errors.Join(err, d.drain(context.WithoutCancel(ctx)))
}

// listen says on grown when the journal has what the state has not, and on
// deaf, once, that it can no longer tell.
func (d *driver) listen(ctx context.Context, after int64, grown chan<- struct{}, deaf chan<- error) {
	for ev, err := range d.Journal.Follow(ctx, d.id, after) {
		if err != nil {
			deaf <- err
			return
		}
		if ev.Seq <= d.seen.Load() {
			continue
		}
		select {
		case grown <- struct{}{}:
		default:
		}
	}
}

// stale is how old the last event may be for its session to count as being at
// work without a break.
const stale = 10 * time.Second

// takeOver says that a session that was under way has another worker now, so
// that the time in between does not count.
func (d *driver) takeOver(ctx context.Context) error {
	if d.s.Status() != openmanus.Running || d.s.Fresh && time.Since(d.s.Updated) < stale {
		return nil
	}
	err := d.append(ctx, openmanus.TakenOver{N: d.s.TakenOver, Worker: d.Name})
	if errors.Is(err, openmanus.ErrExists) { // without a Locker, another may do so at the same time
		return d.catchUp(ctx)
	}
	return err
}

// recordSandbox records what calls run in from here on, if that is not what the
// session recorded: it may go on where another sandbox is to be had.
func (d *driver) recordSandbox(ctx context.Context) error {
	used := d.flow.Agent().Sandbox
	if used == "" || used == d.s.Config.Sandbox || d.s.Status() != openmanus.Running {
		return nil
	}
	c := d.s.Config
	c.N, c.Sandbox, c.Limits = c.N+1, used, d.s.Limits
	err := d.append(ctx, c)
	if errors.Is(err, openmanus.ErrExists) { // without a Locker, another process may do so at the same time
		return d.catchUp(ctx)
	}
	return err
}

// timer runs out when the session's time does.
func (d *driver) timer() *time.Timer {
	limit := d.s.Limits.Time
	if limit < 0 || d.s.Status() != openmanus.Running {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(max(0, limit-d.s.Active-time.Since(d.s.Updated)))
}

// finish records what came of j, and of whatever else has just ended.
func (d *driver) finish(ctx context.Context, j *job) error {
	var bodies []openmanus.Body
	var err error
	for j != nil {
		j.ended = true
		if j.speculative && j.call == "" { // its cost is recorded in any case, so what it was built on must be stored
			err = errors.Join(err, d.settleAll(ctx))
		}
		dropped := d.running[j.key] != j // another may have its key by now
		if !dropped {
			delete(d.running, j.key)
		}
		driven := j.child != nil && errors.Is(j.err, openmanus.ErrDriven)
		switch {
		case dropped:
		case j.child != nil && (j.err == nil && j.body == nil || driven) && !d.isStale(j):
			err = errors.Join(err, d.wait(ctx, *j.child, driven))
		case j.err != nil && !d.isStale(j):
			err = errors.Join(err, j.err)
		case j.body != nil && !(d.isStale(j) && isFailure(j.body)):
			bodies = append(bodies, j.body)
		}
		select {
		case j = <-d.done:
		default:
			j = nil
		}
	}
	if err != nil {
		return errors.Join(err, d.keep(ctx, bodies))
	}
	return d.advance(ctx, bodies...)
}

// keep records what came of jobs, whatever has been recorded in the meantime.
func (d *driver) keep(ctx context.Context, bodies []openmanus.Body) error {
	var errs []error
	for _, b := range bodies {
		errs = append(errs, d.record(context.WithoutCancel(ctx), d.id, b))
	}
	return errors.Join(errs...)
}

func isFailure(b openmanus.Body) bool { c, ok := b.(openmanus.CallDone); return ok && c.IsError }

// isStale reports whether nobody waits for j any more.
func (d *driver) isStale(j *job) bool {
	if j.call != "" {
		c := d.s.Call(j.call)
		return c == nil || c.Done != nil
	}
	return d.s.Outcome.Status != "" || j.turn >= 0 && j.turn != d.s.Turn
}

func (d *driver) cancelStale() {
	for _, j := range d.running {
		if d.isStale(j) {
			j.cancel()
		}
	}
}

// drain waits for the jobs under way, which have been cancelled, and records
// what they did all the same.
func (d *driver) drain(ctx context.Context) error {
	bodies, err := d.flush()
	for len(d.running) > 0 {
		j := <-d.done
		delete(d.running, j.key)
		if j.body != nil {
			bodies = append(bodies, j.body)
		}
	}
	return errors.Join(err, d.keep(ctx, bodies))
}

// advance appends bodies, together with everything that they call for and that
// is done by writing it down, in one commit; folds them; and starts the rest.
// It goes on until nothing is left to be written down: others may have written
// in between, so that something else is called for than was foreseen.
func (d *driver) advance(ctx context.Context, bodies ...openmanus.Body) error {
	for {
		written, err := d.foresee(ctx, bodies)
		if err != nil {
			return errors.Join(err, d.keep(ctx, bodies))
		}
		if len(written) == 0 {
			d.start(ctx, nil)
			return nil
		}
		if d.pipeline.journal != nil {
			if err := d.send(ctx, bodies, written); err != nil {
				return err
			}
			d.start(ctx, written)
			bodies = nil
			continue
		}
		switch err := d.append(ctx, written...); {
		case errors.Is(err, openmanus.ErrExists): // someone was faster with one of them
			if err := d.giveWay(ctx, bodies, err); err != nil {
				return err
			}
		case err != nil:
			return err
		default:
			d.start(ctx, written)
		}
		bodies = nil
	}
}

// giveWay records bodies one by one and folds what others have written. If
// that is nothing new, there is no way on: why says what stands in it.
func (d *driver) giveWay(ctx context.Context, bodies []openmanus.Body, why error) error {
	seq := d.s.Seq
	if err := d.keep(ctx, bodies); err != nil {
		return err
	}
	if err := d.catchUp(ctx); err != nil {
		return err
	}
	if d.s.Seq == seq && len(bodies) == 0 {
		return fmt.Errorf("session %s cannot go on: something was written before its time: %w", d.id, why)
	}
	return nil
}

// foresee returns bodies and everything that they call for and that is done by
// writing it down.
func (d *driver) foresee(ctx context.Context, bodies []openmanus.Body) ([]openmanus.Body, error) {
	bodies = slices.Clip(bodies)
	ahead := d.s // copied when there is something to foresee
	add := func(b openmanus.Body) {
		if ahead == d.s {
			ahead = d.s.Clone()
		}
		ahead.Apply(openmanus.Event{Seq: ahead.Seq + 1, Time: ahead.Updated, Body: b})
	}
	for _, b := range bodies {
		add(b)
	}
	mine := func(call string) bool {
		return d.running[call] != nil || claimed(bodies, call) || claimed(d.pipeline.later, call)
	}
	for grew := true; grew; {
		grew = false
		for _, t := range d.flow.Next(ahead) {
			if t.Do == openmanus.MakeCall && t.Re > d.s.Seq {
				continue // it has seen events whose numbers are known only after the commit
			}
			b, err := d.clerical(ctx, d.id, d.flow.Agent(), ahead, t, mine)
			if err != nil {
				return nil, err
			}
			if b == nil {
				continue
			}
			bodies, grew = append(bodies, b), true
			switch end := b.(type) { // what comes next may be a person's
			case openmanus.Stopped:
				end.Re = min(end.Re, d.s.Seq)
				bodies[len(bodies)-1] = end
				return bodies, nil
			case openmanus.ModelFailed:
				end.Re = min(end.Re, d.s.Seq)
				bodies[len(bodies)-1] = end
				return bodies, nil
			case openmanus.Ended:
				end.Re = min(end.Re, d.s.Seq)
				bodies[len(bodies)-1] = end
				return bodies, nil
			}
			add(b)
		}
	}
	return bodies, nil
}

// claimed reports whether bodies start the call.
func claimed(bodies []openmanus.Body, call string) bool {
	for _, b := range bodies {
		if c, ok := b.(openmanus.CallStarted); ok && c.Call == call {
			return true
		}
	}
	return false
}

// append appends and folds. What happened is recorded even if ctx has ended.
func (d *driver) append(ctx context.Context, bodies ...openmanus.Body) error {
	events, err := d.Journal.Append(context.WithoutCancel(ctx), d.id, bodies...)
	if errors.Is(err, openmanus.ErrExists) && len(events) > 0 {
		return fmt.Errorf("%s: %w", events[0].Body.Key(), err)
	}
	if err != nil {
		return err
	}
	if events[0].Seq != d.s.Seq+1 {
		return d.catchUp(ctx)
	}
	for _, ev := range events {
		d.apply(ev)
	}
	return nil
}

// catchUp folds what the journal has and the state has not.
func (d *driver) catchUp(ctx context.Context) error {
	for ev, err := range d.Journal.Events(context.WithoutCancel(ctx), d.id, d.s.Seq) {
		if err != nil {
			return err
		}
		d.apply(ev)
	}
	if d.s.Foreign != "" {
		return fmt.Errorf("session %s has got an event of the type %q, which this version does not know", d.id, d.s.Foreign)
	}
	return nil
}

func (d *driver) apply(ev openmanus.Event) {
	d.s.Apply(ev)
	d.seen.Store(ev.Seq)
	d.hub.stored(ev, d.s.Turn)
}

// start begins what is not done by writing it down: written is what was just
// appended.
func (d *driver) start(ctx context.Context, written []openmanus.Body) {
	a, now := d.flow.Agent(), d.s
	var s *openmanus.State // as it is now, for the calls that begin
	for _, t := range d.flow.Next(now) {
		switch t.Do {
		case openmanus.Reply:
			if d.running["reply"] != nil {
				continue
			}
			req := now.Request(t)
			req.Memo = d.memory()
			then := now.Clone()
			d.launch(ctx, &job{key: "reply", turn: t.Turn}, func(ctx context.Context) (openmanus.Body, error) {
				return d.reply(ctx, d.id, a, then, t, req)
			})
		case openmanus.Compact:
			then := now.Clone()
			d.launch(ctx, &job{key: "compact", turn: t.Turn}, func(ctx context.Context) (openmanus.Body, error) {
				return d.compact(ctx, a, then, t, nil)
			})
		case openmanus.Use:
			if !claimed(written, t.Call) || d.pipeline.next() != nil && !now.Call(t.Call).Hints.ReadOnly {
				continue
			}
			if s == nil {
				s = now.Clone()
			}
			d.launch(ctx, &job{key: t.Call, call: t.Call}, func(ctx context.Context) (openmanus.Body, error) {
				return d.use(ctx, d.id, a, s, t.Call)
			})
		case openmanus.Delegate:
			if d.pipeline.next() == nil {
				d.startChild(ctx, t)
			}
		}
	}
}

func (d *driver) launch(ctx context.Context, j *job, do func(context.Context) (openmanus.Body, error)) {
	if d.running[j.key] != nil {
		return
	}
	ctx, j.cancel = context.WithCancel(ctx)
	j.speculative = d.pipeline.next() != nil
	d.running[j.key] = j
	go func() {
		defer j.cancel()
		j.body, j.err = do(ctx)
		d.done <- j
	}()
}

// memory is what adapters remember of the session under its configuration.
func (d *driver) memory() *llm.Memo {
	now := [3]int{d.s.Config.N, d.s.Elisions, d.s.Compactions}
	if d.memo == nil || d.config != now {
		d.memo, d.config = new(llm.Memo), now
	}
	return d.memo
}
