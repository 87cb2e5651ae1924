// Package args parses the arguments that models write for tool calls.
//
// Models write JSON with faults. The package repairs those whose meaning is
// beyond doubt ([Repair], [Schema.Check]) and refuses the rest, with an error
// that tells the model what to write instead. It never guesses: a wrong guess
// would run a call that the model did not ask for.
package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// For returns the JSON Schema of the struct T in the form that strict providers
// require: each property has one type, and no others are allowed.
func For[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	plain(s)
	return json.Marshal(s)
}

// plain removes "null" from the types of pointers, slices and maps.
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
	for _, p := range s.PrefixItems {
		plain(p)
	}
	plain(s.Items)
	plain(s.AdditionalProperties)
}

// A Schema checks arguments. A nil *Schema accepts any JSON object. It is safe for
// concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile parses a JSON Schema, draft 7 or 2020-12. For an empty schema it
// returns nil.
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
	return &Schema{&s, r}, nil
}

// Check returns arguments as valid JSON that matches the schema: input itself,
// byte for byte, if it has no faults.
//
// Besides the repairs of [Repair], it converts top-level arguments whose schema
// has one type: an integer, a number or a boolean in quotes ("5", "true"), and
// an integer with a fraction of zero (5.0). It leaves out null for an argument
// that is not required. It refuses an argument that is there twice, since programs
// differ in which one they take.
//
// The error is for the model. For each fault, up to a few, it names the
// argument, and says what is allowed and what was given.
func (s *Schema) Check(input string) (string, error) {
	fixed, err := Repair(input)
	if err != nil {
		return "", err
	}
	members, ok := object(fixed)
	if !ok {
		return "", errNoObject
	}
	if err := unique(members); err != nil {
		return "", err
	}
	if s == nil {
		return fixed, nil
	}
	if s.coerce(members) {
		fixed = encode(members)
	}
	if err := s.validate(fixed); err != nil {
		return "", err
	}
	return fixed, nil
}

// validate returns an error unless JSON matches the schema.
func (s *Schema) validate(text string) error {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if err := s.resolved.Validate(v); err != nil {
		return errors.New(s.explain(v, err))
	}
	return nil
}

// CheckValue is [Schema.Check] for a value that need not be an object, such as an answer.
// Only an object is repaired and converted; other values must fit the schema.
func (s *Schema) CheckValue(value string) (string, error) {
	if _, ok := object(value); ok {
		return s.Check(value)
	}
	if s == nil {
		return value, nil
	}
	if err := s.validate(value); err != nil {
		return "", err
	}
	return value, nil
}

// Answer returns an answer as JSON that fits a schema. A model that answers with words in
// place of a call may put it into a code fence.
func Answer(schema json.RawMessage, answer string) (string, error) {
	text := strings.TrimSpace(answer)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(rest, "json"), "```"))
	}
	s, err := Compile(schema)
	switch {
	case err != nil:
		return "", err
	case strings.HasPrefix(text, "{"):
		return s.Check(text)
	case !json.Valid([]byte(text)):
		return "", errors.New("it is not JSON")
	}
	return s.CheckValue(text)
}

var errNoObject = errors.New(`the arguments are not a JSON object: write {"name": value, ...}`)

// A member is a member of an object, with its value as it was written.
type member struct {
	name string
	raw  json.RawMessage
	drop bool // encode leaves it out
}

// object returns the members of an object in their order. ok is false if the
// text, which is valid JSON, is not an object.
func object(text string) (members []member, ok bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	var ms []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := member{name: name.(string)}
		if err := dec.Decode(&m.raw); err != nil {
			return nil, false
		}
		ms = append(ms, m)
	}
	return ms, true
}

// encode is the reverse of object.
func encode(ms []member) string {
	var b strings.Builder
	b.WriteByte('{')
	for _, m := range ms {
		if m.drop {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always encodes
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.raw)
	}
	b.WriteByte('}')
	return b.String()
}
