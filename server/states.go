package server

import (
	stdlist "container/list"
	"context"
	"fmt"
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
}

// mostStates is how many are kept.
const mostStates = 256

type kept struct {
	id string

	mu    sync.Mutex
	state *openmanus.State
}

func newStates(j openmanus.Journal) *states {
	return &states{journal: j, known: make(map[string]*stdlist.Element), order: stdlist.New()}
}

// view calls f with the state of a session as it is now. f keeps nothing of
// it. A session that does not exist is an error that is
// [openmanus.ErrNoSession].
func (s *states) view(ctx context.Context, id string, f func(*openmanus.State) error) error {
	k := s.get(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	for ev, err := range s.journal.Events(ctx, id, k.state.Seq) {
		if err != nil {
			return err
		}
		k.state.Apply(ev)
	}
	if k.state.Seq == 0 {
		s.forget(id)
		return fmt.Errorf("session %q: %w", id, openmanus.ErrNoSession)
	}
	return f(k.state)
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
		last := s.order.Back()
		delete(s.known, s.order.Remove(last).(*kept).id)
	}
	return k
}

// forget drops what is known of a session, as when it is deleted.
func (s *states) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.known[id]; e != nil {
		s.order.Remove(e)
		delete(s.known, id)
	}
}
