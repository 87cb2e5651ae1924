package openmanus

import (
	"context"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus/llm"
)

// A hub is where those who drive a session in this process meet those who
// watch it.
type hub struct {
	driving chan struct{} // holds one: who drives
	users   int           // of Local.mu

	mu    sync.Mutex
	turn  int
	typed llm.Reply // of the reply on its way
	subs  []*subscriber
}

func (l *Local) enter(session string) *hub {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hubs == nil {
		l.hubs = make(map[string]*hub)
	}
	h := l.hubs[session]
	if h == nil {
		h = &hub{driving: make(chan struct{}, 1)}
		l.hubs[session] = h
	}
	h.users++
	return h
}

func (l *Local) leave(session string, h *hub) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.users--; h.users == 0 {
		delete(l.hubs, session)
	}
}

// publish shows a provisional body to those who watch.
func (l *Local) publish(session string, b Body) {
	l.mu.Lock()
	h := l.hubs[session]
	l.mu.Unlock()
	if h != nil {
		h.publish(Event{Time: Now(), Body: b})
	}
}

func (h *hub) publish(ev Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch b := ev.Body.(type) {
	case Typing:
		h.retype(b)
	case ModelSaid, ModelFailed, Stopped, Interrupted:
		h.typed = llm.Reply{}
	}
	for _, s := range h.subs {
		s.push(news{ev: ev})
		if s.crowded() {
			s.condense(h.soFar(true))
		}
	}
}

// retype keeps what has been typed.
func (h *hub) retype(t Typing) {
	if t.Turn != h.turn || t.Reset {
		h.turn, h.typed = t.Turn, llm.Reply{}
	}
	for i, p := range t.Parts {
		// What the worker shows has been folded once already: it fits.
		_ = h.typed.Add(llm.Delta{Part: t.Part + i, Piece: p})
	}
}

// soFar returns all that was typed of the reply on its way, if any.
func (h *hub) soFar(reset bool) []news {
	if len(h.typed.Message.Parts) == 0 {
		return nil
	}
	t := Typing{Turn: h.turn, Parts: slices.Clone(h.typed.Message.Parts), Reset: reset}
	return []news{{ev: Event{Time: Now(), Body: t}}}
}

func (h *hub) subscribe() *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &subscriber{queue: h.soFar(false), more: make(chan struct{}, 1)}
	s.more <- struct{}{}
	h.subs = append(h.subs, s)
	return s
}

func (h *hub) unsubscribe(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = slices.DeleteFunc(h.subs, func(t *subscriber) bool { return t == s })
}

// news is what a subscriber gets.
type news struct {
	ev  Event
	err error
}

// A subscriber is one who watches, with what it has not yet read.
type subscriber struct {
	mu    sync.Mutex
	queue []news
	more  chan struct{} // holds one if there may be something in queue
}

// maxQueue is how much one may leave unread before it is condensed.
const maxQueue = 1024

func (s *subscriber) push(n news) {
	s.mu.Lock()
	s.queue = append(s.queue, n)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// take waits for something unread and returns it. It returns nothing if ctx
// ends.
func (s *subscriber) take(ctx context.Context) []news {
	select {
	case <-s.more:
	case <-ctx.Done():
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	s.queue = nil
	return q
}

func (s *subscriber) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > maxQueue
}

// condense leaves of the unread what is stored, and the newest of it alone,
// since the reader fetches what lies between; and puts soFar behind it.
func (s *subscriber) condense(soFar []news) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []news
	for _, n := range s.queue {
		switch {
		case n.err != nil:
			kept = append(kept, n)
		case n.ev.Seq > 0:
			kept = append(slices.DeleteFunc(kept, func(m news) bool { return m.err == nil }), n)
		}
	}
	s.queue = append(kept, soFar...)
}
