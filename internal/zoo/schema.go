package zoo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Provider is whose rules hold.
type Provider int

// The providers.
const (
	OpenAI Provider = iota
	Anthropic
	Gemini
)

// String returns the provider's name.
func (p Provider) String() string { return []string{"OpenAI", "Anthropic", "Gemini"}[p] }

// anthropicName is the pattern that Anthropic's error names.
var anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// Refusal returns the error with which the provider refuses a request that has a tool with
// this schema; "" if it takes it.
func (p Provider) Refusal(tool string, schema []byte) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(schema))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return "We could not parse the JSON body of your request."
	}
	top, ok := v.(map[string]any)
	if !ok || top["type"] != "object" {
		return p.says(tool, `schema must be a JSON Schema of 'type: "object"'`, ".type: Field required")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
		_, there := top[key]
		if there && (p != Anthropic || strings.HasSuffix(key, "Of")) {
			return p.says(tool, "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
				": input_schema does not support oneOf, allOf, or anyOf at the top level")
		}
	}
	if _, ok := top["properties"].(map[string]any); !ok {
		return p.says(tool, "In context=(), object schema missing properties.", ".properties: Input should be a valid dictionary")
	}
	if p == Anthropic {
		for name := range top["properties"].(map[string]any) {
			if !anthropicName.MatchString(name) {
				return p.says(tool, "", ".properties: Property keys should match pattern '"+anthropicName.String()+"'")
			}
		}
	}
	j := judge{p: p, root: top}
	if why := j.look(top, nil); why != "" {
		return p.says(tool, why, ": JSON schema is invalid. It must match JSON Schema draft 2020-12: "+why)
	}
	return ""
}

// says returns the error in the provider's words.
func (p Provider) says(tool, openAI, anthropic string) string {
	switch p {
	case Anthropic:
		return "tools.0.custom.input_schema" + anthropic
	case Gemini:
		return "* GenerateContentRequest.tools[0].function_declarations[0].parameters_json_schema: " + openAI
	}
	return fmt.Sprintf("Invalid schema for function '%s': %s", tool, openAI)
}

// A judge looks through one schema.
type judge struct {
	p    Provider
	root any
}

// geminiKeys are the keywords that Gemini documents.
var geminiKeys = strings.Fields("type format title description nullable enum maxItems minItems properties required minProperties " +
	"maxProperties minLength maxLength pattern example examples anyOf oneOf prefixItems additionalProperties default items minimum maximum")

// look returns what is wrong with a schema at a place.
func (j judge) look(v any, at []string) string {
	where := "In context=('" + strings.Join(at, "', '") + "'), "
	s, ok := v.(map[string]any)
	if !ok {
		if _, isBool := v.(bool); isBool && j.p != Gemini {
			return ""
		}
		return where + "schema at this place must be an object"
	}
	if array(s["type"]) {
		if _, there := s["items"]; !there && j.p != Anthropic {
			return where + "array schema missing items."
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		value := s[key]
		if j.p == Gemini && !slices.Contains(geminiKeys, key) {
			return where + `Unknown name "` + key + `": Cannot find field.`
		}
		if !valid(key, value) {
			return fmt.Sprintf("%s%v is not valid for %s", where, value, key)
		}
		switch key {
		case "$ref":
			if !j.leads(value.(string)) {
				return where + "reference to component '" + value.(string) + "' which was not found in the schema"
			}
		case "properties", "patternProperties", "$defs", "definitions":
			for name, below := range value.(map[string]any) {
				if why := j.look(below, append(slices.Clone(at), key, name)); why != "" {
					return why
				}
			}
		case "anyOf", "oneOf", "allOf", "prefixItems":
			for i, below := range value.([]any) {
				if why := j.look(below, append(slices.Clone(at), key, strconv.Itoa(i))); why != "" {
					return why
				}
			}
		case "additionalProperties":
			if _, isBool := value.(bool); isBool {
				continue
			}
			fallthrough
		case "items", "contains", "not", "if", "then", "else", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
			if why := j.look(value, append(slices.Clone(at), key)); why != "" {
				return why
			}
		}
	}
	return ""
}

// leads reports whether a reference leads to something in the schema.
func (j judge) leads(ref string) bool {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return false
	}
	at := j.root
	for _, step := range strings.Split(path, "/")[1:] {
		step, _ = url.PathUnescape(step)
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[step]; !ok {
				return false
			}
		case []any:
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(v) {
				return false
			}
			at = v[n]
		default:
			return false
		}
	}
	return path == "" || path[0] == '/'
}

// array reports whether a type has arrays.
func array(v any) bool {
	l, _ := v.([]any)
	return v == "array" || slices.Contains(l, any("array"))
}

func word(v any) bool {
	return slices.Contains([]any{"object", "array", "string", "number", "integer", "boolean", "null"}, v)
}

// listOf returns a test for a list of things, each there once.
func listOf(least int, is func(any) bool) func(any) bool {
	return func(v any) bool {
		l, ok := v.([]any)
		seen := map[string]bool{}
		for _, e := range l {
			key := fmt.Sprint(e)
			if !is(e) || seen[key] {
				return false
			}
			seen[key] = true
		}
		return ok && len(l) >= least
	}
}

func isA[T any](v any) bool { _, ok := v.(T); return ok }

func whole(v any) bool {
	n, ok := v.(json.Number)
	return ok && strings.Trim(n.String(), "0123456789") == ""
}

// valid reports whether a value fits its keyword, in 2020-12.
func valid(key string, v any) bool {
	some := func(v any) bool { l, ok := v.([]any); return ok && len(l) > 0 }
	for names, is := range map[string]func(any) bool{
		"title description format pattern $comment $schema $id $ref": isA[string],
		"properties patternProperties $defs definitions":             isA[map[string]any],
		"minimum maximum exclusiveMinimum exclusiveMaximum":          isA[json.Number],
		"minLength maxLength minItems maxItems minProperties":        whole,
		"deprecated readOnly writeOnly uniqueItems":                  isA[bool],
		"enum anyOf oneOf allOf prefixItems":                         some,
		"required":                                                   listOf(0, isA[string]),
		"type":                                                       func(v any) bool { return word(v) || listOf(1, word)(v) },
	} {
		if slices.Contains(strings.Fields(names), key) {
			return is(v)
		}
	}
	return true
}
