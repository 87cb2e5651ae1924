package run

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
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
	gate := a.Gate
	if gate == nil {
		gate = openmanus.Mode(openmanus.ApproveAsk)
	}
	call.Provenance = x.State.Provenance(call.Input)
	v, err := gate.Rule(ctx, call, spec)
	if err != nil {
		return nil, fmt.Errorf("ruling on %s: %w", c.Name, err)
	}
	repaired := ""
	if call.Input != c.Input {
		repaired = call.Input
	}
	if !v.Ask {
		return openmanus.Ruled{
			Call: c.ID, Allow: v.Allow, By: openmanus.ByGate, Rule: v.Rule, Reason: v.Reason,
			Input: repaired, Hash: fingerprint(call, ""), Hints: spec.Hints, Sources: call.Provenance.Record(),
		}, nil
	}
	preview, err := w.preview(ctx, a.Tool(c.Name), call)
	if err != nil {
		return openmanus.FailedCall(c.ID, err.Error()), nil
	}
	return openmanus.Asked{
		Call: c.ID, Kind: openmanus.AskRuling, Question: v.Reason, Input: repaired,
		Shown: preview, Hash: fingerprint(call, preview), Hints: spec.Hints,
		Rule: v.Rule, Sources: call.Provenance.Record(),
	}, nil
}

// preview returns what a call would do, if its tool can tell.
func (w *Worker) preview(ctx context.Context, t openmanus.Tool, call openmanus.Call) (text string, err error) {
	p, ok := t.(openmanus.Previewer)
	if !ok {
		return "", nil
	}
	defer func() {
		if p := recover(); p != nil {
			text, err = "", fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	text, err = p.Preview(ctx, call)
	return w.Secrets.Replace(strings.ToValidUTF8(text, "\uFFFD")), err
}

// fingerprint returns the hash of everything that a person is shown of a call.
func fingerprint(call openmanus.Call, preview string) string {
	if preview != "" {
		preview = "\x00" + preview
	}
	return openmanus.Fingerprint(call.Name, call.Input+preview)
}

// outdated returns an error for the model if a call that a person allowed would
// no longer do what the person was shown. Arguments that the person changed,
// and a call that has run before, are not checked.
func (w *Worker) outdated(ctx context.Context, t openmanus.Tool, c *openmanus.CallState, call openmanus.Call) error {
	if c.Ruling == nil || c.Ruling.Shown == "" || c.Ruled.Input != "" || c.Attempts > 1 {
		return nil
	}
	preview, err := w.preview(ctx, t, call)
	if err != nil {
		return err
	}
	if fingerprint(call, preview) != c.Ruling.Hash {
		return fmt.Errorf("%s did not run: its target has changed since the person allowed it. "+
			"Look at the current state, and make the call again if it is still right", c.Name)
	}
	return nil
}

// prepare returns the call that c's tool receives, and the tool's spec with the
// hints of this call. Its error is for the model: the tool is unknown, or the
// arguments do not fit or contain the placeholder of a secret.
func (w *Worker) prepare(x *Session, c *openmanus.CallState) (openmanus.Call, openmanus.ToolSpec, error) {
	spec, known := x.State.ToolSpec(c.Name)
	t := x.Flow.Agent().Tool(c.Name)
	if !known || t == nil {
		return openmanus.Call{}, spec, fmt.Errorf("unknown tool '%s'. The tools are: %s", c.Name, strings.Join(toolNames(x.State), ", "))
	}
	input, err := x.checked.once(x.State.Config.N, c, func() (string, error) { return w.checkInput(spec, c.Arguments()) })
	if err != nil {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: %w", c.Name, err)
	}
	if p := journal.Placeholder(input); p != "" {
		return openmanus.Call{}, spec, fmt.Errorf("%s did not run: its arguments contain %s, the placeholder of a secret "+
			"that was redacted in what you read; you do not know the secret and cannot write it", c.Name, p)
	}
	call := openmanus.Call{
		Call: c.Call, Session: x.ID, Last: x.State.Last(c.Name), Children: x.State.Children, Blobs: journal.SessionBlobs(w.Journal, w.blobs(), x.ID), Live: io.Discard,
	}
	call.Input = input
	for _, ans := range c.Answers {
		call.Answers = append(call.Answers, openmanus.Answer{Text: ans.Text, Data: ans.Data})
	}
	now := t.Spec()
	spec.Hints, spec.Arguments = now.Hints, now.Arguments
	if h, ok := t.(openmanus.CallHinter); ok {
		spec.Hints, err = hintsOf(h, call)
	}
	return call, spec, err
}

// hintsOf asks h for the hints of a call. A panic in it becomes an error.
func hintsOf(h openmanus.CallHinter, call openmanus.Call) (hints openmanus.Hints, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s crashed: %v", call.Name, p)
		}
	}()
	return h.Hints(call), nil
}

func toolNames(s *openmanus.State) []string {
	var names []string
	for _, t := range s.Config.Tools {
		names = append(names, t.Name)
	}
	return names
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
