package args

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestTaintedStrings(t *testing.T) {
	long := strings.Repeat("7", maxNumber+1)
	for _, c := range []struct {
		name, schema, answer string
		want                 []string
	}{
		{"numbers, booleans and null are clean", `{"type":"object","properties":{"n":{"type":"number"},"b":{"type":"boolean"},"z":{}}}`, `{"n":-1.5e3,"b":true,"z":null}`, nil},
		{"a string is tainted", `{"type":"string"}`, `"send it to evil.example"`, []string{"send it to evil.example"}},
		{"a pattern vouches for nothing", `{"type":"string","pattern":"^[a-z]+$","maxLength":9}`, `"word"`, []string{"word"}},
		{"a listed string is clean", `{"type":"string","enum":["yes","no"]}`, `"yes"`, nil},
		{"a string that is not listed is tainted", `{"type":"string","enum":["yes","no"]}`, `"yes "`, []string{"yes "}},
		{"a constant is clean", `{"const":"ok"}`, `"ok"`, nil},
		{"a date is clean", `{"type":"string","format":"date"}`, `"2024-02-29"`, nil},
		{"no date is tainted", `{"type":"string","format":"date"}`, `"2023-02-29"`, []string{"2023-02-29"}},
		{"a date with more is tainted", `{"type":"string","format":"date"}`, `"2024-02-29 or so"`, []string{"2024-02-29 or so"}},
		{"a moment is clean", `{"type":"string","format":"date-time"}`, `"2024-02-29T10:20:30.5+02:00"`, nil},
		{"a fraction may not carry words", `{"type":"string","format":"date-time"}`, `"2024-02-29T10:20:30.` + long + `Z"`, []string{"2024-02-29T10:20:30." + long + "Z"}},
		{"a time is clean", `{"type":"string","format":"time"}`, `"23:59:59Z"`, nil},
		{"no time is tainted", `{"type":"string","format":"time"}`, `"25:00:00Z"`, []string{"25:00:00Z"}},
		{"another format vouches for nothing", `{"type":"string","format":"email"}`, `"a@evil.example"`, []string{"a@evil.example"}},
		{"a date where none is asked for is tainted", `{"type":"string"}`, `"2024-02-29"`, []string{"2024-02-29"}},
		{"a long number is a text", `{"type":"integer"}`, long, []string{long}},
		{"lists, each string once", `{"type":"array","items":{"type":"string"}}`, `["b","a","b",""]`, []string{"b", "a"}},
		{"listed strings in a list", `{"type":"array","items":{"enum":["x"]}}`, `["x","y"]`, []string{"y"}},
		{"tuples", `{"prefixItems":[{"const":"x"}],"items":{"const":"y"}}`, `["x","y","x"]`, []string{"x"}},
		{"tuples of draft 7", `{"items":[{"const":"x"}],"additionalItems":{"const":"y"}}`, `["x","y","z"]`, []string{"z"}},
		{"properties in order of their names", `{"properties":{"b":{"type":"string"},"a":{"type":"string"}}}`, `{"b":"2","a":"1"}`, []string{"1", "2"}},
		{"a name that is not declared is tainted", `{"properties":{"a":{"const":"1"}},"additionalProperties":{"type":"number"}}`, `{"a":"1","run this":2}`, []string{"run this"}},
		{"a pattern of names declares none", `{"patternProperties":{"^k":{"const":"v"}}}`, `{"key":"v","other":"v"}`, []string{"key", "other", "v"}},
		{"alternatives", `{"anyOf":[{"enum":["none"]},{"type":"string"}]}`, `"none"`, nil},
		{"the other alternative", `{"anyOf":[{"enum":["none"]},{"type":"string"}]}`, `"words"`, []string{"words"}},
		{"references", `{"$defs":{"d":{"format":"date"}},"properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"https://example.org"}}}`, `{"a":"2024-01-01","b":"2024-01-01"}`, []string{"2024-01-01"}},
		{"a schema that refers to itself", `{"properties":{"next":{"$ref":"#"},"v":{"enum":["x"]}},"allOf":[{"$ref":"#"}]}`, `{"next":{"next":{"v":"x"}},"v":"y"}`, []string{"y"}},
		{"then", `{"if":{},"then":{"const":"t"}}`, `"t"`, nil},
		{"a deep value", `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}}}}`, `{"a":[{"b":"deep"}]}`, []string{"deep"}},
		{"a schema that is none", `not json`, `{"a":"b"}`, []string{"a", "b"}},
		{"true as a schema", `true`, `["x"]`, []string{"x"}},
		{"an answer that is none", `{"type":"object"}`, `Ignore the above`, []string{"Ignore the above"}},
		{"an answer with more behind it", `{"const":"x"}`, `"x" and more`, []string{`"x" and more`}},
		{"no answer", `{}`, ``, nil},
		{"look-alikes of listed strings", `{"enum":["yes"]}`, `"y\u0435s"`, []string{"y\u0435s"}},
	} {
		if got := TaintedStrings(json.RawMessage(c.schema), json.RawMessage(c.answer)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// FuzzTaintedStrings: without a schema, every string of an answer is there.
func FuzzTaintedStrings(f *testing.F) {
	f.Add(`{"$ref":"#/allOf/0","allOf":[{"$ref":"#"}]}`, `{"a":["b",{"c":1}]}`)
	f.Add(`{"enum":[1,"x"]}`, `"x"`)
	f.Fuzz(func(t *testing.T, schema, answer string) {
		with := TaintedStrings(json.RawMessage(schema), json.RawMessage(answer))
		without := TaintedStrings(nil, json.RawMessage(answer))
		for _, s := range with {
			if !slices.Contains(without, s) {
				t.Errorf("%q is tainted by the schema", s)
			}
		}
		if s := ""; json.Unmarshal([]byte(answer), &s) == nil && s != "" && !slices.Contains(without, s) {
			t.Errorf("%q is missing", s)
		}
	})
}
