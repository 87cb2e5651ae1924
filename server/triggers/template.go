package triggers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// A template is text with places that a payload fills in: {{issue.title}} is the member
// title of the member issue, {{labels.0}} the first element of labels. Values that are
// neither text nor a number are filled in as JSON, null as nothing. {{a.b?}} may be
// missing.
type template []piece

// A piece is text, and a place after it.
type piece struct {
	text     string
	path     []string // nil: there is no place, which only the last piece may say
	optional bool
}

// parse reads a template.
func parse(text string) (template, error) {
	var t template
	for {
		before, rest, ok := strings.Cut(text, "{{")
		if !ok {
			return append(t, piece{text: text}), nil
		}
		place, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return nil, errors.New("template: {{ has no }} after it")
		}
		name, optional := strings.CutSuffix(strings.TrimSpace(place), "?")
		path, err := pathOf(name)
		if err != nil {
			return nil, fmt.Errorf("template: {{%s}}: %w", place, err)
		}
		t = append(t, piece{text: before, path: path, optional: optional})
		text = after
	}
}

// pathOf reads the name of a part of a payload.
func pathOf(name string) ([]string, error) {
	path := strings.Split(name, ".")
	for _, p := range path {
		if p == "" || strings.ContainsAny(p, " \t\n{}()|\"'`$") {
			return nil, fmt.Errorf("%q is no name of a part of the payload, such as issue.title", name)
		}
	}
	return path, nil
}

// fill returns the text of a template about a payload. It is an error if it would be longer
// than limit bytes.
func (t template) fill(payload map[string]any, limit int) (string, error) {
	var b strings.Builder
	for _, p := range t {
		b.WriteString(p.text)
		if p.path != nil {
			v, ok := find(payload, p.path)
			if !ok && !p.optional {
				return "", fmt.Errorf("the payload has no %s, which the template needs: with a question mark, {{%[1]s?}}, it may be missing", strings.Join(p.path, "."))
			}
			b.WriteString(textOf(v))
		}
		if b.Len() > limit {
			return "", fmt.Errorf("the task is longer than %d bytes", limit)
		}
	}
	return b.String(), nil
}

// find returns the part of a payload that a path leads to.
func find(v any, path []string) (any, bool) {
	for _, p := range path {
		switch in := v.(type) {
		case map[string]any:
			next, ok := in[p]
			if !ok {
				return nil, false
			}
			v = next
		case []any:
			n, err := strconv.Atoi(p)
			if err != nil || n < 0 || n >= len(in) {
				return nil, false
			}
			v = in[n]
		default:
			return nil, false
		}
	}
	return v, true
}

// textOf returns a part of a payload as text.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	}
	data, _ := json.Marshal(v) // it was decoded from JSON
	return string(data)
}

// A condition holds for deliveries in which a part of the payload, or a header, has one of
// a few values.
type condition struct {
	header string // "": it is about the payload
	path   []string
	values []string
}

// parseCondition reads NAME=VALUE|VALUE, where NAME is the name of a part of the payload or
// header: and the name of a header.
func parseCondition(text string) (condition, error) {
	name, values, ok := strings.Cut(text, "=")
	if !ok {
		return condition{}, fmt.Errorf("when: %q is not of the form NAME=VALUE, such as action=opened|reopened", text)
	}
	c := condition{values: strings.Split(values, "|")}
	if c.header, ok = strings.CutPrefix(strings.TrimSpace(name), "header:"); ok {
		if c.header == "" {
			return condition{}, fmt.Errorf("when: %q names no header", text)
		}
		return c, nil
	}
	var err error
	if c.path, err = pathOf(strings.TrimSpace(name)); err != nil {
		return condition{}, fmt.Errorf("when: %w", err)
	}
	return c, nil
}

// holds reports whether a condition holds for a delivery.
func (c condition) holds(h http.Header, payload map[string]any) bool {
	got, ok := h.Get(c.header), true
	if c.path != nil {
		var v any
		v, ok = find(payload, c.path)
		got = textOf(v)
	}
	for _, want := range c.values {
		if ok && strings.TrimSpace(want) == got {
			return true
		}
	}
	return false
}
