package replay

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// child looks for the task that announces a child session.
func (t *search) child(ctx context.Context, b openmanus.ChildOpened) {
	for s := range t.states(0) {
		for _, task := range t.p.flow.Next(s) {
			if task.Do == openmanus.Delegate && openmanus.ChildID(t.p.id, task.Child) == b.Child {
				t.try(ctx, s, task, world{})
			}
			if t.over() {
				return
			}
		}
	}
}

// until returns the events of a session that there were at a time at which it had
// ended.
func (p *player) until(session string, at time.Time) []openmanus.Event {
	all := p.rec.session(session)
	var s openmanus.State
	end := len(all)
	for i, ev := range all {
		if ev.Time.After(at) && s.Outcome.Status != "" {
			end = i
			break
		}
		s.Apply(ev)
	}
	return all[:end]
}

// takeover takes another worker as it comes: it is not the program's doing.
func (t *search) takeover(_ context.Context, b openmanus.TakenOver) {
	if n := t.p.state.TakenOver; b.N != n {
		t.err = t.p.differs(t.ev, fmt.Sprintf("the session was taken over %d times before", n), nil)
	}
	t.found = b
}

// childEnd looks for the report on a child session that has ended.
func (t *search) childEnd(ctx context.Context, b openmanus.ChildDone) {
	p := t.p
	child := p.state.Child(b.Child)
	name, ok := strings.CutPrefix(b.Child, openmanus.ChildID(p.id, ""))
	if child == nil || !ok {
		return
	}
	events := p.until(b.Child, t.ev.Time)
	if len(events) == 0 { // it could not be opened, or was not
		unopened := openmanus.ChildDone{Call: b.Call, Child: b.Child, Status: b.Status, Reason: b.Reason, Text: b.Text}
		t.compare(unopened, p.state)
		if t.found == nil && t.err == nil { // it was deleted since
			t.found = b
		}
		return
	}
	task := openmanus.Task{Do: openmanus.Delegate, Call: child.Call, Child: name}
	t.try(ctx, p.state, task, world{child: events})
}

// checkOpens compares how children begin with how the session would open them today.
// A child opens some time after it was announced; last says that nothing follows.
func (p *player) checkOpens(ctx context.Context, last bool) error {
	open := p.opens[:0]
	for _, seq := range p.opens {
		announced := p.events[seq-1].Body.(openmanus.ChildOpened)
		begins := p.rec.session(announced.Child)
		if len(begins) < 2 || p.imported > 0 {
			continue // not opened, or not by this program
		}
		d, err := p.opensAs(ctx, announced, begins)
		if err != nil {
			return err
		}
		child := p.state.Child(announced.Child)
		switch {
		case d == nil:
		case last || child != nil && child.Done != nil:
			return d
		default:
			open = append(open, seq)
		}
	}
	p.opens = open
	return nil
}

// opensAs returns how a child that is opened now differs from the recorded one.
func (p *player) opensAs(
	ctx context.Context, b openmanus.ChildOpened, begins []openmanus.Event,
) (d, err error) {
	config, ok := begins[1].Body.(openmanus.Configured)
	if !ok {
		return nil, nil
	}
	name := b.Child[len(openmanus.ChildID(p.id, "")):]
	task := openmanus.Task{Do: openmanus.Delegate, Call: b.Call, Child: name}
	for _, t := range p.flow.Next(p.state) {
		if t.Do == openmanus.Delegate && openmanus.ChildID(p.id, t.Child) == b.Child {
			task = t
		}
	}
	if task.Prompt == "" { // it is no longer due
		if at := p.past[p.seqOf(b)]; at != nil {
			for _, t := range p.flow.Next(at) {
				if t.Do == openmanus.Delegate && openmanus.ChildID(p.id, t.Child) == b.Child {
					task = t
				}
			}
		}
	}
	said, _ := begins[min(2, len(begins)-1)].Body.(openmanus.UserSaid)
	delegate := &openmanus.Delegation{Agent: config.Agent, Task: said.Message.Text(), Answer: config.Answer}
	delegate.Content.Parts, delegate.Content.Sources = said.Note, said.NoteSources
	for _, given := range []*openmanus.Delegation{nil, delegate} {
		w := world{begins: begins, config: &config, delegate: given}
		if c := p.state.Call(b.Call); c != nil {
			w.hints = c.Hints
		}
		if _, err := p.do(ctx, p.session1(p.state), task, w); err != nil {
			return nil, err
		}
		bodies := p.world.opened
		if d = p.compareOpening(b.Child, bodies, begins); d == nil {
			return nil, nil
		}
	}
	return d, nil
}

// seqOf returns the event that announces a child.
func (p *player) seqOf(b openmanus.ChildOpened) int64 {
	for _, ev := range p.events {
		if o, ok := ev.Body.(openmanus.ChildOpened); ok && o.Child == b.Child {
			return ev.Seq
		}
	}
	return 0
}

// compareOpening returns the first of the events with which a child opens that differs
// from the recorded one.
func (p *player) compareOpening(child string, bodies []openmanus.Body, begins []openmanus.Event) error {
	q := &player{id: child}
	if len(bodies) == 0 {
		return q.differs(begins[0], "today's program does not open this session", nil)
	}
	for i, b := range bodies {
		if i >= len(begins) {
			return q.differs(begins[len(begins)-1], "today's program says more to the session when it opens it", b)
		}
		if !same(b, begins[i].Body) {
			return q.differs(begins[i], "today's program opens the session otherwise", b)
		}
	}
	return nil
}
