package tools

import (
	"context"
	"fmt"
	"regexp"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/toolspec"
	"github.com/openmanus-go/openmanus/llm"
)

// toolName is what every provider takes as the name of a tool.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// NewClientTool returns a tool that the program runs which uses this one: see
// [openmanus.Client]. A call of it is a question that waits for the client's answer,
// whose text is the result. If together, the client can be asked for several calls at
// once. The error says what is wrong with the spec; no Input is an object of any kind.
func NewClientTool(s llm.ToolSpec, together bool) (openmanus.Tool, error) {
	if !toolName.MatchString(s.Name) {
		return nil, fmt.Errorf("%q is no name of a tool: it has 1 to 64 letters, digits, _ or -", s.Name)
	}
	if len(s.Input) == 0 {
		s.Input = []byte(`{"type":"object"}`)
	}
	if _, err := args.Compile(s.Input); err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", s.Name, err)
	}
	hints := openmanus.Hints{Internal: true, Idempotent: true, ReadOnly: together}
	return clientTool{toolspec.New(s.Name, s.Description, string(s.Input), hints)}, nil
}

type clientTool struct{ spec openmanus.ToolSpec }

func (t clientTool) Spec() openmanus.ToolSpec { return t.spec }

// Run asks for the result until there is one. Results of the client's tool are
// data.
func (t clientTool) Run(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
	if len(call.Answers) == 0 {
		return openmanus.Result{}, &openmanus.Ask{Question: "The client runs " + t.spec.Name + "."}
	}
	res := openmanus.TextResult("%s", call.Answers[len(call.Answers)-1].Text)
	res.Sources = []openmanus.Source{{From: openmanus.FromClient, Private: true}}
	return res, nil
}
