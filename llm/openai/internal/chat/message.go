package chat

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A wireMessage is a message in the format of Chat Completions.
type wireMessage struct {
	Role       string     `json:"role"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Content    any        `json:"content"` // a string or []wirePart
	ToolCalls  []wireCall `json:"tool_calls,omitempty"`

	extra  extra
	tagged string // reasoning for the content
	field  string // and for the one field of [Encoder.Thoughts]
}

// MarshalJSON implements [json.Marshaler].
func (w wireMessage) MarshalJSON() ([]byte, error) {
	type plain wireMessage
	return w.extra.splice(wire.MustJSON(plain(w))), nil
}

// A wirePart is a part of a message's content.
type wirePart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *wireImage `json:"image_url,omitempty"`
	File  *wireFile  `json:"file,omitempty"`
}

// A wireImage is an image, as a data: URL.
type wireImage struct {
	URL string `json:"url"`
}

// A wireFile is a file, as a data: URL.
type wireFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// A wireCall is a call.
type wireCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`

	extra extra
}

// MarshalJSON implements [json.Marshaler].
func (w wireCall) MarshalJSON() ([]byte, error) {
	type plain wireCall
	return w.extra.splice(wire.MustJSON(plain(w))), nil
}

// A wireFunction is the function of a call. Its arguments are a string.
type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`

	extra extra
}

// MarshalJSON implements [json.Marshaler].
func (w wireFunction) MarshalJSON() ([]byte, error) {
	type plain wireFunction
	return w.extra.splice(wire.MustJSON(plain(w))), nil
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	b, err := wire.Turn(messages[i], m.said, func(parts llm.Parts) ([]wireMessage, error) {
		all, err := m.replied(parts)
		auto := m.Thoughts == "" || m.Thoughts == Auto
		if auto && len(all) > 0 && len(all[0].ToolCalls) > 0 && all[0].extra[missed] == nil && (m.Reasoning || m.reasoned(messages[:i])) {
			all[0].extra = maps.Clone(all[0].extra)
			if all[0].extra == nil {
				all[0].extra = extra{}
			}
			all[0].extra[missed] = json.RawMessage(`" "`)
		}
		return all, err
	}, m.results)
	if m.Mistral && len(b) > 0 && messages[i].Role == llm.User && lastRole(messages[:i]) == llm.Tool {
		b = append(wire.MustJSON(between), b...)
		b = append([]byte{','}, b...)
	}
	return b, err
}

// missed is the field that DeepSeek and Kimi want with every call once a model reasons, and
// do not give with every one.
const missed = "reasoning_content"

// reasoned reports whether the model gave that field before.
func (m *Encoder) reasoned(messages []llm.Message) bool {
	for _, msg := range slices.Backward(messages) {
		for _, p := range msg.Parts {
			t, ok := p.(llm.Thinking)
			if ok && slices.Contains(wire.Unseal[sealed](t.Opaque, t.By, m.Model).Text, missed) {
				return true
			}
		}
	}
	return false
}

// lastRole returns the role of the last message that is sent; "" if there is none.
func lastRole(messages []llm.Message) llm.Role {
	for _, msg := range slices.Backward(messages) {
		for _, p := range msg.Parts {
			t, isText := p.(llm.Text)
			_, isThought := p.(llm.Thinking)
			if !isText && !isThought || strings.TrimSpace(t.Text) != "" {
				return msg.Role
			}
		}
	}
	return ""
}

// between stands between results and what the user says after them, for Mistral's models,
// which know no such turn.
var between = wireMessage{Role: "assistant", Content: "I have the results."}

// said encodes a user's message.
func (m *Encoder) said(parts llm.Parts) ([]wireMessage, error) {
	content, err := wire.Said(parts, prosePart, m.blob, m.Model, "images and text")
	return userMessage(content), err
}

// prosePart returns a part of text.
func prosePart(s string) wirePart { return wirePart{Type: "text", Text: s} }

// userMessage returns a user's message; nothing if there is no content.
func userMessage(content []wirePart) []wireMessage {
	if len(content) == 0 {
		return nil
	}
	if slices.ContainsFunc(content, func(p wirePart) bool { return p.Type != "text" }) {
		return []wireMessage{{Role: "user", Content: content}}
	}
	return []wireMessage{{Role: "user", Content: joined(content)}}
}

// joined returns content that is only text as one string, because some servers
// accept no lists.
func joined(content []wirePart) string {
	texts := make([]string, len(content))
	for i, p := range content {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n\n")
}

// replied encodes a message of the assistant's. It leaves out an empty one, and one
// of white space, which some servers refuse.
func (m *Encoder) replied(parts llm.Parts) ([]wireMessage, error) {
	w := wireMessage{Role: "assistant"}
	var text strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Thinking:
			m.think(&w, p)
		case llm.Call:
			w.ToolCalls = append(w.ToolCalls, m.call(p))
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the assistant", p)
		}
	}
	if strings.TrimSpace(text.String()) == "" && len(w.ToolCalls) == 0 {
		return nil, nil
	}
	if m.names() && len(w.ToolCalls) > 0 && w.extra == nil {
		w.extra = extra{m.Thoughts: json.RawMessage(`" "`)} // Kimi refuses a call without, and an empty text
	}
	content := text.String()
	if w.tagged != "" {
		content = opening + "\n" + w.tagged + closing + "\n\n" + content
	}
	w.Content = content // "" beside calls: xAI, Groq and LM Studio refuse null
	return []wireMessage{w}, nil
}

// results encodes each result as a message, and all their images as one user's
// message, because a tool's message holds only text.
func (m *Encoder) results(found []llm.Result) ([]wireMessage, error) {
	var out []wireMessage
	var seen []wirePart
	for _, r := range found {
		text, images := m.result(r)
		out = append(out, wireMessage{Role: "tool", ToolCallID: m.callID(r.ID), Content: text})
		seen = append(seen, images...)
	}
	if m.Mistral && len(seen) > 0 {
		out = append(out, between)
	}
	return append(out, userMessage(seen)...), nil
}

// result returns the text of a result, and the images that follow in a user's message.
func (m *Encoder) result(r llm.Result) (string, []wirePart) {
	var text []string
	var images []wirePart
	say := func(s string) { text = append(text, s) }
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			say(p.Text)
		case llm.Blob:
			switch w, ok := m.blob(p); {
			case !ok:
				say(wire.NotShown(p))
			case w.Type == "text":
				say(w.Text)
			default:
				say("[" + wire.Describe(p) + " follows after the results]")
				images = append(images, prosePart("From the result of "+m.callID(r.ID)+", "+wire.Describe(p)+":"), w)
			}
		}
	}
	return wire.ResultText(text, r.IsError), images
}

// blob returns b as a part of a message; ok is false if the provider does not
// accept it.
func (m *Encoder) blob(b llm.Blob) (wirePart, bool) {
	kind := wire.KindOf(b)
	switch {
	case wire.IsText(kind):
		return prosePart(wire.FileText(b)), true
	case strings.HasPrefix(kind, "image/"):
		return wirePart{Type: "image_url", Image: &wireImage{wire.DataURL(kind, b.Data)}}, true
	case kind == "application/pdf" && m.PDF:
		return wirePart{Type: "file", File: &wireFile{cmp.Or(b.Name, "file.pdf"), wire.DataURL(kind, b.Data)}}, true
	}
	return wirePart{}, false
}

// callID returns the id of a call as the server accepts it.
func (m *Encoder) callID(id string) string {
	if !m.Mistral {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return base32.HexEncoding.EncodeToString(sum[:6])[:9]
}
