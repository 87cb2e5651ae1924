package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/toolspec"
)

// The names of the tools that end the work.
const (
	TerminateName  = "terminate"
	CompletionName = "create_chat_completion"
)

type terminateInput struct {
	Status string `json:"status"`
}

// ending are the hints of a tool that does nothing but end the work.
var ending = openmanus.Hints{Final: true, Internal: true, Idempotent: true}

// NewTerminate returns the terminate tool, which ends the agent's work. The
// answer is the last text of the agent.
func NewTerminate() openmanus.Tool {
	return openmanus.Func(
		specOf(TerminateName, ending, onlyText),
		func(_ context.Context, _ openmanus.Call, in terminateInput) (openmanus.Result, error) {
			res := openmanus.TextResult("The interaction has been completed with status: %s", in.Status)
			res.Detail = openmanus.Ending{Status: in.Status}
			return res, nil
		})
}

// completionExample is added to the description of a tool that takes plain text.
const completionExample = `Example: {"response":"The three best months are May, June and September."}`

// NewCompletion returns the create_chat_completion tool, by which an agent
// gives its answer in a given form and ends its work.
//
// schema is the JSON Schema of the answer. If it describes an object, the
// arguments of the call are the answer. If it does not, the tool has one
// argument, response, whose value is the answer. In both cases the answer is
// JSON. Without a schema it is plain text. A schema that cannot be used is an
// error.
func NewCompletion(schema json.RawMessage) (openmanus.Tool, error) {
	const name = CompletionName
	about := specText(name + ".txt")
	if len(schema) == 0 {
		spec := toolspec.Headed(name, about+completionExample, specText(name+".json"), ending, onlyText)
		return completion{spec, textAnswer}, nil
	}
	if _, err := args.Compile(schema); err != nil {
		return nil, fmt.Errorf("the schema of the answer: %w", err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(schema, &top); err != nil {
		return nil, fmt.Errorf("the schema of the answer is not an object: %w", err)
	}
	if string(top["type"]) == `"object"` {
		return completion{toolspec.Headed(name, about, string(schema), ending, onlyText), wholeAnswer}, nil
	}
	wrapped, err := wrap(top)
	if err != nil {
		return nil, err
	}
	return completion{toolspec.Headed(name, about, string(wrapped), ending, onlyText), fieldAnswer}, nil
}

// wrap returns the schema of an object whose property response has the given
// schema. Definitions move to the root, where references look for them.
func wrap(schema map[string]json.RawMessage) (json.RawMessage, error) {
	outer := map[string]any{
		"type": "object", "required": []string{"response"}, "additionalProperties": false,
		"properties": map[string]any{"response": schema},
	}
	for _, k := range []string{"$schema", "$defs", "definitions"} {
		if v, ok := schema[k]; ok {
			outer[k] = v
			delete(schema, k)
		}
	}
	data, err := json.Marshal(outer)
	if err != nil {
		return nil, fmt.Errorf("the schema of the answer: %w", err)
	}
	if bytes.Contains(data, []byte(`"$ref":"#"`)) {
		return nil, errors.New("the schema of the answer does not describe an object and refers to itself " +
			"by " +
			"\"#\": give it a name in $defs and refer to that")
	}
	if _, err := args.Compile(data); err != nil {
		return nil, fmt.Errorf("the schema of the answer does not describe an object, "+
			"and cannot be part of one: %w", err)
	}
	return data, nil
}

// A completion is the tool create_chat_completion. answer takes the answer out
// of the arguments.
type completion struct {
	spec   openmanus.ToolSpec
	answer func(input string) (string, error)
}

func (c completion) Spec() openmanus.ToolSpec { return c.spec }

// Run implements [openmanus.Tool]. The arguments are the answer of the session, which ends
// with success. The schema was checked before.
func (c completion) Run(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
	answer, err := c.answer(call.Input)
	if err != nil {
		return openmanus.Result{}, err
	}
	res := openmanus.TextResult("%s", answer)
	res.Detail = openmanus.Ending{Status: "success", Answer: answer}
	return res, nil
}

// wholeAnswer returns all arguments as JSON.
func wholeAnswer(input string) (string, error) { return input, nil }

// fieldAnswer returns the argument response as JSON.
func fieldAnswer(input string) (string, error) {
	var in struct{ Response json.RawMessage }
	if err := args.Decode(input, &in); err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	return string(in.Response), nil
}

// textAnswer returns the argument response, a text that must not be empty.
func textAnswer(input string) (string, error) {
	var in struct{ Response string }
	if err := args.Decode(input, &in); err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	if in.Response == "" {
		return "", errors.New("the argument \"response\" is empty: write the answer")
	}
	return in.Response, nil
}
