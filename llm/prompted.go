package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// PromptTools returns a Model that uses tools through m, which cannot: the
// tools are described in the instructions, earlier calls and results are told
// as text, and calls are read from what m writes, in the notations that such
// models use. Text is passed on as it comes, up to where a call may begin.
//
// A tool_choice that forces a tool is asked for in words, which m may not
// heed.
func PromptTools(m Model) Model { return &prompted{m} }

type prompted struct{ model Model }

// Stream implements [Model].
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

// instructions are those of req, and how to use its tools.
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
		"Several such blocks, one after the other, use several tools. What came of it is told to you in the next message, " +
		"between <tool_response> tags: do not write those yourself. These are the tools, with the JSON Schema of their arguments:\n\n<tools>\n")
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

func describeTool(t ToolSpec) []byte {
	if !json.Valid(t.Input) {
		t.Input = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	b, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.Input})
	if err != nil { // it cannot be: all of it can be encoded
		panic(fmt.Sprintf("llm: describe the tool %s: %v", t.Name, err))
	}
	return b
}

// asText is messages[i] without calls and results.
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
		names := callNames(messages[:i])
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

func tellCall(c Call) string {
	input := strings.TrimSpace(c.Input)
	if input == "" {
		input = "{}"
	}
	return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>", c.Name, input)
}

// callNames are the names of the tools that the last reply calls, by the calls'
// ids.
func callNames(before []Message) map[string]string {
	names := map[string]string{}
	for _, msg := range slices.Backward(before) {
		if msg.Role == Assistant {
			for _, c := range msg.Calls() {
				names[c.ID] = c.Name
			}
			break
		}
	}
	return names
}

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

// promptedReply turns a reply in text into one with calls.
type promptedReply struct {
	tools []ToolSpec
	yield func(Delta, error) bool

	parts   int         // how many were passed on
	others  map[int]int // where parts that are no text went
	text    int         // which part the text goes on in, plus one; 0: a new one
	held    string      // what is not passed on yet, since a call may begin in it
	holding bool        // all the rest is held
	said    bool        // something of the text was passed on
}

// add reports whether somebody still listens.
func (r *promptedReply) add(d Delta) bool {
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
		return d.Usage == nil || r.yield(Delta{Usage: d.Usage}, nil)
	}
	return r.end(d)
}

// release passes on what of the held text can be no call.
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

// end passes on what is held, as text and calls, and then the end. Calls of a
// reply that was cut off remain text.
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
	return r.yield(Delta{Stop: d.Stop, Usage: d.Usage}, nil)
}
