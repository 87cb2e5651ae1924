package replay

import (
	"context"
	"errors"
	"fmt"
	"reflect"

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

// without returns the state without the event seq and what people said after it, if
// a person said it: a driver may have decided without it, since it did not know it yet.
// Events that are stored together have the numbers then that they would have had.
func (p *player) without(seq int64) *openmanus.State {
	if !openmanus.DoneByPerson(p.events[seq-1].Body) || p.past[seq-1] == nil {
		return nil
	}
	s := p.past[seq-1].Clone()
	for _, ev := range p.events[seq:p.state.Seq] {
		if !openmanus.DoneByPerson(ev.Body) {
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
	if openmanus.TypeName(b) != openmanus.TypeName(ev.Body) {
		return b, ""
	}
	switch is := b.(type) {
	case openmanus.ModelSaid:
		was := ev.Body.(openmanus.ModelSaid)
		if is.Usage != was.Usage || was.By != "" && was.By != s.Config.Model {
			b = with(b, was, "Usage", "Cost", "Free")
		}
		b = with(b, was, "Aside")
	case openmanus.ModelFailed:
		if is.Sent != (llm.Sent{}) { // a provider failed, and not the program
			b = with(b, ev.Body, "Status", "Error", "Usage", "Cost", "Free", "By", "Aside")
		}
		b = p.withRe(b, ev.Body)
	case openmanus.Compacted:
		b = with(b, ev.Body, "Usage", "Cost", "Free", "Aside")
	case openmanus.Stopped, openmanus.Ended:
		b = p.withRe(b, ev.Body)
	case openmanus.CallDone:
		b = with(b, ev.Body, "Files", "Meanwhile")
	default: // the words of the provider, and what it was paid
		for _, name := range []string{"Refused", "Aside"} {
			if field(ev.Body, name) != nil {
				b = with(b, ev.Body, name)
			}
		}
	}
	if ref, ok := field(ev.Body, "Picture").(openmanus.Ref); ok && p.rec.lost[ref] {
		b = with(b, ev.Body, "Picture")
	}
	if was, ok := field(ev.Body, "Sent").(llm.Sent); ok {
		was, what = p.sent(was, field(b, "Sent").(llm.Sent))
		b = with(b, openmanus.ModelSaid{Sent: was}, "Sent")
	}
	return b, what
}

// field returns a field of a body, or nil if it has none with this name.
func field(b openmanus.Body, name string) any {
	if f := reflect.ValueOf(b).FieldByName(name); f.IsValid() {
		return f.Interface()
	}
	return nil
}

// with returns b with fields of from.
func with(b, from openmanus.Body, names ...string) openmanus.Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	v.Set(reflect.ValueOf(b))
	for _, name := range names {
		v.FieldByName(name).Set(reflect.ValueOf(from).FieldByName(name))
	}
	return v.Interface().(openmanus.Body)
}

// withoutSources returns b without sources, if was has none.
func withoutSources(b, was openmanus.Body) openmanus.Body {
	if f := reflect.ValueOf(was).FieldByName("Sources"); f.IsValid() && f.IsNil() && openmanus.TypeName(b) == openmanus.TypeName(was) {
		return with(b, was, "Sources")
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

// withRe returns b with the Re of was, if b is an end that is decided on together with
// events before it: it has seen those, and does not say so, since their numbers were not
// known.
func (p *player) withRe(b, was openmanus.Body) openmanus.Body {
	then, now := field(was, "Re").(int64), field(b, "Re").(int64)
	if then >= now || then < 1 {
		return b
	}
	together := int64(0)
	for _, ev := range p.events[then:p.state.Seq] {
		if !openmanus.DoneByPerson(ev.Body) {
			together++
		}
	}
	if now-then <= together {
		return with(b, was, "Re")
	}
	return b
}
