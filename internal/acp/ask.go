package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
	"github.com/openmanus-go/openmanus/internal/surface"
)

// An asking is a question that the client was asked, or that it read as a message.
type asking struct {
	open   bool // it still waits
	typed  bool // the next prompt is the answer
	cancel context.CancelFunc
}

// ask puts what a call asks to the client, once, and reports whether the client is being
// asked. Otherwise the next prompt answers. The caller holds the lock.
func (s *session) ask(id string, f *openmanus.State, c *openmanus.CallState) bool {
	q := c.Question()
	key := fmt.Sprint(id, "/", c.ID, "/", q.Kind, "/", q.N)
	if was := s.asked[key]; was != nil {
		was.open = true
		return !was.typed
	}
	ctx, cancel := context.WithCancel(s.ctx)
	a := &asking{open: true, cancel: cancel}
	s.asked[key] = a
	if q.Kind != openmanus.AskRuling && !s.a.client.Elicitation.can() {
		a.typed = true
		return false
	}
	call := s.story.describe(id, s.story.at(id), c.Call, gist.Waiting)
	node := s.story.at(id)
	d := surface.Decision{Session: id, Call: c.ID, Kind: q.Kind, N: q.N, Hash: q.Hash}
	s.followers.Go(func() {
		defer cancel()
		var err error
		if q.Kind == openmanus.AskRuling {
			if q.Shown != "" {
				s.mu.Lock()
				call.Content = node.shown(q.Shown)
				s.mu.Unlock()
			}
			err = s.permission(ctx, d, call, q)
		} else {
			err = s.elicit(ctx, d, call.ToolCallID, q)
		}
		if err != nil && ctx.Err() == nil {
			s.a.log("question of %s: %v", call.ToolCallID, err)
			s.cancel()
			s.finish(result{err: err})
		}
	})
	return true
}

// shown returns a preview of a call: the changes of a diff, or text.
func (n *node) shown(text string) []toolContent {
	if d := n.diffs(strings.Split(text, "\n")); len(d) > 0 {
		return d
	}
	return []toolContent{textContent(clip.Clean(text))}
}

// permission asks whether a call may run. The answer is a ruling. The choices "always" and
// "never" are offered only where the program can remember them. If the client cancels, the
// turn is interrupted.
func (s *session) permission(ctx context.Context, d surface.Decision, call update, q openmanus.Asked) error {
	choices, err := s.src.Choices(ctx, d.Session, d.Call)
	if err != nil {
		return err
	}
	options := []permissionOption{{"allow", "Allow", "allow_once"}}
	if q.Scope != "" {
		options = append(options, permissionOption{"session", "Allow in this session: " + clip.OneLine(clip.Clean(q.Scope)), "allow_always"})
	}
	if choices.Remember {
		options = append(options, permissionOption{"always", "Always allow this call", "allow_always"})
	}
	options = append(options, permissionOption{"reject", "Reject", "reject_once"})
	if choices.Remember {
		options = append(options, permissionOption{"never", "Never allow this call", "reject_always"})
	}
	if q.Input != "" {
		call.RawInput = json.RawMessage(q.Input)
	}
	if q.Question != "" {
		more, _ := call.Content.([]toolContent)
		call.Content = append([]toolContent{textContent(clip.Clean(q.Question))}, more...)
	}
	call.Status = "pending"
	var answer struct {
		Outcome struct{ Outcome, OptionID string }
	}
	if err := s.a.call(ctx, "session/request_permission", s.permissionOf(call, options), &answer); err != nil {
		return err
	}
	switch option := answer.Outcome.OptionID; {
	case answer.Outcome.Outcome == "cancelled":
		s.cancel()
		return nil
	case answer.Outcome.Outcome != "selected" || !slices.ContainsFunc(options, func(o permissionOption) bool { return o.OptionID == option }):
		return wrong("outcome.optionId", "%q is none of the options", clip.Text(option, 40))
	default:
		d.Allow = option == "allow" || option == "session" || option == "always"
		d.Remember = option == "always" || option == "never"
		if option == "session" {
			d.Scope = q.Scope
		}
	}
	return s.decide(ctx, d)
}

// permissionOf returns the question whether a call may run.
func (s *session) permissionOf(call update, options []permissionOption) object {
	if s.a.second {
		return permission2(s.id, call, options)
	}
	return object{"sessionId": s.id, "toolCall": call, "options": options}
}

