package args

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxFaults is the most faults that one error names.
const maxFaults = 5

// explain returns what is wrong with v, which the validator refused with err, in
// words for the model. The validator's own errors name paths of the schema.
func (s *Schema) explain(v any, err error) string {
	var f faults
	f.value(s.root, v, "")
	if len(f) == 0 {
		return f.fallback(err)
	}
	if n := len(f) - maxFaults; n > 0 {
		f = append(f[:maxFaults], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(f, "; ")
}

// faults are descriptions of what is wrong with a value. They cover the keywords
// that tools use; for others, fallback uses the validator's error.
type faults []string

func (f *faults) add(format string, a ...any) { *f = append(*f, fmt.Sprintf(format, a...)) }

// value adds the faults of v. at is the path of the argument, or "" for all.
func (f *faults) value(s *jsonschema.Schema, v any, at string) {
	if s == nil || s.Ref != "" || s.DynamicRef != "" {
		return
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	switch {
	case len(types) > 0 && !fits(types, v):
		f.add("%s must be %s, but %s was given", name(at), articles(types), show(v))
		return
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return equal(e, v) }):
		f.add("%s must be one of %s, but %s was given", name(at), list(s.Enum), show(v))
		return
	}
	switch v := v.(type) {
	case map[string]any:
		f.object(s, v, at)
	case []any:
		for i, item := range v {
			f.value(s.Items, item, fmt.Sprintf("%s[%d]", at, i))
		}
		f.size(s.MinItems, s.MaxItems, len(v), "items", at)
	case string:
		f.size(s.MinLength, s.MaxLength, utf8.RuneCountInString(v), "characters", at)
	case float64:
		f.bounds(s, v, at)
	}
}

// object adds missing and unknown members, and the faults of the others.
func (f *faults) object(s *jsonschema.Schema, v map[string]any, at string) {
	for _, req := range s.Required {
		if _, ok := v[req]; !ok {
			f.add("%s is missing, and it is required", name(under(at, req)))
		}
	}
	closed := s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil && s.PatternProperties == nil
	for _, k := range slices.Sorted(maps.Keys(v)) {
		p, known := s.Properties[k]
		switch {
		case known:
			f.value(p, v[k], under(at, k))
		case closed:
			f.add("there is no argument %q; %s", under(at, k), offer(s.Properties, at))
		case s.PatternProperties == nil:
			f.value(s.AdditionalProperties, v[k], under(at, k))
		}
	}
}

// size adds a fault if n is outside of the bounds, each of which may be nil.
func (f *faults) size(least, most *int, n int, unit, at string) {
	switch {
	case least != nil && n < *least:
		f.add("%s must have at least %d %s, but it has %d", name(at), *least, unit, n)
	case most != nil && n > *most:
		f.add("%s must have at most %d %s, but it has %d", name(at), *most, unit, n)
	}
}

// bounds adds a fault if v is outside of the schema's minimum and maximum.
func (f *faults) bounds(s *jsonschema.Schema, v float64, at string) {
	switch {
	case s.Minimum != nil && v < *s.Minimum:
		f.add("%s must be at least %v, but %s was given", name(at), *s.Minimum, show(v))
	case s.Maximum != nil && v > *s.Maximum:
		f.add("%s must be at most %v, but %s was given", name(at), *s.Maximum, show(v))
	}
}

// fallback returns a sentence with the cause at the end of the validator's error,
// and the argument in its path.
func (f faults) fallback(err error) string {
	msg, field := err.Error(), ""
	for {
		head, rest, ok := strings.Cut(msg, ": ")
		if !ok || !strings.HasPrefix(head, "validating") {
			break
		}
		if _, p, ok := strings.Cut(head, "/properties/"); ok {
			field = strings.ReplaceAll(p, "/properties/", ".")
		}
		msg = rest
	}
	if field != "" {
		return "the argument " + fmt.Sprintf("%q", field) + " is wrong: " + msg
	}
	return "the arguments do not fit the tool's schema: " + msg
}

// under returns the path of the member k of the argument at.
func under(at, k string) string {
	if at == "" {
		return k
	}
	return at + "." + k
}

// name returns what an error calls the argument at.
func name(at string) string {
	if at == "" {
		return "the arguments"
	}
	return fmt.Sprintf("the argument %q", at)
}

// offer returns which arguments there are.
func offer(props map[string]*jsonschema.Schema, at string) string {
	if len(props) == 0 {
		return "none is taken here"
	}
	var names []any
	for _, k := range slices.Sorted(maps.Keys(props)) {
		names = append(names, under(at, k))
	}
	return "there are " + list(names)
}

// fits reports whether v, as encoding/json decodes it, has one of the types.
func fits(types []string, v any) bool {
	switch v := v.(type) {
	case nil:
		return slices.Contains(types, "null")
	case bool:
		return slices.Contains(types, "boolean")
	case string:
		return slices.Contains(types, "string")
	case []any:
		return slices.Contains(types, "array")
	case map[string]any:
		return slices.Contains(types, "object")
	case float64:
		return slices.Contains(types, "number") || slices.Contains(types, "integer") && v == math.Trunc(v)
	}
	return true
}

// equal reports whether values have the same JSON.
func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// articles names JSON types: "a string or an integer".
func articles(types []string) string {
	var ts []string
	for _, t := range types {
		switch t {
		case "integer", "array", "object":
			t = "an " + t
		case "null":
		default:
			t = "a " + t
		}
		ts = append(ts, t)
	}
	return strings.Join(ts, " or ")
}

// list returns values in JSON, separated by commas.
func list(vs []any) string {
	var b []string
	for _, v := range vs {
		b = append(b, show(v))
	}
	return strings.Join(b, ", ")
}

// show returns a value as JSON, cut if it is long.
func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	s := string(data)
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
