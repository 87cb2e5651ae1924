// Package chat is the format of Chat Completions: requests to bytes, and bytes
// to replies and errors. It sends nothing.
//
// The format is OpenAI's, https://platform.openai.com/docs/api-reference/chat, with
// what other servers do to it: they leave out indexes and ids of calls, send the
// arguments of a call as an object in place of a string, put thinking into
// reasoning_content, reasoning, or between tags in the text, and report errors in
// the middle of a stream. All of that is read; nothing but OpenAI's format is sent,
// except what a server gave with a reply and wants back: see [Encoder.Thoughts].
package chat

import (
	"slices"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model   string
	Reasons bool // takes max_completion_tokens, and no temperature
	Mistral bool // accepts only ids of nine letters and digits, and no user after results
	PDF     bool // takes PDF files
	NoUsage bool // refuses stream_options
	Tells   bool // may tell how much of the prompt it has read, as llama.cpp does

	Reasoning bool // wants reasoning_content with every call

	// Thoughts says how the model's reasoning goes back to it: Auto or "", under the
	// names under which it came; None, not at all; or the name of the one field.
	Thoughts string
}

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	return wire.ChatHead(m.Model, req.System, req.Tools)
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
	Progress            bool     `json:"return_progress,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	s := settings{MaxTokens: req.Settings.MaxTokens, Temperature: req.Settings.Temperature,
		Effort: req.Settings.Effort, Stream: true, Progress: m.Tells}
	if m.Reasons { // which knows no temperature but its own
		s.MaxTokens, s.MaxCompletionTokens, s.Temperature = 0, s.MaxTokens, nil
	}
	if without := func(name string) bool { return slices.Contains(req.Without, name) }; without("max_tokens") != without("max_completion_tokens") {
		if limit := max(s.MaxTokens, s.MaxCompletionTokens); without("max_tokens") { // it has the other name
			s.MaxTokens, s.MaxCompletionTokens = 0, limit
		} else {
			s.MaxTokens, s.MaxCompletionTokens = limit, 0
		}
	}
	var err error
	if s.ToolChoice, err = toolChoice(req); err != nil {
		return nil, err
	}
	schema, err := wire.Schema(req)
	if err != nil {
		return nil, err
	}
	if schema != nil {
		s.ResponseFormat = map[string]any{"type": "json_schema", "json_schema": map[string]any{
			"name": "reply", "schema": schema, "strict": wire.Strict(schema)}}
	}
	if !m.NoUsage {
		s.StreamOptions = map[string]bool{"include_usage": true}
	}
	return wire.Tail("]", s)
}

// toolChoice returns the setting in the format of Chat Completions; nil if it is not
// set.
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
