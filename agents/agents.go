// Package agents makes the agents of OpenManus from the tools of other
// packages, and defines the flows that let several of them work on one task.
//
// An agent comes from a [Kind]: a built-in one ([Kinds]), or one that a user
// has written as Markdown ([File]). An agent gets its model, its gate and its
// limits from the caller; everything else about it is fixed by its kind and
// the [Options], so that the start of every request is the same and providers
// can cache it.
//
// A [PlanFlow] has a planner write a plan and agents do its steps in child
// sessions. An [EvaluateFlow] has a task attempted several times, in copies of
// the workspace, and keeps the best attempt. Both derive what to do next from
// the session's state alone, as every flow must. A [Skill] is a text that
// agents can read when a task calls for it.
//
// Some agents are hidden: only flows and tools open sessions of them. The critic
// and the judge check the work of others and change nothing. The untrusted reader
// has no tools at all: it answers questions about texts that no one vouches for,
// see [NewReadUntrusted].
//
// Agents and skills of a workspace may have been written by anyone. Their names and
// descriptions stand in prompts of other agents, so they are one line of bounded
// length without characters that hide something. They grant no rights: the tools,
// approval mode and model of an agent from a workspace are those of the session or
// stricter, which package host sees to.
package agents

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/tools"
	"github.com/openmanus-go/openmanus/workspace"
)

// Options are what agents are made with. Only Workspace is required.
type Options struct {
	Workspace workspace.Workspace // where the agent works
	Python    []string            // the interpreter and its arguments; nil: python3, or else python
	Timeout   time.Duration       // of commands and code that set none; 0: the default of the tool
	Answer    json.RawMessage     // the JSON Schema of the answer, an object; nil: the answer is text
	Web       []openmanus.Tool    // browser_use, web_search, web_fetch, …, as far as there are any
	Delegates []tools.Assistant   // the agents to which this one may delegate
	Skills    []Skill
	Extra     []openmanus.Tool // further tools, such as those of MCP servers; their maker closes them

	// Chromium and Matplotlib are called when a call of data_report or python_execute
	// needs them and they are not there: see [analysis.NewReport] and [tools.Python].
	// nil: the result says so.
	Chromium   func(ctx context.Context, call openmanus.Call) error
	Matplotlib func(ctx context.Context, call openmanus.Call, i tools.Figureless) error
}

// bash and python return tools with the settings of the options.
func (o Options) bash() *tools.Bash {
	bash := tools.NewBash(o.Workspace)
	bash.Timeout = o.Timeout
	return bash
}

func (o Options) python() *tools.Python {
	python := tools.NewPython(o.Workspace)
	python.Interpreter, python.Timeout, python.Matplotlib = o.Python, o.Timeout, o.Matplotlib
	return python
}

// web returns the tools of o.Web with these names, in the order of the names.
func (o Options) web(names ...string) []openmanus.Tool {
	var ts []openmanus.Tool
	for _, name := range names {
		for _, t := range o.Web {
			if t.Spec().Name == name {
				ts = append(ts, t)
			}
		}
	}
	return ts
}

// agent makes an agent of own tools and of those that the options add. The
// closer closes its own ones. The error is about o.Answer.
func (o Options) agent(name, description, instructions string, own []openmanus.Tool) (*openmanus.Agent, io.Closer, error) {
	ts := append(own, o.Extra...)
	if len(o.Delegates) > 0 {
		ts = append(ts, tools.NewDelegate(o.Delegates))
	}
	if len(o.Skills) > 0 {
		ts = append(ts, newSkillTool(o.Skills, o.Workspace))
	}
	if len(o.Answer) > 0 {
		t, err := tools.NewCompletion(o.Answer)
		if err != nil {
			return nil, nil, err
		}
		ts = append(ts, t)
	}
	return &openmanus.Agent{
		Name: name, Description: description, Instructions: withForm(instructions, ts), Tools: ts,
		Spec: openmanus.Spec{Workspace: o.Workspace.Dir()},
	}, closer(own), nil
}

// withForm returns the instructions of an agent with these tools. If its answer has a
// form, they say so.
func withForm(instructions string, ts []openmanus.Tool) string {
	const form = tools.CompletionName
	has := slices.ContainsFunc(ts, func(t openmanus.Tool) bool { return t.Spec().Name == form })
	if !has || strings.Contains(instructions, form) {
		return instructions
	}
	return instructions + "\n- This answer has a form: when everything is done, give it by calling " + form +
		", in place of words."
}

// A closer closes the tools that have a Close method.
type closer []openmanus.Tool

// Close closes the tools that are closers, all of them even if one fails. It returns their
// errors, joined.
func (c closer) Close() error {
	var errs []error
	for _, t := range c {
		if t, ok := t.(io.Closer); ok {
			errs = append(errs, t.Close())
		}
	}
	return errors.Join(errs...)
}
