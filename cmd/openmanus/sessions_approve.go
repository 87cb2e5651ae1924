package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/run"
)

// oneRuling is the arguments of the commands that rule on a call.
type oneRuling struct {
	oneSession
	Call string `arg:"" optional:"" help:"The call. Default: the only one that waits for approval."`
}

// rule records a decision on the call, of which d is the rest. With site, the call is
// allowed in the scope of its question.
func (c oneRuling) rule(ctx context.Context, t *terminal, g *globals, d act.Decision, site bool) error {
	x, err := c.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	call, q, err := x.pending(ctx, c.Call, openmanus.AskRuling)
	if err != nil {
		return err
	}
	if d.Call, d.By, d.Hash = call.ID, act.ByPerson, q.Hash; site {
		if d.Scope = q.Scope; d.Scope == "" {
			return usage(errors.New("this call cannot be allowed for the session: leave out --site"))
		}
	}
	return x.rule(ctx, call, d)
}

// sessionsApproveCmd is openmanus sessions approve.
type sessionsApproveCmd struct {
	oneRuling
	Input  string `help:"Run it with these arguments instead, a JSON object. The model reads that they were changed." placeholder:"JSON"`
	Always bool   `help:"Remember the decision for exactly this call, with these arguments, in this workspace. openmanus approvals revokes it."`
	Site   bool   `help:"Allow it for the rest of the session: everything else on the site of this call, or this very command with the network."`
}

// Run implements the command.
func (c *sessionsApproveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	switch {
	case c.Site && (c.Always || c.Input != ""):
		return usage(errors.New("--site is for the call as the agent made it, in this session: leave out --always and --input"))
	case c.Always && c.Input != "":
		return usage(errors.New("--always is for the call as the agent made it, and --input changes it: leave one out"))
	}
	return c.rule(ctx, t, g, act.Decision{Allow: true, Input: c.Input, Remember: c.Always}, c.Site)
}

// waitsFor returns the first call before c that still waits for the user, or nil: calls
// run in the order of the reply, so c runs after it.
func waitsFor(s *openmanus.State, c *openmanus.CallState) *openmanus.CallState {
	if all := s.Pending(); len(all) > 0 && all[0].ID != c.ID {
		return all[0]
	}
	return nil
}

// sessionsDenyCmd is openmanus sessions deny.
type sessionsDenyCmd struct {
	oneRuling
	Reason string `help:"The reason, which the model reads." placeholder:"TEXT"`
	Never  bool   `help:"Remember the decision for exactly this call, with these arguments, in this workspace. openmanus approvals revokes it."`
}

// Run implements the command.
func (c *sessionsDenyCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return c.rule(ctx, t, g, act.Decision{Reason: c.Reason, Remember: c.Never}, false)
}

// decided returns an error of a decision as the commands report it: a mistake of the user
// with the name of its flag, and what was decided before with who did, and when.
func decided(err error) error {
	var e *act.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Event != nil:
		return fmt.Errorf("it is decided already: %s", settled(*e.Event))
	case e.Kind != act.Invalid:
		return err
	case e.Subject != "":
		return usage(fmt.Errorf("--%s %w", e.Field, e.Err))
	}
	return usage(err)
}

// rule records a decision on a call, and says so.
func (x *session) rule(ctx context.Context, call *openmanus.CallState, d act.Decision) error {
	if _, err := x.acts().Rule(ctx, x.id, d); err != nil {
		return decided(err)
	}
	verb := "denied"
	if d.Allow {
		verb = "approved"
	}
	if d.Remember {
		verb += " and remembered"
	}
	ran := call.Call
	if d.Input != "" {
		ran.Input = d.Input
	}
	if err := x.done("%s %s of %s: %s  %s", verb, call.ID, x.id, call.Name, linemode.CallLine(ran)); err != nil {
		return err
	}
	if first := waitsFor(x.s, call); first != nil && d.Allow {
		x.note("it runs after %s (%s), which is to be decided first", first.ID, clip.Plain(first.Name))
	}
	if d.Scope == "" {
		return nil
	}
	return x.done("always allowed for %s in this session: %s", clip.Plain(call.Name), clip.Plain(d.Scope))
}

