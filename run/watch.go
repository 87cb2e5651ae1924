package run

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// A hub connects the driver of a session in this process with its subscribers.
type hub struct {
	driving chan struct{} // a semaphore of one: whoever fills it drives
	users   int           // drivers and subscribers; guarded by Local.mu

	mu    sync.Mutex
	seq   int64         // the last event that the driver has read
	turn  int           // the turn of typed; earlier ones are over
	typed llm.Reply     // the reply that streams, as far as it has come
	tails tails         // the ends of what running calls have printed
	sent  int           // commits that the driver did not wait for
	kept  int           // those of them that are stored, or never will be
	early []earlyBody   // what waits for some of the others
	moved chan struct{} // inPlace waits until move closes it, as seq or kept has grown; nil: nobody waits
	subs  []*subscriber
}

// An earlyBody is a provisional body that came while events before it were being
// stored.
type earlyBody struct {
	openmanus.Body
	after int // hub.kept must be this large before subscribers see it
}

// enter returns the hub of a session, and keeps it until leave is called.
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

// publish sends a provisional body to the subscribers of a session.
func (l *Local) publish(session string, b openmanus.Body) {
	l.mu.Lock()
	h := l.hubs[session]
	l.mu.Unlock()
	if h != nil {
		h.show(b)
	}
}

// Drives reports whether this Local drives a session. It says nothing about other
// processes: see [openmanus.Locker].
func (l *Local) Drives(session string) bool {
	l.mu.Lock()
	h := l.hubs[session]
	l.mu.Unlock()
	return h != nil && len(h.driving) > 0
}

// Live yields the provisional bodies of a session that this Local drives, after everything
// that has streamed of the current reply, which comes with a Reset. It ends when ctx does. A
// slow reader may receive them in larger pieces.
func (l *Local) Live(ctx context.Context, session string) iter.Seq[openmanus.Body] {
	return func(yield func(openmanus.Body) bool) {
		h := l.enter(session)
		defer l.leave(session, h)
		sub := h.subscribeAnew()
		defer h.unsubscribe(sub)
		for ctx.Err() == nil {
			for _, n := range sub.take(ctx) {
				if n.err == nil && n.ev.Seq == 0 && !yield(n.ev.Body) {
					return
				}
			}
		}
	}
}

// Tell passes a provisional body of a session that another process drives on to those who
// watch it here.
func (l *Local) Tell(session string, b openmanus.Body) {
	if !l.Drives(session) {
		l.publish(session, b)
	}
}

// heard notes a stored event of a session that another process drives, by which what has
// streamed is over.
func (h *hub) heard(ev openmanus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.driving) > 0 || ev.Seq <= h.seq {
		return
	}
	h.seq = ev.Seq
	if turn, ok := openmanus.TurnOf(ev.Body); ok && turn >= h.turn {
		h.turn, h.typed = turn+1, llm.Reply{}
	}
	if call, ok := printsAnew(ev.Body); ok {
		h.tails.drop(call)
	}
}

// begin is called when driving starts, with what the driver has read.
func (h *hub) begin(seq int64, turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq, h.turn = seq, turn
}

// end is called when driving stops. It resets a reply that has partly streamed.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tails = nil
	if len(h.typed.Message.Parts) > 0 {
		h.typed = llm.Reply{}
		h.push(openmanus.Event{Time: journal.Now(), Body: openmanus.Typing{Turn: h.turn, Reset: true}})
	}
}

// expect is called before the driver goes on while events are being stored.
// Provisional bodies wait for them from now on.
func (h *hub) expect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent++
}

