package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/args"
)

// anyObject takes whatever a server's tool may want.
var anyObject = json.RawMessage(`{"type":"object","properties":{}}`)

// usable returns the schema that a tool is offered with: the server's own, if
// it can be checked here at a bounded cost, or one that takes any object, and
// then the reason.
func usable(schema json.RawMessage) (input json.RawMessage, loose string) {
	var top map[string]any
	if json.Unmarshal(schema, &top) != nil || top == nil {
		return anyObject, "its schema is no object"
	}
	if t, ok := top["type"]; ok && t != "object" {
		return anyObject, "its schema is not that of an object"
	}
	if top["type"] == nil || top["properties"] == nil { // which some providers insist on
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
	if _, err := args.Compile(schema); err != nil {
		return anyObject, "its schema cannot be read: " + line(err.Error(), 120)
	}
	return schema, ""
}

// A weigher bounds what it costs to check a value against a schema: each $ref
// is followed where it stands, as a validator does.
type weigher struct {
	root  map[string]any
	open  map[string]bool // references that are being followed
	steps int
}

const (
	maxSteps = 5000 // subschemas, each as often as it is referred to
	maxDeep  = 60
)

func (w *weigher) weigh(v any, depth int) error {
	w.steps++
	if w.steps > maxSteps || depth > maxDeep {
		return fmt.Errorf("its schema is too large when its references are followed")
	}
	s, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := s[key].(string); ok {
			if err := w.follow(ref, depth); err != nil {
				return err
			}
		}
	}
	for key, sub := range s {
		if err := w.below(key, sub, depth); err != nil {
			return err
		}
	}
	return nil
}

// follow weighs what ref refers to. One that refers to what contains it is a
// tree, whose cost is bounded by the value's depth, unless it branches.
func (w *weigher) follow(ref string, depth int) error {
	if w.open[ref] {
		if w.steps += 50; w.steps > maxSteps { // it can branch, and not often
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

// below weighs the subschemas of a keyword.
func (w *weigher) below(key string, sub any, depth int) error {
	switch {
	case slices.Contains([]string{"items", "additionalItems", "prefixItems", "additionalProperties", "contains", "not", "if", "then", "else",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf"}, key):
		if list, ok := sub.([]any); ok {
			for _, s := range list {
				if err := w.weigh(s, depth+1); err != nil {
					return err
				}
			}
			return nil
		}
		return w.weigh(sub, depth+1)
	case slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions"}, key):
		m, _ := sub.(map[string]any)
		for _, s := range m {
			if err := w.weigh(s, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
