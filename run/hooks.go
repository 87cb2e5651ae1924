package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// Hooks are what a person has put before calls and requests: their own programs, which
// may stop or change something. They are asked in sessions at every depth, before the
// gate, and narrow what it rules: nothing that they say allows a call. They are safe for
// concurrent use, and do not change the state that they are given.
type Hooks interface {
	// Asks reports whether BeforeCall asks anyone about calls of a tool. It is quick.
	Asks(s *openmanus.State, tool string) bool

	// BeforeCall returns what is said of a call, whose arguments are valid. It returns
	// within a bounded time, and an answer that does not come is a refusal. An error
	// means that ctx has ended: then nothing is known, and it is asked again later.
	BeforeCall(ctx context.Context, session string, s *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec) (
		Screened, error)

	// BeforeRequest is like BeforeCall, for a request to the model. Ask and Input of
	// what it returns do not count.
	BeforeRequest(ctx context.Context, session string, s *openmanus.State) (Screened, error)
}

// Screened is what [Hooks] say. The zero value leaves everything to the gate.
type Screened struct {
	Denied bool   // By refuses it, for the Reason
	Ask    bool   // By wants a person to decide, for the Reason
	By     string // the hook, as a rule: "hook NAME"
	Reason string // a sentence that names the hook, for the model or the person

	Input     string // the arguments instead of the call's; "": those of the call
	ChangedBy string // who changed them, such as "hook NAME"
}

// asksHooks reports whether ruling on a call of x asks programs, which takes time.
func (w *Worker) asksHooks(x *Session, call string) bool {
	if w.Hooks == nil {
		return false
	}
	c := x.State.Call(call)
	return c != nil && w.Hooks.Asks(x.State, c.Name)
}

// screen asks the hooks about a call, and returns the call as they leave it. Arguments
// of theirs that do not fit the tool are a refusal.
func (w *Worker) screen(
	ctx context.Context, x *Session, c *openmanus.CallState, call openmanus.Call, spec openmanus.ToolSpec,
) (Screened, openmanus.Call, openmanus.ToolSpec, error) {
	if !w.asksHooks(x, c.ID) {
		return Screened{}, call, spec, nil
	}
	said, err := w.Hooks.BeforeCall(ctx, x.ID, x.State, call, spec)
	if err != nil || said.Denied || said.Input == "" || said.Input == call.Input {
		said.Input, said.ChangedBy = "", ""
		return said, call, spec, err
	}
	changed, its, err := w.prepareWith(x, c, said.Input)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), c.Name+" did not run: ")
		return Screened{
			Denied: true, By: said.ChangedBy, Reason: fmt.Sprintf("the %s changed the arguments to ones that do not fit: %s", said.ChangedBy, why),
		}, call, spec, nil
	}
	return said, changed, its, nil
}

// narrow returns a verdict with what hooks said besides. It does so once: a question
// that has their remarks already stays as it is.
func (said Screened) narrow(v openmanus.Verdict) openmanus.Verdict {
	if said.Ask && (v.Ask || v.Allow) {
		switch {
		case !v.Ask:
			v = openmanus.Verdict{Ask: true, Owner: v.Owner, Rule: said.By, Reason: said.Reason}
		case !strings.Contains(v.Reason, said.Reason):
			v.Reason += " (" + said.Reason + ")"
		}
		v.Scoped = false
	}
	if note := " (The " + said.ChangedBy + " changed the arguments.)"; said.ChangedBy != "" && v.Ask && !strings.HasSuffix(v.Reason, note) {
		v.Reason += note
	}
	return v
}

// refusedRequest returns the event that stops the session if a hook refuses a request
// to the model, or nil.
func (w *Worker) refusedRequest(ctx context.Context, x *Session, t openmanus.Task) (openmanus.Body, error) {
	if w.Hooks == nil {
		return nil, nil
	}
	said, err := w.Hooks.BeforeRequest(ctx, x.ID, x.State)
	if err != nil || !said.Denied {
		return nil, err
	}
	return openmanus.Stopped{Turn: t.Turn, Re: t.Re, Reason: openmanus.ByHook, Error: w.Secrets.Replace(said.Reason)}, nil
}
