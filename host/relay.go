package host

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// Deltas of a reply and the live output of a call are not in the journal. Hosts of a cluster tell
// each other of it. A host at which a session is watched repeats that every few seconds; the host
// that drives the session answers with the provisional events. They may get lost: their numbers
// show that, and then the one that watches asks for all from the beginning.

// A shouter is a store by which processes tell each other what is not kept.
type shouter interface {
	Shout(ctx context.Context, texts []string) error
	Hear(ctx context.Context) iter.Seq[string]
}

// A relayed is what hosts tell each other: that sessions are watched, a provisional event, or
// that the provider of a model asks to wait.
type relayed struct {
	Watch []string `json:"w,omitempty"` // sessions
	Anew  []string `json:"a,omitempty"` // of these, what streams is told from the beginning

	Limiter string    `json:"l,omitempty"` // the limiterName
	Until   time.Time `json:"u,omitzero"`

	Session string          `json:"s,omitempty"`
	Stream  string          `json:"i,omitempty"` // who tells
	N       int             `json:"n,omitempty"` // the number of the event in the stream, from 1
	Type    string          `json:"t,omitempty"`
	Body    json.RawMessage `json:"b,omitempty"`
}

const (
	watchAgain  = 5 * time.Second        // how often a host says what is watched
	watchEnds   = 3 * watchAgain         // after which nothing is told any more
	tellEach    = 100 * time.Millisecond // how long events wait for others
	maxRelayed  = 7000                   // bytes of a text, below what a store takes
	maxToTell   = 4096                   // events that wait
	relayPieces = 1500                   // bytes of a piece of what is too long
)

// A relay tells and hears.
type relay struct {
	h     *Host
	store shouter

	mu      sync.Mutex
	ctx     context.Context               // while it runs
	all     sync.WaitGroup                // of what tells
	watched map[string]*watched           // sessions that are watched here
	wanted  map[string]time.Time          // sessions that are watched somewhere: until when that holds
	told    map[string]context.CancelFunc // of the sessions of which this host tells
	queue   []relayed
	changed chan struct{} // has an element if there is something to say
}

// A watched is a session that is watched here.
type watched struct {
	watchers int
	stream   string
	n        int  // the last event that was heard
	anew     bool // something was missed
}

// Relay tells other hosts of a cluster what streams in sessions that are driven here, and
// hears it from them, until ctx ends. Without a Cluster, or a store that can, it does nothing.
func (h *Host) Relay(ctx context.Context) {
	r := h.relay
	if r == nil {
		return
	}
	r.mu.Lock()
	r.ctx = ctx
	r.mu.Unlock()
	defer r.all.Wait()
	r.all.Go(func() { r.say(ctx) })
	for text := range r.store.Hear(ctx) {
		r.hear(text)
	}
}

// newRelay returns the relay of a host, or nil if its store cannot tell.
func newRelay(h *Host) *relay {
	store, ok := h.Store.(shouter)
	if !ok {
		return nil
	}
	return &relay{h: h, store: store, watched: make(map[string]*watched), wanted: make(map[string]time.Time), told: make(map[string]context.CancelFunc), changed: make(chan struct{}, 1)}
}

// watch notes that somebody watches a session here.
func (r *relay) watch(session string) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watched[session]
	if w == nil {
		w = &watched{anew: true}
		r.watched[session] = w
	}
	w.watchers++
	r.hurry()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if w.watchers--; w.watchers == 0 && r.watched[session] == w {
			delete(r.watched, session)
		}
	}
}

// hurry has what waits said soon. The caller holds r.mu.
func (r *relay) hurry() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// say says what waits, and now and then what is watched, until ctx ends.
func (r *relay) say(ctx context.Context) {
	tick := time.NewTicker(watchAgain)
	defer tick.Stop()
	for {
		again := false
		select {
		case <-r.changed:
		case <-tick.C:
			again = true
		case <-ctx.Done():
			return
		}
		if texts := r.texts(again); len(texts) > 0 {
			_ = r.store.Shout(ctx, texts) // what is lost is asked for again
		}
		select {
		case <-time.After(tellEach):
		case <-ctx.Done():
		}
	}
}

// texts returns what is to be said now. again says that everything that is watched is said.
func (r *relay) texts(again bool) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.queue
	r.queue = nil
	for session, w := range r.watched {
		m := relayed{Watch: []string{session}}
		if w.anew {
			m.Anew = m.Watch
		}
		if again || w.anew {
			all = append(all, m)
		}
	}
	r.forget(time.Now())
	var texts []string
	var b strings.Builder
	for _, m := range all {
		data, err := json.Marshal(m)
		if err != nil || len(data) > maxRelayed {
			continue // then a number is missing
		}
		if b.Len() > 0 && b.Len()+1+len(data) > maxRelayed {
			texts = append(texts, b.String())
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.Write(data)
	}
	if b.Len() > 0 {
		texts = append(texts, b.String())
	}
	return texts
}