// inPlace waits until the event seq, which was read from the journal, may be shown.
// While commits are under way, the driver tells of their events first: provisional
// bodies may wait for an earlier one. It returns when ctx ends.
func (h *hub) inPlace(ctx context.Context, seq int64) {
	for {
		h.mu.Lock()
		if h.sent == h.kept || seq <= h.seq {
			h.mu.Unlock()
			return
		}
		if h.moved == nil {
			h.moved = make(chan struct{})
		}
		moved := h.moved
		h.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

// move wakes the waiters of inPlace. The caller holds h.mu.
func (h *hub) move() {
	if h.moved != nil {
		close(h.moved)
		h.moved = nil
	}
}

// settled is called when expected events are stored, or will never be: then the
// provisional bodies that waited for them are dropped.
func (h *hub) settled(stored bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept++
	if !stored {
		h.early = nil
	}
	for len(h.early) > 0 && h.early[0].after <= h.kept {
		h.showNow(h.early[0].Body)
		h.early = h.early[1:]
	}
	h.move()
}

// stored sends an event that the driver has read to the subscribers. turn is that
// of the state after it: deltas of earlier turns are dropped from now on.
func (h *hub) stored(ev openmanus.Event, turn int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seq = ev.Seq
	if turn > h.turn {
		h.turn, h.typed = turn, llm.Reply{}
	}
	if call, ok := printsAnew(ev.Body); ok {
		h.tails.drop(call)
	}
	h.push(ev)
	h.move()
}

// show sends a provisional body to the subscribers, unless it belongs to a turn
// that is over.
func (h *hub) show(b openmanus.Body) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sent > h.kept {
		h.early = append(h.early, earlyBody{b, h.sent})
		return
	}
	h.showNow(b)
}

func (h *hub) showNow(b openmanus.Body) {
	if t, ok := b.(openmanus.Typing); ok && !h.addDelta(t) {
		return
	}
	if o, ok := b.(openmanus.Output); ok {
		h.tails.add(o)
	}
	h.push(openmanus.Event{Time: journal.Now(), Body: b})
}

// push sends an event to all subscribers. The caller holds h.mu.
func (h *hub) push(ev openmanus.Event) {
	for _, s := range h.subs {
		s.push(update{ev: ev})
		if s.crowded() {
			s.coalesce(h.soFar(true))
		}
	}
}

// addDelta adds a delta to the reply that streams, for later subscribers. It
// reports false if the turn of the delta is over.
func (h *hub) addDelta(t openmanus.Typing) bool {
	if t.Turn < h.turn {
		return false
	}
	if t.Turn > h.turn || t.Reset {
		h.turn, h.typed = t.Turn, llm.Reply{}
	}
	for i, p := range t.Parts {
		// The worker has collected the same delta already, so it fits.
		_ = h.typed.Add(llm.Delta{Part: t.Part + i, Piece: p})
	}
	return true
}

// soFar returns everything that has streamed of the current reply, and the ends of
// what running calls have printed: for a new subscriber, or, as a reset, for one that
// may have seen some of it.
func (h *hub) soFar(reset bool) (all []update) {
	now := journal.Now()
	if len(h.typed.Message.Parts) > 0 || reset {
		t := openmanus.Typing{Turn: h.turn, Parts: slices.Clone(h.typed.Message.Parts), Reset: reset}
		all = append(all, update{ev: openmanus.Event{Time: now, Body: t}})
	}
	for _, t := range h.tails {
		all = append(all, update{ev: openmanus.Event{Time: now, Body: t.output()}})
	}
	return all
}

// subscribe returns a new subscriber. The first thing in its queue is what streams.
func (h *hub) subscribe() *subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &subscriber{since: h.seq, queue: h.soFar(false), more: make(chan struct{}, 1)}
	s.more <- struct{}{}
	h.subs = append(h.subs, s)
	return s
}

// subscribeAnew is subscribe for one that forgets what it had.
func (h *hub) subscribeAnew() *subscriber {
	s := h.subscribe()
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = h.soFar(true)
	return s
}

func (h *hub) unsubscribe(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.subs = slices.DeleteFunc(h.subs, func(t *subscriber) bool { return t == s })
}

// An update is an event for a subscriber, or an error.
type update struct {
	ev  openmanus.Event
	err error
}

func (n update) stored() bool { return n.err == nil && n.ev.Seq > 0 }

// newer returns the event with the higher number.
func newer(a, b openmanus.Event) openmanus.Event {
	if a.Seq > b.Seq {
		return a
	}
	return b
}

// A subscriber has a queue of what it has not read yet.
type subscriber struct {
	since int64 // the queue has what follows this event

	mu    sync.Mutex
	queue []update
	row   int           // how many stored events the end of the queue stands for
	more  chan struct{} // has an element if the queue may have one
}

// maxQueue is how long the queue of a slow subscriber may grow before it is
// coalesced: deltas that it has not read become one.
const maxQueue = 1024

// maxRow is how many stored events in a row a queue has, since they may be large.
// Beyond that, the last one stands for all: the reader fetches those before it
// from the journal.
const maxRow = 16

// push adds n to the queue. It never blocks.
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

// take waits for updates and returns them. It returns none if ctx ends.
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

// crowded reports whether the queue should be coalesced.
func (s *subscriber) crowded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue) > maxQueue
}

// coalesce replaces the queue by its last stored event, soFar and its errors.
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
