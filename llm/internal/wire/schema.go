package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/llm"
)

// A Dialect is what a provider takes of JSON Schema for the arguments of tools. A provider
// refuses the whole request for one schema that it does not take, so such a schema is
// rewritten into a looser one, and the tool's description says what it no longer demands.
// Whoever runs the tool checks arguments against the original.
//
// What all refuse: a schema that is not that of an object; anyOf, oneOf, allOf, enum, not,
// const and $ref at its top; a reference to nowhere; an array that does not say what its
// items are; and what is no JSON Schema of 2020-12, such as a list of items or "required":
// true.
type Dialect int

const (
	OpenAI    Dialect = iota // and whoever speaks Chat Completions
	Anthropic                // takes only plain names of arguments
	Gemini                   // takes no references, and few keywords
)

// anyObject is a schema that every object fits.
const anyObject = `{"type":"object","properties":{}}`

// Fit returns the description and the schema with which t is offered. A schema that fits
// stays as it is, byte for byte, for the caches of providers. It must be JSON.
func (d Dialect) Fit(t llm.ToolSpec) (description string, schema json.RawMessage) {
	if len(t.Input) == 0 {
		return t.Description, json.RawMessage(anyObject)
	}
	top, isObject := decode(t.Input).(map[string]any)
	if !isObject {
		return described(t.Description, demand("fit the schema", decode(t.Input))), json.RawMessage(anyObject)
	}
	f := &fitter{dialect: d, root: top}
	out := f.top(top)
	switch {
	case f.steps > maxSteps:
		return described(t.Description, demand("fit the schema", top)), json.RawMessage(anyObject)
	case !f.changed:
		return t.Description, t.Input
	}
	return described(t.Description, f.words...), MustJSON(out)
}

// decode returns the value that is written in data, with its numbers as they stand.
func decode(data []byte) (v any) {
	r := json.NewDecoder(bytes.NewReader(data))
	r.UseNumber()
	_ = r.Decode(&v) // it is JSON
	return v
}

// described adds sentences to a description.
func described(description string, sentences ...string) string {
	return strings.TrimSpace(description + "\n\n" + strings.Join(sentences, "\n"))
}

// longest is how much of a schema a description repeats, in bytes.
const longest = 4000

// demand says that the arguments must do something with a schema.
func demand(must string, schema any) string {
	text := string(MustJSON(schema))
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return "The arguments must " + must + ": " + text
}

// maxSteps and maxDeep bound the work for one schema, whose references can make it
// exponential.
const (
	maxSteps = 5000
	maxDeep  = 60
)

// A fitter rewrites one schema.
type fitter struct {
	dialect Dialect
	root    map[string]any // as it was
	open    []string       // the references that are being followed
	words   []string       // what the schema's top no longer demands
	steps   int
	changed bool
}

// An object is a schema of objects.
type object = map[string]any

// top rewrites the whole schema.
func (f *fitter) top(s object) object {
	out := f.flat(s, 0)
	if t := out["type"]; t != "object" {
		out["type"], f.changed = "object", true
	}
	properties, ok := out["properties"].(object)
	if !ok {
		properties, f.changed = object{}, true
	}
	out["properties"] = properties
	switch f.dialect {
	case Anthropic:
		f.unnamed(out, properties)
	case Gemini:
		for _, key := range slices.Sorted(maps.Keys(out)) {
			if slices.Contains(simpleKeys, key) {
				continue
			}
			f.changed = true
			if tells(key) {
				f.words = append(f.words, demand("fit", object{key: out[key]}))
			}
			delete(out, key)
		}
	}
	f.below(out, 0)
	f.mended(out)
	if f.changed {
		f.resolved(out, out, 0)
	}
	return out
}

// plainName is what Anthropic takes as the name of an argument.
var plainName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// unnamed takes the arguments out of the schema whose names the provider refuses, and
// describes them.
func (f *fitter) unnamed(out, properties object) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if plainName.MatchString(name) {
			continue
		}
		f.changed = true
		need := "may"
		if required := names(out["required"]); slices.Contains(required, name) {
			need = "must"
			out["required"] = list(slices.DeleteFunc(required, func(n string) bool { return n == name }))
		}
		f.words = append(f.words, "The arguments "+need+" also have "+strconv.Quote(name)+": "+string(MustJSON(properties[name])))
		delete(properties, name)
		if out["additionalProperties"] == false {
			delete(out, "additionalProperties")
		}
	}
}

