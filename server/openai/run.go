package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// SessionHeader names the session that a request continues, and in the response the
// session that it ran in.
const SessionHeader = "OpenManus-Session"

// A request is a request of any of the formats.
type request struct {
	agent      string
	session    string    // to continue; "": a new one
	said       llm.Parts // the user's message
	results    []result  // of calls that the client ran
	afresh     llm.Parts // what a new session is told if none waits for the results; nil: it is an error
	client     openmanus.Client
	answer     json.RawMessage // the JSON Schema of the answer
	cut        cutter
	stream     bool
	background bool
	body       []byte
}

// A format writes what a client sees of a turn in the form of one API.
type format interface {
	// frames returns the frames of a step. at is the position of the first of them.
	frames(p *projector, s step, at int) []frame

	// whole returns the response without streaming, when the turn is over or as far as
	// it is.
	whole(p *projector) any
}

// A frame is an event of a stream. A client that has seen the beginning of its text gets
// the rest.
type frame struct {
	event string // its name; "": none
	text  string
	data  func(text string, n int) any // n is the frame's position
	raw   string                       // in place of data
}

// size is how far a frame moves the position.
func (f frame) size() int { return max(1, len(f.text)) }

// A turn is a request that was stored in a session.
type turn struct {
	*API
	id string // of the session
	projector
}

// read reads a request of any format, and begins its turn.
func read[V any](a *API, r *http.Request, rs rules,
	decode func(context.Context, fetcher, *V, string) (*request, error)) (v V, q *request, t *turn, err error) {
	body, err := rs.decode(r, &v)
	if err != nil {
		return v, nil, nil, err
	}
	if q, err = decode(r.Context(), a.Fetch, &v, r.Header.Get(SessionHeader)); err != nil {
		return v, nil, nil, err
	}
	q.body = body
	t, err = a.begin(r, q)
	return v, q, t, err
}

// begin stores a request, or finds the one that was stored before for the same
// Idempotency-Key, or that the client's library now tries again.
func (a *API) begin(r *http.Request, q *request) (*turn, error) {
	ctx := r.Context()
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 255 {
		return nil, bad("Idempotency-Key", "it has more than 255 bytes")
	}
	user, err := a.Journal.Mine(ctx, "")
	if err != nil {
		return nil, err
	}
	again := user + "\x00" + hash(r.URL.Path+string(q.body))
	if n := r.Header.Get("X-Stainless-Retry-Count"); n != "" && n != "0" && key == "" {
		if t, ok := a.recent.find(again); ok {
			t.API, t.cut = a, q.cut
			return &t, nil
		}
	}
	t := &turn{API: a, id: q.session}
	t.cut = q.cut
	n := New{Agent: q.agent, Answer: q.answer}
	if c := q.client; c.Instructions != "" || len(c.Tools) > 0 || c.Temperature != nil || c.Effort != "" {
		n.Client = &c
	}
	said := ids.New()
	if key != "" {
		said = "key-" + hash(user + "\x00" + key)[:32]
		n.ID = said
	}
	if err := t.open(ctx, q, n); err != nil {
		return nil, err
	}
	bodies := q.answers()
	if len(q.said) > 0 {
		bodies = append(bodies, userMessage(said, q.said))
	}
	first, err := a.Sessions.Append(ctx, t.id, bodies...)
	if err != nil {
		return nil, err
	}
	t.since, t.upTo = first-1, first-1+int64(len(bodies))
	a.recent.add(again, turn{id: t.id, projector: projector{since: t.since, upTo: t.upTo}})
	return t, nil
}

// open opens the session of the turn, or prepares the one that is there.
func (t *turn) open(ctx context.Context, q *request, n New) (err error) {
	if t.id == "" {
		t.id, err = t.Sessions.Open(ctx, n)
		return err
	}
	if _, err := t.Journal.Mine(ctx, t.id); err != nil {
		if q.afresh == nil || t.problem(ctx, err).Status != http.StatusNotFound {
			return t.noSession(q, err)
		}
		// Another maker's calls, or those of a session that was deleted.
		q.session, q.results, q.said = "", nil, q.afresh
		t.id, err = t.Sessions.Open(ctx, n)
		return err
	}
	if len(q.results) > 0 {
		if err := t.check(ctx, q.results); err != nil || n.Client == nil {
			return err
		}
	}
	n.ID = t.id
	return t.Sessions.Change(ctx, t.id, n)
}

