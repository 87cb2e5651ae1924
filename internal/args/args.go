// Package args reads the arguments that models write for tools: it repairs
// what is meant without doubt, and checks them against the tool's schema.
package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// For returns the JSON Schema of T, an object whose properties have one type
// each and that takes no others, as strict providers want it.
func For[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	plain(s)
	return json.Marshal(s)
}

// plain takes "null" out of the types that pointers, slices and maps have.
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

// A Schema checks arguments. The nil Schema takes any JSON object. It is safe
// for concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// Compile reads a JSON Schema, draft 7 or 2020-12. No schema is the nil
// Schema.
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

// Check returns the arguments that a model wrote as valid JSON that fits s.
//
// They are input itself, byte for byte, if nothing had to be mended. Mended
// are, besides what [Repair] does, top-level arguments whose schema is of one
// type where what is meant is beyond doubt: an integer, a number or a boolean
// in quotes ("5", "true"), an integer written with a fraction of zero (5.0),
// and null for an argument that is not required, which is left out.
//
// The error is for the model: for each fault it names the argument, says what
// is allowed and what was given.
func (s *Schema) Check(input string) (string, error) {
	fixed, err := Repair(input)
	if err != nil {
		return "", err
	}
	members, ok := object(fixed)
	if !ok {
		return "", errNoObject
	}
	if s == nil {
		return fixed, nil
	}
	if s.coerce(members) {
		fixed = encode(members)
	}
	var v any
	if err := json.Unmarshal([]byte(fixed), &v); err != nil {
		return "", fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if err := s.resolved.Validate(v); err != nil {
		return "", errors.New(s.explain(v, err))
	}
	return fixed, nil
}

var errNoObject = errors.New(`the arguments are not a JSON object: write {"name": value, ...}`)

// A member is a name and a value of an object, each as it was written.
type member struct {
	name string
	raw  json.RawMessage
	drop bool
}

// object returns the members of a valid JSON text in the order in which they
// are written, and whether it is an object.
func object(text string) ([]member, bool) {
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
