package server

import (
	"context"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// A fleet drives the sessions that have something to do, each in a goroutine
// that ends with it: a session that rests costs nothing.
type fleet struct {
	runtime openmanus.Runtime
	failed  func(session string, err error)
	ctx     context.Context
	stop    context.CancelFunc
	all     sync.WaitGroup

	mu     sync.Mutex
	driven map[string]bool // value: somebody has spoken since it was woken
	closed bool
}

func newFleet(ctx context.Context, r openmanus.Runtime, failed func(string, error)) *fleet {
	ctx, stop := context.WithCancel(ctx)
	return &fleet{runtime: r, failed: failed, ctx: ctx, stop: stop, driven: make(map[string]bool)}
}

// wake sees to it that a session is driven, and returns at once.
func (f *fleet) wake(session string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return // it goes on at the next start
	}
	if _, ok := f.driven[session]; ok {
		f.driven[session] = true
		return
	}
	f.driven[session] = false
	f.all.Go(func() { f.drive(session) })
}

func (f *fleet) drive(session string) {
	for {
		err := f.runtime.Wake(f.ctx, session)
		f.mu.Lock()
		again := f.driven[session] && err == nil && f.ctx.Err() == nil
		if again {
			f.driven[session] = false
		} else {
			delete(f.driven, session)
		}
		f.mu.Unlock()
		if err != nil && f.ctx.Err() == nil {
			f.failed(session, err)
		}
		if !again {
			return
		}
	}
}

// count is how many sessions are driven.
func (f *fleet) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.driven)
}

// close ends the driving, and waits for that.
func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.stop()
	f.all.Wait()
}
