package server

import (
	stdlist "container/list"
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// states keep the states of the sessions that were looked at last, so that
// looking again reads what is new.
type states struct {
	journal openmanus.Journal

	mu    sync.Mutex
	known map[string]*stdlist.Element
	order *stdlist.List // of *kept, the one used last in front
	size  int64         // of all, in events
	most  int64         // of size
}

// How many are kept at most, and of how many events in all: an event takes
// about a kilobyte.
const (
	mostStates = 256
	mostEvents = 100_000
)

type kept struct {
	id   string
	size int64 // in events, as states.size counts it

	mu    sync.Mutex
	state *openmanus.State
}

func newStates(j openmanus.Journal) *states {
	return &states{journal: j, known: make(map[string]*stdlist.Element), order: stdlist.New(), most: mostEvents}
}

// view calls f with the state of a session as it is now. f keeps nothing of
// it. A session that does not exist is an error that is
// [openmanus.ErrNoSession].
func (s *states) view(ctx context.Context, id string, f func(*openmanus.State) error) error {
	return s.viewAt(ctx, id, math.MaxInt64, f)
}

// viewAt is view with a state that may be as old as the event with this number.
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
		s.grew(k, k.state.Seq)
	}
	if k.state.Seq == 0 {
		s.forget(id)
		return fmt.Errorf("session %q: %w", id, openmanus.ErrNoSession)
	}
	return f(k.state)
}

// grew drops states that were not used for long if there is too much of them.
func (s *states) grew(k *kept, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[k.id]; e == nil || e.Value != k {
		return // it was dropped meanwhile
	}
	s.size += size - k.size
	k.size = size
	for s.size > s.most && s.order.Back().Value != k {
		s.drop(s.order.Back())
	}
}

func (s *states) drop(e *stdlist.Element) {
	k := s.order.Remove(e).(*kept)
	delete(s.known, k.id)
	s.size -= k.size
}

func (s *states) get(id string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[id]; e != nil {
		s.order.MoveToFront(e)
		return e.Value.(*kept)
	}
	k := &kept{id: id, state: new(openmanus.State)}
	s.known[id] = s.order.PushFront(k)
	for s.order.Len() > mostStates {
		s.drop(s.order.Back())
	}
	return k
}

// forget drops what is known of a session, as when it is deleted.
func (s *states) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[id]; e != nil {
		s.drop(e)
	}
}
