package args

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzCheck: no input causes a panic, and what is accepted is valid
// JSON that fits the schema, is stable, and is the input itself if that fits.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"command":"view","path":"a"}`, `{"command":"view","path":"a","line":"5","force":"true"}`,
		"```json\n{'command':'view','path':'a',}\n```", `"{\"command\":\"view\",\"path\":\"a\"}"`,
		`{"command":"view","path":"say "hi" now","line":null}`, `{"a":}`, `{]}`, `{"a":"\ud800"}`, `[{"a":1}`,
	} {
		f.Add(seed)
	}
	s := compile(f, editor)
	f.Fuzz(func(t *testing.T, in string) {
		out, err := s.Check(in)
		if err != nil {
			if err.Error() == "" || !utf8.ValidString(err.Error()) {
				t.Errorf("an error that cannot be shown: %q", err)
			}
			return
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(out), &v); err != nil {
			t.Fatalf("%q became %q, which is not an object: %v", in, out, err)
		}
		if err := s.resolved.Validate(v); err != nil {
			t.Fatalf("%q became %q, which does not fit: %v", in, out, err)
		}
		if again, err := s.Check(out); err != nil || again != out {
			t.Fatalf("%q became %q, which became %q, %v", in, out, again, err)
		}
		if fitsAsItIs(s, in) && out != in {
			t.Fatalf("%q is valid but became %q", in, out)
		}
	})
}

func fitsAsItIs(s *Schema, in string) bool {
	var v map[string]any
	return utf8.ValidString(in) && json.Unmarshal([]byte(in), &v) == nil && v != nil &&
		errors.Join(s.resolved.Validate(v)) == nil && !s.coerce(must(object(in)))
}

func must(ms []member, ok bool) []member {
	if !ok {
		panic("no object")
	}
	return ms
}

// FuzzCut: a valid object that is cut is never accepted.
func FuzzCut(f *testing.F) {
	f.Add(`{"code":"print(\"}\")","n":[{}]}`, 20)
	f.Add(`{"a":{"b":"{\"c\":\"}\"}"}}`, 9)
	f.Fuzz(func(t *testing.T, whole string, at int) {
		var v map[string]json.RawMessage
		if json.Unmarshal([]byte(whole), &v) != nil || whole[0] != '{' || whole[len(whole)-1] != '}' || at <= 0 || at >= len(whole) {
			return
		}
		if out, err := Repair(whole[:at]); err == nil {
			t.Fatalf("%q, cut off from %q, is taken for %q", whole[:at], whole, out)
		}
	})
}
