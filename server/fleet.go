package server

import (
	"context"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store"
)

// A fleet drives the sessions that have something to do, each in a goroutine
// that ends with it. What was made for a session is let go of when it has
// rested for a while: then it costs nothing.
type fleet struct {
	runtime openmanus.Runtime
	failed  func(session string, err error)
	idle    time.Duration // how long a session rests before it is let go of; 0: for ever

	// keep, if not nil, is called before something is made for a session. It
	// returns what lets go of it.
	keep func(store.Info) (release func())

	ctx  context.Context
	stop context.CancelFunc
	all  sync.WaitGroup

	mu     sync.Mutex
	duties map[string]*duty    // of sessions with which something is done
	owners map[string]int      // how many of them are driven, by owner
	held   map[string]*holding // of sessions for which something was made
	closed bool
}

// A duty is something that is done with a session: one thing at a time.
type duty struct {
	of      store.Info
	driving bool
	again   bool // somebody has spoken since it was begun
}

// A holding is what was made for a session.
type holding struct {
	release func()
	rest    *time.Timer // nil while it does not rest
}

func newFleet(ctx context.Context, r openmanus.Runtime, failed func(string, error)) *fleet {
	ctx, stop := context.WithCancel(ctx)
	return &fleet{runtime: r, failed: failed, ctx: ctx, stop: stop, duties: make(map[string]*duty), owners: make(map[string]int), held: make(map[string]*holding)}
}

// wake sees to it that a session is driven, and returns at once.
func (f *fleet) wake(of store.Info) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return // it goes on at the next start
	}
	if d := f.duties[of.ID]; d != nil {
		d.again = true
		return
	}
	d := &duty{of: of, driving: true}
	f.duties[of.ID] = d
	f.owners[of.Owner]++
	f.all.Go(func() { f.drive(d) })
}

func (f *fleet) drive(d *duty) {
	for again := true; again; {
		f.hold(d.of)
		err := f.runtime.Wake(f.ctx, d.of.ID)
		f.mu.Lock()
		again = d.again && err == nil && f.ctx.Err() == nil
		if d.again = false; !again {
			f.end(d)
		}
		f.mu.Unlock()
		if err != nil && f.ctx.Err() == nil {
			f.failed(d.of.ID, err)
		}
	}
}

// end ends a duty: the session rests. f.mu is held.
func (f *fleet) end(d *duty) {
	id := d.of.ID
	delete(f.duties, id)
	if d.driving {
		if f.owners[d.of.Owner]--; f.owners[d.of.Owner] == 0 {
			delete(f.owners, d.of.Owner)
		}
	}
	h := f.held[id]
	if h == nil || f.closed || f.idle <= 0 {
		return
	}
	if h.rest != nil {
		h.rest.Stop()
	}
	h.rest = time.AfterFunc(f.idle, func() {
		if end, ok := f.take(d.of); ok {
			f.release(id)
			end()
		}
	})
}

// take keeps others from doing anything with a session until end is called.
// It is false if something is done with the session, or the fleet is closed.
func (f *fleet) take(of store.Info) (end func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.duties[of.ID] != nil {
		return nil, false
	}
	d := &duty{of: of}
	f.duties[of.ID] = d
	f.all.Add(1)
	return func() {
		defer f.all.Done()
		f.mu.Lock()
		f.end(d)
		f.mu.Unlock()
		if d.again {
			f.wake(of)
		}
	}, true
}

// hold is called before something is made for a session, by who does
// something with it.
func (f *fleet) hold(of store.Info) {
	if f.keep == nil {
		return
	}
	f.mu.Lock()
	h := f.held[of.ID]
	if h != nil && h.rest != nil {
		h.rest.Stop()
		h.rest = nil
	}
	f.mu.Unlock()
	if h != nil {
		return
	}
	h = &holding{release: f.keep(of)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[of.ID] = h
}

// release lets go of what was made for a session. The caller has taken it.
func (f *fleet) release(id string) {
	f.mu.Lock()
	h := f.held[id]
	delete(f.held, id)
	if h != nil && h.rest != nil {
		h.rest.Stop()
	}
	f.mu.Unlock()
	if h != nil {
		h.release()
	}
}

// driven reports whether a session is driven, and how many of the same owner
// are.
func (f *fleet) driven(of store.Info) (it bool, all int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := f.duties[of.ID]
	return d != nil && d.driving, f.owners[of.Owner]
}

// count is how many sessions are driven, and for how many something is kept.
func (f *fleet) count() (driven, held int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.owners {
		driven += n
	}
	return driven, len(f.held)
}

// close ends the driving, and waits for that. What is held is not let go of:
// it ends with who made it.
func (f *fleet) close() {
	f.mu.Lock()
	f.closed = true
	for _, h := range f.held {
		if h.rest != nil {
			h.rest.Stop()
		}
	}
	f.mu.Unlock()
	f.stop()
	f.all.Wait()
}
