package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A jsonNode is a JSON value with its line.
type jsonNode struct {
	kind    string // in words: "an object", "an array", "a string", "a number", "true", "false", "null"
	line    int    // the line on which it ends; of an object or an array, on which it begins
	text    string // of a string; of another value, its JSON
	number  float64
	members []jsonMember // of an object, or, without names, of an array
}

// A jsonMember is a member of an object, or an element of an array, which has no name.
type jsonMember struct {
	name  string
	value *jsonNode
}

// member returns the value of the name; nil if there is none.
func (n *jsonNode) member(name string) *jsonNode {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// A jsonError is a mistake in a JSON text, and its line.
type jsonError struct {
	line int
	text string
}

// maxJSONDepth bounds how deep values are nested.
const maxJSONDepth = 20

// parseJSON reads a JSON text with the lines of its values, which encoding/json
// does not tell. A name that an object has twice is an error.
func parseJSON(data []byte) (*jsonNode, *jsonError) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	p := jsonParser{dec: json.NewDecoder(bytes.NewReader(data)), lines: lineIndex(data)}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err == nil {
		if _, more := p.dec.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows its end")
		}
	}
	if err == nil {
		return n, nil
	}
	line := p.line()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line = p.lines.at(int(syntax.Offset))
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends too early")
	}
	return nil, &jsonError{line, err.Error()}
}

// A jsonParser reads the tokens of a JSON text, and knows their lines.
type jsonParser struct {
	dec   *json.Decoder
	lines lineStarts
}

// line returns the line of the last token.
func (p *jsonParser) line() int { return p.lines.at(int(p.dec.InputOffset())) }

// value reads one value with all that is in it.
func (p *jsonParser) value(depth int) (*jsonNode, error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	n := &jsonNode{line: p.line()}
	switch t := t.(type) {
	case string:
		n.kind, n.text = "a string", t
	case json.Number:
		n.kind, n.text = "a number", t.String()
		n.number, _ = t.Float64() // out of range is infinite, which nothing here allows
	case bool:
		n.kind = fmt.Sprint(t)
		n.text = n.kind
	case nil:
		n.kind = "null"
	case json.Delim:
		if depth == maxJSONDepth {
			return nil, fmt.Errorf("it is nested more than %d deep", maxJSONDepth)
		}
		n.kind = map[json.Delim]string{'{': "an object", '[': "an array"}[t]
		return n, p.inside(n, depth+1)
	}
	return n, nil
}

// inside reads the members of n, whose opening delimiter was read, up to its end.
func (p *jsonParser) inside(n *jsonNode, depth int) error {
	seen := map[string]bool{}
	for p.dec.More() {
		var m jsonMember
		if n.kind == "an object" {
			t, err := p.dec.Token()
			if err != nil {
				return err
			}
			m.name, _ = t.(string) // the decoder takes nothing else here
			if seen[m.name] {
				return fmt.Errorf("it has %s twice", quoted(m.name))
			}
			seen[m.name] = true
		}
		v, err := p.value(depth)
		if err != nil {
			return err
		}
		m.value = v
		n.members = append(n.members, m)
	}
	_, err := p.dec.Token()
	return err
}
