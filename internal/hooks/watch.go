package hooks

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus"
)

// maxResult is how many characters of a result or an answer a hook reads.
const maxResult = 4000

// A Watcher gives events to the hooks that watch. It reads them from the journal, after the
// last number that it has read, when [Watcher.Stored] says that there are more: so no hook
// delays a session, however slow it is. Each hook hears of the events of a session in their
// order, and is not delayed by others. It hears of what happens while this process lives.
type Watcher struct {
	journal openmanus.Journal
	of      func(workspace string) []Hook
	runner  Runner
	failed  func(text string) // receives the fault of a hook

	ctx    context.Context
	cancel context.CancelFunc
	mu     sync.Mutex
	closed bool
	by     map[string]*watched // by session
	tasks  sync.WaitGroup
}

// watched is what a Watcher knows of a session. It is guarded by Watcher.mu, but for what
// only the goroutine that reads uses.
type watched struct {
	from, upTo int64 // the last event that was read, and the last that is stored
	reading    bool

	of    Projector
	lines map[string]*line // by hook
	begun bool
}

// A line has the events that wait for one hook, in one session.
type line struct {
	events  []Event
	running bool
}

// maxLine is how many events wait for a hook in a session. When there are more, the oldest
// are dropped, and the hook's user gets a message.
const maxLine = 1000

// NewWatcher returns a watcher. failed may be nil.
func NewWatcher(
	j openmanus.Journal, of func(workspace string) []Hook, r Runner, failed func(text string),
) *Watcher {
	w := &Watcher{journal: j, of: of, runner: r, failed: failed, by: map[string]*watched{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Stored says that a session has the event seq, which a driver of this process has read. It
// returns at once. Hooks begin with the first event that it receives. The workspace is that
// of the session.
func (w *Watcher) Stored(session, workspace string, seq int64) {
	if !slices.ContainsFunc(w.of(workspace), func(h Hook) bool { return !h.Decides() }) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	s := w.by[session]
	if s == nil {
		s = &watched{from: seq - 1, lines: map[string]*line{}}
		w.by[session] = s
	}
	s.upTo = max(s.upTo, seq)
	if !s.reading {
		s.reading = true
		w.tasks.Go(func() { w.read(session, s) })
	}
}

// Close lets the hooks that have something to do go on until ctx ends, and returns when
// none runs.
func (w *Watcher) Close(ctx context.Context) {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.tasks.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	w.cancel()
	<-done
}

// read reads what a session has, until there is no more.
func (w *Watcher) read(session string, s *watched) {
	for {
		w.mu.Lock()
		upTo := s.upTo
		if s.from >= upTo || w.ctx.Err() != nil {
			s.reading = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if err := w.readTo(session, s, upTo); err != nil {
			w.say("hooks that watch miss events of the session " + session + ": " + err.Error())
			s.from = upTo
		}
	}
}

// readTo reads the events up to one. The first time it reads all before, which say what
// the session is, and tells nobody of those.
func (w *Watcher) readTo(session string, s *watched, upTo int64) error {
	after := s.from
	if !s.begun {
		after = 0
	}
	for ev, err := range w.journal.Events(w.ctx, session, after) {
		if err != nil {
			return err
		}
		if ev.Seq > upTo {
			break
		}
		told := ev.Seq > s.from
		if told && !s.begun {
			s.begun = true
			start := about("session_start", session, s.of.state.Opened, s.of.state.Config)
			if start.Reason = "startup"; s.from > 3 {
				start.Reason = "resume"
			}
			w.tell(s, start)
		}
		for _, e := range s.of.Events(session, ev) {
			if told {
				w.tell(s, e)
			}
		}
		if told {
			s.from = ev.Seq
		}
	}
	s.from = max(s.from, upTo)
	return nil
}

// callOf returns a call as hooks read it.
func callOf(c *openmanus.CallState) *Call {
	return &Call{ID: c.ID, Tool: c.Name, Input: arguments(c.Arguments()), ReadOnly: c.Hints.ReadOnly}
}

// tell puts an event in the line of each hook that is on it.
func (w *Watcher) tell(s *watched, ev Event) {
	for _, h := range w.of(ev.Workspace) {
		if h.On != ev.Event || ev.Event == "after_call" && !h.Fits(ev.Call.Tool) {
			continue
		}
		w.mu.Lock()
		l := s.lines[h.Name]
		if l == nil {
			l = new(line)
			s.lines[h.Name] = l
		}
		if l.events = append(l.events, ev); len(l.events) > maxLine {
			l.events = slices.Delete(l.events, 0, 1)
		}
		if !l.running {
			l.running = true
			w.tasks.Go(func() { w.serve(h, l) })
		}
		w.mu.Unlock()
	}
}

// serve gives a hook what waits in a line, until nothing does.
func (w *Watcher) serve(h Hook, l *line) {
	for {
		w.mu.Lock()
		if len(l.events) == 0 || w.ctx.Err() != nil {
			l.running = false
			w.mu.Unlock()
			return
		}
		ev := l.events[0]
		l.events = l.events[1:]
		w.mu.Unlock()
		if err := Tell(w.ctx, w.runner, h, ev); err != nil && w.ctx.Err() == nil {
			w.say(fmt.Sprintf("the hook %s on %s: %s", h.Name, h.On, reason(err.Error())))
		}
	}
}

func (w *Watcher) say(text string) {
	if w.failed != nil {
		w.failed(text)
	}
}
