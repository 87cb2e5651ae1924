package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/journal"
)

// rule puts a call before the gate. It returns an [openmanus.Ruled], an
// [openmanus.Asked] if a person is to decide, or the result of a call that
// would fail anyway: no one is asked about that.
func (w *Worker) rule(ctx context.Context, x *Session, id string) (openmanus.Body, error) {
	a, c := x.Flow.Agent(), x.State.Call(id)
	if c == nil || c.Done != nil || c.Ruled != nil || c.Ruling != nil {
		return nil, nil
	}
	call, spec, err := w.prepare(x, c)
	if err != nil {
		return openmanus.FailedCall(c.ID, err.Error()), nil
	}
	said, call, spec, err := w.screen(ctx, x, c, call, spec)
	if err != nil {
		return nil, err
	}
	gate, err := w.gateOf(ctx, x)
	if err != nil {
		return nil, fmt.Errorf("ruling on %s: %w", c.Name, err)
	}
	var known *openmanus.Provenance // nil: the gate did not ask
	call.Provenance = func() *openmanus.Provenance {
		if known == nil {
			known = x.State.Provenance(call.Input)
		}
		return known
	}
	v := openmanus.Verdict{Rule: said.By, Reason: w.Secrets.Replace(said.Reason)}
	if !said.Denied {
		if v, err = gate.Rule(ctx, call, spec); err != nil {
			return nil, fmt.Errorf("ruling on %s: %w", c.Name, err)
		}
		v = said.narrow(v)
	}
	if v.Owner && w.isGuest(x) {
		v = openmanus.Verdict{Rule: v.Rule, Reason: notForGuests(call, spec)}
	}
	places, _ := openmanus.PlacesOf(gate, call, spec)
	leads := leadsOf(places)
	repaired := ""
	if call.Input != c.Input {
		repaired = call.Input
	}
	t, scope := a.Tool(c.Name), ""
	if v.Scoped {
		if scope, err = w.scope(ctx, t, call); err != nil {
			return openmanus.FailedCall(c.ID, err.Error()), nil
		}
	}
	if !v.Ask {
		return openmanus.Ruled{
			Call: c.ID, Allow: v.Allow, By: openmanus.ByGate, Rule: v.Rule, Reason: v.Reason, Scope: scope,
			Input: repaired, ChangedBy: said.ChangedBy, Hash: fingerprint(call, ""), Hints: spec.Hints, Sources: known.Record(), Leads: leads,
		}, nil
	}
	if scope != "" && x.State.Granted(c.Name, scope) {
		return openmanus.Ruled{
			Call: c.ID, Allow: true, By: openmanus.ByGate, Rule: "allowed in this session on " + scope, Scope: scope,
			Input: repaired, ChangedBy: said.ChangedBy, Hash: fingerprint(call, ""), Hints: spec.Hints, Sources: known.Record(), Leads: leads,
		}, nil
	}
	seen := previewSight(x.State, call)
	preview, err := w.preview(sight.With(ctx, seen), t, call)
	if err != nil {
		failed := openmanus.FailedCall(c.ID, w.Secrets.Replace(err.Error()))
		if seen != nil {
			for _, f := range seen.Seen() {
				failed.Seen = append(failed.Seen, openmanus.SeenFile(f))
			}
		}
		return failed, nil
	}
	return openmanus.Asked{
		Call: c.ID, Kind: openmanus.AskRuling, Question: v.Reason, Input: repaired, ChangedBy: said.ChangedBy,
		Shown: preview, Picture: w.depict(ctx, t, call, preview), Hash: fingerprint(call, preview), Hints: spec.Hints, Scope: scope,
		Rule: v.Rule, Sources: call.Provenance().Record(), Leads: leads,
	}, nil
}

// scope returns what the call acts within, if its tool can tell.
func (w *Worker) scope(ctx context.Context, t openmanus.Tool, call openmanus.Call) (scope string, err error) {
	s, ok := t.(openmanus.Scoper)
	if !ok {
		return "", nil
	}
	defer guarded(call.Name, &err)
	scope, err = s.Scope(ctx, call)
	return w.redacted(scope), err
}

