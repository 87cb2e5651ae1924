package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run"
)

// session1 returns the session in a state, without claims.
func (p *player) session1(s *openmanus.State) *run.Session {
	return &run.Session{ID: p.id, State: s, Flow: p}
}

// call looks for the call that a flow makes.
func (t *search) call(ctx context.Context, _ openmanus.Called) {
	t.tasks(ctx, openmanus.MakeCall, "", world{})
}

// start looks for the call that starts.
func (t *search) start(ctx context.Context, b openmanus.CallStarted) {
	t.p.toolCalls++
	t.p.worker.Name = b.Worker
	t.tasks(ctx, openmanus.Use, b.Call, world{})
}

// use runs a call that has started, in a world, as it was at its start or else as it
// is now.
func (t *search) use(ctx context.Context, call string, w world) {
	x, ok := t.p.starts[call]
	if !ok || t.over() {
		return
	}
	c := x.State.Call(call)
	w.hints, w.preview, w.scope = c.Hints, "", c.Ruled.Scope
	if c.Ruling != nil {
		w.preview = c.Ruling.Shown
	}
	task := openmanus.Task{Do: openmanus.Use, Call: call}
	t.run(ctx, &x, task, w)
	if now := t.p.state.Call(call); !t.over() && now != nil && now.Running {
		x.State = t.p.state.Clone()
		t.run(ctx, &x, task, w)
	}
}

// result looks for what the result b is of: a call that ran, that was not run, that is
// in doubt, or that delegates and may not.
func (t *search) result(ctx context.Context, b openmanus.CallDone) {
	c := t.p.state.Call(b.Call)
	if c != nil && c.Done != nil && c.Attempts == 0 {
		t.compare(*c.Done, t.p.state) // the fold knew it before it was said
		return
	}
	started := t.p.starts[b.Call].State != nil // it may have ended after the session had gone on without it
	if !started && (c == nil || c.Attempts == 0) {
		t.notRun(ctx, b)
		return
	}
	if c != nil && c.Done == nil && plainError(b) && b.Parts.Text() == openmanus.InDoubt {
		t.tasks(ctx, openmanus.Use, b.Call, world{})
	}
	t.ran(ctx, b)
}

// plainError reports whether b is as [openmanus.FailedCall] makes it.
func plainError(b openmanus.CallDone) bool {
	return same(b, openmanus.FailedCall(b.Call, b.Parts.Text()))
}

// notRun looks for why a call did not run: its arguments do not fit, looking at it
// failed, or the limits allow no child session.
func (t *search) notRun(ctx context.Context, b openmanus.CallDone) {
	var hints openmanus.Hints
	if c := t.p.state.Call(b.Call); c != nil {
		hints = c.Hints
	}
	if hints.Delegates {
		t.tasks(ctx, openmanus.Delegate, b.Call, world{})
	}
	if !t.over() { // the gate asks, and the preview fails
		w := world{hints: hints, verdict: openmanus.Verdict{Ask: true}, fails: errors.New(b.Parts.Text()), seen: b.Seen}
		t.best = nil
		t.tasks(ctx, openmanus.Rule, b.Call, w)
	}
}

// ran looks for the result of a call that ran. The tool's result follows from the
// record, except for a few details, for which alternatives are tried.
func (t *search) ran(ctx context.Context, b openmanus.CallDone) {
	results, err := t.p.resultsOf(ctx, b)
	if err != nil {
		t.err = err
		return
	}
	var first openmanus.Body
	for _, r := range results {
		w := world{
			result: func() (openmanus.Result, error) { return r.Result, r.err },
			cancel: b.Partial, wrote: b.Wrote, own: b.Files, meanwhile: b.Meanwhile, seen: b.Seen,
		}
		t.use(ctx, b.Call, w)
		if made, ok := t.best.(openmanus.CallDone); ok && !t.over() { // perhaps the tool knew better who wrote it
			r.Sources = t.p.sourcesFor(b, made)
			t.use(ctx, b.Call, w)
		}
		if t.over() {
			return
		}
		first, t.best = cmp.Or(first, t.best), nil
	}
	defer func() { t.best = cmp.Or(t.best, first) }()
	switch {
	case plainError(b): // it did not run, because of something outside
		t.compare(openmanus.FailedCall(b.Call, b.Parts.Text()), t.p.state)
	case b.Whole != "": // what was cut out of it had secrets in it, so it is not where it was
		r := results[0]
		w := world{result: func() (openmanus.Result, error) { return r.Result, r.err }, wrote: b.Wrote}
		for _, sources := range [][]openmanus.Source{nil, b.Sources} {
			r.Sources = sources
			if x, ok := t.p.starts[b.Call]; ok {
				w.hints, w.scope = x.State.Call(b.Call).Hints, x.State.Call(b.Call).Ruled.Scope
				made, err := t.p.do(ctx, &x, openmanus.Task{Do: openmanus.Use, Call: b.Call}, w)
				if done, ok := made.(openmanus.CallDone); ok && err == nil {
					done.Parts, done.Whole = b.Parts, b.Whole
					t.compare(done, x.State)
				}
			}
		}
	}
}

