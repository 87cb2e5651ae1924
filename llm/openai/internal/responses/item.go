package responses

import (
	"cmp"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// An item is an entry of a conversation.
type item struct {
	Type    string `json:"type"`
	Role    string `json:"role,omitempty"` // of a message
	Phase   string `json:"phase,omitempty"`
	Content []part `json:"content,omitempty"`

	CallID    string  `json:"call_id,omitempty"` // of a function_call and its output
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    any     `json:"output,omitempty"` // a string, or []part

	ID        string  `json:"id,omitempty"` // of reasoning
	Summary   *[]part `json:"summary,omitempty"`
	Encrypted string  `json:"encrypted_content,omitempty"`
}

// A part is a piece of an item.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text,omitempty"`
	Image string `json:"image_url,omitempty"`
	Name  string `json:"filename,omitempty"`
	Data  string `json:"file_data,omitempty"`
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	return wire.Turn(messages[i], m.said, m.replied, results)
}

// said encodes a user's message.
func (m *Encoder) said(parts llm.Parts) ([]item, error) {
	content, err := wire.Said(parts, func(s string) part { return part{Type: "input_text", Text: s} }, blob, m.Model, "images, PDF and text")
	if err != nil || len(content) == 0 {
		return nil, err
	}
	return []item{{Type: "message", Role: "user", Content: content}}, nil
}

// sealed is the Opaque of a part: of [llm.Thinking] the first two fields, of
// [llm.Text] the last.
type sealed struct {
	ID        string `json:"id,omitempty"`
	Encrypted string `json:"encrypted_content,omitempty"`
	Phase     string `json:"phase,omitempty"`
}

// replied encodes a message of the assistant's.
func (m *Encoder) replied(parts llm.Parts) (items []item, err error) {
	last := 0 // the number of items up to the last that is no reasoning
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				items = append(items, item{Type: "message", Role: "assistant", Phase: wire.Unseal[sealed](p.Opaque, p.By, m.Model).Phase,
					Content: []part{{Type: "output_text", Text: p.Text}}})
				last = len(items)
			}
		case llm.Thinking:
			if s := wire.Unseal[sealed](p.Opaque, p.By, m.Model); s.Encrypted != "" {
				summary := []part{}
				if p.Text != "" {
					summary = append(summary, part{Type: "summary_text", Text: p.Text})
				}
				items = append(items, item{Type: "reasoning", ID: s.ID, Summary: &summary, Encrypted: s.Encrypted})
			}
		case llm.Call:
			input := string(wire.CallInput(p))
			items = append(items, item{Type: "function_call", CallID: wire.CallID(p.ID), Name: wire.CallName(p.Name), Arguments: &input})
			last = len(items)
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the assistant", p)
		}
	}
	return items[:last], nil // reasoning without an item after it is refused
}

// results encodes the results of tools.
func results(found []llm.Result) (items []item, err error) {
	for _, r := range found {
		items = append(items, item{Type: "function_call_output", CallID: wire.CallID(r.ID), Output: result(r)})
	}
	return items, nil
}

// result returns a result as a string, or as a list if it is more than text.
func result(r llm.Result) any {
	var content []part
	say := func(s string) { content = append(content, part{Type: "input_text", Text: s}) }
	more := false
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				say(p.Text)
			}
		case llm.Blob:
			if b, ok := blob(p); ok {
				content = append(content, b)
				more = more || b.Type != "input_text"
			} else {
				say(wire.NotShown(p))
			}
		}
	}
	if len(content) == 0 {
		say("(no output)")
	}
	if r.IsError && !strings.HasPrefix(content[0].Text, "Error") {
		content = append([]part{{Type: "input_text", Text: "Error:"}}, content...)
		if content[1].Text != "" {
			content[1].Text, content = "Error: "+content[1].Text, content[1:]
		}
	}
	if more {
		return content
	}
	texts := make([]string, len(content))
	for i, p := range content {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// blob returns b as a part; ok is false if the provider does not accept it.
func blob(b llm.Blob) (part, bool) {
	kind := wire.KindOf(b)
	switch {
	case wire.IsText(kind):
		return part{Type: "input_text", Text: wire.FileText(b)}, true
	case strings.HasPrefix(kind, "image/"):
		return part{Type: "input_image", Image: wire.DataURL(kind, b.Data)}, true
	case kind == "application/pdf":
		return part{Type: "input_file", Name: cmp.Or(b.Name, "file.pdf"), Data: wire.DataURL(kind, b.Data)}, true
	}
	return part{}, false
}
