package run

import (
	"context"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A hub is where those who drive a session in this process meet those who
// watch it.
type hub struct {
	driving chan struct{} // holds one: who drives
	users   int           // of Local.mu

	mu    sync.Mutex
	seq   int64            // what the driver has read
	turn  int              // what is typed belongs to it; those before are over
	typed llm.Reply        // of the reply on its way
	ahead int              // commits under way
	early []openmanus.Body // provisional bodies that belong after them
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
func (l *Local) publish(session string, b openmanus.Body) {
	l.mu.Lock()
	h := l.hubs[session]
	l.mu.Unlock()
	if h != nil {
		h.show(b)
	}
}

// begin says what a driver has read when it begins.
func (h *hub) begin(seq int64, turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq, h.turn = seq, turn
}

// end says that nobody drives any more: what was being typed comes to nothing.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.typed.Message.Parts) > 0 {
		h.typed = llm.Reply{}
		h.push(openmanus.Event{Time: journal.Now(), Body: openmanus.Typing{Turn: h.turn, Reset: true}})
	}
}

// expect notes that the driver goes on while events are being stored: what is
// shown from now on waits for them.
func (h *hub) expect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead++
}

// settled notes that expected events are stored; or that they will not be, and
// with them goes what was to be shown after them.
func (h *hub) settled(stored bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ahead--
	if !stored {
		h.early = nil
	}
	if h.ahead > 0 {
		return
	}
	early := h.early
	h.early = nil
	for _, b := range early {
		h.showNow(b)
	}
}

// stored shows what the driver has read. Turns before turn are over.
func (h *hub) stored(ev openmanus.Event, turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq = ev.Seq
	if turn > h.turn {
		h.turn, h.typed = turn, llm.Reply{}
	}
	h.push(ev)
}

// show shows a provisional body, unless it is of a turn that is over.
func (h *hub) show(b openmanus.Body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ahead > 0 {
		h.early = append(h.early, b)
		return
	}
	h.showNow(b)
}

func (h *hub) showNow(b openmanus.Body) {
	if t, ok := b.(openmanus.Typing); ok && !h.retype(t) {
		return
	}
	h.push(openmanus.Event{Time: journal.Now(), Body: b})
}

func (h *hub) push(ev openmanus.Event) {
	for _, s := range h.subs {
		s.push(update{ev: ev})
		if s.crowded() {
			s.coalesce(h.soFar(true))
		}
	}
}

// retype keeps what has been typed, and reports whether its turn is on.
func (h *hub) retype(t openmanus.Typing) bool {
	if t.Turn < h.turn {
		return false
	}
	if t.Turn > h.turn || t.Reset {
		h.turn, h.typed = t.Turn, llm.Reply{}
	}
	for i, p := range t.Parts {
		// What the worker shows has been folded once already: it fits.
		_ = h.typed.Add(llm.Delta{Part: t.Part + i, Piece: p})
	}
	return true
}

// soFar returns all that was typed of the reply on its way: for who has seen
// nothing of it, or, as a reset, for who may have seen some.
func (h *hub) soFar(reset bool) []update {
	if len(h.typed.Message.Parts) == 0 && !reset {
		return nil
	}
	t := openmanus.Typing{Turn: h.turn, Parts: slices.Clone(h.typed.Message.Parts), Reset: reset}
	return []update{{ev: openmanus.Event{Time: journal.Now(), Body: t}}}
}

func (h *hub) subscribe() *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &subscriber{since: h.seq, queue: h.soFar(false), more: make(chan struct{}, 1)}
	s.more <- struct{}{}
	h.subs = append(h.subs, s)
	return s
}

func (h *hub) unsubscribe(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = slices.DeleteFunc(h.subs, func(t *subscriber) bool { return t == s })
}

// update is what a subscriber gets.
type update struct {
	ev  openmanus.Event
	err error
}

func (n update) stored() bool { return n.err == nil && n.ev.Seq > 0 }

func newer(a, b openmanus.Event) openmanus.Event {
	if a.Seq > b.Seq {
		return a
	}
	return b
}

// A subscriber is one who watches, with what it has not yet read.
type subscriber struct {
	since int64 // what is in queue comes after this event

	mu    sync.Mutex
	queue []update
	row   int           // stored events at the end of queue, and those that they stand for
	more  chan struct{} // holds one if there may be something in queue
}

// maxQueue is how much one may leave unread before it is coalesced.
const maxQueue = 1024

// maxRow is how many stored events in a row are kept. They may be large.
const maxRow = 16

// push adds n to the unread. Of many stored events in a row the newest is
// enough, since the reader fetches what lies between.
func (s *subscriber) push(n update) {
	s.mu.Lock()
	if n.stored() {
		s.row++
	} else {
		s.row = 0
	}
	if i := len(s.queue) - 1; i >= 0 && s.row > 1 && (s.row > maxRow || n.ev.Seq <= s.queue[i].ev.Seq) {
		s.queue[i].ev = newer(s.queue[i].ev, n.ev)
	} else {
		s.queue = append(s.queue, n)
	}
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// take waits for something unread and returns it. It returns nothing if ctx
// ends.
func (s *subscriber) take(ctx context.Context) []update {
	select {
	case <-s.more:
	case <-ctx.Done():
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queue
	s.queue, s.row = nil, 0
	return q
}

func (s *subscriber) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > maxQueue
}

// coalesce leaves of the unread what is stored, the newest alone, and puts
// soFar behind it.
func (s *subscriber) coalesce(soFar []update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var last openmanus.Event
	var errs []update
	for _, n := range s.queue {
		if n.err != nil {
			errs = append(errs, n)
		} else {
			last = newer(last, n.ev)
		}
	}
	s.queue, s.row = nil, 0
	if last.Seq > 0 {
		s.queue = append(s.queue, update{ev: last})
	}
	s.queue = append(append(s.queue, soFar...), errs...)
}
