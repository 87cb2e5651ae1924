// Package messages is the format of Anthropic's Messages: requests to bytes,
// and bytes to replies. It sends nothing.
//
// See https://docs.anthropic.com/en/api/messages, and for the marks of the cache
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching. Anthropic
// refuses empty text, thinking that does not come first or that another model
// signed, and ids of calls with characters other than letters, digits, - and _.
// Content that it would refuse is left out or rewritten here, so that a
// conversation that began with another model goes on.
package messages

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// Thinking is the way in which a model is asked to reason.
type Thinking string

// The ways. Models that know Adaptive take an effort; the older ones that know
// Budget take a number of tokens; None cannot reason.
const (
	Adaptive Thinking = "adaptive"
	Budget   Thinking = "budget"
	None     Thinking = "none"
)

// A Host is a service other than Anthropic that serves the models. Requests to it
// name the version of the format in the body, and the model in the address.
type Host string

// The hosts.
const (
	Vertex  Host = "vertex-2023-10-16"
	Bedrock Host = "bedrock-2023-05-31"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model    string
	Output   int // tokens of a reply, where the request names no limit
	Thinking Thinking
	Host     Host // "": Anthropic
}

// marker, in a block, marks the end of the prefix that Anthropic caches.
const marker = `,"cache_control":{"type":"ephemeral"}`

// Join implements [wire.Joiner]. It marks three places for the cache: the end
// of the instructions; the end of the conversation that stays; and where that
// ended in the request before this one, since Anthropic looks back only 20
// blocks from a mark for what it cached, and one step of an agent can be longer.
func (m *Encoder) Join(req *llm.Request, b wire.Body) (wire.Segments, error) {
	if len(b.Fixed) == 0 && len(b.Fresh) > 0 {
		b.Fresh = b.Fresh[1:]
	}
	return b.Marked(req.Messages, min(1, len(b.Fixed)), len("}]}"), []byte(marker)), nil // within the last block
}

// Sees implements [wire.Seer].
func (m *Encoder) Sees() wire.Sees { return wire.Claude }

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	head := append([]byte(`{"model":`), wire.MustJSON(m.Model)...)
	if m.Host != "" {
		head = append([]byte(`{"anthropic_version":`), wire.MustJSON(m.Host)...)
	}
	if betas := m.Betas(); m.Host == Bedrock && betas != nil { // elsewhere they are a header
		head = append(append(head, `,"anthropic_beta":`...), wire.MustJSON(betas)...)
	}
	tools, err := wire.Tools(wire.Anthropic, req.Tools, func(t llm.ToolSpec, schema json.RawMessage) tool {
		return tool{t.Name, t.Description, schema}
	})
	if err != nil {
		return nil, err
	}
	var system []block
	if req.System != "" {
		system = append(system, block{Type: "text", Text: req.System})
	}
	schema, err := wire.Schema(req)
	if err != nil {
		return nil, err
	}
	if schema != nil && !wire.Strict(schema) {
		system = append(system, block{Type: "text", Text: "Reply with nothing but JSON that fits this schema:\n" + string(schema)})
	}
	mark := func(b []byte) []byte { // in the last of a list
		n := len(b) - len("}]")
		return append(append(b[:n:n], marker...), "}]"...)
	}
	if len(tools) > 0 {
		b := wire.MustJSON(tools)
		if len(system) == 0 {
			b = mark(b)
		}
		head = append(append(head, `,"tools":`...), b...)
	}
	if len(system) > 0 {
		head = append(append(head, `,"system":`...), mark(wire.MustJSON(system))...)
	}
	return append(head, `,"messages":[`...), nil
}

// settings are the fields that follow the messages.
type settings struct {
	MaxTokens   int      `json:"max_tokens"`
	Temperature *float64 `json:"temperature,omitempty"`
	Thinking    any      `json:"thinking,omitempty"`
	Output      *output  `json:"output_config,omitempty"`
	ToolChoice  any      `json:"tool_choice,omitempty"`
	Stream      bool     `json:"stream,omitempty"`
}

// output is output_config.
type output struct {
	Effort string `json:"effort,omitempty"`
	Format any    `json:"format,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	set := req.Settings
	s := settings{MaxTokens: set.MaxTokens, Temperature: set.Temperature, Stream: m.Host != Bedrock}
	s.MaxTokens = cmp.Or(s.MaxTokens, m.Output)
	mode, name, err := wire.ToolChoice(req)
	if err != nil {
		return nil, err
	}
	switch mode {
	case "required":
		s.ToolChoice = map[string]string{"type": "any"}
	case "tool":
		s.ToolChoice = map[string]string{"type": "tool", "name": name}
	case "auto", "none":
		s.ToolChoice = map[string]string{"type": mode}
	}
	var o output
	if set.Effort != "" {
		forced := mode == "required" || mode == "tool"
		if err := m.reason(req, &s, &o, forced); err != nil {
			return nil, err
		}
	}
	if len(set.Schema) > 0 && wire.Strict(set.Schema) {
		o.Format = map[string]any{"type": "json_schema", "schema": set.Schema}
	}
	if o != (output{}) {
		s.Output = &o
	}
	return wire.Tail("]", s)
}

// reason asks for thinking. Anthropic refuses that where a tool is forced, and in
// the middle of a step whose first reply had none.
func (m *Encoder) reason(req *llm.Request, s *settings, o *output, forced bool) error {
	if m.Thinking == None {
		return wire.Wrongf("the setting effort is %q, and %s does not reason: leave it out", req.Settings.Effort, m.Model)
	}
	thinks := !forced && m.mayThink(req.Messages)
	if m.Thinking == Adaptive {
		o.Effort = req.Settings.Effort
		if thinks {
			s.Thinking, s.Temperature = map[string]string{"type": "adaptive", "display": "summarized"}, nil
		}
		return nil
	}
	budget, err := wire.Budget(req.Settings.Effort, 2048)
	if err != nil {
		return err
	}
	if budget = min(budget, s.MaxTokens-1024); thinks && budget >= 1024 { // the least budget
		s.Thinking, s.Temperature = map[string]any{"type": "enabled", "budget_tokens": budget}, nil
	}
	return nil
}

// mayThink reports whether a request may ask for thinking. If the conversation ends
// with results, the reply with their calls must begin with this model's thinking.
func (m *Encoder) mayThink(messages []llm.Message) bool {
	for _, msg := range slices.Backward(messages) {
		switch msg.Role {
		case llm.Tool:
			continue
		case llm.User:
			return true
		}
		first := slices.IndexFunc(msg.Parts, func(p llm.Part) bool { _, unknown := p.(llm.Unknown); return !unknown })
		if first < 0 {
			continue
		}
		t, ok := msg.Parts[first].(llm.Thinking)
		_, back := m.thought(t)
		return ok && back || len(msg.Calls()) == 0
	}
	return true
}
