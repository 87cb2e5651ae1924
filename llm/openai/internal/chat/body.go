// Package chat is the format of Chat Completions: requests to bytes, and bytes
// to replies and errors. It sends nothing.
package chat

import (
	"encoding/json"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Encoder makes the bodies of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model    string
	Reasons  bool // takes max_completion_tokens, and no temperature
	ShortIDs bool // takes only ids of nine letters and digits
	PDF      bool // takes PDF files
	Thoughts bool // wants its reasoning_content back
	NoUsage  bool // refuses stream_options
}

// Encode returns the body for req: what stays the same first, then the
// messages, then what is constant, so that the prompt grows only at its end.
func (m *Encoder) Encode(req *llm.Request) (wire.Segments, error) {
	b, err := wire.Encode(req, m, format{m})
	if err != nil {
		return nil, err
	}
	return b.Segments(req.System == ""), nil
}

// format is an Encoder as a [wire.Format].
type format struct{ *Encoder }

// Head implements [wire.Format].
func (m format) Head(req *llm.Request) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	head := append([]byte(`{"model":`), wire.MustJSON(m.Model)...)
	var tools []tool
	for _, t := range req.Tools {
		schema, err := wire.InputSchema(t)
		if err != nil {
			return nil, err
		}
		tools = append(tools, tool{"function", function{t.Name, t.Description, schema}})
	}
	if len(tools) > 0 {
		head = append(append(head, `,"tools":`...), wire.MustJSON(tools)...)
	}
	head = append(head, `,"messages":[`...)
	if req.System != "" {
		head = append(head, wire.MustJSON(wireMessage{Role: "system", Content: req.System})...)
	}
	return head, nil
}

// settings are the fields that follow the messages.
type settings struct {
	MaxTokens           int      `json:"max_tokens,omitempty"`
	MaxCompletionTokens int      `json:"max_completion_tokens,omitempty"`
	Temperature         *float64 `json:"temperature,omitempty"`
	Effort              string   `json:"reasoning_effort,omitempty"`
	ToolChoice          any      `json:"tool_choice,omitempty"`
	ResponseFormat      any      `json:"response_format,omitempty"`
	Stream              bool     `json:"stream"`
	StreamOptions       any      `json:"stream_options,omitempty"`
}

// Tail implements [wire.Format].
func (m format) Tail(req *llm.Request) ([]byte, error) {
	s := settings{MaxTokens: req.Settings.MaxTokens, Temperature: req.Settings.Temperature,
		Effort: req.Settings.Effort, Stream: true}
	if m.Reasons { // which knows no temperature but its own
		s.MaxTokens, s.MaxCompletionTokens, s.Temperature = 0, s.MaxTokens, nil
	}
	var err error
	if s.ToolChoice, err = toolChoice(req); err != nil {
		return nil, err
	}
	if schema := req.Settings.Schema; len(schema) > 0 {
		if !json.Valid(schema) {
			return nil, wire.Wrongf("the setting schema is not JSON")
		}
		s.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "reply", "schema": schema, "strict": wire.Strict(schema)}}
	}
	if !m.NoUsage {
		s.StreamOptions = map[string]bool{"include_usage": true}
	}
	b, err := wire.JSON(s)
	if err != nil { // a temperature that is no number
		return nil, wire.Wrongf("settings: %w", err)
	}
	return append([]byte("],"), b[1:]...), nil
}

func toolChoice(req *llm.Request) (any, error) {
	mode, name, err := wire.ToolChoice(req)
	switch mode {
	case "":
		return nil, err
	case "tool":
		return map[string]any{"type": "function", "function": map[string]string{"name": name}}, nil
	}
	return mode, nil
}
