package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
)

// PromptTools returns a Model that can use tools, by way of text, although m
// cannot. The instructions describe the tools, earlier calls and results become
// text, and calls are parsed from the text that m writes, in the notations that
// such models use. Text is passed on as it arrives, up to where a call may begin.
//
// A tool_choice that forces a tool becomes a sentence in the instructions, which m
// may not obey.
func PromptTools(m Model) Model { return &prompted{m} }

// A prompted is the Model of [PromptTools].
type prompted struct{ model Model }

// Stream implements [Model]. A request without tools goes through unchanged. Otherwise the
// tools are described in the system prompt, calls and results of the conversation become
// text, and calls in the reply's text become [Call] parts.
func (p *prompted) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	if len(req.Tools) == 0 {
		return p.model.Stream(ctx, req)
	}
	return func(yield func(Delta, error) bool) {
		told := *req
		told.System, told.Tools, told.Settings.ToolChoice = instructions(req), nil, ""
		told.Messages = make([]Message, len(req.Messages))
		for i := range req.Messages {
			told.Messages[i] = asText(req.Messages, i)
		}
		r := &promptedReply{tools: req.Tools, yield: yield}
		for d, err := range p.model.Stream(ctx, &told) {
			if err != nil {
				yield(d, err)
				return
			}
			if !r.add(d) {
				return
			}
		}
	}
}

// instructions returns the instructions of req, with how to use its tools.
func instructions(req *Request) string {
	choice := req.Settings.ToolChoice
	if choice == "none" {
		return req.System
	}
	var b strings.Builder
	if req.System != "" {
		b.WriteString(req.System + "\n\n")
	}
	b.WriteString("# Tools\n\nYou can use tools. To use one, write its name and its arguments as JSON between these tags, and then stop:\n\n" +
		"<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"ARGUMENT\": \"VALUE\"}}\n</tool_call>\n\n" +
		"To use several tools, write several such blocks, one after the other. The results arrive in the next message, between " +
		"<tool_response> tags: do not write those tags yourself. These are the tools, with the JSON Schema of their arguments:\n\n<tools>\n")
	for _, t := range req.Tools {
		fmt.Fprintf(&b, "%s\n", describeTool(t))
	}
	b.WriteString("</tools>")
	if name, forced := strings.CutPrefix(choice, "tool:"); forced {
		b.WriteString("\n\nUse the tool " + name + " in your next reply.")
	} else if choice == "required" {
		b.WriteString("\n\nUse at least one tool in each reply.")
	}
	return b.String()
}

// describeTool returns the description of a tool for the instructions: one line of
// JSON in the format of Hermes, which most models have learned.
func describeTool(t ToolSpec) []byte {
	if !json.Valid(t.Input) {
		t.Input = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	b, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.Input})
	if err != nil { // all of it can be encoded
		panic(fmt.Sprintf("llm: describe the tool %s: %v", t.Name, err))
	}
	return b
}

// asText returns messages[i] with its calls and results as text.
func asText(messages []Message, i int) Message {
	msg := messages[i]
	out := Message{Role: msg.Role}
	switch msg.Role {
	case Assistant:
		for _, p := range msg.Parts {
			if c, ok := p.(Call); ok {
				p = Text{Text: "\n" + tellCall(c)}
			}
			out.Parts = append(out.Parts, p)
		}
	case Tool:
		out.Role = User
		names := CallNames(messages[:i])
		for _, p := range msg.Parts {
			if r, ok := p.(Result); ok {
				out.Parts = append(out.Parts, tellResult(r, names[r.ID])...)
			}
		}
	default:
		return msg
	}
	return out
}

// tellCall returns an earlier call as text, in the notation that the instructions
// ask for.
func tellCall(c Call) string {
	input := strings.TrimSpace(cmp.Or(c.Ran, c.Input))
	if input == "" {
		input = "{}"
	}
	return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, input)
}

