package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

const delegateDescription = `
Give a part of the work to another agent, which does it in a conversation of its own and in the same workspace. It sees nothing of what you know but what you write here: say what is to be done, which files matter and what is not to be touched. You get its answer and the files it made, not how it came to them.
Several delegations in one reply are worked on at the same time: give parts that do not touch the same files.
The agents:
`

// An Assistant is an agent that work can be given to.
type Assistant struct{ Name, Description string }

// NewDelegate returns the delegate tool, by which an agent gives work to
// others: who drives its session opens one for each call. It panics without an
// assistant, which is a programmer's mistake.
func NewDelegate(assistants []Assistant) openmanus.Tool {
	if len(assistants) == 0 {
		panic("tools.NewDelegate: there is nobody to delegate to")
	}
	var names []string
	var b strings.Builder
	b.WriteString(delegateDescription)
	for _, a := range assistants {
		names = append(names, a.Name)
		fmt.Fprintf(&b, "- %s: %s\n", a.Name, oneLine(a.Description))
	}
	b.WriteString(`Example: {"agent":"` + names[0] + `","task":"Find out which tests of ./parser fail, and why. Change nothing.","returns":"a list: test, file and line, cause"}`)
	return delegate{openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "delegate", Description: strings.TrimSpace(b.String()), Input: delegateSchema(names)},
		Hints:     openmanus.Hints{Internal: true, Delegates: true},
		Arguments: []openmanus.Argument{onlyText},
	}}
}

func delegateSchema(names []string) json.RawMessage {
	list, err := json.Marshal(names)
	if err != nil {
		panic("tools.NewDelegate: " + err.Error()) // strings always encode
	}
	return json.RawMessage(`{"type":"object","properties":{` +
		`"task":{"type":"string","minLength":1,"description":"What is to be done, with all that the agent needs to know."},` +
		`"agent":{"type":"string","enum":` + string(list) + `,"description":"Who does it."},` +
		`"returns":{"type":"string","description":"What its answer is to be."}` +
		`},"required":["task","agent"],"additionalProperties":false}`)
}

// Assistants returns the names of those that a delegate tool with this spec
// can give work to.
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

// Run implements [openmanus.Tool]. It is called by nobody: see
// [openmanus.Hints].
func (d delegate) Run(context.Context, openmanus.Call) (openmanus.Result, error) {
	return openmanus.Result{}, errors.New("delegate is done by who drives the session, which this program does not")
}

// oneLine is text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
