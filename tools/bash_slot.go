package tools

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// procMaxTimeout is how many seconds a call may ask for. A longer default
// raises it.
const procMaxTimeout = 600.0

// A procTime is how many seconds calls may take: by default, and at most.
type procTime struct{ usual, most float64 }

// procTimeOf returns the limits with the default set, or usual seconds if set
// is 0.
func procTimeOf(set time.Duration, usual float64) procTime {
	if set > 0 {
		usual = set.Seconds()
	}
	return procTime{usual, max(usual, procMaxTimeout)}
}

// placeholders fills the limits into a spec.
func (l procTime) placeholders() *strings.Replacer {
	return strings.NewReplacer("{usual}", fmt.Sprint(l.usual), "{most}", fmt.Sprint(l.most))
}

// of returns how long a call may take that asks for so many seconds; 0 asks for
// nothing.
func (l procTime) of(asked float64) (float64, error) {
	switch {
	case asked < 0 || asked > l.most:
		return 0, fmt.Errorf("the argument timeout is %v: it must be a number of seconds up to %v", asked,
			l.most)
	case asked == 0:
		return l.usual, nil
	}
	return asked, nil
}

// seconds returns how long something took, rounded for people.
func seconds(since time.Time) float64 {
	return math.Round(time.Since(since).Seconds()*1000) / 1000
}

// givenUp returns the error of a call that was stopped: interrupted, or out of
// time. what is what was stopped, lost what is gone with it, and advice what
// else the model may do.
func givenUp(ctx context.Context, what string, timeout float64, limit procTime, lost, advice string) error {
	if lost != "" {
		lost = "; " + lost
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted: the %s and everything that it started were killed%s: %w", what, lost,
			err)
	}
	return fmt.Errorf("timed out after %v s: the %s and everything that it started were killed%s. "+
		"Give a longer timeout (up to %v)%s", timeout, what, lost, limit.most, advice)
}

// A procSlot is the place of a session's process, which may be empty. The turn
// orders the calls of a session; mu guards the other fields, so that the
// process can be killed while a call runs.
type procSlot struct {
	turn chan struct{} // has an element while a call holds the turn

	mu      sync.Mutex
	shell   *procShell
	stopped bool
}

func newProcSlot() procSlot { return procSlot{turn: make(chan struct{}, 1)} }

// acquire waits for the turn, so that calls of a session run one after the other.
// The caller gives it back with release.
func (s *procSlot) acquire(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *procSlot) release() { <-s.turn }

// stop kills the process. Later calls fail.
func (s *procSlot) stop() {
	s.mu.Lock()
	s.stopped = true
	shell := s.shell
	s.mu.Unlock()
	if shell != nil {
		shell.kill()
	}
}

// end kills the process. The next call gets a new one.
func (s *procSlot) end() {
	s.mu.Lock()
	shell := s.shell
	s.shell = nil
	s.mu.Unlock()
	if shell != nil {
		shell.kill()
	}
}

// forget empties the slot of a process that has ended.
func (s *procSlot) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shell = nil
}

// ready returns the process of the slot, or a fresh one. If it is fresh, lost
// reports whether it replaces one that died.
func (s *procSlot) ready(start func() (*procShell, error)) (shell *procShell, fresh, lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, false, false, errors.New("the session was closed")
	}
	if s.shell != nil {
		select {
		case <-s.shell.ended:
			s.shell, lost = nil, true
		default:
			return s.shell, false, false, nil
		}
	}
	s.shell, err = start()
	return s.shell, true, lost, err
}

// procSessions are the sessions of a tool, by name. open makes a session that
// has no process yet.
type procSessions[T interface{ stop() }] struct {
	open func() T

	mu     sync.Mutex
	byName map[string]T
	closed bool
}

// get returns the session with the name, and makes it if it is new. It fails
// once the tool is closed.
func (s *procSessions[T]) get(name string) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, ok := s.byName[name]
	if s.closed {
		return session, errors.New("the tool is closed")
	}
	if !ok {
		if s.byName == nil {
			s.byName = make(map[string]T)
		}
		session = s.open()
		s.byName[name] = session
	}
	return session, nil
}

// close stops a session and forgets it. Closing a session that does not exist
// does nothing.
func (s *procSessions[T]) close(name string) {
	s.mu.Lock()
	session, ok := s.byName[name]
	delete(s.byName, name)
	s.mu.Unlock()
	if ok {
		session.stop()
	}
}

// closeAll stops all sessions, and makes get fail.
func (s *procSessions[T]) closeAll() {
	s.mu.Lock()
	sessions := s.byName
	s.byName, s.closed = nil, true
	s.mu.Unlock()
	for _, session := range sessions {
		session.stop()
	}
}