// late looks for the call whose result came after it had been given up.
func (t *search) late(ctx context.Context, b openmanus.CallLate) {
	inner := &search{p: t.p, ev: t.ev}
	inner.ev.Body = openmanus.CallDone{Call: b.Call, Parts: b.Parts, Sources: b.Sources}
	inner.ran(ctx, inner.ev.Body.(openmanus.CallDone))
	t.err = inner.err
	if done, ok := cmp.Or(inner.found, inner.best).(openmanus.CallDone); ok {
		t.compare(openmanus.CallLate{Call: done.Call, Parts: done.Parts, Sources: done.Sources}, t.p.state)
	}
}

// A returned is what a tool may have returned.
type returned struct {
	openmanus.Result
	err error
}

// resultsOf returns what the tool of a call may have returned that has the result b.
func (p *player) resultsOf(ctx context.Context, b openmanus.CallDone) ([]*returned, error) {
	text, view, others := splitParts(b.Parts)
	if b.Whole != "" {
		data, err := openmanus.ReadBlob(ctx, p.rec.blobs, b.Whole)
		if err != nil {
			return nil, fmt.Errorf("session %s: the result of %s: %w", p.id, b.Call, err)
		}
		if whole := string(data); view == "" {
			text = whole
		} else if strings.HasPrefix(whole, text) {
			view = whole[len(text):]
		}
	}
	if x, ok := p.starts[b.Call]; ok {
		if input := x.State.Call(b.Call).ChangedInput(); input != "" {
			text = strings.TrimPrefix(text, "(with changed arguments: "+input+")\n")
		}
	}
	r := returned{Result: openmanus.Result{Source: b.Source, Failed: b.Failed, Waited: b.Waited}}
	if len(b.Detail) > 0 {
		r.Detail = b.Detail
	}
	if b.Picture != "" && !p.rec.lost[b.Picture] {
		data, err := openmanus.ReadBlob(ctx, p.rec.blobs, b.Picture)
		if err != nil {
			return nil, err
		}
		r.Picture = data
	}
	shown := others
	if view != "" {
		shown = append(llm.Parts{llm.Text{Text: view, View: true}}, others...)
	}
	if b.IsError && !b.Partial { // the error comes before what the tool shows
		if slices.ContainsFunc(others, stays) {
			text = strings.TrimPrefix(text, "\n")
		}
		r.Parts, r.err = shown, errors.New(text)
	} else {
		r.Parts = append(llm.Parts{llm.Text{Text: text}}, shown...)
	}
	reading := r
	reading.Reading = true
	if b.Whole == "" {
		return []*returned{&reading}, nil // the longer limit
	}
	return []*returned{&r, &reading}, nil
}

// stays reports whether a part of a result that is no text is no view.
func stays(p llm.Part) bool {
	blob, ok := p.(llm.Blob)
	return !ok || !blob.View
}

// splitParts returns the text of a result, the text that is a view, and the rest.
func splitParts(parts llm.Parts) (text, view string, others llm.Parts) {
	for _, p := range parts {
		switch t, ok := p.(llm.Text); {
		case !ok:
			others = append(others, p)
		case t.View:
			view += t.Text
		default:
			text += t.Text
		}
	}
	return text, view, others
}

// sourcesFor returns the sources that a tool returned for the event to have those of
// b; made is the event that there is without any. The worker adds to the source of a
// file those of what the session wrote there, so the shortest list is looked for.
func (p *player) sourcesFor(b, made openmanus.CallDone) []openmanus.Source {
	want, fixed := b.Sources, []openmanus.Source(nil)
	if n := len(want); n > 0 && want[n-1].From == openmanus.FromNetwork && len(made.Sources) > 0 &&
		made.Sources[len(made.Sources)-1].From == openmanus.FromNetwork {
		want, fixed = want[:n-1], made.Sources[:len(made.Sources)-1]
	}
	given := []openmanus.Source{}
	for have := slices.Clone(fixed); len(have) < len(want); {
		next := want[len(have)]
		given, have = append(given, next), append(have, next)
		if path, ok := strings.CutPrefix(next.From, openmanus.FromFile); ok && len(next.Words) == 0 {
			for _, src := range p.state.FileSources(path)[1:] {
				known := slices.ContainsFunc(have, func(o openmanus.Source) bool {
					return o.From == src.From && len(o.Words) == 0
				})
				if len(src.Words) > 0 || !known {
					have = append(have, src)
				}
			}
		}
	}
	return given
}
