package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// delegations returns how many child sessions x calls for that are not announced yet.
func delegations(x *Session) (n int) {
	for _, t := range x.Flow.Next(x.State) {
		if t.Do == openmanus.Delegate && x.State.Child(openmanus.ChildID(x.ID, t.Child)) == nil {
			n++
		}
	}
	return n
}

// reserve returns the event that announces a child session, with its share of
// what the limits leave: an equal one for each of the n sessions that are announced
// at once, and for the session itself. If the limits allow no child, it returns the result of
// the call that delegates, so that the agent can go on without, or stops a
// session that delegates without a call. It returns nil if the session has
// ended.
func reserve(session string, s *openmanus.State, t openmanus.Task, n int) openmanus.Body {
	if s.Outcome.Status != "" {
		return nil
	}
	l := s.Limits
	refuse := func(r openmanus.Reason, format string, limit int) openmanus.Body {
		why := fmt.Sprintf("reached the limit of delegation ("+format+")", limit)
		if t.Call != "" {
			return openmanus.FailedCall(t.Call, "not delegated: "+why+"; do it yourself")
		}
		return openmanus.Stopped{Turn: s.Turn, Re: s.Seq, Reason: r, Error: why}
	}
	left := l
	left.Tokens, left.Money = remaining(l.Tokens, s.Usage.Total()), remaining(l.Money, s.Cost)
	open := 1 // with the new one
	for _, c := range s.Children {
		if c.Done != nil {
			continue
		}
		if !s.Abandoned(c) {
			open++
		}
		left.Tokens = remaining(left.Tokens, max(0, c.Limits.Tokens))
		left.Money = remaining(left.Money, max(0, c.Limits.Money))
	}
	switch {
	case l.Depth >= 0 && s.Opened.Depth >= l.Depth:
		return refuse(openmanus.TooDeep, "%d deep", l.Depth)
	case l.FanOut >= 0 && open > l.FanOut:
		return refuse(openmanus.TooWide, "%d at once", l.FanOut)
	}
	share := max(1, n) + 1
	left.Tokens, left.Money = portion(left.Tokens, share), portion(left.Money, openmanus.Money(share))
	return openmanus.ChildOpened{Call: t.Call, Child: openmanus.ChildID(session, t.Child), Label: t.Label, Limits: left}
}

// remaining returns limit less used, and at least 1, because 0 would mean the
// default. No limit, -1, stays no limit.
func remaining[T ~int | ~int64](limit, used T) T {
	if limit < 0 {
		return limit
	}
	return max(1, limit-used)
}

// portion returns one of n shares of limit, and at least 1, because 0 would mean
// the default. No limit, -1, stays no limit.
func portion[T ~int | ~int64](limit, n T) T {
	if limit < 0 {
		return limit
	}
	return max(1, limit/n)
}

// errNoFlow says that a child session cannot be opened, because no flow can be
// made for it. The child has failed then.
var errNoFlow = errors.New("cannot be delegated")

// delegate opens the child session of t, which was reserved, unless it exists.
// If the child has ended, delegate returns the event that reports on it, and before
// it what else is to be recorded then.
func (w *Worker) delegate(ctx context.Context, x *Session, t openmanus.Task) ([]openmanus.Body, error) {
	id := openmanus.ChildID(x.ID, t.Child)
	if x.State.Child(id).Done != nil {
		return nil, nil
	}
	w.noteMode(x)
	s, err := openmanus.Load(ctx, w.Journal, id)
	if errors.Is(err, openmanus.ErrNoSession) {
		err = w.openChild(ctx, x, t)
		if errors.Is(err, errNoFlow) && ctx.Err() == nil {
			return []openmanus.Body{openmanus.ChildDone{
				Call: t.Call, Child: id, Status: openmanus.Failed, Reason: openmanus.ByTooling, Text: err.Error(),
			}}, nil
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	d := w.report(id, s, t)
	if d == nil {
		return nil, nil
	}
	var first []openmanus.Body
	if w.Ended != nil {
		if first, err = w.Ended(ctx, x.ID, x.State, s.Config, d); err != nil {
			return nil, err
		}
	}
	return append(first, *d), nil
}

// openChild opens the session that t delegates to, with a spec of its own and
// within the limits that were reserved for it. Another worker may open it at the
// same time: then the first one counts.
func (w *Worker) openChild(ctx context.Context, x *Session, t openmanus.Task) error {
	id := openmanus.ChildID(x.ID, t.Child)
	given, sources, err := w.given(ctx, x, &t)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoFlow, err)
	}
	spec := openmanus.Spec{Agent: t.Flow}
	if w.Child != nil {
		if spec, err = w.Child(ctx, x.ID, x.State, t); err != nil {
			return fmt.Errorf("session %s: %w: %w", id, errNoFlow, err)
		}
	}
	if len(given.Answer) > 0 {
		spec.Answer = given.Answer
	}
	opened := openmanus.Opened{
		Flow: spec.Name(), Parent: x.ID, Owner: x.State.Opened.Owner,
		Depth: x.State.Opened.Depth + 1, Version: openmanus.FormatVersion,
	}
	f, err := w.Flow(ctx, &openmanus.State{Opened: opened, Config: openmanus.Configured{Spec: spec}})
	if err != nil {
		return fmt.Errorf("session %s: %w: %w", id, errNoFlow, err)
	}
	c := f.Agent().Configured(0)
	c.Limits = c.Limits.Within(x.State.Child(id).Limits)
	if dir := x.State.Config.Workspace; t.Copy == nil && c.Workspace != dir && dir != "" && c.Workspace != "" {
		c.CopyOf = dir
	}
	m := &openmanus.UserSaid{
		ID: "task", Message: llm.Say(llm.User, t.Prompt), Sources: taskSources(x.ID, x.State, t.Prompt),
	}
	switch {
	case len(given.Content.Parts) > 0:
		m.Note, m.NoteSources = given.Content.Parts, sources
	case w.Note != nil:
		if m.Note, err = w.Note(ctx, c); err != nil {
			return fmt.Errorf("session %s: %w: %w", id, errNoFlow, err)
		}
	}
	err = openmanus.OpenWith(ctx, w.Journal, id, opened, c, m)
	if errors.Is(err, openmanus.ErrExists) {
		return nil // another worker opened it
	}
	return err
}

