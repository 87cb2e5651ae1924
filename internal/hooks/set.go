package hooks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/run"
)

// maxAtOnce is how many deciding hooks of a [Set] run at once. Others wait, and their time
// begins when they start.
const maxAtOnce = 16

// A Set asks the hooks of sessions. It is safe for concurrent use.
type Set struct {
	of     func(workspace string) []Hook
	runner Runner
	room   chan struct{}
}

// NewSet returns the set that asks the hooks that of returns for the workspace of a
// session. of is safe for concurrent use.
func NewSet(of func(workspace string) []Hook, r Runner) *Set {
	return &Set{of: of, runner: r, room: make(chan struct{}, maxAtOnce)}
}

// on returns the hooks on an event about a tool.
func (s *Set) on(event, workspace, tool string) (list []Hook) {
	for _, h := range s.of(workspace) {
		if h.On == event && (event != BeforeCall || h.Fits(tool)) {
			list = append(list, h)
		}
	}
	return list
}

// Asks implements [run.Hooks].
func (s *Set) Asks(st *openmanus.State, tool string) bool {
	return len(s.on(BeforeCall, st.Config.Workspace, tool)) > 0
}

// BeforeCall implements [run.Hooks]. The hooks are asked one after the other, and each reads
// the arguments as those before it left them. The first refusal counts.
func (s *Set) BeforeCall(
	ctx context.Context, session string, st *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec,
) (said run.Screened, err error) {
	for _, h := range s.on(BeforeCall, st.Config.Workspace, call.Name) {
		ev := about(BeforeCall, session, st.Opened, st.Config)
		ev.Call = &Call{ID: call.ID, Tool: call.Name, Input: arguments(cmp.Or(said.Input, call.Input)), ReadOnly: spec.Hints.ReadOnly}
		a, err := s.ask(ctx, h, ev)
		if err != nil {
			return run.Screened{}, err
		}
		by := "hook " + h.Name
		if len(a.Input) > 0 && a.Decision != "deny" && !sameJSON(a.Input, ev.Call.Input) {
			said.Input, said.ChangedBy = string(a.Input), joined(said.ChangedBy, by)
		}
		switch a.Decision {
		case "deny":
			return run.Screened{Denied: true, By: by, Reason: a.Reason}, nil
		case "ask":
			said.By, said.Reason = joined(said.By, by), joined(said.Reason, "the "+by+" asks: "+cmp.Or(a.Reason, "may this run?"))
			said.Ask = true
		}
	}
	return said, nil
}

// BeforeRequest implements [run.Hooks].
func (s *Set) BeforeRequest(ctx context.Context, session string, st *openmanus.State) (run.Screened, error) {
	for _, h := range s.on(BeforeRequest, st.Config.Workspace, "") {
		ev := about(BeforeRequest, session, st.Opened, st.Config)
		ev.Turn = st.Turn
		a, err := s.ask(ctx, h, ev)
		if err != nil {
			return run.Screened{}, err
		}
		if a.Decision == "ask" || len(a.Input) > 0 {
			a = Answer{Decision: "deny", Reason: failed(h, errors.New(`before a request, the decisions are "allow" and "deny"`))}
		}
		if a.Decision == "deny" {
			return run.Screened{Denied: true, By: "hook " + h.Name, Reason: a.Reason}, nil
		}
	}
	return run.Screened{}, nil
}

// ask returns what a hook answers. Anything that is not an answer is a refusal, whose Reason
// says why. The error is that of ctx.
func (s *Set) ask(ctx context.Context, h Hook, ev Event) (Answer, error) {
	select {
	case s.room <- struct{}{}:
		defer func() { <-s.room }()
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	a, err := Ask(ctx, s.runner, h, ev)
	if ctx.Err() != nil {
		return Answer{}, ctx.Err() // it was killed, and said nothing
	}
	switch {
	case err != nil:
		a = Answer{Decision: "deny", Reason: failed(h, err)}
	case a.Decision == "deny":
		a.Reason = "the hook " + h.Name + " denies it: " + cmp.Or(a.Reason, "it gave no reason")
	}
	return a, nil
}

// failed says that a hook did not answer.
func failed(h Hook, err error) string {
	return "the hook " + h.Name + " failed, and so it is denied: " + reason(err.Error())
}

// Ask asks a deciding hook about an event. The error is a clause that says why there is no
// answer.
func Ask(ctx context.Context, r Runner, h Hook, ev Event) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it crashed: %v", p)
		}
	}()
	out, err := runHook(ctx, r, h, ev)
	switch {
	case err != nil:
		return Answer{}, err
	case out.Denied:
		return Answer{Decision: "deny", Reason: reason(out.Said)}, nil
	case h.Claude:
		return claudeAnswer(out.Text, ev)
	}
	return ParseAnswer(out.Text)
}

// runHook runs a hook within its time.
func runHook(ctx context.Context, r Runner, h Hook, ev Event) (Output, error) {
	ev.Hook = h.Name
	in, err := encode(h, ev)
	if err != nil {
		return Output{}, err
	}
	inner, cancel := context.WithTimeoutCause(ctx, h.Limit(), fmt.Errorf("it did not answer within %v", h.Limit()))
	defer cancel()
	out, err := r.Run(inner, h, Input{JSON: in, Session: ev.Session, Workspace: ev.Workspace})
	if inner.Err() != nil {
		return Output{}, context.Cause(inner)
	}
	if err == nil && len(out.Text) > MaxOutput {
		err = errTooMuch
	}
	if err != nil && out.Said != "" {
		err = fmt.Errorf("%w: %s", err, clip.Text(clip.OneLine(clip.Clean(out.Said)), 300))
	}
	return out, err
}

// encode returns what a hook reads.
func encode(h Hook, ev Event) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	var v any = ev
	if h.Claude {
		v = claudeEvent(ev)
	}
	err := enc.Encode(v)
	return b.Bytes(), err
}

// sameJSON reports whether two objects are equal but for white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && x.String() == y.String()
}

// joined returns a list with more at its end.
func joined(list, more string) string {
	if list == "" {
		return more
	}
	return list + ", " + more
}

// Tell gives an event to a hook that watches. The error is a clause that says what went
// wrong with the hook.
func Tell(ctx context.Context, r Runner, h Hook, ev Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it crashed: %v", p)
		}
	}()
	_, err = runHook(ctx, r, h, ev)
	return err
}
