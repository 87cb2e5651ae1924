package messages

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A wireMessage is a message in the format of Messages.
type wireMessage struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// A block is a piece of a message.
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

// A source is the data of an image or a document.
type source struct {
	Type  string `json:"type"`
	Media string `json:"media_type"`
	Data  string `json:"data"`
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	one := func(role string, content []block, err error) ([]wireMessage, error) {
		if err != nil || len(content) == 0 {
			return nil, err
		}
		return []wireMessage{{role, content}}, nil
	}
	return wire.Turn(messages[i], func(said llm.Parts) ([]wireMessage, error) {
		content, err := wire.Said(said, prose, blob, m.Model, "JPEG, PNG, GIF and WebP images, PDF and text")
		return one("user", content, err)
	}, func(replied llm.Parts) ([]wireMessage, error) {
		content, err := m.replied(replied)
		return one("assistant", content, err)
	}, func(found []llm.Result) ([]wireMessage, error) {
		return one("user", results(found), nil)
	})
}

// prose returns a block of text.
func prose(s string) block { return block{Type: "text", Text: s} }

// appendText adds a block of text. It adds none of white space, which Anthropic
// refuses.
func appendText(content []block, text string) []block {
	if strings.TrimSpace(text) == "" {
		return content
	}
	return append(content, prose(text))
}

// replied encodes a message of the assistant's.
func (m *Encoder) replied(parts llm.Parts) (content []block, err error) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			content = appendText(content, p.Text)
		case llm.Thinking:
			if b, ok := m.thought(p); ok {
				content = append(content, b)
			}
		case llm.Call:
			content = append(content, block{Type: "tool_use", ID: wire.CallID(p.ID), Name: wire.CallName(p.Name), Input: wire.CallInput(p)})
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the assistant", p)
		}
	}
	if len(content) > 0 && strings.HasSuffix(content[len(content)-1].Type, "thinking") {
		return nil, nil // thinking alone is refused at the end of a message
	}
	return content, nil
}

// thought returns t as a block; ok is false unless this model wrote it.
func (m *Encoder) thought(t llm.Thinking) (block, bool) {
	s := wire.Unseal[wire.Thought](t.Opaque, t.By, m.Model)
	if s.Redacted != "" {
		return block{Type: "redacted_thinking", Data: s.Redacted}, true
	}
	return block{Type: "thinking", Thinking: &t.Text, Signature: s.Signature}, s.Signature != ""
}

// results encodes the results of tools.
func results(found []llm.Result) (content []block) {
	for _, r := range found {
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
	return content
}

// blob returns b as a block; ok is false if the provider does not accept it.
func blob(b llm.Blob) (block, bool) {
	kind := wire.KindOf(b)
	encoded := func() *source { return &source{"base64", kind, base64.StdEncoding.EncodeToString(b.Data)} }
	switch {
	case wire.IsText(kind):
		return prose(wire.FileText(b)), true
	case kind == "image/jpeg", kind == "image/png", kind == "image/gif", kind == "image/webp":
		return block{Type: "image", Source: encoded()}, true
	case kind == "application/pdf":
		return block{Type: "document", Source: encoded(), Title: b.Name}, true
	}
	return block{}, false
}