// noSession is the error for a session that a request names and that is not there.
func (t *turn) noSession(q *request, err error) error {
	if len(q.results) == 0 || t.problem(context.Background(), err).Status != http.StatusNotFound {
		return err
	}
	return bad(q.results[0].at, "no session waits for the result of this call")
}

// check returns an error unless the results are those of calls that the session waits for,
// or has had.
func (t *turn) check(ctx context.Context, results []result) error {
	var p projector
	for ev, err := range t.Journal.Events(ctx, t.id, 0) {
		if err != nil {
			return err
		}
		p.state.Apply(ev)
	}
	have := make(map[string]bool)
	for _, r := range results {
		have[r.call] = true
		c := p.state.Call(r.call)
		if c == nil && p.state.FindCall(r.call).ID == "" || c != nil && !p.clients(c) {
			return bad(r.at, "no session waits for the result of this call")
		}
	}
	for _, c := range p.state.Pending() {
		if p.waitsForClient(c) && !have[c.ID] {
			return bad(results[0].at, "the call "+quote(callID(t.id, c.ID))+" has no result: give those of all calls together")
		}
	}
	return nil
}

// answers returns the bodies with the results of the client's tools.
func (q *request) answers() (all []openmanus.Body) {
	for _, r := range q.results {
		all = append(all, openmanus.Answered{Call: r.call, By: "client", Text: r.text})
	}
	return all
}

