package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// A search looks for what makes an event: the state that it was decided in, the task
// that the session called for then, and what came from outside. The record does not
// say these of every event: events that were stored together were decided on before
// the first of them, and a result is of the moment at which its call started. The
// first that makes the event counts.
type search struct {
	p  *player
	ev openmanus.Event

	found openmanus.Body // what was made, equal to the event
	best  openmanus.Body // if nothing is: the first that was made instead
	what  string         // how best differs, if there is more to say than that
	err   error          // why the search cannot go on
}

// over reports whether the search has ended.
func (t *search) over() bool { return t.found != nil || t.err != nil }

// states yields the states in which the event may have been decided on, the likeliest
// first: re, if it is not 0; the present one; those before, as far as a decision may
// look back; at last, if tokens are counted, the same for a process that began then.
func (t *search) states(re int64) func(yield func(*openmanus.State) bool) {
	p := t.p
	return func(yield func(*openmanus.State) bool) {
		first := p.past[re]
		if first != nil && !yield(first) {
			return
		}
		for seq := p.state.Seq; seq >= max(1, p.floor); seq-- {
			if s := p.past[seq]; s != nil && s != first && !yield(s) {
				return
			}
		}
		for seq := p.state.Seq; seq > max(1, p.seen); seq-- {
			if s := p.without(seq); s != nil && !yield(s) {
				return
			}
		}
		if p.counter == nil {
			return
		}
		if first != nil && !yield(p.reloaded(re)) {
			return
		}
		for seq := p.state.Seq; seq >= max(1, p.floor, p.state.Seq-8); seq-- {
			if !yield(p.reloaded(seq)) {
				return
			}
		}
	}
}

// without returns the state without the event seq and what others said after it, if
// others said it: a driver may have decided without it, since it did not know it yet.
// Events that are stored together have the numbers then that they would have had.
func (p *player) without(seq int64) *openmanus.State {
	if decided(p.events[seq-1].Body) || p.past[seq-1] == nil {
		return nil
	}
	s := p.past[seq-1].Clone()
	for _, ev := range p.events[seq:p.state.Seq] {
		if decided(ev.Body) {
			ev.Seq = s.Seq + 1
			s.Apply(ev)
		}
	}
	return s
}

// tasks tries all tasks with a verb, those of one call if it is not "", in all states.
func (t *search) tasks(ctx context.Context, do openmanus.Verb, call string, w world) {
	t.tasksAt(ctx, 0, do, call, w)
}

// tasksAt is tasks, with the state after the event re as the likeliest.
func (t *search) tasksAt(ctx context.Context, re int64, do openmanus.Verb, call string, w world) {
	for s := range t.states(re) {
		for _, task := range t.p.flow.Next(s) {
			if task.Do == do && (call == "" || task.Call == call) {
				t.try(ctx, s, task, w)
			}
			if t.over() {
				return
			}
		}
	}
}

// try carries out a task in a state, and compares what it makes.
func (t *search) try(ctx context.Context, s *openmanus.State, task openmanus.Task, w world) {
	if task.Do == openmanus.Delegate && w.child == nil && s.Child(openmanus.ChildID(t.p.id, task.Child)) != nil {
		return // it would be opened
	}
	t.run(ctx, &run.Session{ID: t.p.id, State: s, Flow: t.p}, task, w)
}

// run is try for a session that may have claimed calls.
func (t *search) run(ctx context.Context, x *run.Session, task openmanus.Task, w world) {
	b, err := t.p.do(ctx, x, task, w)
	if err != nil {
		t.err = fmt.Errorf("session %s, event %d: %w", t.p.id, t.ev.Seq, err)
		return
	}
	t.compare(b, x.State)
}

// do carries out a task in a world. A task that is canceled makes nothing.
func (p *player) do(ctx context.Context, x *run.Session, task openmanus.Task, w world) (openmanus.Body, error) {
	p.world = w
	defer func() { p.world = world{asked: p.world.asked, opened: p.world.opened} }()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	if w.cancel {
		result := w.result
		p.world.result = func() (openmanus.Result, error) {
			cancel()
			r, _ := result()
			return r, context.Canceled
		}
	}
	bodies, err := p.worker.Do(inner, x, task)
	if errors.Is(err, context.Canceled) && ctx.Err() == nil || len(bodies) == 0 {
		return nil, ignoreCanceled(ctx, err)
	}
	return bodies[len(bodies)-1], err
}

// ignoreCanceled returns err, unless only the task was canceled.
func ignoreCanceled(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return nil
	}
	return err
}

// compare ends the search if b, made in the state s, is the event.
func (t *search) compare(b openmanus.Body, s *openmanus.State) {
	if b == nil || t.over() {
		return
	}
	b, what := t.p.adopt(b, t.ev, s)
	if t.p.before {
		b = withoutSources(b, t.ev.Body)
	}
	if what == "" && same(b, t.ev.Body) {
		t.found = b
		return
	}
	if t.p.anew && anew(b, t.ev.Body) {
		t.found = b
		return
	}
	if t.best == nil || t.what != "" && openmanus.TypeName(b) == openmanus.TypeName(t.ev.Body) && what == "" {
		t.best, t.what = b, what
	}
}

