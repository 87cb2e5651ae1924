// Command flow decides for itself when an agent has finished: it checks every
// answer with a tool, and lets the agent try again until the check passes. A
// script plays the model:
//
//	go run ./examples/flow
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/scripted"
	"github.com/openmanus-go/openmanus/run"
)

// A checked flow is an agent whose answers are checked.
type checked struct{ agent *openmanus.Agent }

// Agent implements [openmanus.Flow].
func (f checked) Agent() *openmanus.Agent { return f.agent }

// Next implements [openmanus.Flow]. It depends on the state alone, so a
// session that is interrupted or killed continues where it was.
func (f checked) Next(s *openmanus.State) []openmanus.Task {
	switch {
	case s.Outcome.Status != "" || s.Open():
		return f.agent.Next(s) // the session has ended, or a call is under way
	case passed(s):
		return []openmanus.Task{{Do: openmanus.End, Turn: s.Turn, Re: s.Seq, Status: openmanus.Finished, Text: s.Answer}}
	case s.Due():
		return f.agent.Next(s) // there is something that the model has not seen
	}
	input, err := json.Marshal(checkInput{s.Answer})
	if err != nil {
		panic(err) // a string always encodes
	}
	return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: "check", Input: string(input)}}
}

// passed reports whether the last thing in the session is a check that passed.
func passed(s *openmanus.State) bool {
	return len(s.Calls) == 1 && s.Calls[0].Name == "check" && !s.Calls[0].Done.IsError
}

type checkInput struct {
	Answer string `json:"answer"`
}

// check is a tool like any other: its calls are ruled on, recorded and shown.
var check = openmanus.Func(
	openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "check", Description: "Check an answer."},
		Hints:     openmanus.Hints{ReadOnly: true},
		Arguments: []openmanus.Argument{{Name: "answer", Kind: openmanus.TextArgument}},
	},
	func(_ context.Context, _ openmanus.Call, in checkInput) (openmanus.Result, error) {
		if !strings.Contains(in.Answer, "metres") {
			return openmanus.Result{}, errors.New("the answer has no unit: give it in metres")
		}
		return openmanus.TextResult("passed"), nil
	})

const script = `
-- 1 --
The tower is 324 high.
-- any --
The tower is 324 metres high.
`

func main() {
	model, err := scripted.Parse([]byte(script))
	if err != nil {
		log.Fatal(err)
	}
	ctx, j := context.Background(), new(journal.Memory)
	flow := checked{&openmanus.Agent{Name: "checked", Model: model.Model(), Tools: []openmanus.Tool{check}, FlowEnds: true}}
	local := run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(flow)}}
	task := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "How high is the tower?")}
	if err := openmanus.Open(ctx, j, "tower", flow, &task); err != nil {
		log.Fatal(err)
	}
	if err := local.Wake(ctx, "tower"); err != nil {
		log.Fatal(err)
	}
	s, err := openmanus.Load(ctx, j, "tower")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s after %d replies: %s\n", s.Status(), s.Steps, s.Answer)
}
