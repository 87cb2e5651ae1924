package server

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// describe makes a description of the routes that other programs can read: paths as
// OpenAPI writes them, where the API is, and the errors of each operation. A body of any
// type may be empty, and a field that may be left out may be null.
func describe(o *huma.OpenAPI) {
	o.Info.License = &huma.License{Name: "MIT", Identifier: "MIT"}
	o.Servers = []*huma.Server{{URL: "/"}}
	paths := make(map[string]*huma.PathItem, len(o.Paths))
	for path, item := range o.Paths {
		path = strings.ReplaceAll(path, "...}", "}")
		paths[path] = item
		for method, op := range operations(item) {
			describeErrors(o, op)
			describeKey(method, op)
			if b := op.RequestBody; b != nil && b.Content["application/json"] != nil {
				mayBeNull(o.Components.Schemas, b.Content["application/json"].Schema, make(map[*huma.Schema]bool))
			}
		}
	}
	o.Paths = paths
	dropUnused(o)
}

// dropUnused leaves out schemas to which nothing refers any more.
func dropUnused(o *huma.OpenAPI) {
	doc, err := o.MarshalJSON()
	if err != nil {
		panic("server: " + err.Error()) // it is made of constants
	}
	maps.DeleteFunc(o.Components.Schemas.Map(), func(name string, _ *huma.Schema) bool {
		return !bytes.Contains(doc, []byte(`"#/components/schemas/`+name+`"`))
	})
}

// operations returns the operations at a path, by method.
func operations(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPut: item.Put, http.MethodPost: item.Post,
		http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}
	maps.DeleteFunc(all, func(_ string, op *huma.Operation) bool { return op == nil })
	return all
}

// mayBeNull says of the fields of a request that may be left out that they may also be
// null, which means the same: clients of many languages write null for what is not set.
func mayBeNull(known huma.Registry, s *huma.Schema, seen map[*huma.Schema]bool) {
	for s != nil && s.Ref != "" {
		s = known.SchemaFromRef(s.Ref)
	}
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	for name, field := range s.Properties {
		mayBeNull(known, field, seen)
		if slices.Contains(s.Required, name) || field.Nullable {
			continue
		}
		if field.Ref != "" { // a reference cannot say it
			field = new(*known.SchemaFromRef(field.Ref))
			field.Description = cmp.Or(s.Properties[name].Description, field.Description)
			s.Properties[name] = field
		}
		if field.Nullable = field.Type != ""; field.Nullable && field.Enum != nil {
			field.Enum = append(slices.Clone(field.Enum), nil)
		}
	}
	mayBeNull(known, s.Items, seen)
}

// describeErrors adds to the description of an operation which errors it responds with, by
// what it does: validation, missing objects, conflicts, limits.
func describeErrors(o *huma.OpenAPI, op *huma.Operation) {
	problem := op.Responses["default"]
	if problem == nil {
		return
	}
	add := func(status, name, description string) {
		if o.Components.Responses == nil {
			o.Components.Responses = make(map[string]*huma.Response)
		}
		o.Components.Responses[name] = &huma.Response{Description: description, Content: problem.Content}
		if op.Responses[status] == nil {
			op.Responses[status] = &huma.Response{Ref: "#/components/responses/" + name}
		}
	}
	add("4XX", "Refused", "The request is at fault: the detail says why, and errors which field.")
	if strings.Contains(op.Path, "{id}") {
		add("404", "Missing", "You have no such session, or it has no such thing.")
	}
	if b := op.RequestBody; b != nil && b.Content["application/octet-stream"] != nil {
		b.Required = false
	}
}

// notFound responds to a request for a route that is not there. If the description has the
// path with other methods, it names them. If two paths match, the one with the longer
// fixed beginning counts.
func notFound(o *huma.OpenAPI) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allow []string
		best := -1
		for path, item := range o.Paths {
			if fixed := strings.Index(path+"{", "{"); fixed > best && onPath(path, r.URL.EscapedPath()) {
				best, allow = fixed, slices.Sorted(maps.Keys(operations(item)))
			}
		}
		if len(allow) > 0 {
			w.Header().Set("Allow", strings.Join(allow, ", "))
			detail := r.Method + " is not possible here: use " + strings.Join(allow, " or ")
			writeProblem(w, http.StatusMethodNotAllowed, detail)
			return
		}
		writeProblem(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+" here; see /api/v1/openapi.json")
	}
}

// onPath reports whether a path, as it was requested, is one that the description has. A
// parameter path stands for one or more segments.
func onPath(described, requested string) bool {
	want, got := strings.Split(described, "/"), strings.Split(requested, "/")
	for i, w := range want {
		if i >= len(got) || w != got[i] && (!strings.HasPrefix(w, "{") || got[i] == "") {
			return false
		}
		if w == "{path}" {
			return true
		}
	}
	return len(want) == len(got)
}
