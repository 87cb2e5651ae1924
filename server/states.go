package server

import (
	stdlist "container/list"
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// states cache the states of the sessions that were viewed last, so that a view
// reads only the events since the one before. It is safe for concurrent use: a
// state is locked while it is viewed. A view may view children of its session,
// but not a parent, which could deadlock.
type states struct {
	journal openmanus.Journal

	mu    sync.Mutex
	known map[string]*stdlist.Element
	order *stdlist.List // of *cached, the most recently used first
	size  int64         // the events of all states
	max   int64         // the most events
}

// The most states in the cache, and the most events of all of them together:
// an event takes about a kilobyte.
const (
	maxStates = 256
	maxEvents = 100_000
)

// A cached is a state in the cache, or one that a view still uses after it was
// dropped from there.
type cached struct {
	id   string
	size int64 // its part of states.size; guarded by states.mu

	mu    sync.Mutex // held while the state is brought up to date and viewed
	state *openmanus.State
}

// newStates returns an empty cache of the states of the sessions in j.
func newStates(j openmanus.Journal) *states {
	return &states{journal: j, known: make(map[string]*stdlist.Element), order: stdlist.New(), max: maxEvents}
}

// view calls f with the present state of a session, which f must neither
// change nor retain. It is a [viewer].
func (s *states) view(ctx context.Context, id string, f func(*openmanus.State) error) error {
	return s.viewAt(ctx, id, math.MaxInt64, f)
}

// viewAt is view, but the state may be out of date if it includes the event
// seq. With the sequence number from the index it often need not read.
func (s *states) viewAt(ctx context.Context, id string, seq int64, f func(*openmanus.State) error) error {
	k := s.get(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state.Seq < seq {
		for ev, err := range s.journal.Events(ctx, id, k.state.Seq) {
			if err != nil {
				return err
			}
			k.state.Apply(ev)
		}
		s.resize(k, k.state.Seq)
	}
	if k.state.Seq == 0 {
		s.forget(id)
		return fmt.Errorf("session %q: %w", id, openmanus.ErrNoSession)
	}
	return f(k.state)
}

// resize records the size of k, and drops the least recently used states while
// there are too many events.
func (s *states) resize(k *cached, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[k.id]; e == nil || e.Value != k {
		return // dropped meanwhile
	}
	s.size += size - k.size
	k.size = size
	for s.size > s.max && s.order.Back().Value != k {
		s.drop(s.order.Back())
	}
}

// drop removes a state from the cache. s.mu is held.
func (s *states) drop(e *stdlist.Element) {
	k := s.order.Remove(e).(*cached)
	delete(s.known, k.id)
	s.size -= k.size
}

// get returns the cached state of a session, which is new and empty if there was
// none, and marks it as used.
func (s *states) get(id string) *cached {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[id]; e != nil {
		s.order.MoveToFront(e)
		return e.Value.(*cached)
	}
	k := &cached{id: id, state: new(openmanus.State)}
	s.known[id] = s.order.PushFront(k)
	for s.order.Len() > maxStates {
		s.drop(s.order.Back())
	}
	return k
}

// forget drops the state of a session that does not exist any more.
func (s *states) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[id]; e != nil {
		s.drop(e)
	}
}