// flat returns s without what must not stand at the top of a schema: it follows a
// reference, joins the schemas of allOf, and unites those of anyOf and oneOf.
func (f *fitter) flat(s object, depth int) object {
	if f.steps++; f.steps > maxSteps || depth > maxDeep {
		f.steps = maxSteps + 1
		return object{}
	}
	out := maps.Clone(s)
	if properties, ok := s["properties"].(object); ok {
		out["properties"] = maps.Clone(properties) // names are added and taken out
	}
	for _, key := range refs {
		if ref, ok := s[key].(string); ok {
			delete(out, key)
			f.changed = true
			if target, done, ok := f.follow(ref); ok {
				f.join(out, f.flat(target, depth+1))
				done()
			}
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, ok := s[key].([]any)
		if _, there := s[key]; !there {
			continue
		}
		delete(out, key)
		f.changed = true
		if !ok {
			continue
		}
		var flat []object
		for _, b := range branches {
			if b, ok := b.(object); ok {
				flat = append(flat, f.flat(b, depth+1))
			}
		}
		if key == "allOf" {
			for _, b := range flat {
				f.join(out, b)
			}
			if depth == 0 && slices.ContainsFunc(branches, conditional) {
				f.words = append(f.words, demand("fit all of", branches))
			}
			continue
		}
		if depth == 0 {
			f.words = append(f.words, demand(map[string]string{"anyOf": "fit at least one of", "oneOf": "fit exactly one of"}[key], s[key]))
		}
		f.unite(out, flat)
	}
	for key, must := range map[string]string{"not": "not fit", "enum": "be one of", "const": "be"} {
		if v, there := s[key]; there {
			delete(out, key)
			f.changed = true
			if depth == 0 {
				f.words = append(f.words, demand(must, v))
			}
		}
	}
	slices.Sort(f.words)
	return out
}

// conditional reports whether a schema demands what a join with another one loses.
func conditional(v any) bool {
	s, _ := v.(object)
	for key := range s {
		if slices.Contains([]string{"not", "if", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"}, key) {
			return true
		}
	}
	return false
}

// join adds to a schema what another one demands of the same value. It leaves
// out what cannot stand beside what is there.
func (f *fitter) join(out, b object) {
	for key, v := range b {
		was, there := out[key]
		switch {
		case key == "properties":
			f.properties(out, v, "allOf")
		case key == "required":
			out[key] = list(append(names(was), names(v)...))
		case key == "additionalProperties" || key == "unevaluatedProperties":
			// each counts for the properties beside it only
		case key == "if" || key == "then" || key == "else": // they belong together
		case !there:
			out[key] = v
		}
	}
	if _, there := b["properties"]; there {
		delete(out, "additionalProperties")
		delete(out, "unevaluatedProperties")
	}
}

// unite adds to a schema the properties of alternatives, of which a value fits one.
// Required is what all of them require.
func (f *fitter) unite(out object, branches []object) {
	var required []string
	first := true
	for _, b := range branches {
		if t, ok := b["type"].(string); ok && t != "object" {
			continue // arguments are an object
		}
		if v, there := b["properties"]; there {
			f.properties(out, v, "anyOf")
			delete(out, "additionalProperties")
			delete(out, "unevaluatedProperties")
		}
		if own := names(b["required"]); first {
			required, first = own, false
		} else {
			required = slices.DeleteFunc(required, func(n string) bool { return !slices.Contains(own, n) })
		}
	}
	if len(required) > 0 {
		out["required"] = list(append(names(out["required"]), required...))
	}
}

// properties adds more properties to a schema. One that is there already has to fit both
// (allOf) or either (anyOf).
func (f *fitter) properties(out object, more any, how string) {
	own, _ := out["properties"].(object)
	if own == nil {
		own = object{}
		out["properties"] = own
	}
	added, _ := more.(object)
	for name, p := range added {
		was, there := own[name]
		if !there {
			own[name] = p
			continue
		}
		if bytes.Equal(MustJSON(was), MustJSON(p)) {
			continue
		}
		if how == "anyOf" { // also for one that stands beside the alternatives: either is looser than both
			if w, ok := was.(object); ok && len(w) == 1 && w["anyOf"] != nil {
				if l, ok := w["anyOf"].([]any); ok && !slices.ContainsFunc(l, func(v any) bool { return bytes.Equal(MustJSON(v), MustJSON(p)) }) {
					own[name] = object{"anyOf": append(slices.Clone(l), p)}
				}
				continue
			}
		}
		own[name] = object{how: []any{was, p}}
	}
}

// names returns the strings of a list, each once.
func names(v any) (all []string) {
	l, _ := v.([]any)
	for _, n := range l {
		if s, ok := n.(string); ok && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// list returns names as a list of JSON, each once.
func list(all []string) []any {
	out := []any{}
	for i, n := range all {
		if !slices.Contains(all[:i], n) {
			out = append(out, n)
		}
	}
	return out
}

// follow returns what a reference within the schema refers to. The caller calls done when
// it has looked at it. A reference that is being followed already, and one to nowhere, is
// none.
func (f *fitter) follow(ref string) (target object, done func(), ok bool) {
	if slices.Contains(f.open, ref) {
		return nil, nil, false
	}
	at, ok := find(f.root, ref)
	target, isObject := at.(object)
	if !ok || !isObject {
		return nil, nil, false
	}
	f.open = append(f.open, ref)
	return target, func() { f.open = f.open[:len(f.open)-1] }, true
}

// find returns what a reference within root refers to.
func find(root any, ref string) (at any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	at = root
	for _, name := range strings.Split(path, "/")[1:] {
		if plain, err := url.PathUnescape(name); err == nil {
			name = plain
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch v := at.(type) {
		case object:
			if at, ok = v[name]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

// Keywords whose value is a schema, a list of schemas, and an object of schemas.
var (
	oneSchema = strings.Fields("items additionalItems additionalProperties contains not if then else propertyNames " +
		"unevaluatedItems unevaluatedProperties contentSchema")
	schemaList = strings.Fields("allOf anyOf oneOf prefixItems")
	schemaMap  = strings.Fields("properties patternProperties dependentSchemas $defs definitions")
)

// below rewrites the schemas within s, in place; s itself is a copy.
func (f *fitter) below(s object, depth int) {
	for _, key := range oneSchema {
		v, there := s[key]
		if !there {
			continue
		}
		switch v := v.(type) {
		case nil:
			delete(s, key)
			f.changed = true
		case bool:
			if f.dialect == Gemini && key != "additionalProperties" {
				s[key] = f.sub(v, depth+1)
			}
		case []any: // items of a tuple, see mended
			s[key] = f.each(v, depth)
		default:
			s[key] = f.sub(v, depth+1)
		}
	}
	for _, key := range schemaList {
		if l, ok := s[key].([]any); ok {
			s[key] = f.each(l, depth)
		}
	}
	for _, key := range schemaMap {
		if m, ok := s[key].(object); ok {
			out := make(object, len(m))
			for name, v := range m {
				out[name] = f.sub(v, depth+1)
			}
			s[key] = out
		}
	}
}

// each rewrites a list of schemas.
func (f *fitter) each(l []any, depth int) []any {
	out := make([]any, len(l))
	for i, v := range l {
		out[i] = f.sub(v, depth+1)
	}
	return out
}

// sub returns a schema within the schema as the provider takes it.
func (f *fitter) sub(v any, depth int) any {
	if f.steps++; f.steps > maxSteps || depth > maxDeep {
		f.steps = maxSteps + 1
		return object{}
	}
	s, ok := v.(object)
	if !ok {
		if _, isBool := v.(bool); isBool && f.dialect != Gemini {
			return v
		}
		f.changed = true
		return object{}
	}
	s = maps.Clone(s)
	if f.dialect == Gemini {
		return f.simple(s, depth)
	}
	for _, key := range refs {
		if ref, ok := s[key].(string); ok {
			if _, ok := find(f.root, ref); !ok {
				f.changed = true
				delete(s, key)
				say(s, "see "+ref)
			}
		}
	}
	f.below(s, depth)
	f.mended(s)
	return s
}

// refs are the keywords that refer to another schema.
var refs = []string{"$ref", "$dynamicRef", "$recursiveRef"}

// tells reports whether a keyword says something of the value.
func tells(key string) bool {
	return !strings.HasPrefix(key, "$") && !strings.HasPrefix(key, "x-") && key != "definitions" && key != "id"
}

// simpleKeys are the keywords that Gemini takes.
var simpleKeys = strings.Fields("type format title description enum items prefixItems minItems maxItems minimum maximum " +
	"anyOf oneOf properties additionalProperties required default nullable minLength maxLength pattern examples example " +
	"minProperties maxProperties")

// simple returns s for Gemini: without references, and with its keywords only. The
// description says what else s demands.
func (f *fitter) simple(s object, depth int) any {
	for _, key := range refs {
		ref, ok := s[key].(string)
		if !ok {
			continue
		}
		f.changed = true
		delete(s, key)
		target, done, ok := f.follow(ref)
		if !ok {
			say(s, "see "+ref)
			continue
		}
		inner, _ := f.sub(target, depth+1).(object)
		done()
		for k, v := range inner {
			if _, there := s[k]; !there {
				s[k] = v
			}
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		f.changed = true
		delete(s, "allOf")
		for _, v := range all {
			if v, ok := v.(object); ok {
				f.join(s, f.flatIn(v, depth+1))
			}
		}
	}
	if v, there := s["const"]; there {
		f.changed = true
		delete(s, "const")
		if _, there := s["enum"]; !there {
			s["enum"] = []any{v}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if slices.Contains(simpleKeys, key) {
			continue
		}
		f.changed = true
		if tells(key) {
			say(s, key+": "+clipped(string(MustJSON(s[key]))))
		}
		delete(s, key)
	}
	f.below(s, depth)
	f.mended(s)
	return s
}

// flatIn returns s with its reference followed, for a schema that joins it.
func (f *fitter) flatIn(s object, depth int) object {
	if f.steps++; f.steps > maxSteps || depth > maxDeep {
		f.steps = maxSteps + 1
		return object{}
	}
	out := maps.Clone(s)
	if properties, ok := s["properties"].(object); ok {
		out["properties"] = maps.Clone(properties)
	}
	if ref, ok := s["$ref"].(string); ok {
		delete(out, "$ref")
		if target, done, ok := f.follow(ref); ok {
			f.join(out, f.flatIn(target, depth+1))
			done()
		}
	}
	if all, ok := s["allOf"].([]any); ok {
		delete(out, "allOf")
		for _, v := range all {
			if v, ok := v.(object); ok {
				f.join(out, f.flatIn(v, depth+1))
			}
		}
	}
	return out
}

// say adds a remark to the description of a schema.
func say(s object, text string) {
	was, _ := s["description"].(string)
	s["description"] = strings.TrimSpace(strings.TrimSpace(was) + " (" + text + ")")
}

// clipped returns the beginning of a text for a description.
func clipped(text string) string {
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// types are words that servers write for the types of JSON Schema.
var types = map[string]string{
	"object": "object", "array": "array", "string": "string", "number": "number", "integer": "integer", "boolean": "boolean", "null": "null",
	"int": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number", "bool": "boolean", "str": "string",
	"text": "string", "dict": "object", "map": "object", "list": "array",
}

// mended makes s valid by the rules of 2020-12, in place. Whatever it cannot make valid it
// takes away.
func (f *fitter) mended(s object) {
	drop := func(key string) {
		f.changed = true
		delete(s, key)
	}
	f.typed(s)
	if l, ok := s["items"].([]any); ok { // a tuple
		f.changed = true
		say(s, "items in this order")
		s["items"] = object{}
		if len(l) > 0 && s["additionalItems"] == false {
			s["items"] = object{"anyOf": l}
		}
	}
	if _, there := s["additionalItems"]; there {
		drop("additionalItems")
	}
	if _, there := s["items"]; !there && isArray(s["type"]) {
		s["items"], f.changed = object{}, true
	}
	for _, key := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		if v, there := s[key]; there {
			if _, ok := v.(object); !ok {
				drop(key)
			}
		}
	}
	if v, there := s["required"]; there {
		l, isList := v.([]any)
		if all := names(v); !isList || len(all) != len(l) {
			drop("required")
			if len(all) > 0 {
				s["required"] = list(all)
			}
		}
	}
	if v, there := s["enum"]; there {
		if l, ok := v.([]any); !ok || len(l) == 0 {
			drop("enum")
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		if v, there := s[key]; there {
			if l, ok := v.([]any); !ok || len(l) == 0 {
				drop(key)
			}
		}
	}
	f.bounded(s, drop)
}

// typed mends the type of s.
func (f *fitter) typed(s object) {
	v, there := s["type"]
	if !there {
		return
	}
	var known []any
	switch t := v.(type) {
	case string:
		if name := types[strings.ToLower(t)]; name != "" {
			if name != t {
				s["type"], f.changed = name, true
			}
			return
		}
	case []any:
		for _, n := range names(t) {
			if name := types[strings.ToLower(n)]; name != "" && !slices.Contains(known, any(name)) {
				known = append(known, name)
			}
		}
		if len(known) > 0 && slices.Equal(known, t) {
			return
		}
	}
	f.changed = true
	delete(s, "type")
	if l, ok := v.([]any); ok && len(known) > 0 && len(known) == len(names(l)) {
		s["type"] = known
	} else if text := clipped(string(MustJSON(v))); text != `"any"` {
		say(s, "type: "+text)
	}
}

// isArray reports whether a type has arrays.
func isArray(t any) bool {
	l, _ := t.([]any)
	return t == "array" || slices.Contains(l, any("array"))
}

// bounded mends the bounds of s.
func (f *fitter) bounded(s object, drop func(string)) {
	for exclusive, plain := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if v, isBool := s[exclusive].(bool); isBool { // as in draft 4
			drop(exclusive)
			if n, ok := s[plain].(json.Number); ok && v && f.dialect != Gemini {
				drop(plain)
				s[exclusive] = n
			}
		}
	}
	for _, key := range strings.Fields("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf") {
		if v, there := s[key]; there {
			if _, ok := v.(json.Number); !ok {
				drop(key)
			}
		}
	}
	if n, ok := s["multipleOf"].(json.Number); ok {
		if v, err := n.Float64(); err != nil || v <= 0 {
			drop("multipleOf")
		}
	}
	for _, key := range strings.Fields("minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains") {
		if v, there := s[key]; there {
			n, ok := v.(json.Number)
			if !ok || strings.Trim(n.String(), "0123456789") != "" {
				drop(key)
			}
		}
	}
	for key, ok := range map[string]func(any) bool{
		"title description format pattern $comment $schema $id $anchor $ref $dynamicRef $recursiveRef": is[string],
		"deprecated readOnly writeOnly uniqueItems":                                                    is[bool],
		"examples": is[[]any],
	} {
		for key := range strings.FieldsSeq(key) {
			if v, there := s[key]; there && !ok(v) {
				drop(key)
			}
		}
	}
}

// is reports whether v is a T.
func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// resolved replaces the references in s that lead nowhere in the new root.
func (f *fitter) resolved(root, s object, depth int) {
	if f.steps++; f.steps > maxSteps || depth > maxDeep {
		f.steps = maxSteps + 1
		return
	}
	for _, key := range refs {
		ref, ok := s[key].(string)
		if !ok {
			continue
		}
		if _, ok := find(root, ref); ok {
			continue
		}
		delete(s, key)
		target, done, ok := f.follow(ref)
		if !ok {
			say(s, "see "+ref)
			continue
		}
		if inner, ok := f.sub(target, depth+1).(object); ok {
			f.resolved(root, inner, depth+1)
			for k, v := range inner {
				if _, there := s[k]; !there {
					s[k] = v
				}
			}
		}
		done()
	}
	for _, key := range oneSchema {
		if v, ok := s[key].(object); ok {
			f.resolved(root, v, depth+1)
		}
	}
	for _, key := range schemaList {
		l, _ := s[key].([]any)
		for _, v := range l {
			if v, ok := v.(object); ok {
				f.resolved(root, v, depth+1)
			}
		}
	}
	for _, key := range schemaMap {
		m, _ := s[key].(object)
		for _, v := range m {
			if v, ok := v.(object); ok {
				f.resolved(root, v, depth+1)
			}
		}
	}
}