// tellResult returns an earlier result as text and files, between tags.
func tellResult(r Result, name string) Parts {
	kind := ""
	if r.IsError {
		kind = ` status="error"`
	}
	parts := Parts{Text{Text: fmt.Sprintf("<tool_response name=%q%s>\n", name, kind)}}
	for _, p := range r.Parts {
		switch p.(type) {
		case Text, Blob:
			parts = append(parts, p)
		}
	}
	parts = append(parts, Text{Text: "\n</tool_response>\n"})
	var merged Parts // texts side by side are one
	for _, p := range parts {
		t, ok := p.(Text)
		if last := len(merged) - 1; ok && last >= 0 {
			if before, ok := merged[last].(Text); ok {
				merged[last] = Text{Text: before.Text + t.Text}
				continue
			}
		}
		merged = append(merged, p)
	}
	return merged
}

// A promptedReply turns a reply in text into one with calls, while it arrives. Text is
// held back from the place where a call may begin, since what was passed on cannot be
// taken back; if no call begins there, the next fragment releases it. Once a call has
// begun, the rest of the reply is held to its end, and parsed as a whole.
type promptedReply struct {
	tools []ToolSpec
	yield func(Delta, error) bool

	parts   int         // how many parts were passed on
	others  map[int]int // the new index of parts that are no text, by their old one
	text    int         // the index of the part that more text continues, plus one; 0: a new part
	held    string      // text that was not passed on yet, because a call may begin in it
	holding bool        // the rest of the reply is held
	said    bool        // some text was passed on
}

// add takes the next delta. It reports whether the consumer continues.
func (r *promptedReply) add(d Delta) bool {
	if d.idle() {
		return r.yield(d, nil)
	}
	if d.Reset {
		*r = promptedReply{tools: r.tools, yield: r.yield}
		if !r.yield(Delta{Reset: true}, nil) {
			return false
		}
	}
	switch p := d.Piece.(type) {
	case nil:
	case Text:
		r.held += p.Text
		if !r.holding && !r.release() {
			return false
		}
	default:
		if r.others == nil {
			r.others = map[int]int{}
		}
		at, ok := r.others[d.Part]
		if !ok {
			at = r.parts
			r.others[d.Part] = at
			r.parts++
			r.text = 0
		}
		if !r.yield(Delta{Part: at, Piece: p}, nil) {
			return false
		}
	}
	if d.Stop == "" {
		return d.Usage == nil && d.Aside == nil && d.By == "" || r.yield(Delta{Usage: d.Usage, Aside: d.Aside, By: d.By}, nil)
	}
	return r.end(d)
}

// release passes on the part of the held text that cannot belong to a call.
func (r *promptedReply) release() bool {
	n := callMayBegin(r.held, !r.said)
	if n < 0 {
		n = len(r.held)
	}
	r.holding = beginsCall(r.held[n:], !r.said && strings.TrimSpace(r.held[:n]) == "")
	text := r.held[:n]
	if !r.said && strings.TrimSpace(text) == "" { // white space before a call is nothing
		return true
	}
	r.held = r.held[n:]
	return r.say(text)
}

// say passes on text, as a new part or as more of the last one.
func (r *promptedReply) say(text string) bool {
	if text == "" {
		return true
	}
	r.said = true
	if r.text == 0 {
		r.parts++
		r.text = r.parts
	}
	return r.yield(Delta{Part: r.text - 1, Piece: Text{Text: text}}, nil)
}

// end passes on the held text, as text and calls, and then the last delta d. Calls
// of a reply that was cut off remain text: their arguments may be incomplete.
func (r *promptedReply) end(d Delta) bool {
	pieces := []textPiece{{text: r.held}}
	if d.Stop.Whole() {
		pieces = parseCalls(r.held, r.tools, !r.said)
	}
	calls := 0
	for _, p := range pieces {
		if !p.call {
			if strings.TrimSpace(p.text) == "" && len(pieces) > 1 {
				continue
			}
			if !r.say(p.text) {
				return false
			}
			continue
		}
		calls++
		call := Call{ID: fmt.Sprintf("t%d", calls), Name: p.name, Input: p.text}
		r.text = 0
		r.parts++
		if !r.yield(Delta{Part: r.parts - 1, Piece: call}, nil) {
			return false
		}
	}
	if calls > 0 {
		d.Stop = ToolUse
	}
	return r.yield(Delta{Stop: d.Stop, Usage: d.Usage, Aside: d.Aside}, nil)
}