// pending returns the call that waits for an answer of the given kind: the one
// with the id, or the only one. If the session itself has none, those below it
// count.
func (x *session) pending(ctx context.Context, id string, kind openmanus.AskKind) (*openmanus.CallState, openmanus.Asked, error) {
	if err := x.readOnly(); err != nil {
		return nil, openmanus.Asked{}, err
	}
	var found []run.Question
	for _, own := range []bool{true, false} { // those below count where the session itself does not ask
		for _, w := range x.qs {
			if own == (w.Session == x.id) && w.Call.Question().Kind == kind && (id == "" || w.Call.ID == id) {
				found = append(found, w)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	switch {
	case len(found) == 1:
		x.id, x.s = found[0].Session, found[0].State
		return found[0].Call, found[0].Call.Question(), nil
	case len(found) > 1:
		return nil, openmanus.Asked{}, usage(fmt.Errorf("several calls wait; name one:%s", x.callList(found)))
	case id != "":
		return nil, openmanus.Asked{}, x.whyNot(ctx, id, kind)
	}
	return nil, openmanus.Asked{}, fmt.Errorf("nothing waits for %s in session %s, which is %s%s", words(kind), x.id, x.stands(), x.otherwise(kind))
}

// words names what a question of the kind waits for.
func words(kind openmanus.AskKind) string {
	if kind == openmanus.AskRuling {
		return "approval"
	}
	return "an answer"
}

// otherwise names a call that waits for another kind of answer, with the command
// for it.
func (x *session) otherwise(kind openmanus.AskKind) string {
	for _, w := range x.qs {
		c := w.Call
		switch q := c.Question(); {
		case q.Kind == kind:
		case q.Kind == openmanus.AskRuling:
			return fmt.Sprintf("\n%s (%s) waits for approval: openmanus sessions approve %s %s", c.ID, clip.Plain(c.Name), w.Session, c.ID)
		default:
			return fmt.Sprintf("\n%s (%s) asks %q: openmanus sessions answer %s %s \"…\"", c.ID, clip.Plain(c.Name), termtext.OneLine(q.Question, 80), w.Session, c.ID)
		}
	}
	return ""
}

// whyNot returns why the call with the id does not wait for an answer.
func (x *session) whyNot(ctx context.Context, id string, kind openmanus.AskKind) error {
	name := ""
	for ev, err := range x.db.Events(ctx, x.id, 0) {
		if err != nil {
			return err
		}
		switch b := ev.Body.(type) {
		case openmanus.ModelSaid, openmanus.Called:
			for _, c := range openmanus.CallsOf(b) {
				if c.ID == id {
					name = c.Name
				}
			}
		case openmanus.Ruled:
			if b.Call == id && kind == openmanus.AskRuling {
				return errors.New(settled(ev))
			}
		case openmanus.Answered:
			if c := x.s.Call(id); b.Call == id && kind != openmanus.AskRuling && (c == nil || c.Done != nil) {
				return errors.New(settled(ev))
			}
		}
	}
	waiting := x.qs
	switch c := x.s.Call(id); {
	case name == "" && len(waiting) > 0:
		return usage(fmt.Errorf("session %s has no call %q; what waits:%s", x.id, termtext.OneLine(id, 40), x.callList(waiting)))
	case name == "":
		return usage(fmt.Errorf("session %s has no call %q, and nothing waits in it", x.id, termtext.OneLine(id, 40)))
	case c != nil && c.Done != nil:
		return fmt.Errorf("%s (%s) is over: %s", id, clip.Plain(name), termtext.OneLine(c.Done.Parts.Text(), 100))
	case c == nil:
		return fmt.Errorf("%s (%s) is over", id, clip.Plain(name))
	}
	return fmt.Errorf("%s (%s) does not wait for %s%s", id, clip.Plain(name), words(kind), x.otherwise(kind))
}

// settled describes the event that decided a call: by whom, when and how.
func settled(ev openmanus.Event) string {
	at := localTime(ev.Time)
	switch b := ev.Body.(type) {
	case openmanus.Ruled:
		verb := "denied"
		if b.Allow {
			verb = "allowed"
		}
		return fmt.Sprintf("%s was %s by the %s at %s", b.Call, verb, clip.Plain(b.By), at)
	case openmanus.Answered:
		return fmt.Sprintf("%s was answered by the %s at %s: %s", b.Call, clip.Plain(b.By), at, termtext.OneLine(b.Text, 100))
	}
	return fmt.Sprintf("%s is there since %s", ev.Body.Key(), at)
}

// callList lists calls that wait, a line for each. Those of sessions below are
// named with their session.
func (x *session) callList(qs []run.Question) string {
	var b strings.Builder
	for _, w := range qs {
		name := w.Call.ID
		if w.Session != x.id {
			name = w.Session + " " + name
		}
		fmt.Fprintf(&b, "\n  %s  %s  %s", name, clip.Plain(w.Call.Name), linemode.CallLine(w.Call.Call))
	}
	return b.String()
}
