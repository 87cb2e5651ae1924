package wire

import (
	"encoding/json"

	"github.com/openmanus-go/openmanus/llm"
)

// ChatHead returns the head of a body in the format of Chat Completions, which
// Ollama's own interface shares: the model, the tools, and the instructions as a
// system message.
func ChatHead(model, system string, specs []llm.ToolSpec) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	head := append([]byte(`{"model":`), MustJSON(model)...)
	tools, err := Tools(OpenAI, specs, func(t llm.ToolSpec, schema json.RawMessage) tool {
		return tool{"function", function{t.Name, t.Description, schema}}
	})
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		head = append(append(head, `,"tools":`...), MustJSON(tools)...)
	}
	head = append(head, `,"messages":[`...)
	if system != "" {
		head = append(append(head, `{"role":"system","content":`...), append(MustJSON(system), '}')...)
	}
	return head, nil
}

// Tools returns the tools in the format of a provider: one encodes a tool with a schema in
// the provider's dialect. A tool without a schema takes no arguments.
func Tools[T any](d Dialect, specs []llm.ToolSpec, one func(llm.ToolSpec, json.RawMessage) T) ([]T, error) {
	var all []T
	for _, t := range specs {
		if len(t.Input) > 0 && !json.Valid(t.Input) {
			return nil, Wrongf("the schema of the tool %s is not JSON", t.Name)
		}
		var schema json.RawMessage
		t.Description, schema = d.Fit(t)
		all = append(all, one(t, schema))
	}
	return all, nil
}

// Schema returns the setting schema; nil if it is not set.
func Schema(req *llm.Request) (json.RawMessage, error) {
	if s := req.Settings.Schema; len(s) == 0 || json.Valid(s) {
		return s, nil
	}
	return nil, Wrongf("the setting schema is not JSON")
}

// Budget returns the number of tokens that a model may think for with an effort,
// for providers that take a number; low is that of the least effort.
func Budget(effort string, low int) (int, error) {
	switch effort {
	case "low":
		return low, nil
	case "medium":
		return 8192, nil
	case "high":
		return 24576, nil
	}
	return 0, Wrongf("the setting effort is %q: it is low, medium or high", effort)
}

// Tail returns the end of a body: closing, which ends the list of messages, and the
// fields of settings.
func Tail(closing string, settings any) ([]byte, error) {
	b, err := JSON(settings)
	switch {
	case err != nil: // a temperature that is no number
		return nil, Wrongf("settings: %w", err)
	case string(b) == "{}":
		return []byte(closing + "}"), nil
	}
	return append([]byte(closing+","), b[1:]...), nil
}
