package run

import (
	"context"
	"errors"
	"github.com/openmanus-go/openmanus"
	"iter"
	"sync"
)

// Local is the [Runtime] of one process. Its Worker's Journal and Flow must be
// set; its Worker's Live is Local's own. It is safe for concurrent use.
//
// Who drives a session follows its journal: what others append, from whatever
// process, is heard while models speak and calls run.
type Local struct {
	Worker

	// Rested, if not nil, is told of a session that no other opened, in
	// which nothing was left to do after the event seq. It is set before use.
	OnIdle func(session string, seq int64)

	once sync.Once
	mu   sync.Mutex
	hubs map[string]*hub
}

// Wake implements [Runtime]. If this Local is driving the session already, it
// waits for that to end first. If another process does, the error is
// [ErrDriven]. When ctx ends, calls are cancelled, what happened is recorded,
// and the context's error returned; the session can be woken again.
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
		seq, err := l.hold(ctx, session, h)
		if again && errors.Is(err, openmanus.ErrDriven) {
			return nil // whoever drives now has read what was appended
		}
		if err != nil {
			return err
		}
		if more, err := l.grown(ctx, session, seq); err != nil || !more {
			return err
		}
	}
}

// hold drives a session under a lease, and returns what it has read.
func (l *Local) hold(ctx context.Context, session string, h *hub) (seq int64, err error) {
	lost, release, err := l.lock(ctx, session)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, release()) }()
	s, f, err := l.load(ctx, session)
	if err != nil {
		return 0, err
	}
	d := &driver{Local: l, id: session, s: s, flow: f, hub: h,
		running: make(map[string]*job), parked: make(map[string]*park), done: make(chan *job), stirred: make(chan string), idle: make(map[string]int64)}
	d.pipeline.journal, _ = l.Journal.(openmanus.Pipeliner)
	h.begin(s.Seq, s.Turn)
	defer h.end()
	err = d.drive(ctx, lost)
	if err == nil && l.OnIdle != nil && s.Opened.Parent == "" && s.Status() != openmanus.Running {
		l.OnIdle(session, s.Seq)
	}
	return s.Seq, err
}

// grown reports whether a session has events after seq. Who appended them
// while the lease was being given back was told that the session is driven,
// and waits for nothing.
func (l *Local) grown(ctx context.Context, session string, seq int64) (bool, error) {
	for _, err := range l.Journal.Events(ctx, session, seq) {
		return err == nil, err
	}
	return false, nil
}

func (l *Local) lock(ctx context.Context, session string) (<-chan struct{}, func() error, error) {
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

// Watch is [Journal].Follow with the provisional events of what this Local
// drives: replies as they are typed and output as it comes, in their place
// among the others. Who joins in the middle of a reply first gets all that was
// typed so far. Slow readers miss no stored event and slow nobody; they may
// get what was typed in larger pieces, after a [Typing].Reset.
func (l *Local) Watch(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		h := l.enter(session)
		defer l.leave(session, h)
		sub := h.subscribe()
		defer h.unsubscribe(sub)
		var follower sync.WaitGroup
		defer follower.Wait()
		defer cancel()
		follower.Go(func() {
			for ev, err := range l.Journal.Follow(ctx, session, after) {
				sub.push(news{ev, err})
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
