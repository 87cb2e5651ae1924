// Package gemini is the format of Google's generateContent: requests to bytes,
// and bytes to replies. It sends nothing.
//
// See https://ai.google.dev/api/generate-content. Calls have no ids there unless the
// server sends some, so results name their tools. A signature belongs to the part
// that it came with, and is refused anywhere else.
package gemini

import (
	"encoding/json"

	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/internal/wire"
)

// Thinking is the way in which a model is asked to reason.
type Thinking string

// The ways: by a level, by a number of tokens, or not at all.
const (
	Level  Thinking = "level"
	Budget Thinking = "budget"
	None   Thinking = "none"
)

// An Encoder is the [wire.Format] of requests for one model. It does not change,
// and is itself the key in every [llm.Memo].
type Encoder struct {
	Model    string
	Thinking Thinking
}

// Head implements [wire.Format].
func (m *Encoder) Head(req *llm.Request) ([]byte, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"parametersJsonSchema"`
	}
	head := []byte{'{'}
	if req.System != "" {
		head = append(append(head, `"systemInstruction":`...), wire.MustJSON(content{Parts: []part{{Text: req.System}}})...)
		head = append(head, ',')
	}
	functions, err := wire.Tools(wire.Gemini, req.Tools, func(t llm.ToolSpec, schema json.RawMessage) function {
		return function{t.Name, t.Description, schema}
	})
	if err != nil {
		return nil, err
	}
	if len(functions) > 0 {
		head = append(append(head, `"tools":[{"functionDeclarations":`...), wire.MustJSON(functions)...)
		head = append(head, `}],`...)
	}
	return append(head, `"contents":[`...), nil
}

// settings are the fields that follow the messages.
type settings struct {
	Tools      any        `json:"toolConfig,omitempty"`
	Generation generation `json:"generationConfig,omitzero"`
}

// generation is generationConfig.
type generation struct {
	MaxTokens   int             `json:"maxOutputTokens,omitempty"`
	Temperature *float64        `json:"temperature,omitempty"`
	MIME        string          `json:"responseMimeType,omitempty"`
	Schema      json.RawMessage `json:"responseJsonSchema,omitempty"`
	Thinking    *thinking       `json:"thinkingConfig,omitempty"`
}

// thinking is thinkingConfig: a model takes either a level or a budget.
type thinking struct {
	Include bool   `json:"includeThoughts"`
	Level   string `json:"thinkingLevel,omitempty"`
	Budget  int    `json:"thinkingBudget,omitempty"`
}

// Tail implements [wire.Format].
func (m *Encoder) Tail(req *llm.Request) ([]byte, error) {
	set := req.Settings
	s := settings{Generation: generation{MaxTokens: set.MaxTokens, Temperature: set.Temperature}}
	var err error
	if s.Generation.Schema, err = wire.Schema(req); err != nil {
		return nil, err
	}
	if s.Generation.Schema != nil {
		s.Generation.MIME = "application/json"
	}
	if s.Generation.Thinking, err = m.thinking(set.Effort); err != nil {
		return nil, err
	}
	mode, name, err := wire.ToolChoice(req)
	if err != nil {
		return nil, err
	}
	if mode != "" {
		calling := map[string]any{"mode": map[string]string{"auto": "AUTO", "none": "NONE", "required": "ANY", "tool": "ANY"}[mode]}
		if mode == "tool" {
			calling["allowedFunctionNames"] = []string{name}
		}
		s.Tools = map[string]any{"functionCallingConfig": calling}
	}
	return wire.Tail("]", s)
}

// thinking asks a model that can reason for its thinking.
func (m *Encoder) thinking(effort string) (*thinking, error) {
	t := &thinking{Include: true}
	switch {
	case m.Thinking == None && effort != "":
		return nil, wire.Wrongf("the setting effort is %q, and %s does not reason: leave it out", effort, m.Model)
	case m.Thinking == None:
		return nil, nil
	case effort == "":
	case m.Thinking == Level:
		t.Level = effort
	default:
		var err error
		if t.Budget, err = wire.Budget(effort, 1024); err != nil {
			return nil, err
		}
	}
	return t, nil
}