// preview returns what a call would do, if its tool can tell.
func (w *Worker) preview(ctx context.Context, t openmanus.Tool, call openmanus.Call) (string, error) {
	text, err := Preview(ctx, t, call)
	return w.redacted(text), err
}

// redacted returns what a tool says of a call as events have it.
func (w *Worker) redacted(text string) string {
	return w.Secrets.Replace(strings.ToValidUTF8(text, "\uFFFD"))
}

// previewSight returns what a call may replace that runs when those before it have results.
func previewSight(s *openmanus.State, call openmanus.Call) *sight.Sight {
	if !afterOthers(s, call.ID) { // one of them may look at the file
		return nil
	}
	return sightOf(s, openmanus.Hints{})
}

// afterOthers reports whether all calls of the reply that come before a call have results.
func afterOthers(s *openmanus.State, id string) bool {
	for _, c := range s.Calls {
		if c.ID == id {
			break
		}
		if c.Done == nil {
			return false
		}
	}
	return true
}

// depict stores a picture of what a call would act on, if its tool can show one, and
// returns its blob. A question is put without a picture rather than not at all, and
// there is none of what shows a secret, which cannot be redacted in a picture.
func (w *Worker) depict(ctx context.Context, t openmanus.Tool, call openmanus.Call, preview string) (ref openmanus.Ref) {
	d, ok := t.(openmanus.Depicter)
	if !ok || journal.Placeholder(preview) != "" {
		return ""
	}
	defer func() {
		if recover() != nil {
			ref = ""
		}
	}()
	data, err := d.Depict(ctx, call)
	if err != nil {
		return ""
	}
	return w.storePicture(ctx, data)
}

// maxPicture is how many bytes a picture for people may have.
const maxPicture = 256 << 10

// storePicture stores a picture for people. It returns "" if there is none, if it is
// too large, or if it cannot be stored.
func (w *Worker) storePicture(ctx context.Context, data []byte) openmanus.Ref {
	if len(data) == 0 || len(data) > maxPicture {
		return ""
	}
	ref, err := w.blobs().Put(context.WithoutCancel(ctx), data)
	if err != nil {
		return ""
	}
	return ref
}

// fingerprint returns the hash of everything that a person is shown of a call.
func fingerprint(call openmanus.Call, preview string) string {
	if preview != "" {
		preview = "\x00" + preview
	}
	return openmanus.Fingerprint(call.Name, call.Input+preview)
}

// outdated returns an error for the model if a call that a person allowed would
// no longer do what the person was shown, or would act outside of the scope in
// which it was allowed. Arguments that the person changed, and a call that has run
// before, are not checked.
func (w *Worker) outdated(
	ctx context.Context, s *openmanus.State, t openmanus.Tool, c *openmanus.CallState, call openmanus.Call,
) error {
	now := t.Spec()
	known := c.Ruled.Input == "" && Hint(t, call, &now) == nil
	if known && now.Hints.Reach != "" && now.Hints.Reach != c.Hints.Reach {
		return fmt.Errorf("%s did not run: it would now run %s, and was not allowed to. Make the call again",
			c.Name, now.Hints.Reach.Where())
	}
	if known && c.Hints.ReadOnly && !now.Hints.ReadOnly {
		return fmt.Errorf("%s did not run: it was allowed as a call that changes nothing, and would be more now. "+
			"Make the call again if it is still right", c.Name)
	}
	if allowed := c.Ruled.Scope; allowed != "" {
		switch scope, err := w.scope(ctx, t, call); {
		case err != nil:
			return err
		case scope != allowed:
			return fmt.Errorf("%s did not run: it was allowed on %s, and would act elsewhere now", c.Name, allowed)
		}
	}
	if c.Ruling == nil || c.Ruling.Shown == "" || c.Ruled.Input != "" || c.Attempts > 1 {
		return nil
	}
	preview, err := w.preview(sight.With(ctx, previewSight(s, call)), t, call)
	if err != nil {
		return err
	}
	if fingerprint(call, preview) != c.Ruling.Hash {
		return fmt.Errorf("%s did not run: its target has changed since the person allowed it%s. "+
			"Look at the current state, and make the call again if it is still right", c.Name,
			firstChange(c.Ruling.Shown, preview))
	}
	return nil
}

