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

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is a piece of a content.
type part struct {
	Text      string  `json:"text,omitempty"`
	Thought   bool    `json:"thought,omitempty"`
	Signature string  `json:"thoughtSignature,omitempty"`
	Data      *inline `json:"inlineData,omitempty"`
	Call      *call   `json:"functionCall,omitempty"`
	Result    *result `json:"functionResponse,omitempty"`
}

type inline struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type result struct {
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

// Message implements [wire.Format].
func (m format) Message(messages []llm.Message, i int) ([]byte, error) {
	c := content{Role: "user"}
	var err error
	switch msg := messages[i]; msg.Role {
	case llm.User:
		c.Parts, err = m.said(msg.Parts)
	case llm.Assistant:
		c.Role = "model"
		c.Parts, err = m.replied(msg.Parts)
	case llm.Tool:
		c.Parts, err = results(msg.Parts, names(messages[:i]))
	default:
		err = fmt.Errorf("there is no role %q", msg.Role)
	}
	if err != nil || len(c.Parts) == 0 {
		return nil, err
	}
	return append([]byte{','}, wire.MustJSON(c)...), nil
}

// said is a message of the user's.
func (m format) said(parts llm.Parts) (all []part, err error) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				all = append(all, part{Text: p.Text})
			}
		case llm.Blob:
			b, ok := blob(p)
			if !ok {
				return nil, wire.CannotSend(p, m.Model, "PNG, JPEG, WebP and HEIC images, sound, film, PDF and text")
			}
			all = append(all, b)
		case llm.Unknown:
		default:
			return nil, fmt.Errorf("a message of the user's cannot hold a %T", p)
		}
	}
	return all, nil
}

// sealed is what a part needs to go back.
type sealed struct {
	Signature string `json:"signature"`
}

func seal(signature string) json.RawMessage {
	if signature == "" {
		return nil
	}
	return wire.MustJSON(sealed{signature})
}

// unseal returns the signature that this model gave, or nothing.
func (m format) unseal(opaque json.RawMessage, by string) string {
	var s sealed
	if by != m.Model || json.Unmarshal(opaque, &s) != nil {
		return ""
	}
	return s.Signature
}

// foreign stands for the signature of a call that another model made: without
// any, newer models refuse the conversation. It is in Google's documentation.
const foreign = "skip_thought_signature_validator"

// replied is a message of the assistant's. Thoughts do not go back; the
// signatures that stand for them do, each with its part.
func (m format) replied(parts llm.Parts) (all []part, err error) {
	first := true // of the calls
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if sig := m.unseal(p.Opaque, p.By); p.Text != "" || sig != "" {
				all = append(all, part{Text: p.Text, Signature: sig})
			}
		case llm.Thinking:
			if sig := m.unseal(p.Opaque, p.By); sig != "" {
				all = append(all, part{Text: p.Text, Thought: true, Signature: sig})
			}
		case llm.Call:
			c := part{Call: &call{p.Name, input(p.Input)}, Signature: m.unseal(p.Opaque, p.By)}
			if first && c.Signature == "" && m.Thinking == Level {
				c.Signature = foreign
			}
			first = false
			all = append(all, c)
		case llm.Unknown:
		default:
			return nil, fmt.Errorf("a message of the assistant's cannot hold a %T", p)
		}
	}
	return all, nil
}

// input is the input of a call as an object; what is none goes back in one.
func input(text string) json.RawMessage {
	trimmed := bytes.TrimSpace([]byte(text))
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}")
	case trimmed[0] == '{' && json.Valid(trimmed):
		return trimmed
	}
	return wire.MustJSON(map[string]string{"invalid_json": text})
}

// names are the names of the tools that the calls of the last reply are of, by
// the calls' ids.
func names(before []llm.Message) map[string]string {
	all := map[string]string{}
	for _, msg := range slices.Backward(before) {
		if msg.Role != llm.Assistant {
			continue
		}
		for _, c := range msg.Calls() {
			all[c.ID] = c.Name
		}
		break
	}
	return all
}

// results are the results of tools. What is no text follows after them, each
// after the words that say where it is from.
func results(parts llm.Parts, names map[string]string) (all []part, err error) {
	var seen []part
	for _, p := range parts {
		r, ok := p.(llm.Result)
		if _, unknown := p.(llm.Unknown); unknown {
			continue
		} else if !ok {
			return nil, fmt.Errorf("a message of tools cannot hold a %T", p)
		}
		name, called := names[r.ID]
		if !called {
			return nil, fmt.Errorf("the result of %q answers no call of the reply before", r.ID)
		}
		text, blobs := outcome(r, name)
		key := "output"
		if r.IsError {
			key = "error"
		}
		all = append(all, part{Result: &result{name, map[string]string{key: text}}})
		seen = append(seen, blobs...)
	}
	return append(all, seen...), nil
}

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
	if len(text) == 0 {
		return "(no output)", blobs
	}
	return strings.Join(text, "\n\n"), blobs
}

// blob returns b as a part, if it can be one. Google takes no GIF: its first
// frame goes out as a PNG.
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
