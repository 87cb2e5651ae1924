package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// An Assistant is an agent to which work can be delegated.
type Assistant struct{ Name, Description string }

// DelegateName is the name of the tool that gives work to other agents.
const DelegateName = "delegate"

// NewDelegate returns the delegate tool, by which an agent gives work to one of
// the assistants. Its calls do not run: the driver of the session opens a child
// session for each. NewDelegate panics without an assistant, which is a
// programmer's mistake.
func NewDelegate(assistants []Assistant) openmanus.Tool {
	if len(assistants) == 0 {
		panic("tools.NewDelegate: no assistants")
	}
	_, fill := roster(assistants)
	return delegate{filledSpec(DelegateName, "delegate", fill, openmanus.Hints{Internal: true, Delegates: true},
		onlyText)}
}

// roster returns the names of the assistants, and what fills them into a spec:
// {agents} is a line for each, {names} a JSON list, and {first} the first name.
func roster(assistants []Assistant) ([]string, *strings.Replacer) {
	var names []string
	var lines strings.Builder
	for _, a := range assistants {
		names = append(names, a.Name)
		fmt.Fprintf(&lines, "- %s: %s\n", a.Name, strings.Join(strings.Fields(a.Description), " "))
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic("tools: " + err.Error()) // strings always encode
	}
	return names, strings.NewReplacer("{agents}\n", lines.String(), "{names}", string(list), "{first}",
		names[0])
}

// Assistants returns the names of the assistants of the delegate tool that has
// this spec, or nil if it is the spec of another tool.
func Assistants(spec openmanus.ToolSpec) []string {
	var schema struct {
		Properties struct{ Agent struct{ Enum []string } }
	}
	if !spec.Hints.Delegates || json.Unmarshal(spec.Input, &schema) != nil {
		return nil
	}
	return schema.Properties.Agent.Enum
}

type delegate struct{ spec openmanus.ToolSpec }

func (d delegate) Spec() openmanus.ToolSpec { return d.spec }

// Run implements [openmanus.Tool]. No driver calls it: see [openmanus.Hints].
func (d delegate) Run(context.Context, openmanus.Call) (openmanus.Result, error) {
	return openmanus.Result{}, errors.New("a delegation is carried out by the session's driver, and this " +
		"program has none")
}
