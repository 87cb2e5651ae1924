package args

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TaintedStrings returns the strings of answer, a JSON value, that whoever wrote
// the text behind it may have chosen freely, each once, in the order in which they
// stand there. schema is the JSON Schema that the answer was asked for with.
//
// These are not among them, since they carry no words:
//
//   - numbers, booleans and null;
//   - strings that the schema lists at that place (enum, const);
//   - strings there whose format is date, time or date-time, and that are one, as
//     RFC 3339 writes them;
//   - names of properties that the schema declares.
//
// All other strings and names are tainted, also where the schema has a pattern or
// a length for them, and so are numbers of more than 24 characters, whose digits
// could carry anything. Where the schema offers alternatives (anyOf, oneOf, allOf,
// then, else, $ref), one that vouches for a string is enough. An answer that is no
// JSON is tainted as a whole. A schema that is none vouches for nothing. If a name
// stands twice in an object, only the last one counts: write the answer anew
// before it is shown.
func TaintedStrings(schema, answer json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(answer)))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || d.More() {
		if len(answer) == 0 {
			return nil
		}
		return []string{string(answer)}
	}
	var root any
	_ = json.Unmarshal(schema, &root) // then root is nil, and vouches for nothing
	t := taint{root: root}
	t.visit(value, t.expand(nil, root, 0))
	return t.found
}

// maxNumber is the length from which a number counts as a text. The longest
// float64 that Go writes has 24 characters.
const maxNumber = 24

// A taint collects the tainted strings of an answer.
type taint struct {
	root  any // of the schema
	found []string
}

func (t *taint) add(s string) {
	if s != "" && !slices.Contains(t.found, s) {
		t.found = append(t.found, s)
	}
}

// visit looks at a value. schemas are all that may describe it.
func (t *taint) visit(value any, schemas []map[string]any) {
	switch v := value.(type) {
	case string:
		if !slices.ContainsFunc(schemas, func(s map[string]any) bool { return vouches(s, v) }) {
			t.add(v)
		}
	case json.Number:
		if len(v) > maxNumber {
			t.add(v.String())
		}
	case []any:
		for i, e := range v {
			t.visit(e, t.items(schemas, i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below, declared := t.property(schemas, name)
			if !declared {
				t.add(name)
			}
			t.visit(v[name], below)
		}
	}
}

// vouches reports whether a schema leaves no choice of words for s.
func vouches(schema map[string]any, s string) bool {
	if schema["const"] == s {
		return true
	}
	if list, ok := schema["enum"].([]any); ok && slices.Contains(list, any(s)) {
		return true
	}
	format, _ := schema["format"].(string)
	return isMoment(format, s)
}

// moments are the shapes of the formats of time. They allow no fraction of a
// second with more than nine digits, unlike RFC 3339.
var moments = map[string]*regexp.Regexp{
	"date":      regexp.MustCompile(`^\d{4}-\d\d-\d\d$`),
	"time":      regexp.MustCompile(`^\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`),
	"date-time": regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$`),
}

// isMoment reports whether s is a point in time in the format.
func isMoment(format, s string) bool {
	shape := moments[format]
	if shape == nil || !shape.MatchString(s) {
		return false
	}
	switch format {
	case "date":
		s += "T00:00:00Z"
	case "time":
		s = "2000-01-01T" + s
	}
	_, err := time.Parse(time.RFC3339Nano, s)
	return err == nil
}

// items returns the schemas of the element i of a list.
func (t *taint) items(schemas []map[string]any, i int) []map[string]any {
	var below []map[string]any
	for _, s := range schemas {
		first, _ := s["prefixItems"].([]any)
		rest := s["items"]
		if list, ok := rest.([]any); ok { // draft 7
			first, rest = list, s["additionalItems"]
		}
		if i < len(first) {
			rest = first[i]
		}
		below = t.expand(below, rest, 0)
	}
	return below
}

// property returns the schemas of a property, and whether a schema declares its
// name.
func (t *taint) property(schemas []map[string]any, name string) (below []map[string]any, declared bool) {
	for _, s := range schemas {
		if all, ok := s["properties"].(map[string]any); ok {
			if p, ok := all[name]; ok {
				below, declared = t.expand(below, p, 0), true
				continue
			}
		}
		below = t.expand(below, s["additionalProperties"], 0)
		patterns, _ := s["patternProperties"].(map[string]any)
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if re, err := regexp.Compile(pattern); err == nil && re.MatchString(name) {
				below = t.expand(below, patterns[pattern], 0)
			}
		}
	}
	return below, declared
}

// The bounds of expand: schemas may refer to themselves.
const (
	maxAlternatives = 200
	maxReferences   = 20
)

// expand appends schema to list, and what it refers to and offers as
// alternatives.
func (t *taint) expand(list []map[string]any, schema any, depth int) []map[string]any {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxReferences || len(list) >= maxAlternatives {
		return list
	}
	list = append(list, s)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		all, _ := s[key].([]any)
		for _, sub := range all {
			list = t.expand(list, sub, depth+1)
		}
	}
	for _, key := range []string{"then", "else"} {
		list = t.expand(list, s[key], depth+1)
	}
	if ref, ok := s["$ref"].(string); ok {
		list = t.expand(list, t.lookup(ref), depth+1)
	}
	return list
}

// lookup returns what a reference within the schema refers to, or nil.
func (t *taint) lookup(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil
	}
	at := t.root
	for _, name := range strings.Split(path, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}
