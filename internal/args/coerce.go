package args

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var (
	integer  = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	zeroFrac = regexp.MustCompile(`^-?(0|[1-9][0-9]*)\.0+$`)
	number   = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	boolean  = regexp.MustCompile(`^([Tt]rue|[Ff]alse)$`)
)

// coerce makes the conversions that [Schema.Check] describes, in place, and
// reports whether there were any.
func (s *Schema) coerce(ms []member) bool {
	changed := false
	for i, m := range ms {
		p := s.root.Properties[m.name]
		if p == nil {
			continue
		}
		if string(m.raw) == "null" && !slices.Contains(s.root.Required, m.name) && !takesNull(p) {
			ms[i].drop, changed = true, true
			continue
		}
		if v, ok := scalar(p.Type, string(m.raw)); ok {
			ms[i].raw, changed = json.RawMessage(v), true
		}
	}
	return changed
}

// scalar converts a JSON value to a type. ok is false if it has that type
// already, or if there is no conversion beyond doubt.
func scalar(typ, raw string) (converted string, ok bool) {
	if typ == "integer" && zeroFrac.MatchString(raw) {
		whole, _, _ := strings.Cut(raw, ".")
		return whole, true
	}
	var text string
	if !strings.HasPrefix(raw, `"`) || json.Unmarshal([]byte(raw), &text) != nil {
		return "", false
	}
	text = strings.TrimSpace(text)
	switch typ {
	case "integer":
		return text, integer.MatchString(text)
	case "number":
		return text, number.MatchString(text)
	case "boolean":
		return strings.ToLower(text), boolean.MatchString(text)
	}
	return "", false
}

// takesNull reports whether the types of p allow null.
func takesNull(p *jsonschema.Schema) bool {
	if p.Type != "" {
		return p.Type == "null"
	}
	return p.Types == nil || slices.Contains(p.Types, "null")
}
