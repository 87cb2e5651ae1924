package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// anyObject is a schema that every object fits.
var anyObject = json.RawMessage(`{"type":"object","properties":{}}`)

// usable returns the schema with which a tool is offered: the server's own, if
// it can be checked at a bounded cost. Otherwise that is anyObject, and loose
// says why.
func usable(schema json.RawMessage) (input json.RawMessage, loose string) {
	var top map[string]any
	if json.Unmarshal(schema, &top) != nil || top == nil {
		return anyObject, "its schema is not an object"
	}
	if t, ok := top["type"]; ok && t != "object" {
		return anyObject, "its schema is not that of an object"
	}
	if top["type"] == nil || top["properties"] == nil { // some providers require both
		top["type"] = "object"
		if top["properties"] == nil {
			top["properties"] = map[string]any{}
		}
		schema, _ = json.Marshal(top) // it was JSON
	}
	w := weigher{root: top, open: map[string]bool{}}
	if err := w.weigh(top, 0); err != nil {
		return anyObject, err.Error()
	}
	if w.cleaned {
		schema, _ = json.Marshal(top) // likewise
	}
	if _, err := args.Compile(schema); err != nil {
		return anyObject, "its schema cannot be read: " + line(err.Error(), 120)
	}
	return schema, ""
}

// A weigher bounds the cost of checking a value against a schema. It follows
// each $ref where it stands, as a validator does: a schema of a few lines can
// refer to itself so that checking takes exponential time. On its way it cleans
// the texts that models read, but not names and values, which must stay as they
// are for the server.
type weigher struct {
	root    map[string]any
	open    map[string]bool // references that are being followed
	steps   int
	cleaned bool // a text was changed
}

const (
	maxSteps = 5000 // subschemas; one counts each time that it is referred to
	maxDeep  = 60   // nesting
)

// weigh adds the cost of a subschema, and fails when there are too many.
func (w *weigher) weigh(v any, depth int) error {
	w.steps++
	if w.steps > maxSteps || depth > maxDeep {
		return fmt.Errorf("its schema is too large when its references are followed")
	}
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range []string{"title", "description", "$comment"} {
		if text, ok := s[key].(string); ok && clip.Clean(text) != text {
			s[key], w.cleaned = clip.Clean(text), true
		}
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := s[key].(string); ok {
			if err := w.follow(ref, depth); err != nil {
				return err
			}
		}
	}
	for key, sub := range s {
		if err := w.weighBelow(key, sub, depth); err != nil {
			return err
		}
	}
	return nil
}

// follow weighs what ref refers to. A reference to a schema that contains it is
// a recursion: its cost is bounded by the depth of the value, unless it
// branches.
func (w *weigher) follow(ref string, depth int) error {
	if w.open[ref] {
		if w.steps += 50; w.steps > maxSteps { // recursion may branch, but not often
			return fmt.Errorf("its schema refers to itself too often")
		}
		return nil
	}
	target, ok := w.find(ref)
	if !ok {
		return fmt.Errorf("its schema refers to %s", line(ref, 60))
	}
	w.open[ref] = true
	defer delete(w.open, ref)
	return w.weigh(target, depth+1)
}

// find returns what a reference within the schema refers to.
func (w *weigher) find(ref string) (any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	var at any = w.root
	for _, name := range strings.Split(path, "/")[1:] {
		m, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]; !ok {
			return nil, false
		}
	}
	return at, true
}

// Keywords of JSON Schema whose value is a schema or a list of schemas, and
// those whose value is an object of schemas.
var (
	schemaKeys = strings.Fields(`items additionalItems prefixItems additionalProperties contains not if then
		else propertyNames unevaluatedItems unevaluatedProperties allOf anyOf oneOf`)
	schemaMapKeys = strings.Fields(`properties patternProperties dependentSchemas dependencies $defs
		definitions`)
)

// weighBelow weighs the subschemas of a keyword.
func (w *weigher) weighBelow(key string, sub any, depth int) error {
	switch {
	case slices.Contains(schemaKeys, key):
		if list, ok := sub.([]any); ok {
			for _, s := range list {
				if err := w.weigh(s, depth+1); err != nil {
					return err
				}
			}
			return nil
		}
		return w.weigh(sub, depth+1)
	case slices.Contains(schemaMapKeys, key):
		m, _ := sub.(map[string]any)
		for _, s := range m {
			if err := w.weigh(s, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
