// Package responses is the format of OpenAI's Responses: requests to bytes,
// and bytes to replies. It sends nothing.
//
// See https://platform.openai.com/docs/api-reference/responses. A conversation is a
// list of items there, not of messages: text, a call, its output and reasoning are
// items of their own. OpenAI refuses reasoning without the item that came after it,
// so a request leaves such reasoning out.
package responses

import (
	"encoding/json"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo]. Nothing is stored at the provider:
// the reasoning comes back encrypted, and goes along with the next request.
type Encoder struct {
	Model   string
	Reasons bool // returns its reasoning, and takes no temperature
	Summary bool // asks for summaries of its reasoning, which only verified organizations get
}

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	type tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"` // true if it is left out
	}
	head := append([]byte(`{"model":`), wire.MustJSON(m.Model)...)
	if req.System != "" {
		head = append(append(head, `,"instructions":`...), wire.MustJSON(req.System)...)
	}
	tools, err := wire.Tools(wire.OpenAI, req.Tools, func(t llm.ToolSpec, schema json.RawMessage) tool {
		return tool{"function", t.Name, t.Description, schema, false}
	})
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		head = append(append(head, `,"tools":`...), wire.MustJSON(tools)...)
	}
	return append(head, `,"input":[`...), nil
}

// settings are the fields that follow the messages.
type settings struct {
	MaxTokens   int        `json:"max_output_tokens,omitempty"`
	Temperature *float64   `json:"temperature,omitempty"`
	Reasoning   *reasoning `json:"reasoning,omitempty"`
	ToolChoice  any        `json:"tool_choice,omitempty"`
	Text        any        `json:"text,omitempty"`
	Include     []string   `json:"include,omitempty"`
	Store       bool       `json:"store"`
	Stream      bool       `json:"stream"`
}

// reasoning is the setting of that name.
type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	set := req.Settings
	s := settings{MaxTokens: set.MaxTokens, Temperature: set.Temperature, Stream: true}
	if m.Reasons {
		s.Temperature, s.Include = nil, []string{"reasoning.encrypted_content"}
	}
	r := reasoning{Effort: set.Effort}
	if m.Reasons && m.Summary {
		r.Summary = "auto"
	}
	if r != (reasoning{}) {
		s.Reasoning = &r
	}
	mode, name, err := wire.ToolChoice(req)
	switch {
	case err != nil:
		return nil, err
	case mode == "tool":
		s.ToolChoice = map[string]string{"type": "function", "name": name}
	case mode != "":
		s.ToolChoice = mode
	}
	schema, err := wire.Schema(req)
	if err != nil {
		return nil, err
	}
	if schema != nil {
		s.Text = map[string]any{"format": map[string]any{"type": "json_schema", "name": "reply", "schema": schema, "strict": wire.Strict(schema)}}
	}
	return wire.Tail("]", s)
}