// follow folds the events of the turn until it is over, and passes on what they add. An
// error of show ends it. Calls that wait for a person are decided: no person can be
// asked.
func (t *turn) follow(ctx context.Context, show func(step) error) error {
	var children sync.WaitGroup
	defer children.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for ev, err := range t.Journal.Watch(ctx, t.id, 0) {
		if err != nil {
			return err
		}
		t.decideBelow(ctx, ev, &children)
		for _, s := range t.apply(ev) {
			if err := show(s); err != nil {
				return err
			}
		}
		if t.over {
			return t.Sessions.End(context.WithoutCancel(ctx), t.id, false)
		}
		if ev.Seq >= t.upTo {
			if err := t.Journal.Decide(ctx, t.id, &t.state, t.waitsForClient); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// decideBelow, for an event that opens a child session, starts to decide what waits for a
// person in the child and in its descendants.
func (t *turn) decideBelow(ctx context.Context, ev openmanus.Event, all *sync.WaitGroup) {
	opened, ok := ev.Body.(openmanus.ChildOpened)
	if !ok {
		return
	}
	all.Go(func() {
		var st openmanus.State
		for ev, err := range t.Journal.Watch(ctx, opened.Child, 0) {
			if err != nil {
				return // the parent hears of a child that is gone
			}
			t.decideBelow(ctx, ev, all)
			if ev.Seq > 0 {
				st.Apply(ev)
				if t.Journal.Decide(ctx, opened.Child, &st, func(*openmanus.CallState) bool { return false }) != nil {
					return
				}
			}
		}
	})
}

// past folds what is stored of the turn.
func (t *turn) past(ctx context.Context, show func(step)) error {
	for ev, err := range t.Journal.Events(ctx, t.id, 0) {
		if err != nil {
			return err
		}
		for _, s := range t.apply(ev) {
			show(s)
		}
	}
	return nil
}

// interrupt ends the work on an answer that has no reader any more.
func (t *turn) interrupt(ctx context.Context) error {
	_, err := t.Sessions.Append(context.WithoutCancel(ctx), t.id, act.Stop(""))
	return err
}

// serve follows the turn, and responds in a format.
func (t *turn) serve(w http.ResponseWriter, r *http.Request, q *request, f format) error {
	w.Header().Set(SessionHeader, t.id)
	if q.background {
		user := context.WithoutCancel(r.Context())
		t.Background(func(server context.Context) {
			ctx, cancel := context.WithCancel(user)
			defer cancel()
			defer context.AfterFunc(server, cancel)()
			b := &turn{API: t.API, id: t.id, projector: projector{since: t.since, upTo: t.upTo}}
			_ = b.follow(ctx, func(step) error { return nil }) // whoever asks for the response reads what happened
		})
	}
	if q.stream {
		after, _ := strconv.Atoi(r.Header.Get("Last-Event-ID"))
		return t.send(w, r, f, after, q.background)
	}
	at := 0
	collect := func(s step) error {
		for _, fr := range f.frames(&t.projector, s, at) {
			at += fr.size()
		}
		return nil
	}
	if q.background {
		if err := t.past(r.Context(), func(s step) { _ = collect(s) }); err != nil {
			return err
		}
	} else if err := t.follow(r.Context(), collect); err != nil {
		return errors.Join(err, t.interrupt(r.Context()))
	}
	if e := t.failure(); t.over && e != nil && !q.background {
		return e
	}
	writeJSON(w, http.StatusOK, f.whole(&t.projector))
	return nil
}

// send streams the turn, from the position after on. kept says that the work goes on
// without the client.
func (t *turn) send(w http.ResponseWriter, r *http.Request, f format, after int, kept bool) error {
	write, done := t.Stream(w)
	defer done()
	e := emitter{write: write, after: after}
	gone := false
	err := t.follow(r.Context(), func(s step) error {
		for _, fr := range f.frames(&t.projector, s, e.at) {
			if err := e.emit(fr); err != nil {
				gone = true
				return err
			}
		}
		return nil
	})
	if err != nil && (gone || r.Context().Err() != nil) && !kept {
		_ = t.interrupt(r.Context()) // the client is gone
	} else if err != nil && !gone {
		_ = e.emit(frame{event: "error", data: func(string, int) any { return t.problem(r.Context(), err).body(forAnthropic(r)) }})
	}
	return nil // the response has begun
}

// An emitter writes frames with their positions. It leaves out what the client has seen.
type emitter struct {
	write func([]byte) error
	at    int // the position after the last frame
	after int // what the client has seen
}

func (e *emitter) emit(f frame) error {
	text := f.text
	begin := e.at
	e.at += f.size()
	switch {
	case e.at <= e.after:
		return nil
	case begin < e.after && text != "":
		text = text[e.after-begin:]
	}
	var b bytes.Buffer
	b.WriteString("id: " + strconv.Itoa(e.at) + "\n")
	if f.event != "" {
		b.WriteString("event: " + f.event + "\n")
	}
	data := []byte(f.raw)
	if f.data != nil {
		var err error
		if data, err = json.Marshal(f.data(text, e.at)); err != nil {
			return err
		}
	}
	b.WriteString("data: ")
	b.Write(data)
	b.WriteString("\n\n")
	return e.write(b.Bytes())
}

// hash returns the SHA-256 of a text in hexadecimal digits.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// recent are the turns of the last requests, by what was asked. A client's library that
// tries again what a lost connection cost it gets the turn that there is. The zero value is
// ready, and safe for concurrent use.
type recent struct {
	mu    sync.Mutex
	turns map[string]recentTurn
}

type recentTurn struct {
	turn
	at time.Time
}

// How many turns are kept, and how long.
const (
	maxRecent  = 1000
	recentTime = 15 * time.Minute
)

func (r *recent) add(key string, t turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turns == nil {
		r.turns = make(map[string]recentTurn)
	}
	if len(r.turns) >= maxRecent {
		oldest := ""
		for k, v := range r.turns {
			if oldest == "" || v.at.Before(r.turns[oldest].at) {
				oldest = k
			}
		}
		delete(r.turns, oldest)
	}
	r.turns[key] = recentTurn{t, time.Now()}
}

func (r *recent) find(key string) (turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t, ok := r.turns[key]
	if !ok || time.Since(t.at) > recentTime {
		return turn{}, false
	}
	return turn{id: t.id, projector: projector{since: t.since, upTo: t.upTo}}, true
}

// sessionOf returns what the id of a response says: see [turn.responseID].
func sessionOf(id string) (session string, since int64, limit int, err error) {
	rest, ok := strings.CutPrefix(id, "resp_")
	parts := strings.Split(rest, "_")
	if ok && len(parts) == 3 {
		since, err = strconv.ParseInt(parts[1], 10, 64)
		limit, _ = strconv.Atoi(parts[2])
	}
	if !ok || len(parts) != 3 || err != nil || since < 0 || limit < 0 {
		return "", 0, 0, &Error{Status: http.StatusNotFound, Code: "response_not_found", Message: "there is no response " + quote(id)}
	}
	return parts[0], since, limit, nil
}

// responseID returns the id of the turn's response. It has what the response is made of,
// so that it can be made again.
func (t *turn) responseID() string {
	return "resp_" + t.id + "_" + strconv.FormatInt(t.since, 10) + "_" + strconv.Itoa(t.cut.max)
}
