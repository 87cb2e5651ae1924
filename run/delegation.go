package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// reserve writes down that a child is to be opened, with its share of what is
// left; or that there may be no such child.
func (w *Worker) reserve(session string, s *openmanus.State, t openmanus.Task) openmanus.Body {
	id := openmanus.ChildID(session, t.Child)
	if s.Child(id) != nil || s.Outcome.Status != "" {
		return nil
	}
	l := s.Limits
	stop := func(r openmanus.Reason, format string, a ...any) openmanus.Body {
		if t.Call != "" { // the agent can go on without
			return openmanus.FailedCall(t.Call, "not delegated: "+fmt.Sprintf(format, a...)+"; do it yourself")
		}
		return openmanus.Stopped{Turn: s.Turn, Re: s.Seq, Reason: r, Error: fmt.Sprintf(format, a...)}
	}
	open, left := 1, l
	left.Tokens, left.Money = rest(l.Tokens, s.Usage.Total()), rest(l.Money, s.Cost)
	for _, c := range s.Children {
		if c.Done == nil {
			if !s.Abandoned(c) {
				open++
			}
			left.Tokens, left.Money = rest(left.Tokens, max(0, c.Limits.Tokens)), rest(left.Money, max(0, c.Limits.Money))
		}
	}
	switch {
	case l.Depth >= 0 && s.Opened.Depth >= l.Depth:
		return stop(openmanus.TooDeep, "reached the limit of delegation (%d deep)", l.Depth)
	case l.FanOut >= 0 && open > l.FanOut:
		return stop(openmanus.TooWide, "reached the limit of delegation (%d at once)", l.FanOut)
	}
	share := max(1, l.FanOut-open+1)
	if l.FanOut < 0 {
		share = openmanus.DefaultLimits().FanOut
	}
	left.Tokens, left.Money = portion(left.Tokens, share), portion(left.Money, openmanus.Money(share))
	return openmanus.ChildOpened{Call: t.Call, Child: id, Limits: left}
}

// rest is what is left of a limit; -1 stays without limit.
func rest[T ~int | ~int64](limit, used T) T {
	if limit < 0 {
		return limit
	}
	return max(1, limit-used)
}

func portion[T ~int | ~int64](limit, n T) T {
	if limit < 0 {
		return limit
	}
	return max(1, limit/n)
}

// OpenChild opens the session that t delegates to, as its parent, in state s,
// reserved it. It is safe to open it twice. An error that is [ErrNoFlow] says
// that there can be no such session.
func (w *Worker) OpenChild(ctx context.Context, session string, s *openmanus.State, t openmanus.Task) error {
	id := openmanus.ChildID(session, t.Child)
	for _, err := range w.Journal.Events(ctx, id, 0) {
		return err // it has been opened
	}
	spec := openmanus.Spec{Agent: t.Flow}
	if w.Child != nil {
		var err error
		if spec, err = w.Child(ctx, session, s, t); err != nil {
			return fmt.Errorf("session %s: %w: %w", id, ErrNoFlow, err)
		}
	}
	opened := openmanus.Opened{Flow: spec.Name(), Parent: session, Owner: s.Opened.Owner, Depth: s.Opened.Depth + 1, Version: openmanus.FormatVersion}
	f, err := w.Flow(ctx, &openmanus.State{Opened: opened, Config: openmanus.Configured{Spec: spec}})
	if err != nil {
		return fmt.Errorf("session %s: %w: %w", id, ErrNoFlow, err)
	}
	c := f.Agent().Configured(0)
	if child := s.Child(id); child != nil {
		c.Limits = c.Limits.Within(child.Limits)
	}
	m := &openmanus.UserSaid{ID: "task", Message: llm.Say(llm.User, t.Prompt)}
	if w.Note != nil {
		if m.Note, err = w.Note(ctx, c); err != nil {
			return fmt.Errorf("session %s: %w: %w", id, ErrNoFlow, err)
		}
	}
	if err := openmanus.OpenWith(ctx, w.Journal, id, opened, c, m); !errors.Is(err, openmanus.ErrExists) {
		return err
	}
	return nil
}

// ErrNoFlow says that the flow that a session is to have cannot be had.
var ErrNoFlow = errors.New("it cannot be delegated")

// Report returns the event by which a session hears of a child that has ended,
// or nil if it has not: law 8.
func (w *Worker) Report(ctx context.Context, session string, t openmanus.Task) (openmanus.Body, error) {
	id := openmanus.ChildID(session, t.Child)
	s, err := openmanus.Load(ctx, w.Journal, id)
	if err != nil {
		return nil, err
	}
	o := s.Outcome
	if o.Status == "" {
		return nil, nil
	}
	text := s.Answer
	if o.Status != openmanus.Finished {
		text = fmt.Sprintf("%s: %s\n%s", o.Reason, o.Error, text)
	}
	d := openmanus.ChildDone{Call: t.Call, Child: id, Status: o.Status, Reason: o.Reason, Text: text, Usage: s.Usage, Cost: s.Cost}
	if w.Files != nil {
		if d.Files, err = w.Files(ctx, s); err != nil {
			return nil, fmt.Errorf("session %s: what it made: %w", id, err)
		}
	}
	return d, nil
}

// startChild drives a child until it ends or waits for a person. One that
// waits is parked: it goes on when somebody speaks, or this session is woken
// again.
func (d *driver) startChild(ctx context.Context, t openmanus.Task) {
	child := d.s.Child(openmanus.ChildID(d.id, t.Child))
	if d.parked[t.Child] != nil || child == nil || child.Done != nil {
		return
	}
	s := d.s.Clone()
	d.launch(ctx, &job{key: "child/" + t.Child, turn: -1, child: &t}, func(ctx context.Context) (openmanus.Body, error) {
		err := d.OpenChild(ctx, d.id, s, t)
		if errors.Is(err, ErrNoFlow) && ctx.Err() == nil {
			return openmanus.ChildDone{Call: t.Call, Child: child.Child, Status: openmanus.Failed, Reason: openmanus.ByTooling, Text: err.Error()}, nil
		}
		if err == nil {
			err = d.Wake(ctx, child.Child)
		}
		if err != nil {
			return nil, err
		}
		return d.Report(ctx, d.id, t)
	})
}
