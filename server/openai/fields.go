package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// rules say what becomes of the fields of a request, by name. A field that no rule names
// is refused, as OpenAI does it.
type rules map[string]rule

// A rule is done or ignored, or a list of the only values, as compact JSON, that have no
// meaning here. null is like an absent field.
type rule []string

var (
	done    = rule{"done"}
	ignored = rule{"ignored"}
)

func only(values ...string) rule { return append(rule{"only"}, values...) }

// takes adds a rule for each name.
func (rs rules) takes(r rule, names ...string) rules {
	for _, name := range names {
		rs[name] = r
	}
	return rs
}

// decode reads a request into v, whose fields are those that the rules accept. It returns
// the body as well. A body that is too large, or a field that the rules refuse, is an
// error for the client.
func (rs rules) decode(r *http.Request, v any) ([]byte, error) {
	data, err := io.ReadAll(r.Body)
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return nil, &Error{Status: http.StatusBadRequest, Message: "the request could not be read: " + err.Error()}
	}
	return data, rs.unmarshal(data, v)
}

// unmarshal is decode for a body that was read. A null counts as a missing field. An
// unknown field is an error, because to ignore it could change the meaning of the request.
func (rs rules) unmarshal(data []byte, v any) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return &Error{Status: http.StatusBadRequest, Code: "invalid_json", Message: "the request is not a JSON object"}
	}
	for name, value := range fields {
		var b bytes.Buffer
		_ = json.Compact(&b, value) // it was decoded
		r := rs[name]
		switch {
		case b.String() == "null":
			delete(fields, name)
		case r == nil:
			return &Error{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: name,
				Message: "unknown parameter " + quote(name) + ": leave it out"}
		case r[0] == "only" && !slices.Contains(r[1:], b.String()):
			return &Error{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: name, Message: name +
				": agents do not do this: leave it out" + orOnly(r[1:])}
		case r[0] != "done":
			delete(fields, name)
		}
	}
	kept, _ := json.Marshal(fields) // what was decoded encodes
	return decodeInto("", kept, v)
}

// orOnly names the values that a field may have.
func orOnly(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return ", or set it to " + strings.Join(values, " or ")
}

// decodeInto decodes JSON into v. An error names the field below at.
func decodeInto(at string, data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if own := (*Error)(nil); err == nil || errors.As(err, &own) {
		return err
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		field := wrong.Field
		if at != "" {
			field = strings.TrimSuffix(at+"."+field, ".")
		}
		e := bad(field, "it cannot be "+article(wrong.Value))
		e.Code = "invalid_type"
		return e
	}
	return bad(at, err.Error())
}

func article(kind string) string {
	kind, _, _ = strings.Cut(kind, " ")
	return map[string]string{"object": "an object", "array": "an array", "bool": "true or false"}[kind] + map[string]string{
		"string": "a string", "number": "this number"}[kind]
}

// A format is response_format, text.format or output_config.format.
type form struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	JSON   *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// schema returns the JSON Schema of the answer, or nil if that is text. at is the field,
// for errors. A schema without a root object is refused.
func (f *form) schema(at string) (json.RawMessage, error) {
	if f == nil {
		return nil, nil
	}
	switch f.Type {
	case "text":
		return nil, nil
	case "json_object":
		return json.RawMessage(`{"type":"object"}`), nil
	case "json_schema":
		schema := f.Schema
		if f.JSON != nil {
			schema, at = f.JSON.Schema, at+".json_schema"
		}
		if len(schema) == 0 || string(schema) == "null" {
			return nil, bad(at+".schema", "there is no schema")
		}
		if _, err := args.Compile(schema); err != nil {
			return nil, bad(at+".schema", err.Error())
		}
		var top struct{ Type any }
		if json.Unmarshal(schema, &top) != nil || top.Type != "object" {
			return nil, bad(at+".schema", `its type must be "object"`)
		}
		return schema, nil
	}
	return nil, bad(at+".type", "it must be text, json_object or json_schema")
}

// A tool is one of the client's, in any of the three formats.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	InputSchema json.RawMessage `json:"input_schema"`
	Function    *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// specs returns the specs of tools that the client runs. Tools that OpenAI or Anthropic
// would run are refused: agents have their own.
func specs(tools []tool) ([]llm.ToolSpec, error) {
	var all []llm.ToolSpec
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" && t.Type != "custom" && (t.Type != "" || t.InputSchema == nil) ||
			t.Type == "custom" && t.InputSchema == nil {
			return nil, bad(at+".type", "only functions that the client runs can be added: agents have search, files and a shell of their own")
		}
		s := llm.ToolSpec{Name: t.Name, Description: t.Description, Input: t.Parameters}
		if t.InputSchema != nil {
			s.Input = t.InputSchema
		}
		if f := t.Function; f != nil {
			s, at = llm.ToolSpec{Name: f.Name, Description: f.Description, Input: f.Parameters}, at+".function"
		}
		if s.Name == "" {
			return nil, bad(at+".name", "the tool has no name")
		}
		if string(s.Input) == "null" {
			s.Input = nil
		}
		if slices.ContainsFunc(all, func(o llm.ToolSpec) bool { return o.Name == s.Name }) {
			return nil, bad(at+".name", "another tool has this name")
		}
		all = append(all, s)
	}
	return all, nil
}

// A choice is tool_choice: a word, or an object that names a tool.
type choice struct {
	Type     string `json:"type"`
	Name     string `json:"name"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Alone bool `json:"disable_parallel_tool_use"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *choice) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.Type) == nil {
		return nil
	}
	type plain choice
	return json.Unmarshal(data, (*plain)(c))
}

// choose applies a choice to the tools: which of them there are, and whether one of them
// must be called.
func (c *choice) choose(tools []llm.ToolSpec) (chosen []llm.ToolSpec, must bool, err error) {
	name := c.Name + c.Function.Name
	switch c.Type {
	case "", "auto":
		return tools, false, nil
	case "none":
		return nil, false, nil
	case "required", "any":
		if len(tools) == 0 {
			return nil, false, bad("tool_choice", "there is no tool to call")
		}
		return tools, true, nil
	case "function", "tool":
		for _, t := range tools {
			if t.Name == name {
				return []llm.ToolSpec{t}, true, nil
			}
		}
		return nil, false, bad("tool_choice", "tools has no "+quote(name))
	}
	return nil, false, bad("tool_choice", "it must be auto, none, required or a function")
}
