package run

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// Local is the [Runtime] of one process. Set the Journal and Flow of its Worker
// before use; Local sets the Worker's Live. It is safe for concurrent use.
//
// While Local drives a session, it follows the journal, so that it reacts to
// what others append, in this process or another one, while models reply and
// calls run.
type Local struct {
	Worker

	// OnIdle, if not nil, is called when a session that has no parent has
	// nothing left to do after the event seq. It is set before use.
	OnIdle func(session string, seq int64)

	// OnEvent, if not nil, is called with the number of each stored event that a driver of
	// a session has read, and the workspace of the session. It must not block.
	OnEvent func(session, workspace string, seq int64)

	// Elsewhere, if not nil, is called when the session child is to be driven, which the
	// session parent has opened. If it returns true, another process drives it: then Local
	// waits until it has ended or waits for the user.
	Elsewhere func(ctx context.Context, parent, child string) (bool, error)

	// OnDrive, if not nil, is called when this Local begins to drive a session. It must not
	// block, and is set before use.
	OnDrive func(session string)

	// OnWatch, if not nil, is called when somebody begins to watch a session, and what it
	// returns when they end. It is set before use.
	OnWatch func(session string) (stop func())

	once sync.Once
	mu   sync.Mutex
	hubs map[string]*hub // by session: of those that are driven or watched
}

// Wake implements [Runtime]. If this Local is driving the session already, Wake
// first waits for that to end. If another process is driving it, the error is
// [openmanus.ErrDriven]. It is no error that the session failed, stopped or waits:
// [Halted] tells that. When ctx ends, Wake cancels requests and calls, records
// what they did, and returns the context's error. The session can be woken
// again later.
func (l *Local) Wake(ctx context.Context, session string) error {
	l.once.Do(func() { l.Worker.Live = l.publish })
	h := l.enter(session)
	defer l.leave(session, h)
	select {
	case h.driving <- struct{}{}:
		defer func() { <-h.driving }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for again := false; ; again = true {
		seq, err := l.drive(ctx, session, h)
		if again && errors.Is(err, openmanus.ErrDriven) {
			return nil // the process that drives it now has read what was appended
		}
		if err != nil {
			return err
		}
		if more, err := l.hasMore(ctx, session, seq); err != nil || !more {
			return err
		}
	}
}

// drive drives a session under a lease, and returns the last event that it has
// read.
func (l *Local) drive(ctx context.Context, session string, h *hub) (seq int64, err error) {
	lost, release, err := l.lock(ctx, session)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	x, err := l.Load(ctx, session)
	if err != nil {
		return 0, err
	}
	h.begin(x.State.Seq, x.State.Turn)
	defer h.end()
	if l.OnDrive != nil {
		l.OnDrive(session)
	}
	err = newDriver(l, x, h).drive(ctx, lost)
	s := x.State
	if err == nil && l.OnIdle != nil && s.Opened.Parent == "" && s.Status() != openmanus.Running {
		l.OnIdle(session, s.Seq)
	}
	return s.Seq, err
}

// hasMore reports whether a session has events after seq. A writer that
// appended while the lease was being released got ErrDriven when it woke the
// session, and relies on this check.
func (l *Local) hasMore(ctx context.Context, session string, seq int64) (bool, error) {
	for _, err := range l.Journal.Events(ctx, session, seq) {
		return err == nil, err
	}
	return false, nil
}

// lock takes the lease of a session, if the journal has leases.
func (l *Local) lock(ctx context.Context, session string) (lost <-chan struct{}, release func() error, err error) {
	locker, ok := l.Journal.(openmanus.Locker)
	if !ok {
		return nil, func() error { return nil }, nil
	}
	lease, err := locker.Lock(ctx, session)
	if err != nil {
		return nil, nil, err
	}
	return lease.Lost(), lease.Release, nil
}

// Watch is like [openmanus.Journal].Follow, with the provisional events of the
// sessions that this Local drives: deltas and output, in their place among the
// stored events. A subscriber that joins while a reply streams first receives
// everything streamed so far. One that joins while a call runs first receives the end
// of what it printed, up to 64 KiB; nothing that a call prints comes twice.
//
// A slow subscriber misses no stored event and slows down no one. It may receive
// deltas in larger pieces, after a [openmanus.Typing] with Reset, and may miss output.
func (l *Local) Watch(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		yield = printedOnce(yield)
		ctx, cancel := context.WithCancel(ctx)
		h := l.enter(session)
		defer l.leave(session, h)
		if l.OnWatch != nil {
			defer l.OnWatch(session)()
		}
		sub := h.subscribe()
		defer h.unsubscribe(sub)
		var follower sync.WaitGroup
		defer follower.Wait()
		defer cancel()
		follower.Go(func() {
			for ev, err := range l.Journal.Follow(ctx, session, after) {
				if err == nil {
					h.inPlace(ctx, ev.Seq)
					h.heard(ev)
				}
				sub.push(update{ev, err})
			}
		})
		last := after
		upTo := func(seq int64) bool { // yields what is stored after last
			if seq <= last {
				return true
			}
			for ev, err := range l.Journal.Events(ctx, session, last) {
				if err == nil && ev.Seq > seq {
					break
				}
				if ctx.Err() != nil || !yield(ev, err) || err != nil {
					return false
				}
				last = ev.Seq
			}
			return true
		}
		for ok := upTo(sub.since); ok; {
			for _, n := range sub.take(ctx) {
				switch {
				case n.err != nil, n.ev.Seq == 0:
					ok = yield(n.ev, n.err) && n.err == nil
				case n.ev.Seq == last+1:
					ok = yield(n.ev, nil)
					last = n.ev.Seq
				default:
					ok = upTo(n.ev.Seq)
				}
				if !ok {
					return
				}
			}
			ok = ctx.Err() == nil
		}
	}
}
