package messages

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

type wireMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// block is a piece of a message.
type block struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`

	Source *source `json:"source,omitempty"` // of images and documents
	Title  string  `json:"title,omitempty"`

	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"` // of redacted_thinking

	ID    string          `json:"id,omitempty"` // of tool_use
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`

	ToolUseID string  `json:"tool_use_id,omitempty"` // of tool_result
	IsError   bool    `json:"is_error,omitempty"`
	Content   []block `json:"content,omitempty"`
}

type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  string `json:"data"`
}

// Message implements [wire.Format].
func (m format) Message(messages []llm.Message, i int) ([]byte, error) {
	msg := messages[i]
	w := wireMessage{Role: "user"}
	var err error
	switch msg.Role {
	case llm.User:
		w.Content, err = m.said(msg.Parts)
	case llm.Assistant:
		w.Role = "assistant"
		w.Content, err = m.replied(msg.Parts)
	case llm.Tool:
		w.Content, err = m.results(msg.Parts)
	default:
		err = fmt.Errorf("there is no role %q", msg.Role)
	}
	if err != nil || len(w.Content) == 0 {
		return nil, err
	}
	return append([]byte{','}, wire.MustJSON(w)...), nil
}

// said is a message of the user's.
func (m format) said(parts llm.Parts) (content []block, err error) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			content = appendText(content, p.Text)
		case llm.Blob:
			b, ok := blob(p)
			if !ok {
				return nil, wire.CannotSend(p, m.Model, "JPEG, PNG, GIF and WebP images, PDF and text")
			}
			content = append(content, b)
		case llm.Unknown:
		default:
			return nil, fmt.Errorf("a message of the user's cannot hold a %T", p)
		}
	}
	return content, nil
}

// appendText adds text, if it has any: Anthropic refuses blocks of white space.
func appendText(content []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return content
	}
	return append(content, block{Type: "text", Text: text})
}

// replied is a message of the assistant's.
func (m format) replied(parts llm.Parts) (content []block, err error) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			content = appendText(content, p.Text)
		case llm.Thinking:
			if b, ok := m.thought(p); ok {
				content = append(content, b)
			}
		case llm.Call:
			content = append(content, block{Type: "tool_use", ID: wire.CallID(p.ID), Name: p.Name, Input: input(p.Input)})
		case llm.Unknown:
		default:
			return nil, fmt.Errorf("a message of the assistant's cannot hold a %T", p)
		}
	}
	if len(content) > 0 && strings.HasSuffix(content[len(content)-1].Type, "thinking") {
		return nil, nil // nothing came of it, and thinking cannot stand last
	}
	return content, nil
}

// sealed is what a [llm.Thinking] needs to go back.
type sealed struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// thought is t for the model that made it.
func (m format) thought(t llm.Thinking) (block, bool) {
	var s sealed
	if t.By != m.Model || json.Unmarshal(t.Opaque, &s) != nil {
		return block{}, false
	}
	if s.Redacted != "" {
		return block{Type: "redacted_thinking", Data: s.Redacted}, true
	}
	return block{Type: "thinking", Thinking: &t.Text, Signature: s.Signature}, s.Signature != ""
}

// input is the input of a call as an object. What is none goes back in one, in
// the way that Anthropic's documentation has it.
func input(text string) json.RawMessage {
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid(trimmed):
		return trimmed
	}
	return wire.MustJSON(map[string]string{"INVALID_JSON": text})
}

// results are the results of tools.
func (m format) results(parts llm.Parts) (content []block, err error) {
	for _, p := range parts {
		r, ok := p.(llm.Result)
		if _, unknown := p.(llm.Unknown); unknown {
			continue
		} else if !ok {
			return nil, fmt.Errorf("a message of tools cannot hold a %T", p)
		}
		b := block{Type: "tool_result", ToolUseID: wire.CallID(r.ID), IsError: r.IsError}
		for _, p := range r.Parts {
			switch p := p.(type) {
			case llm.Text:
				b.Content = appendText(b.Content, p.Text)
			case llm.Blob:
				if shown, ok := blob(p); ok {
					b.Content = append(b.Content, shown)
				} else {
					b.Content = appendText(b.Content, wire.NotShown(p))
				}
			}
		}
		if len(b.Content) == 0 {
			b.Content = appendText(nil, "(no output)")
		}
		content = append(content, b)
	}
	return content, nil
}

// blob returns b as a block, if it can be one.
func blob(b llm.Blob) (block, bool) {
	kind := wire.KindOf(b)
	encoded := func() *source { return &source{"base64", kind, base64.StdEncoding.EncodeToString(b.Data)} }
	switch {
	case wire.IsText(kind):
		return block{Type: "text", Text: wire.FileText(b)}, true
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return block{Type: "image", Source: encoded()}, true
	case kind == "application/pdf":
		return block{Type: "document", Source: encoded(), Title: b.Name}, true
	}
	return block{}, false
}
