// Package native is the format of Ollama's own interface, /api/chat: requests
// to bytes, and bytes to replies. It sends nothing.
//
// See https://github.com/ollama/ollama/blob/main/docs/api.md. A response is a line of
// JSON for each fragment, not an event stream. Calls arrive whole and without ids;
// results name their tools.
package native

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model  string
	Window int // tokens that the model is loaded with; 0: as Ollama is configured
}

// A message is a message in Ollama's format. Content is always a string.
type message struct {
	Role     string   `json:"role"`
	Content  string   `json:"content"`
	Thinking string   `json:"thinking,omitempty"`
	Images   []string `json:"images,omitempty"`
	Calls    []call   `json:"tool_calls,omitempty"`
	ToolName string   `json:"tool_name,omitempty"`
}

// A call is a tool call, whose arguments are an object.
type call struct {
	Function struct {
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	tools := req.Tools
	if req.Settings.ToolChoice == "none" { // Ollama has no tool_choice
		tools = nil
	}
	return wire.ChatHead(m.Model, req.System, tools)
}

// settings are the fields that follow the messages.
type settings struct {
	Format  json.RawMessage `json:"format,omitempty"`
	Think   any             `json:"think,omitempty"`
	Options options         `json:"options,omitzero"`
	Stream  bool            `json:"stream"`
}

// options are the settings that Ollama passes to the model runner.
type options struct {
	Window      int      `json:"num_ctx,omitempty"`
	MaxTokens   int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	set := req.Settings
	s := settings{Stream: true, Options: options{m.Window, set.MaxTokens, set.Temperature}}
	switch mode, _, err := wire.ToolChoice(req); {
	case err != nil:
		return nil, err
	case mode == "required", mode == "tool":
		return nil, wire.Wrongf("the setting tool_choice is %q, and Ollama cannot be made to use a tool: leave it at auto", set.ToolChoice)
	}
	var err error
	if s.Format, err = wire.Schema(req); err != nil {
		return nil, err
	}
	if set.Effort != "" {
		s.Think = true
		if strings.Contains(m.Model, "gpt-oss") { // the only model with levels
			s.Think = set.Effort
		}
	}
	return wire.Tail("]", s)
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	return wire.Turn(messages[i], m.said, m.replied, func(found []llm.Result) ([]message, error) {
		return results(found, llm.CallNames(messages[:i])), nil
	})
}

// said encodes a user's message.
func (m *Encoder) said(parts llm.Parts) ([]message, error) {
	w := message{Role: "user"}
	var text []string
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				text = append(text, p.Text)
			}
		case llm.Blob:
			switch kind := wire.KindOf(p); {
			case wire.IsText(kind):
				text = append(text, wire.FileText(p))
			case image(kind):
				w.Images = append(w.Images, base64.StdEncoding.EncodeToString(p.Data))
			default:
				return nil, wire.CannotSend(p, m.Model, "images and text")
			}
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the user", p)
		}
	}
	if w.Content = strings.Join(text, "\n\n"); w.Content == "" && w.Images == nil {
		return nil, nil
	}
	return []message{w}, nil
}

// image reports whether the MIME type is that of an image.
func image(kind string) bool { return strings.HasPrefix(kind, "image/") }

// replied encodes a message of the assistant's. It leaves out an empty one.
func (m *Encoder) replied(parts llm.Parts) ([]message, error) {
	w := message{Role: "assistant"}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			w.Content += p.Text
		case llm.Thinking:
			if p.By == m.Model {
				w.Thinking += p.Text
			}
		case llm.Call:
			var c call
			c.Function.Name, c.Function.Args = wire.CallName(p.Name), wire.CallInput(p)
			w.Calls = append(w.Calls, c)
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the assistant", p)
		}
	}
	if w.Content == "" && w.Calls == nil {
		return nil, nil
	}
	return []message{w}, nil
}

// results encodes each result as a message, with its images.
func results(found []llm.Result, names map[string]string) (out []message) {
	for _, r := range found {
		w := message{Role: "tool", ToolName: wire.CallName(names[r.ID])}
		var text []string
		for _, p := range r.Parts {
			switch p := p.(type) {
			case llm.Text:
				text = append(text, p.Text)
			case llm.Blob:
				switch kind := wire.KindOf(p); {
				case wire.IsText(kind):
					text = append(text, wire.FileText(p))
				case image(kind):
					text = append(text, "["+wire.Describe(p)+" is with this result]")
					w.Images = append(w.Images, base64.StdEncoding.EncodeToString(p.Data))
				default:
					text = append(text, wire.NotShown(p))
				}
			}
		}
		w.Content = wire.ResultText(text, r.IsError)
		out = append(out, w)
	}
	return out
}
