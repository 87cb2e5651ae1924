package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Memory is a journal in memory. It has blobs, leases for the drivers within the
// process, and can restore sessions. The zero Memory is empty and ready to use. It
// is safe for concurrent use.
type Memory struct {
	Secrets *Secrets // redacted in what is appended; set before use

	mu       sync.Mutex
	sessions map[string]*memSession
	blobs    map[openmanus.Ref][]byte
}

type memSession struct {
	events []openmanus.Event
	stored map[string]memKey // by key
	grown  chan struct{}     // closed and replaced on append
	driven bool
}

type memKey struct {
	seq int64
	as  Stored
}

// session returns the session with this id, which may be empty. The caller holds
// m.mu.
func (m *Memory) session(id string) *memSession {
	if m.sessions == nil {
		m.sessions = make(map[string]*memSession)
	}
	s := m.sessions[id]
	if s == nil {
		s = &memSession{stored: make(map[string]memKey), grown: make(chan struct{})}
		m.sessions[id] = s
	}
	return s
}

// codec returns the codec of this journal: its blobs are in memory, too.
func (m *Memory) codec() Codec { return Codec{Blobs: m, Secrets: m.Secrets} }

// Append implements [openmanus.Journal].
func (m *Memory) Append(ctx context.Context, id string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	stored, events, err := m.codec().Round(ctx, bodies...)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(id)
	keys := make([]string, len(stored))
	for i, st := range stored {
		keys[i] = st.Key
		if old, ok := s.stored[st.Key]; ok {
			ev := s.events[old.seq-1]
			if Same(old.as, st) {
				return []openmanus.Event{ev}, openmanus.ErrExists
			}
			return []openmanus.Event{ev}, openmanus.ErrConflict
		}
	}
	if err := CheckOpening(len(s.events) == 0, keys); err != nil {
		return nil, err
	}
	now := Now()
	for i := range events {
		events[i].Seq, events[i].Time = int64(len(s.events))+1, now
		s.events = append(s.events, events[i])
		s.stored[stored[i].Key] = memKey{events[i].Seq, stored[i]}
	}
	close(s.grown)
	s.grown = make(chan struct{})
	return events, nil
}

// Now returns the time as journals store it: in UTC, to the microsecond.
func Now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// CheckOpening is for implementations of [openmanus.Journal]. It returns an error
// if bodies with these keys cannot be appended to a session, whatever its events
// are: there are none, a key occurs twice, or one body opens the session where it
// must not, or none does where it must. empty reports whether the session has no
// events.
func CheckOpening(empty bool, keys []string) error {
	switch {
	case len(keys) == 0:
		return errors.New("append: there is nothing to append")
	case slices.Contains(keys[1:], "open"):
		return errors.New("append: a session is opened by its first event only")
	case empty && keys[0] != "open":
		return fmt.Errorf("append %s: the session does not exist: %w", keys[0], openmanus.ErrNoSession)
	}
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		if seen[k] {
			return fmt.Errorf("append: the key %s is there twice", k)
		}
		seen[k] = true
	}
	return nil
}

// Round is for implementations of [openmanus.Journal]. It encodes bodies, and
// returns with them the events that decoding them yields, so that a driver folds
// what a reader will read. The events have no Seq and Time yet, and share nothing
// with bodies that can change.
func (c Codec) Round(ctx context.Context, bodies ...openmanus.Body) ([]Stored, []openmanus.Event, error) {
	stored, events := make([]Stored, len(bodies)), make([]openmanus.Event, len(bodies))
	for i, b := range bodies {
		s, whole, err := c.encode(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		same, ok := decoded(b, s.Body)
		if !whole || !ok {
			if same, err = c.Decode(ctx, s); err != nil {
				return nil, nil, err
			}
		}
		stored[i], events[i].Body = s, same
	}
	return stored, events, nil
}

// read returns the events after the given one, and a channel that is closed when
// there are more. The slice does not change: its capacity is its length.
func (m *Memory) read(id string, after int64) ([]openmanus.Event, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(id)
	return s.events[min(max(after, 0), int64(len(s.events))):len(s.events):len(s.events)], s.grown
}

// Events implements [openmanus.Journal].
func (m *Memory) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		evs, _ := m.read(id, after)
		for _, ev := range evs {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// Follow implements [openmanus.Journal].
func (m *Memory) Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		after := after
		for {
			evs, grown := m.read(id, after)
			for _, ev := range evs {
				if ctx.Err() != nil || !yield(ev, nil) {
					return
				}
				after = ev.Seq
			}
			select {
			case <-grown:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Restore implements [openmanus.Restorer].
func (m *Memory) Restore(ctx context.Context, id string, events []openmanus.Event) error {
	bodies := make([]openmanus.Body, len(events))
	for i, ev := range events {
		bodies[i] = ev.Body
	}
	stored, round, err := m.codec().Round(ctx, bodies...)
	if err != nil {
		return err
	}
	keys := make([]string, len(stored))
	for i, ev := range events {
		if ev.Seq != int64(i)+1 {
			return fmt.Errorf("restore: event %d has number %d", i+1, ev.Seq)
		}
		keys[i] = stored[i].Key
	}
	if err := CheckOpening(true, keys); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(id)
	if len(s.events) > 0 {
		return openmanus.ErrExists
	}
	for i, ev := range round {
		ev.Seq, ev.Time = events[i].Seq, events[i].Time
		s.events = append(s.events, ev)
		s.stored[stored[i].Key] = memKey{ev.Seq, stored[i]}
	}
	close(s.grown)
	s.grown = make(chan struct{})
	return nil
}

// Put implements [openmanus.Blobs].
func (m *Memory) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref := openmanus.RefOf(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.blobs == nil {
		m.blobs = make(map[openmanus.Ref][]byte)
	}
	if _, ok := m.blobs[ref]; !ok {
		m.blobs[ref] = bytes.Clone(data)
	}
	return ref, nil
}

// Get implements [openmanus.Blobs].
func (m *Memory) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.blobs[ref]
	if !ok {
		return nil, fmt.Errorf("blob %s: %w", ref, fs.ErrNotExist)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Lock implements [openmanus.Locker]. Its leases are never lost.
func (m *Memory) Lock(ctx context.Context, id string) (openmanus.Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(id)
	if s.driven {
		return nil, fmt.Errorf("session %s: %w", id, openmanus.ErrDriven)
	}
	s.driven = true
	return &memLease{m: m, s: s}, nil
}

type memLease struct {
	m    *Memory
	s    *memSession
	once sync.Once
}

func (l *memLease) Lost() <-chan struct{} { return nil }

func (l *memLease) Release() error {
	l.once.Do(func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		l.s.driven = false
	})
	return nil
}
