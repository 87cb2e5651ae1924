// Package args reads the arguments that models write for tools: it repairs
// what is meant without doubt, and checks them against the tool's schema.
package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/kaptinlin/jsonrepair"
)

// For returns the JSON Schema of T, an object whose properties have one type
// each, as strict providers want it.
func For[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	plain(s)
	return json.Marshal(s)
}

// plain takes "null" out of the types that pointers and slices have.
func plain(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	for _, p := range s.Properties {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// A Schema checks arguments. The nil Schema takes any JSON object. It is safe
// for concurrent use.
type Schema struct{ resolved *jsonschema.Resolved }

// Compile reads a JSON Schema. No schema is the nil Schema.
func Compile(schema json.RawMessage) (*Schema, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("JSON Schema: %w", err)
	}
	return &Schema{r}, nil
}

// Check returns the arguments that a model wrote as valid JSON that fits s.
// They are input itself, byte for byte, if nothing had to be repaired. The
// error is for the model and names what is wrong.
func (s *Schema) Check(input string) (string, error) {
	fixed, err := Repair(input)
	if err != nil {
		return "", err
	}
	dec := json.NewDecoder(strings.NewReader(fixed))
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	if _, ok := v.(map[string]any); !ok {
		return "", errors.New("the arguments are not a JSON object: write {\"name\": value, ...}")
	}
	if s == nil {
		return fixed, nil
	}
	if err := s.resolved.Validate(v); err != nil {
		return "", errors.New(explain(err))
	}
	return fixed, nil
}

// explain turns a validator's error, a path of schemas with the value at
// fault, into a sentence.
func explain(err error) string {
	msg := err.Error()
	for {
		head, rest, ok := strings.Cut(msg, ": ")
		if !ok || !strings.HasPrefix(head, "validating") {
			break
		}
		if _, field, ok := strings.Cut(head, "/properties/"); ok && !strings.Contains(rest, "/properties/") {
			return "the argument " + strings.ReplaceAll(field, "/properties/", ".") + " is wrong: " + rest
		}
		msg = rest
	}
	return "the arguments do not fit the tool's schema: " + msg
}

// Repair returns input as valid JSON. What is valid comes back as it is;
// nothing at all is an empty object. It mends fences, prose around one object,
// quotes, commas and the like, and an object that is encoded twice; it refuses
// what is unfinished, since nobody knows how it would have gone on.
func Repair(input string) (string, error) {
	trimmed := strings.TrimSpace(input)
	if trimmed == "" {
		return "{}", nil
	}
	if json.Valid([]byte(input)) && utf8.ValidString(input) {
		return unwrap(input), nil
	}
	if !utf8.ValidString(input) {
		return "", errors.New("the arguments are not valid JSON: they contain bytes that are not UTF-8")
	}
	begin, end := strings.IndexByte(trimmed, '{'), strings.LastIndexByte(trimmed, '}')
	if begin < 0 {
		return "", errors.New("the arguments are not a JSON object: write {\"name\": value, ...}")
	}
	if end < begin || unfinished(trimmed[begin:end+1]) || !fence(trimmed[end+1:]) {
		return "", errors.New("the arguments are not valid JSON: they are cut off before their end; if they are too long for one reply, do it in smaller steps")
	}
	fixed, err := jsonrepair.Repair(trimmed[begin : end+1])
	if err != nil || !json.Valid([]byte(fixed)) {
		return "", fmt.Errorf("the arguments are not valid JSON: %w", syntax(input))
	}
	return fixed, nil
}

// fence reports whether what follows the object belongs to a Markdown fence,
// or is nothing.
func fence(tail string) bool {
	return strings.Trim(tail, "` \t\r\n;") == ""
}

// unfinished reports whether s ends within a string or an object.
func unfinished(s string) bool {
	depth, quoted := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return quoted || depth > 0
}

// unwrap returns the object inside a JSON string, if that is what s is.
func unwrap(s string) string {
	var inner string
	if strings.TrimSpace(s)[0] != '"' || json.Unmarshal([]byte(s), &inner) != nil {
		return s
	}
	if t := strings.TrimSpace(inner); strings.HasPrefix(t, "{") && json.Valid([]byte(t)) {
		return t
	}
	return s
}

func syntax(input string) error {
	var v any
	err := json.NewDecoder(bytes.NewReader([]byte(input))).Decode(&v)
	if err == nil {
		return errors.New("something follows the object")
	}
	return err
}