// adopt returns b, which was made in the state s, with what the record alone can know
// of the event: usage, what other models cost, the words of a provider's error, which
// files changed, and pictures that are lost. what says how the request of b differs
// from the recorded one, if it does.
func (p *player) adopt(b openmanus.Body, ev openmanus.Event, s *openmanus.State) (_ openmanus.Body, what string) {
	switch was := ev.Body.(type) {
	case openmanus.ModelSaid:
		is, ok := b.(openmanus.ModelSaid)
		if !ok {
			return b, ""
		}
		if is.Usage != was.Usage || was.By != "" && was.By != s.Config.Model {
			is.Usage, is.Cost, is.Free = was.Usage, was.Cost, was.Free
		}
		is.Aside = was.Aside
		is.Sent, what = p.sent(was.Sent, is.Sent)
		return is, what
	case openmanus.ModelFailed:
		is, ok := b.(openmanus.ModelFailed)
		if !ok {
			return b, ""
		}
		if is.Sent != (llm.Sent{}) { // a provider failed, and not the program
			is.Error, is.Usage, is.Cost, is.Free, is.By, is.Aside = was.Error, was.Usage, was.Cost, was.Free, was.By, was.Aside
		}
		is.Re = p.reOf(was.Re, is.Re)
		is.Sent, what = p.sent(was.Sent, is.Sent)
		return is, what
	case openmanus.Compacted:
		is, ok := b.(openmanus.Compacted)
		if !ok {
			return b, ""
		}
		is.Usage, is.Cost, is.Free, is.Aside = was.Usage, was.Cost, was.Free, was.Aside
		is.Sent, what = p.sent(was.Sent, is.Sent)
		return is, what
	case openmanus.Stopped:
		if is, ok := b.(openmanus.Stopped); ok {
			is.Re = p.reOf(was.Re, is.Re)
			return is, ""
		}
	case openmanus.Ended:
		if is, ok := b.(openmanus.Ended); ok {
			is.Re = p.reOf(was.Re, is.Re)
			return is, ""
		}
	case openmanus.CallDone:
		if is, ok := b.(openmanus.CallDone); ok {
			is.Files, is.Meanwhile = was.Files, was.Meanwhile
			if p.rec.lost[was.Picture] {
				is.Picture = was.Picture
			}
			return is, ""
		}
	case openmanus.Asked:
		if is, ok := b.(openmanus.Asked); ok && p.rec.lost[was.Picture] {
			is.Picture = was.Picture
			return is, ""
		}
	}
	return b, ""
}

// withoutSources returns b without sources, if was has none.
func withoutSources(b, was openmanus.Body) openmanus.Body {
	switch is := b.(type) {
	case openmanus.Asked:
		if was, ok := was.(openmanus.Asked); ok && was.Sources == nil {
			is.Sources = nil
			return is
		}
	case openmanus.Ruled:
		if was, ok := was.(openmanus.Ruled); ok && was.Sources == nil {
			is.Sources = nil
			return is
		}
	case openmanus.CallDone:
		if was, ok := was.(openmanus.CallDone); ok && was.Sources == nil {
			is.Sources = nil
			return is
		}
	case openmanus.ChildDone:
		if was, ok := was.(openmanus.ChildDone); ok && was.Sources == nil {
			is.Sources = nil
			return is
		}
	}
	return b
}

// sent returns what the event is to have of a request: the recorded digests, if the
// one that is made today is the same.
func (p *player) sent(was, is llm.Sent) (llm.Sent, string) {
	switch part, at := was.Differs(is); {
	case p.anew && was != (llm.Sent{}):
		return is, ""
	case part == "":
		return was, ""
	case part != "messages":
		return is, "the request has other " + part + " than the one that was sent"
	case at < 0:
		return is, fmt.Sprintf("the request has another message than the one that was sent, before its last %d of %d", lastKnown, is.Messages)
	default:
		return is, fmt.Sprintf("message %d of the request, of %d, is another one than was sent", at+1, is.Messages)
	}
}

// lastKnown is how many messages of a request have digests of their own, at most.
const lastKnown = 16

// reOf returns the Re of an end that is decided on together with events before it:
// it has seen those, and does not say so, since their numbers were not known.
func (p *player) reOf(was, is int64) int64 {
	if was >= is || was < 1 {
		return is
	}
	together := int64(0)
	for _, ev := range p.events[was:p.state.Seq] {
		if decided(ev.Body) {
			together++
		}
	}
	if is-was <= together {
		return was
	}
	return is
}

// decided reports whether a program decided on b, or did it.
func decided(b openmanus.Body) bool {
	switch b := b.(type) {
	case openmanus.Ruled:
		return b.By == openmanus.ByGate
	case openmanus.UserSaid, openmanus.Answered, openmanus.Resumed, openmanus.Interrupted, openmanus.Configured, openmanus.Opened,
		openmanus.ModeSet:
		return false
	}
	return true
}
