package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
)

// The examples in a description are read by every model: each must be one that
// the tool takes, and there must be one.
func TestExamplesFitTheSchemas(t *testing.T) {
	for name, tool := range newSession(t).tools {
		spec := tool.Spec()
		schema, err := args.Compile(spec.Input)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		examples := 0
		for line := range strings.Lines(spec.Description) {
			i := strings.IndexByte(line, '{')
			if line = strings.TrimSpace(line[max(i, 0):]); i < 0 || !json.Valid([]byte(line)) {
				continue
			}
			examples++
			if got, err := schema.Check(line); err != nil || got != line {
				t.Errorf("%s does not take its example %s: %v", name, line, err)
			}
		}
		if examples == 0 {
			t.Errorf("%s has no example", name)
		}
	}
}

// The specs are part of every prompt: they must be the same whenever and
// wherever they are made, take no argument that they do not name, and
// describe each.
func TestSpecsAreStable(t *testing.T) {
	one, two := newSession(t), newSession(t)
	for name, tool := range one.tools {
		a, err := json.Marshal(tool.Spec())
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(two.tools[name].Spec())
		if err != nil || string(a) != string(b) {
			t.Errorf("%s is not the same in another workspace: %v", name, err)
		}
		if len(a) > 4000 {
			t.Errorf("%s takes %d bytes of every prompt", name, len(a))
		}
		var schema struct {
			Properties           map[string]struct{ Description string }
			AdditionalProperties *bool
		}
		if err := json.Unmarshal(tool.Spec().Input, &schema); err != nil {
			t.Fatal(err)
		}
		if schema.AdditionalProperties == nil || *schema.AdditionalProperties {
			t.Errorf("%s takes arguments that it does not name", name)
		}
		for _, p := range slices.Sorted(maps.Keys(schema.Properties)) {
			if schema.Properties[p].Description == "" {
				t.Errorf("%s does not describe %s", name, p)
			}
		}
	}
}

func TestHints(t *testing.T) {
	var (
		edits = openmanus.Hints{Edits: true}
		reads = openmanus.Hints{ReadOnly: true, Idempotent: true}
		asks  = openmanus.Hints{Internal: true, Idempotent: true}
		plans = openmanus.Hints{Internal: true, Idempotent: true, Keep: true}
		ends  = openmanus.Hints{Internal: true, Idempotent: true, Final: true}
	)
	tools := newSession(t).tools
	for _, tt := range []struct {
		name, input string
		want        openmanus.Hints
	}{
		{"str_replace_editor", `{"command":"view","path":"a"}`, reads},
		{"str_replace_editor", `{"command":"create","path":"a","file_text":""}`, edits},
		{"str_replace_editor", `{"command":"str_replace","path":"a","old_str":"\"command\":\"view\""}`, edits},
		{"str_replace_editor", `{"command":"insert","path":"a"}`, edits},
		{"str_replace_editor", `{"command":"undo_edit","path":"view"}`, edits},
		{"file_saver", `{"content":"","file_path":"a"}`, openmanus.Hints{Edits: true, Destructive: true, Idempotent: true}},
		{"file_saver", `{"content":"","file_path":"a","mode":"w"}`, openmanus.Hints{Edits: true, Destructive: true, Idempotent: true}},
		{"file_saver", `{"content":"","file_path":"a","mode":"a"}`, edits},
		{"apply_patch", `{"input":""}`, edits},
		{"grep", `{"pattern":"a"}`, reads},
		{"glob", `{"pattern":"a"}`, reads},
		{"read_output", `{"ref":"a"}`, reads},
		{"planning", `{"command":"create"}`, plans},
		{"ask_human", `{"inquire":"a"}`, asks},
		{"terminate", `{"status":"success"}`, ends},
		{"create_chat_completion", `{"response":"a"}`, ends},
	} {
		tool := tools[tt.name]
		got := tool.Spec().Hints
		if h, ok := tool.(openmanus.CallHinter); ok {
			got = h.Hints(openmanus.Call{Call: llm.Call{Name: tt.name, Input: tt.input}})
		}
		if got != tt.want {
			t.Errorf("%s %s: %+v, want %+v", tt.name, tt.input, got, tt.want)
		}
	}
}

func TestCompletionInAGivenForm(t *testing.T) {
	for _, tt := range []struct{ name, schema, input, answer string }{
		{"text", ``, `{"response":"It is 3."}`, `It is 3.`},
		{"an object", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, `{ "a": 3 }`, `{ "a": 3 }`},
		{"a number", `{"type":"number"}`, `{"response":3.50}`, `3.50`},
		{"a list", `{"type":"array","items":{"type":"string"}}`, `{"response":["a","b"]}`, `["a","b"]`},
		{"one of two", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"response":null}`, `null`},
		{"with definitions", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"array","items":{"$ref":"#/$defs/n"},"$defs":{"n":{"type":"integer"}}}`, `{"response":[1,2]}`, `[1,2]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool, err := NewCompletion(json.RawMessage(tt.schema))
			if err != nil {
				t.Fatal(err)
			}
			schema, err := args.Compile(tool.Spec().Input)
			if err != nil {
				t.Fatal(err)
			}
			input, err := schema.Check(tt.input)
			if err != nil {
				t.Fatal(err)
			}
			res, err := tool.Run(t.Context(), openmanus.Call{Call: llm.Call{Input: input}})
			if want := (openmanus.Ending{Status: "success", Answer: tt.answer}); err != nil || res.Detail != want {
				t.Errorf("got %+v, %v", res.Detail, err)
			}
			if _, err := schema.Check(`{"response":{"x":[]},"a":"y"}`); err == nil {
				t.Error("anything fits")
			}
		})
	}
	for _, bad := range []string{`{"type":5}`, `[]`, `true`, `{"type":"array","items":{"$ref":"#"}}`, `{"type":"array","items":{"$ref":"#/items/0"}}`, `{`} {
		if tool, err := NewCompletion(json.RawMessage(bad)); err == nil {
			t.Errorf("%s is accepted: %s", bad, tool.Spec().Input)
		}
	}
}

// A detail that is not what the tool wrote must not be taken for an empty one:
// the next result would make the loss final.
func TestUnreadableMemoryIsAnError(t *testing.T) {
	s := newSession(t)
	for name, input := range map[string]string{
		"planning":           `{"command":"list"}`,
		"str_replace_editor": `{"command":"create","path":"f","file_text":"x"}`,
	} {
		s.last[name] = json.RawMessage(`{"plans":5,"undo":5}`)
		if res, err := s.use(name, input); err == nil || !strings.Contains(err.Error(), "cannot be read") {
			t.Errorf("%s: %q, %v", name, res.Parts.Text(), err)
		}
	}
	if got, err := s.use("glob", `{"pattern":"*"}`); err != nil || !strings.HasPrefix(got.Parts.Text(), "No file") {
		t.Errorf("a file was written: %v, %v", got.Parts.Text(), err)
	}
}
