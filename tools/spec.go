package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

// newSpec returns a spec whose schema is written by hand: what the model
// reads is worth choosing word by word. It panics if schema is not JSON,
// which is a programmer's mistake.
func newSpec(name, description, schema string, h openmanus.Hints) openmanus.Spec {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(schema)); err != nil {
		panic(fmt.Sprintf("tools: the schema of %s: %v", name, err))
	}
	return openmanus.Spec{
		ToolSpec: llm.ToolSpec{Name: name, Description: strings.TrimSpace(description), Input: b.Bytes()},
		Hints:    h,
	}
}

// hinted is a tool whose calls differ in what they may do, and which shows
// what that would be, if show is not nil.
type hinted struct {
	openmanus.Tool
	hints func(openmanus.Call) openmanus.Hints
	show  func(context.Context, openmanus.Call) (string, error)
}

// Hints implements [openmanus.Hinter].
func (h hinted) Hints(call openmanus.Call) openmanus.Hints { return h.hints(call) }

// Show implements [openmanus.Shower].
func (h hinted) Show(ctx context.Context, call openmanus.Call) (string, error) {
	if h.show == nil {
		return "", nil
	}
	return h.show(ctx, call)
}

// A refusal is an error in the words of OpenManus, which models know.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, a ...any) error { return refusal(fmt.Sprintf(format, a...)) }

// required is the refusal for a parameter that one command needs and others
// do not, so that the schema cannot say it.
func required(param, command string) error {
	return refuse("Parameter `%s` is required for command: %s", param, command)
}
