package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image/gif"
	"image/png"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// A content is a message in Google's format.
type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// A part is a piece of a content.
type part struct {
	Text      string  `json:"text,omitempty"`
	Thought   bool    `json:"thought,omitempty"`
	Signature string  `json:"thoughtSignature,omitempty"`
	Data      *inline `json:"inlineData,omitempty"`
	Call      *call   `json:"functionCall,omitempty"`
	Result    *result `json:"functionResponse,omitempty"`
}

// An inline is a file within a request, in base64.
type inline struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

// A call is a functionCall. It has no id: a result belongs to it by name and order.
type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// A result is a functionResponse: an object, which Google wants even for text.
type result struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// Message implements [wire.Format].
func (m *Encoder) Message(messages []llm.Message, i int) ([]byte, error) {
	one := func(role string, parts []part, err error) ([]content, error) {
		if err != nil || len(parts) == 0 {
			return nil, err
		}
		return []content{{role, parts}}, nil
	}
	return wire.Turn(messages[i], func(said llm.Parts) ([]content, error) {
		parts, err := wire.Said(said, func(s string) part { return part{Text: s} }, blob, m.Model, "PNG, JPEG, WebP and HEIC images, sound, film, PDF and text")
		return one("user", parts, err)
	}, func(replied llm.Parts) ([]content, error) {
		parts, err := m.replied(replied)
		return one("model", parts, err)
	}, func(found []llm.Result) ([]content, error) {
		parts, err := results(found, llm.CallNames(messages[:i]))
		return one("user", parts, err)
	})
}

// sealed is the Opaque of a part.
type sealed struct {
	Signature string `json:"signature"`
}

// signature returns the signature that this model gave; "" if another model wrote
// the part.
func (m *Encoder) signature(opaque json.RawMessage, by string) string {
	return wire.Unseal[sealed](opaque, by, m.Model).Signature
}

// foreign takes the place of the signature of a call that another model wrote.
// Newer models refuse a call without a signature; Google documents this value.
const foreign = "skip_thought_signature_validator"

// replied encodes a message of the assistant's. Thinking does not go back, but its
// signatures do, each with its part.
func (m *Encoder) replied(parts llm.Parts) (all []part, err error) {
	first := true // of the calls
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if sig := m.signature(p.Opaque, p.By); p.Text != "" || sig != "" {
				all = append(all, part{Text: p.Text, Signature: sig})
			}
		case llm.Thinking:
			if sig := m.signature(p.Opaque, p.By); sig != "" {
				all = append(all, part{Text: p.Text, Thought: true, Signature: sig})
			}
		case llm.Call:
			c := part{Call: &call{wire.CallName(p.Name), wire.CallInput(p)}, Signature: m.signature(p.Opaque, p.By)}
			if first && c.Signature == "" && m.Thinking == Level {
				c.Signature = foreign
			}
			first = false
			all = append(all, c)
		case llm.Unknown:
		default:
			return nil, wire.Misplaced("the assistant", p)
		}
	}
	return all, nil
}

// results encodes the results of tools. Files follow after them, each after a text
// that says which result it belongs to.
func results(found []llm.Result, names map[string]string) (all []part, err error) {
	var seen []part
	for _, r := range found {
		name, called := names[r.ID]
		if !called {
			return nil, fmt.Errorf("the result of %q answers no call of the reply before", r.ID)
		}
		text, blobs := outcome(r, name)
		key := "output"
		if r.IsError {
			key = "error"
		}
		all = append(all, part{Result: &result{wire.CallName(name), map[string]string{key: text}}})
		seen = append(seen, blobs...)
	}
	return append(all, seen...), nil
}

// outcome returns the text of a result, and its files as parts.
func outcome(r llm.Result, name string) (string, []part) {
	var text []string
	var blobs []part
	for _, p := range r.Parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				text = append(text, p.Text)
			}
		case llm.Blob:
			switch b, ok := blob(p); {
			case !ok:
				text = append(text, wire.NotShown(p))
			case b.Data == nil:
				text = append(text, b.Text)
			default:
				text = append(text, "["+wire.Describe(p)+" follows after the results]")
				blobs = append(blobs, part{Text: "From the result of " + name + " (" + r.ID + "), " + wire.Describe(p) + ":"}, b)
			}
		}
	}
	return wire.ResultText(text, false), blobs
}

// blob returns b as a part; ok is false if Google does not accept it. For a
// GIF, which Google refuses, it returns the first frame as PNG.
func blob(b llm.Blob) (part, bool) {
	kind, data := wire.KindOf(b), b.Data
	if kind == "image/gif" {
		img, err := gif.Decode(bytes.NewReader(data))
		var out bytes.Buffer
		if err != nil || png.Encode(&out, img) != nil {
			return part{}, false
		}
		kind, data = "image/png", out.Bytes()
	}
	switch {
	case wire.IsText(kind):
		return part{Text: wire.FileText(b)}, true
	case slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}, kind),
		strings.HasPrefix(kind, "audio/"), strings.HasPrefix(kind, "video/"):
		return part{Data: &inline{kind, base64.StdEncoding.EncodeToString(data)}}, true
	}
	return part{}, false
}
