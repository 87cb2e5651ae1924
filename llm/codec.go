package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// wirePart is the JSON of every kind of part: an object with a type. JSON cannot
// hold a string that is not UTF-8: such a string goes, in base64, into the field
// of the same name with _base64, and comes back byte for byte.
type wirePart struct {
	Type    string          `json:"type"`
	ID      string          `json:"id,omitempty"`
	Name    string          `json:"name,omitempty"`
	Text    string          `json:"text,omitempty"`
	Text64  []byte          `json:"text_base64,omitempty"`
	Input   string          `json:"input,omitempty"`
	Input64 []byte          `json:"input_base64,omitempty"`
	MIME    string          `json:"mime,omitempty"`
	Data    []byte          `json:"data,omitempty"`
	Parts   Parts           `json:"parts,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Opaque  json.RawMessage `json:"opaque,omitempty"`
	By      string          `json:"by,omitempty"`
	View    bool            `json:"view,omitempty"`
}

// encodePart returns a value whose JSON is that of p.
func encodePart(p Part) (any, error) {
	switch p := p.(type) {
	case Text:
		w := wirePart{Type: "text", Opaque: p.Opaque, By: p.By, View: p.View}
		w.Text, w.Text64 = split(p.Text)
		return w, nil
	case Thinking:
		w := wirePart{Type: "thinking", Opaque: p.Opaque, By: p.By}
		w.Text, w.Text64 = split(p.Text)
		return w, nil
	case Blob:
		return wirePart{Type: "blob", MIME: p.MIME, Name: p.Name, Data: p.Data, View: p.View}, nil
	case Call:
		w := wirePart{Type: "call", ID: p.ID, Name: p.Name, Opaque: p.Opaque, By: p.By}
		w.Input, w.Input64 = split(p.Input)
		return w, nil
	case Result:
		return wirePart{Type: "result", ID: p.ID, Parts: p.Parts, IsError: p.IsError}, nil
	case Unknown:
		return p.Raw, nil
	}
	return nil, &json.UnsupportedValueError{Str: "nil part"}
}

// split returns s as a string, or as bytes if it is not UTF-8.
func split(s string) (string, []byte) {
	if utf8.ValidString(s) {
		return s, nil
	}
	return "", []byte(s)
}

// join is the inverse of [split].
func join(s string, b []byte) string {
	if b != nil {
		return string(b)
	}
	return s
}

// decodePart returns the part of a JSON object. An object with an unknown type is an
// [Unknown].
func decodePart(raw json.RawMessage) (Part, error) {
	var w wirePart
	err := json.Unmarshal(raw, &w) // decodes the type also when another field does not fit
	switch w.Type {
	case "text", "thinking", "blob", "call", "result":
		if err != nil {
			return nil, fmt.Errorf("part of type %s: %w", w.Type, err)
		}
		return w.part(), nil
	}
	return Unknown{bytes.Clone(raw)}, nil
}

// part returns w as a Part; nil if its type is unknown.
func (w wirePart) part() Part {
	switch w.Type {
	case "text":
		return Text{join(w.Text, w.Text64), w.Opaque, w.By, w.View}
	case "thinking":
		return Thinking{join(w.Text, w.Text64), w.Opaque, w.By}
	case "blob":
		return Blob{w.MIME, w.Name, w.Data, w.View}
	case "call":
		return Call{ID: w.ID, Name: w.Name, Input: join(w.Input, w.Input64), Opaque: w.Opaque, By: w.By}
	default:
		return Result{w.ID, w.Parts, w.IsError}
	}
}

// MarshalJSON implements [json.Marshaler]. Each part is an object whose type names its
// kind. A kind that this package does not know is an error.
func (ps Parts) MarshalJSON() ([]byte, error) {
	ws := make([]any, len(ps))
	for i, p := range ps {
		w, err := encodePart(p)
		if err != nil {
			return nil, err
		}
		ws[i] = w
	}
	return json.Marshal(ws)
}

// UnmarshalJSON implements [json.Unmarshaler]. It is the reverse of MarshalJSON, and
// replaces what ps had. A part of an unknown type is an error.
func (ps *Parts) UnmarshalJSON(data []byte) error {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return err
	}
	*ps = nil
	for _, raw := range raws {
		p, err := decodePart(raw)
		if err != nil {
			return err
		}
		*ps = append(*ps, p)
	}
	return nil
}
