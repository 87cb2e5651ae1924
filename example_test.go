package openmanus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A tool is a function. The schema of its arguments comes from the struct.
func ExampleFunc() {
	type arguments struct {
		City string `json:"city" jsonschema:"where"`
	}
	weather := openmanus.Func(openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "weather", Description: "Tells the weather of a city."},
		Hints:    openmanus.Hints{ReadOnly: true},
	}, func(_ context.Context, _ openmanus.Call, in arguments) (openmanus.Result, error) {
		return openmanus.TextResult("It rains in %s.", in.City), nil
	})

	res, err := weather.Run(context.Background(), openmanus.Call{Call: llm.Call{Name: "weather", Input: `{"city":"Bern"}`}})
	fmt.Println(res.Parts.Text(), err)
	fmt.Println(string(weather.Spec().Input))
	// Output:
	// It rains in Bern. <nil>
	// {"type":"object","properties":{"city":{"type":"string","description":"where"}},"required":["city"],"additionalProperties":false}
}

// A tool asks the user by returning an Ask. It runs again with the answer.
func ExampleAsk() {
	book := openmanus.Func(openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "book", Description: "Books a table."},
		Hints:    openmanus.Hints{Internal: true, Idempotent: true},
	}, func(_ context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
		if len(call.Answers) == 0 {
			return openmanus.Result{}, &openmanus.Ask{Question: "For how many?"}
		}
		return openmanus.TextResult("Booked for %s.", call.Answers[0].Text), nil
	})
	agent := &openmanus.Agent{
		Name: "host", Tools: []openmanus.Tool{book},
		Model: llmtest.Script(llmtest.Use("", "book", struct{}{}), llmtest.Say("See you.")),
	}

	ctx, j := context.Background(), new(journal.Memory)
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(agent)}}
	m := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "A table, please.")}
	fmt.Println(openmanus.Open(ctx, j, "s", agent, &m), l.Wake(ctx, "s"))
	s, _ := openmanus.Load(ctx, j, "s")
	c := s.Pending()[0]
	fmt.Println(s.Status(), c.Name, c.Question().Question)

	j.Append(ctx, "s", openmanus.Answered{Call: c.ID, N: c.Question().N, Text: "four"})
	fmt.Println(l.Wake(ctx, "s"))
	s, _ = openmanus.Load(ctx, j, "s")
	fmt.Println(s.Status(), s.Answer)
	// Output:
	// <nil> <nil>
	// waiting book For how many?
	// <nil>
	// finished See you.
}

// A gate rules on calls before they run.
func ExampleGateFunc() {
	noFriday := openmanus.GateFunc(func(_ context.Context, call openmanus.Call, spec openmanus.ToolSpec) (openmanus.Verdict, error) {
		if strings.Contains(call.Input, "Friday") {
			return openmanus.Verdict{Rule: "no Fridays", Reason: "choose another day"}, nil
		}
		return openmanus.Verdict{Allow: spec.Hints.ReadOnly, Ask: !spec.Hints.ReadOnly}, nil
	})
	for _, input := range []string{`{"day":"Friday"}`, `{"day":"Monday"}`} {
		v, err := noFriday.Rule(context.Background(), openmanus.Call{Call: llm.Call{Input: input}}, openmanus.ToolSpec{})
		fmt.Println(v.Allow, v.Ask, v.Reason, err)
	}
	// Output:
	// false false choose another day <nil>
	// false true  <nil>
}

// The modes differ in what they ask about.
func ExampleMode() {
	spec := openmanus.ToolSpec{Hints: openmanus.Hints{Edits: true}}
	for _, mode := range []openmanus.Mode{openmanus.ApproveAsk, openmanus.ApproveEdits, openmanus.ApproveReadOnly} {
		v, _ := mode.Rule(context.Background(), openmanus.Call{Call: llm.Call{Name: "write"}}, spec)
		fmt.Printf("%s: allow %v, ask %v\n", mode, v.Allow, v.Ask)
	}
	// Output:
	// ask: allow false, ask true
	// edits: allow true, ask false
	// readonly: allow false, ask false
}

// A state is the fold of events, wherever they come from.
func ExampleState_Apply() {
	s := new(openmanus.State)
	for i, b := range []openmanus.Body{
		openmanus.Opened{Flow: "calculator", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Limits: openmanus.Limits{Steps: 5}}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "What is 1+2?")},
		openmanus.ModelSaid{Turn: 0, Re: 3, Stop: llm.End, Message: llm.Say(llm.Assistant, "It is 3.")},
	} {
		s.Apply(openmanus.Event{Seq: int64(i) + 1, Body: b})
		fmt.Println(s.Seq, b.Key(), s.Status())
	}
	fmt.Println(s.Answer, s.Steps, "of", s.Limits.Steps)
	// Output:
	// 1 open idle
	// 2 config/0 idle
	// 3 user/1 running
	// 4 model/0 finished
	// It is 3. 1 of 5
}

// A flow that calls a tool before the model first replies.
type rulesFirst struct{ agent *openmanus.Agent }

func (f rulesFirst) Agent() *openmanus.Agent { return f.agent }

func (f rulesFirst) Next(s *openmanus.State) []openmanus.Task {
	if s.Turn == 0 && s.Due() {
		return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: "rules", Input: "{}"}}
	}
	return f.agent.Next(s)
}

// A flow decides by the state alone. This one calls a tool before the model
// first replies, and lets the agent decide after that.
func ExampleFlow() {
	rules := openmanus.Func(openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "rules", Description: "Reads the rules."}, Hints: openmanus.Hints{ReadOnly: true},
	}, func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
		return openmanus.TextResult("Be kind."), nil
	})
	f := rulesFirst{&openmanus.Agent{Name: "kind", Tools: []openmanus.Tool{rules}, Model: llmtest.Script(llmtest.Say("Gladly."))}}

	ctx, j := context.Background(), new(journal.Memory)
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(f)}}
	m := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Help me.")}
	fmt.Println(openmanus.Open(ctx, j, "s", f, &m), l.Wake(ctx, "s"))
	for ev := range j.Events(ctx, "s", 3) {
		fmt.Println(openmanus.TypeName(ev.Body))
	}
	// Output:
	// <nil> <nil>
	// called
	// ruled
	// call_started
	// call_done
	// model_said
}

// Keys make appending idempotent: the second answer to a question is refused.
func ExampleErrConflict() {
	ctx, j := context.Background(), new(journal.Memory)
	j.Append(ctx, "s", openmanus.Opened{Flow: "a"})
	for _, title := range []string{"A title", "A title", "Another title"} {
		_, err := j.Append(ctx, "s", openmanus.Titled{ID: "1", Title: title})
		fmt.Println(errors.Is(err, openmanus.ErrExists), errors.Is(err, openmanus.ErrConflict))
	}
	// Output:
	// false false
	// true false
	// true true
}

// Limits that are 0 have defaults; -1 is no limit.
func ExampleLimits_Or() {
	l := openmanus.Limits{Steps: 3, Time: -1}.Or(openmanus.DefaultLimits())
	fmt.Println(l.Steps, int64(l.Time), l.Depth, l.Money.USD())
	// Output: 3 -1 3 20
}

func TestMain(m *testing.M) { testbed.Main(m) }