// firstChange describes the first line in which two previews differ, or returns ""
// if one of them merely has more lines than the other.
func firstChange(then, now string) string {
	was, is := strings.Split(then, "\n"), strings.Split(now, "\n")
	for i := range min(len(was), len(is)) {
		if was[i] != is[i] {
			return fmt.Sprintf(" (it was %q, and is %q now)", clip.Text(was[i], 200), clip.Text(is[i], 200))
		}
	}
	return ""
}

// prepare returns the call that c's tool receives, and the tool's spec with the
// hints of this call. Its error is for the model: the tool is unknown, or the
// arguments do not fit or contain the placeholder of a secret.
func (w *Worker) prepare(x *Session, c *openmanus.CallState) (openmanus.Call, openmanus.ToolSpec, error) {
	return w.prepareWith(x, c, c.Arguments())
}

// prepareWith is prepare with other arguments.
func (w *Worker) prepareWith(x *Session, c *openmanus.CallState, given string) (openmanus.Call, openmanus.ToolSpec, error) {
	spec, known := x.State.ToolSpec(c.Name)
	t := x.Flow.Agent().Tool(c.Name)
	if !known || t == nil {
		return openmanus.Call{}, spec, unknownTool(c.Name, x.State)
	}
	input, err := x.checked.once(x.State.Config.N, c.ID, given, func() (string, error) { return w.checkInput(spec, given) })
	if err != nil {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: %w", c.Name, err)
	}
	if p := journal.Placeholder(input); p != "" {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: its arguments contain %s, the placeholder of a secret "+
			"that was redacted in what you read; you do not know the secret and cannot write it", c.Name, p)
	}
	call := openmanus.Call{
		Call: c.Call, Session: x.ID, Last: x.State.Last(remembered(t, c.Name)...), Children: x.State.Children, Tally: x.State.Tally(), Attempt: c.Attempts,
		Size: x.State.ResultSize(), Refs: x.State.Refs(), Blobs: journal.SessionBlobs(w.Journal, w.blobs(), x.ID), Live: io.Discard,
	}
	call.Input = input
	for _, ans := range c.Answers {
		call.Answers = append(call.Answers, openmanus.Answer{Text: ans.Text, Data: ans.Data})
	}
	now := t.Spec()
	spec.Hints, spec.Arguments = now.Hints, now.Arguments
	return call, spec, Hint(t, call, &spec)
}

// remembered returns the tools whose details are the memory of t, which is called name.
func remembered(t openmanus.Tool, name string) []string {
	if m, ok := t.(openmanus.MemorySharer); ok {
		return append([]string{name}, m.SharesLast()...)
	}
	return []string{name}
}

// unknownTool is the error for a call of a tool that the session does not have. It may be
// one that use_tool reaches: which these are changes while a session runs.
func unknownTool(name string, s *openmanus.State) error {
	var names []string
	for _, t := range s.Config.Tools {
		names = append(names, t.Name)
	}
	text := fmt.Sprintf("unknown tool '%s'. The tools are: %s", name, strings.Join(names, ", "))
	if slices.Contains(names, openmanus.UseTool) {
		text += fmt.Sprintf(`. If it is one of those that requests leave out, call %s with {"name": %q, "arguments": {…}}`, openmanus.UseTool, name)
	}
	return errors.New(text)
}

// checkInput repairs arguments that are nearly JSON and checks them against the
// tool's schema.
func (w *Worker) checkInput(spec openmanus.ToolSpec, input string) (string, error) {
	v, ok := w.schemas.Load(string(spec.Input))
	if !ok {
		schema, err := args.Compile(spec.Input)
		if err != nil {
			return "", err
		}
		v, _ = w.schemas.LoadOrStore(string(spec.Input), schema)
	}
	return v.(*args.Schema).Check(input)
}
