package agui

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// An Interrupt is a call that waits for the person: see [NewInterrupt].
type Interrupt struct {
	ID       string         `json:"id"`
	Reason   string         `json:"reason"` // "approval" or "question"
	Message  string         `json:"message,omitempty"`
	Call     string         `json:"toolCallId,omitempty"`
	Schema   any            `json:"responseSchema,omitempty"`
	Metadata map[string]any `json:"metadata,omitempty"`

	Session string `json:"-"` // the session of the call, which may be a child
}

// rulingSchema describes the payload that decides an approval.
var rulingSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"approved":{"type":"boolean","description":"Whether the call may run."},` +
	`"input":{"type":"object","description":"Run it with these arguments instead."},` +
	`"reason":{"type":"string","description":"If not: what to tell the agent."},` +
	`"remember":{"type":"boolean","description":"Decide the same call like this from now on."},` +
	`"scope":{"type":"string","description":"The scope of the question: allow all that the tool does there."}},` +
	`"required":["approved"]}`)

// NewInterrupt describes a call of a session that waits for a decision.
func NewInterrupt(session string, c *openmanus.CallState) Interrupt {
	q := c.Question()
	i := Interrupt{
		ID: fmt.Sprintf("%s/%s/%s-%d", session, c.ID, q.Kind, q.N), Reason: "question", Message: q.Question,
		Call: c.ID, Session: session, Schema: json.RawMessage(`{"type":"string"}`),
		Metadata: fields{"session": session, "tool": c.Name, "input": c.Arguments()},
	}
	if json.Valid(q.Schema) && q.Schema[0] == '{' {
		i.Schema = q.Schema
	}
	if q.Kind == openmanus.AskRuling {
		i.Reason, i.Schema = "approval", rulingSchema
		for name, value := range map[string]string{"shown": q.Shown, "rule": q.Rule, "scope": q.Scope} {
			if value != "" {
				i.Metadata[name] = value
			}
		}
		if len(q.Sources) > 0 {
			i.Metadata["sources"] = q.Sources
		}
	}
	return i
}

// Wait ends the run because nothing goes on before the person decides: what waits is
// in the session or in sessions below it. The events so far do not show that.
func (p *Projector) Wait(waiting []Interrupt) []Frame {
	if p.open {
		p.end(waiting)
	}
	return p.take()
}

// end ends the run. waiting has what waits below the session; what waits in it is
// known.
func (p *Projector) end(waiting []Interrupt) {
	s := &p.State
	p.endReply(s.Turn)
	p.at.reply = reply{}
	if s.Status() == openmanus.Waiting && waiting == nil {
		for _, c := range s.Pending() {
			if !s.ClientRuns(c.Name) { // the call itself says what the client is to do
				waiting = append(waiting, NewInterrupt(p.run.Session, c))
			}
		}
	}
	for _, id := range p.children {
		p.childWaits(id, waiting)
	}
	p.children, p.open, p.done = nil, false, true
	finished := fields{"type": "RUN_FINISHED", "threadId": p.run.Thread, "runId": p.run.ID}
	usage := p.usage()
	if usage != nil {
		finished["usage"] = usage
	}
	switch o := s.Outcome; {
	case len(waiting) > 0:
		finished["outcome"] = fields{"type": "interrupt", "interrupts": waiting}
	case o.Reason == openmanus.ByPerson:
		finished["outcome"] = fields{"type": "cancelled"}
	case o.Status == openmanus.Failed || o.Status == openmanus.Halted:
		failed := fields{"type": "RUN_ERROR", "message": cmp.Or(o.Error, string(o.Reason), string(o.Status))}
		if o.Reason != "" {
			failed["code"] = string(o.Reason)
		}
		if usage != nil {
			failed["usage"] = usage
		}
		p.send(failed)
		return
	default:
		finished["outcome"] = fields{"type": "success"}
		if s.Answer != "" && s.Status() != openmanus.Waiting {
			finished["result"] = s.Answer
		}
	}
	p.send(finished)
}

// childWaits says that a child has not ended when the run ends.
func (p *Projector) childWaits(id string, waiting []Interrupt) {
	if len(waiting) == 0 {
		p.childFailed(id, "stopped", "the session ended before it did")
		return
	}
	outcome := fields{"type": "suspended"}
	var own []string
	for _, i := range waiting {
		if i.Session == id {
			own = append(own, i.ID)
		}
	}
	if own != nil {
		outcome["interruptIds"] = own
	}
	p.send(fields{"type": "SUBAGENT_FINISHED", "subagentRunId": id, "outcome": outcome})
}

// usage returns what the run used, or nil.
func (p *Projector) usage() []fields {
	in, out := p.State.Usage.Input-p.used.Input, p.State.Usage.Output-p.used.Output
	if in <= 0 && out <= 0 {
		return nil
	}
	u := fields{"inputTokens": max(in, 0), "outputTokens": max(out, 0), "totalTokens": max(in, 0) + max(out, 0)}
	if p.State.Config.Model != "" {
		u["model"] = p.State.Config.Model
	}
	for name, n := range map[string]int{
		"cachedInputTokens": p.State.Usage.Cached - p.used.Cached,
		"reasoningTokens":   p.State.Usage.Reasoning - p.used.Reasoning,
	} {
		if n > 0 {
			u[name] = n
		}
	}
	return []fields{u}
}

// remember keeps a message for the history that a run begins with. counts says
// whether a reply counted.
func (p *Projector) remember(ev openmanus.Event, counts bool) {
	if p.open || ev.Seq > p.run.Start {
		return
	}
	switch b := ev.Body.(type) {
	case openmanus.UserSaid:
		p.history = append(p.history, fields{"id": b.ID, "role": "user", "content": b.Message.Text()})
	case openmanus.ModelSaid:
		if counts {
			p.rememberReply(b)
		}
	case openmanus.CallDone:
		p.history = append(p.history, fields{"id": "result-" + b.Call, "role": "tool", "toolCallId": b.Call,
			"content": contentOf(b.Parts)})
	}
}

// rememberReply keeps a reply: each part under the id that it has in a run, and the
// calls with the first of them.
func (p *Projector) rememberReply(b openmanus.ModelSaid) {
	var said fields
	for i, q := range piecesOf(b.Message.Parts, true) {
		m := fields{"id": p.messageID(b.Turn, i, 0), "role": "assistant", "content": q.text}
		switch {
		case q.text == "" || q.kind == 0:
			continue
		case q.kind == thought:
			m["role"] = "reasoning"
		case said == nil:
			said = m
		}
		p.history = append(p.history, m)
	}
	calls := b.Message.Calls()
	if len(calls) == 0 {
		return
	}
	if said == nil {
		said = fields{"id": p.messageID(b.Turn, len(b.Message.Parts), 0), "role": "assistant"}
		p.history = append(p.history, said)
	}
	said["toolCalls"] = slices.Collect(func(yield func(fields) bool) {
		for _, c := range calls {
			if !yield(callOf(c)) {
				return
			}
		}
	})
}

// callOf returns a call as messages have it.
func callOf(c llm.Call) fields {
	return fields{"id": c.ID, "type": "function", "function": fields{"name": c.Name, "arguments": c.Input}}
}