// given returns what the tool of a call gives to the child session of t, and who
// wrote the content in it, and completes t. It is empty for a tool that is no
// [openmanus.Delegator], and for a flow that delegates without a call.
func (w *Worker) given(ctx context.Context, x *Session, t *openmanus.Task) (
	d openmanus.Delegation, sources []openmanus.Source, err error,
) {
	c := x.State.Call(t.Call)
	if c == nil {
		return d, nil, nil
	}
	tool, ok := x.Flow.Agent().Tool(c.Name).(openmanus.Delegator)
	if !ok {
		return d, nil, nil
	}
	defer guarded(c.Name, &err)
	call, spec, err := w.prepare(x, c)
	if err != nil {
		return d, nil, err
	}
	if d, err = tool.Delegate(ctx, call); err != nil {
		return d, nil, err
	}
	t.Flow, t.Prompt = d.Agent, d.Task
	return d, sourcesOf(x.State, spec, call.Input, d.Content), nil
}

// readerAnswer makes d the report of a session in state s that a [openmanus.Delegator]
// opened for an answer by a schema. Only an answer that fits the schema gets
// through, written anew, and of its sources those that are not trusted have only
// the strings that the schema leaves free.
func readerAnswer(d *openmanus.ChildDone, s *openmanus.State) {
	schema := s.Config.Spec.Answer
	text := s.Answer
	if d.Status == openmanus.Finished {
		var err error
		if text, err = fitting(schema, s.Answer); err != nil {
			d.Status, d.Reason = openmanus.Failed, openmanus.ByAgent
		}
	}
	if d.Status != openmanus.Finished {
		d.Text = "the reader gave no answer that fits the schema: ask something else, or in another form"
		return
	}
	d.Text = text
	child := openmanus.Source{From: openmanus.FromSession + d.Child, Trusted: true}
	words := args.TaintedStrings(schema, json.RawMessage(text))
	var sources []openmanus.Source
	for _, src := range s.Read() {
		child.Private = child.Private || src.Private
		src.Words = words
		sources = append(sources, src)
	}
	if len(words) == 0 || len(sources) == 0 {
		sources = []openmanus.Source{child}
	}
	d.Sources = sources
}

// fitting returns an answer in the one form that has no room for anything besides
// what the schema describes, such as names that stand twice.
func fitting(schema json.RawMessage, answer string) (string, error) {
	var v any
	d := json.NewDecoder(strings.NewReader(answer))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	s, err := args.Compile(schema)
	if err != nil {
		return "", err
	}
	return s.Check(string(data))
}

// maxReported is how many files a report on a child session names.
const maxReported = 50

// report returns the event by which the parent hears of a child session in
// state s, or nil if that has not ended: law 8.
func (w *Worker) report(child string, s *openmanus.State, t openmanus.Task) *openmanus.ChildDone {
	o := s.Outcome
	if o.Status == "" {
		return nil
	}
	d := &openmanus.ChildDone{
		Call: t.Call, Child: child, Status: o.Status, Reason: o.Reason, Text: s.Answer, Usage: s.Usage, Cost: s.Cost,
		Free: s.Cost == 0 && s.Unpriced == 0, Unpriced: s.Unpriced,
		Sources: reportSources(child, s),
	}
	switch {
	case o.Status == openmanus.Finished:
	case o.Reason == openmanus.ByAgent && s.Answer != "":
		d.Text = "the agent gave up: " + s.Answer
	default:
		d.Text = strings.TrimSpace(fmt.Sprintf("%s: %s\n%s", o.Reason, o.Error, s.Answer))
	}
	if t.Call != "" && len(s.Config.Spec.Answer) > 0 {
		readerAnswer(d, s)
		return d
	}
	own, meanwhile := s.Files(0)
	d.Files, d.Meanwhile = openmanus.FileNames(own, maxReported), openmanus.FileNames(meanwhile, maxReported)
	return d
}
