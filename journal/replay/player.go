package replay

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// A player replays one session: it is the runtime that decides which task is carried
// out next, and it decides as the record says. It is used by one goroutine.
type player struct {
	o       Options
	rec     *Recording
	id      string
	events  []openmanus.Event
	flow    openmanus.Flow
	counter llm.Counter
	agent   *openmanus.Agent // of the flow, or of today; for its Summarizer alone

	worker *run.Worker
	state  *openmanus.State           // after the events so far
	past   map[int64]*openmanus.State // as it was after an event
	floor  int64                      // the last outcome of a turn: no decision looks further back than this
	seen   int64                      // what the last reply had seen: those who decided then knew nothing later
	kept   map[int64]bool             // the events whose state is needed for longer
	starts map[string]run.Session     // each call that has started, as the session was then
	opens  []int64                    // children that were announced and have not been seen to open

	world world // what comes from outside in the attempt that is being made

	anew   bool // digests are computed again: see [Recording.Redact]
	before bool // the session is of a program that did not record requests, and not all sources

	modelCalls, toolCalls, unchecked int
	imported                         int64 // up to this event nothing is replayed
}

// maxBack is how many events before its own an event may have been decided on.
const maxBack = 256

// newPlayer returns a player for a session, whose blobs go to into.
func newPlayer(ctx context.Context, rec *Recording, s Session, o Options, into *journal.Memory) (*player, error) {
	p := &player{
		o: o, rec: rec, id: s.ID, events: s.Events, state: new(openmanus.State),
		past: make(map[int64]*openmanus.State), kept: make(map[int64]bool), starts: make(map[string]run.Session),
	}
	p.worker = &run.Worker{
		Journal: tape{p}, Flow: p.childFlow, Child: p.childSpec, Blobs: into, Budget: p, Hooks: actor{p},
		Changes: changes{p}, Note: p.note, Sent: new(llm.SentCache).Of,
	}
	begin := new(openmanus.State)
	for _, ev := range s.Events {
		begin.Apply(ev)
		if _, ok := ev.Body.(openmanus.Configured); ok {
			break
		}
	}
	if f := begin.Opened.From; f != nil && f.Foreign {
		p.imported = f.Seq
	}
	if err := p.choose(ctx, begin); err != nil {
		return nil, err
	}
	p.before = true
	for _, ev := range s.Events {
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid:
			p.kept[b.Re] = true
			p.before = p.before && b.Sent == (llm.Sent{})
		case openmanus.ModelFailed:
			p.kept[b.Re] = true
		}
		for _, ref := range append(journal.RefsOf(ev.Body), journal.PacksOf(ev.Body)...) {
			data, err := openmanus.ReadBlob(ctx, rec.blobs, ref)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err == nil {
				_, err = into.Put(ctx, data)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// choose finds out what decides in the session, which begins in the state s.
func (p *player) choose(ctx context.Context, s *openmanus.State) (err error) {
	if p.o.Flow != nil {
		if p.flow, err = p.o.Flow(ctx, s); err != nil {
			return fmt.Errorf("session %s cannot be replayed: %w", p.id, err)
		}
	}
	if p.flow == nil {
		if f := s.Config.Flow; f != nil || s.Config.FlowEnds {
			return fmt.Errorf("session %s cannot be replayed: the flow %q decided in it, which is a program of its own; "+
				"give that flow", p.id, s.Opened.Flow)
		}
		p.flow = &openmanus.Agent{Name: s.Opened.Flow}
	}
	p.agent = p.flow.Agent()
	p.counter = p.agent.Counter
	if p.o.Counter != nil {
		p.counter = p.o.Counter(s)
	}
	if p.o.Today != nil {
		today, err := p.o.Today(ctx, s)
		if err != nil {
			return fmt.Errorf("session %s cannot be compared with today's agent: %w", p.id, err)
		}
		if today != nil {
			return p.compareHead(s, today)
		}
	}
	return nil
}

// session replays the session and returns its events as they are made today.
func (p *player) session(ctx context.Context) ([]openmanus.Event, error) {
	again := make([]openmanus.Event, 0, len(p.events))
	for _, ev := range p.events {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := ev.Body
		if ev.Seq > p.imported {
			var err error
			if b, err = p.play(ctx, ev); err != nil {
				return nil, err
			}
		}
		if p.anew {
			ev.Body, b = p.hashed(b), p.hashed(b)
			p.events[ev.Seq-1] = ev
		}
		p.fold(ctx, ev)
		again = append(again, openmanus.Event{Seq: ev.Seq, Time: ev.Time, Body: b})
		if err := p.checkOpens(ctx, ev.Seq == p.events[len(p.events)-1].Seq); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// hashed returns the ruling of a person with the hash of the question that it answers.
func (p *player) hashed(b openmanus.Body) openmanus.Body {
	if r, ok := b.(openmanus.Ruled); ok && r.By != openmanus.ByGate && r.Hash != "" {
		if c := p.state.Call(r.Call); c != nil && c.Ruling != nil {
			r.Hash = c.Ruling.Hash
			return r
		}
	}
	return b
}

// play returns what today's program makes in place of the event ev, which is equal to
// it, or a [*Difference].
func (p *player) play(ctx context.Context, ev openmanus.Event) (openmanus.Body, error) {
	if openmanus.DoneByPerson(ev.Body) {
		return ev.Body, nil
	}
	t := &search{p: p, ev: ev}
	if !slices.ContainsFunc(kinds(), func(k kind) bool { return k(ctx, t) }) {
		return ev.Body, nil // from outside: the host, or another session
	}
	switch {
	case t.err != nil:
		return nil, t.err
	case t.found == nil && t.best == nil:
		return nil, p.differs(ev, "today's program does not do this here: "+p.instead(), nil)
	case t.found == nil:
		return nil, p.differs(ev, cmp.Or(t.what, "today's program makes another event"), t.best)
	}
	return t.found, nil
}

// A kind looks for what makes an event, and reports false if it is of another kind.
type kind func(ctx context.Context, t *search) bool

// kinds returns the kinds of events that a program makes, by what looks for each.
func kinds() []kind {
	return []kind{
		of((*search).reply), of((*search).noReply), of((*search).compaction), of((*search).softening), of((*search).elision), of((*search).stop), of((*search).end),
		of((*search).call), of((*search).ruling), of((*search).question), of((*search).start), of((*search).result), of((*search).late),
		of((*search).child), of((*search).childEnd), of((*search).takeover),
	}
}

// of returns the kind of the events for which look is.
func of[B openmanus.Body](look func(*search, context.Context, B)) kind {
	return func(ctx context.Context, t *search) bool {
		b, ok := t.ev.Body.(B)
		if ok {
			look(t, ctx, b)
		}
		return ok
	}
}

// instead says what the session calls for in the present state.
func (p *player) instead() string {
	tasks := p.flow.Next(p.state)
	if len(tasks) == 0 {
		return "there is nothing to do"
	}
	text := "it calls for"
	for i, t := range tasks {
		if i > 0 {
			text += ","
		}
		text += " " + string(t.Do)
		if t.Call+t.Child != "" {
			text += " of " + cmp.Or(t.Call, t.Child)
		}
	}
	return text
}

// differs returns the difference of an event; b is what there is instead, or nil.
func (p *player) differs(ev openmanus.Event, what string, b openmanus.Body) error {
	d := &Difference{Session: p.id, Seq: ev.Seq, What: openmanus.TypeName(ev.Body) + ": " + what}
	d.Was, _ = ev.MarshalJSON() // it came from a journal
	if b != nil {
		d.Is, _ = openmanus.Event{Seq: ev.Seq, Time: ev.Time, Body: b}.MarshalJSON()
	}
	return d
}

// fold folds an event, and keeps what later events may look back to.
func (p *player) fold(ctx context.Context, ev openmanus.Event) {
	if b, ok := ev.Body.(openmanus.CallStarted); ok {
		// a worker claims a call by appending its start
		x := run.Session{ID: p.id, State: p.state.Clone(), Flow: p}
		p.world.next = ev
		if p.worker.Append(ctx, &x, b) == nil {
			p.starts[b.Call] = x
		}
	}
	p.state.Apply(ev)
	if _, ok := ev.Body.(openmanus.Configured); ok {
		p.state.CountWith(p.counter)
	}
	p.past[ev.Seq] = p.state.Clone()
	if _, ends := openmanus.TurnOf(ev.Body); ends {
		p.floor = ev.Seq
	}
	switch b := ev.Body.(type) {
	case openmanus.ModelSaid:
		p.seen = b.Re
	case openmanus.ChildOpened:
		p.opens = append(p.opens, ev.Seq)
	case openmanus.CallDone:
		if p.state.Call(b.Call) != nil {
			break
		}
		delete(p.starts, b.Call) // no later result of it is expected
	}
	if old := ev.Seq - maxBack; !p.kept[old] {
		delete(p.past, old)
	}
}

// reloaded returns the state after the event seq as a process folds it that begins
// there: it counts tokens roughly until it needs to be exact.
func (p *player) reloaded(seq int64) *openmanus.State {
	s := new(openmanus.State)
	for _, ev := range p.events[:seq] {
		s.Apply(ev)
	}
	s.CountWith(p.counter)
	return s
}

// Agent implements [openmanus.Flow]: an agent of the recorded configuration whose
// model, tools and gate answer from the record.
func (p *player) Agent() *openmanus.Agent {
	a := p.recorded(p.state.Config)
	a.Model, a.Gate, a.Counter = actor{p}, actor{p}, p.counter
	a.Summarizer = p.world.summarizer
	if p.world.absent {
		a.Tools = nil
	}
	return a
}

// recorded returns an agent that has the given configuration.
func (p *player) recorded(c openmanus.Configured) *openmanus.Agent {
	a := &openmanus.Agent{
		Name: cmp.Or(c.Spec.Name(), p.state.Opened.Flow), Instructions: c.System, Settings: c.Settings, Prices: c.Prices, Window: c.Window,
		Spec: c.Spec, Sandbox: c.Sandbox, FlowEnds: c.FlowEnds, Sources: c.Sources,
	}
	for _, spec := range c.Tools {
		if spec.Deferred {
			a.Deferred = append(a.Deferred, spec.Name)
		}
		a.Tools = append(a.Tools, p.tool(spec))
	}
	return a
}

// Next implements [openmanus.Flow].
func (p *player) Next(s *openmanus.State) []openmanus.Task { return p.flow.Next(s) }

// same reports whether two bodies have the same JSON.
func same(a, b openmanus.Body) bool {
	x, err := openmanus.EncodeBody(a)
	if err != nil {
		return false
	}
	y, err := openmanus.EncodeBody(b)
	return err == nil && openmanus.TypeName(a) == openmanus.TypeName(b) && bytes.Equal(x, y)
}