// decide answers a question. It is no error if another client was faster.
func (s *session) decide(ctx context.Context, d surface.Decision) error {
	err := s.src.Decide(ctx, d)
	if err != nil && ctx.Err() == nil {
		s.a.log("%s: %v", d.Call, err)
	}
	return nil
}

// elicit asks for an answer by a form, which is that of the question's schema, or one
// field of text. A person who declines is quoted so to the model; one who cancels
// interrupts the turn.
func (s *session) elicit(ctx context.Context, d surface.Decision, call string, q openmanus.Asked) error {
	form := q.Schema
	if len(form) == 0 {
		form = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`)
	}
	var answer struct {
		Action  string
		Content map[string]json.RawMessage
	}
	params := object{"mode": "form", "sessionId": s.id, "toolCallId": call, "message": clip.Clean(q.Question), "requestedSchema": form}
	if err := s.a.call(ctx, "elicitation/create", params, &answer); err != nil {
		return err
	}
	switch {
	case answer.Action == "decline":
		d.Text = "The person does not want to answer this."
	case answer.Action != "accept":
		s.cancel()
		return nil
	case len(q.Schema) > 0:
		data, err := json.Marshal(answer.Content)
		if err != nil {
			return err
		}
		d.Data = data
	default:
		if json.Unmarshal(answer.Content["answer"], &d.Text) != nil {
			return wrong("content.answer", "it must be a string")
		}
	}
	return s.decide(ctx, d)
}

// answer gives the text of a prompt as the answer to a question that waits for one, and
// returns the id that it has in updates, or "" if there is none.
func (s *session) answer(ctx context.Context, text string) (id string, err error) {
	s.mu.Lock()
	var d *surface.Decision
	for _, of := range slices.Sorted(maps.Keys(s.nodes)) {
		for _, c := range s.nodes[of].Pending() {
			q := c.Question()
			if d != nil || q.Kind == openmanus.AskRuling {
				continue
			}
			d = &surface.Decision{Session: of, Call: c.ID, Kind: q.Kind, N: q.N, Text: text}
			id = s.story.answerID(of, c.ID, q.N)
			s.mine[c.ID] = true
		}
	}
	s.mu.Unlock()
	if d == nil {
		return "", nil
	}
	err = s.src.Decide(ctx, *d)
	if e := (*act.Error)(nil); errors.As(err, &e) && e.Kind == act.Invalid {
		err = wrong("prompt", "%v", err)
	}
	s.catchUp(d.Session)
	return id, err
}

// cancel interrupts the turn under way, if there is one. The text that the client has seen
// of the reply is recorded, so that the model knows of it.
func (s *session) cancel() {
	s.mu.Lock()
	t, said := s.turn, s.story.SoFar()
	if t != nil {
		t.cancelled = true
	}
	s.mu.Unlock()
	if t == nil {
		return
	}
	if err := s.src.Interrupt(context.WithoutCancel(s.ctx), s.id, said); err != nil {
		s.finish(result{stop: "cancelled"}) // it had ended
	}
}

// approvePlan asks whether the plan that the session proposes is to be carried out, and
// reports whether the session goes on.
func (s *session) approvePlan(ctx context.Context) (bool, error) {
	p, ok := s.src.(surface.Planner)
	if !ok {
		return false, nil
	}
	plan, err := p.Proposal(ctx, s.id)
	if err != nil || plan == "" {
		return false, err
	}
	s.mu.Lock()
	id := fmt.Sprint("plan-", s.nodes[s.id].Seq)
	s.mu.Unlock()
	call := update{ToolCallID: id, Title: "Carry out this plan?", Kind: "switch_mode", Status: "pending", Content: []toolContent{textContent(clip.Clean(plan))}}
	options := []permissionOption{
		{openmanus.ApproveAsk, "Carry it out, and ask me", "allow_once"},
		{openmanus.ApproveEdits, "Carry it out; edits run without a question", "allow_always"},
		{"reject", "Not yet", "reject_once"},
	}
	var answer struct {
		Outcome struct{ Outcome, OptionID string }
	}
	err = s.a.call(ctx, "session/request_permission", s.permissionOf(call, options), &answer)
	var refused *Error
	if errors.As(err, &refused) {
		return false, nil // a client that cannot be asked
	}
	mode := answer.Outcome.OptionID
	if err != nil || mode != openmanus.ApproveAsk && mode != openmanus.ApproveEdits {
		return false, err
	}
	return true, p.Approve(ctx, s.id, mode, "")
}