// forget forgets what nobody watches any more. The caller holds r.mu.
func (r *relay) forget(now time.Time) {
	for session, until := range r.wanted {
		if now.Before(until) {
			continue
		}
		delete(r.wanted, session)
		if stop := r.told[session]; stop != nil {
			stop()
			delete(r.told, session)
		}
	}
}

// hear takes what a host has said. "" says that something may have been missed.
func (r *relay) hear(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" {
		for _, w := range r.watched {
			w.anew = true
		}
		r.hurry()
		return
	}
	for line := range strings.Lines(text) {
		var m relayed
		if json.Unmarshal([]byte(line), &m) != nil {
			continue // of another version
		}
		for _, session := range m.Watch {
			r.wanted[session] = time.Now().Add(watchEnds)
			r.tell(session, len(m.Anew) > 0)
		}
		if l, ok := r.h.limiters.Load(m.Limiter); ok && time.Until(m.Until) < longestPause {
			l.(*llm.Limiter).Pause(m.Until)
		}
		if w := r.watched[m.Session]; w != nil {
			r.take(w, m)
		}
	}
}

// longestPause is the longest for which a host lets another one pause its requests.
const longestPause = time.Hour

// pause says to others that requests with a limiter have to wait.
func (r *relay) pause(limiter string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) < maxToTell {
		r.queue = append(r.queue, relayed{Limiter: limiter, Until: until})
	}
	r.hurry()
}

// take takes an event of a session that is watched here. The caller holds r.mu.
func (r *relay) take(w *watched, m relayed) {
	switch {
	case m.N == 1:
		w.stream, w.n, w.anew = m.Stream, 0, false
	case m.Stream != w.stream || w.anew:
		return
	case m.N != w.n+1:
		w.anew = true
		r.hurry()
		return
	}
	w.n = m.N
	b, err := openmanus.DecodeBody(m.Type, "", m.Body)
	if _, unknown := b.(openmanus.Foreign); err == nil && !unknown {
		r.h.Local.Tell(m.Session, b)
	}
}

// began is called when this host begins to drive a session.
func (r *relay) began(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.wanted[session]) {
		r.tell(session, false)
	}
}

// tell tells of a session, if it is driven here, from the beginning of what streams if that
// is asked for. The caller holds r.mu.
func (r *relay) tell(session string, anew bool) {
	stop := r.told[session]
	if !r.h.Local.Drives(session) || r.ctx == nil || r.ctx.Err() != nil || stop != nil && !anew {
		return
	}
	if stop != nil {
		stop()
	}
	ctx, stop := context.WithCancel(r.ctx)
	r.told[session] = stop
	stream, n := ids.New(), 0
	r.all.Go(func() {
		for b := range r.h.Local.Live(ctx, session) {
			for _, piece := range pieces(b) {
				n++
				r.add(relayed{Session: session, Stream: stream, N: n}, piece)
			}
		}
	})
}

// add adds an event to what is to be said.
func (r *relay) add(m relayed, b openmanus.Body) {
	data, err := openmanus.EncodeBody(b)
	if err != nil {
		return
	}
	m.Type, m.Body = openmanus.TypeName(b), data
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) < maxToTell { // else a number is missing
		r.queue = append(r.queue, m)
	}
	r.hurry()
}

// pieces returns a provisional body as several that are short enough to be said.
func pieces(b openmanus.Body) (all []openmanus.Body) {
	switch b := b.(type) {
	case openmanus.Output:
		at := b.At
		for _, text := range cutText(b.Text) {
			all = append(all, openmanus.Output{Call: b.Call, At: at, Text: text})
			at += int64(len(text))
		}
		return all
	case openmanus.Typing:
		all = append(all, openmanus.Typing{Turn: b.Turn, Reset: b.Reset, Part: b.Part, Read: b.Read})
		for i, p := range b.Parts {
			for _, q := range cutPart(p) {
				all = append(all, openmanus.Typing{Turn: b.Turn, Part: b.Part + i, Parts: llm.Parts{q}})
			}
		}
		if !b.Reset && b.Read == 0 && len(all) > 1 {
			all = all[1:]
		}
		return all
	}
	return []openmanus.Body{b}
}

// cutPart cuts a part of a reply: each piece continues the one before.
func cutPart(p llm.Part) (all llm.Parts) {
	switch p := p.(type) {
	case llm.Text:
		for _, text := range cutText(p.Text) {
			p.Text = text
			all = append(all, p)
		}
	case llm.Thinking:
		for _, text := range cutText(p.Text) {
			p.Text = text
			all = append(all, p)
		}
	case llm.Call:
		for i, text := range cutText(p.Input) {
			if i > 0 {
				p.ID, p.Name = "", ""
			}
			p.Input = text
			all = append(all, p)
		}
	default:
		all = llm.Parts{p}
	}
	return all
}

// cutText cuts a text into pieces, in whole characters. An empty text is one piece.
func cutText(s string) (all []string) {
	for len(s) > relayPieces {
		n := relayPieces
		for n > 0 && s[n]&0xC0 == 0x80 {
			n--
		}
		if n == 0 { // no text at all
			n = relayPieces
		}
		all, s = append(all, s[:n]), s[n:]
	}
	return append(all, s)
}
