package run_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

type sum struct {
	A int `json:"a" jsonschema:"the first number"`
	B int `json:"b" jsonschema:"the second number"`
}

var add = openmanus.Func(openmanus.ToolSpec{
	ToolSpec: llm.ToolSpec{Name: "add", Description: "Adds two numbers."},
	Hints:    openmanus.Hints{ReadOnly: true},
}, func(_ context.Context, _ openmanus.Call, in sum) (openmanus.Result, error) {
	return openmanus.TextResult("%d", in.A+in.B), nil
})

// calculator returns an agent whose model is a script.
func calculator() *openmanus.Agent {
	return &openmanus.Agent{Name: "calculator", Tools: []openmanus.Tool{add}, Model: llmtest.Script(
		llmtest.Use("", "add", sum{1, 2}),
		llmtest.Say("It is 3."),
	)}
}

var question = openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "What is 1+2?")}

func ExampleAgent() {
	for ev, err := range run.Agent(context.Background(), calculator(), "What is 1+2?") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(ev.Seq, ev.Body.Key())
	}
	// Output:
	// 1 open
	// 2 config/0
	// 3 user/1
	// 4 model/0
	// 5 rule/c0-1
	// 6 start/c0-1/1
	// 7 done/c0-1
	// 8 model/1
}

func ExampleAnswer() {
	answer, err := run.Answer(context.Background(), calculator(), "What is 1+2?")
	fmt.Println(answer, err)
	// Output: It is 3. <nil>
}

// Wake drives a session until nothing is left to do. The journal has everything
// that happened.
func ExampleLocal() {
	ctx, agent := context.Background(), calculator()
	l := &run.Local{Worker: run.Worker{Journal: new(journal.Memory), Flow: run.FlowsByName(agent)}}
	if err := openmanus.Open(ctx, l.Journal, "s", agent, &question); err != nil {
		fmt.Println(err)
	}
	if err := l.Wake(ctx, "s"); err != nil {
		fmt.Println(err)
	}
	s, err := openmanus.Load(ctx, l.Journal, "s")
	fmt.Println(s.Status(), s.Answer, err)
	// Output: finished It is 3. <nil>
}

// stream drives a session and shows its events until nothing is left to do. The
// error is a [*run.Halt] if the session has not finished.
func stream(ctx context.Context, agent *openmanus.Agent, show func(openmanus.Event)) error {
	l := &run.Local{Worker: run.Worker{Journal: new(journal.Memory), Flow: run.FlowsByName(agent)}}
	if err := openmanus.Open(ctx, l.Journal, "s", agent, &question); err != nil {
		return err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- l.Wake(ctx, "s")
		stop()
	}()
	seen := int64(0)
	for ev, err := range l.Watch(watch, "s", 0) { // a stream has no end of its own
		if err != nil {
			return err
		}
		seen = max(seen, ev.Seq)
		show(ev)
	}
	if err := <-done; err != nil {
		return err
	}
	for ev, err := range l.Journal.Events(ctx, "s", seen) { // what was stored as the stream ended
		if err != nil {
			return err
		}
		show(ev)
	}
	return run.Halted(ctx, l.Journal, "s")
}

// A subscriber sees a reply while it streams. The stream ends when Wake has returned.
func ExampleLocal_Watch() {
	err := stream(context.Background(), calculator(), func(ev openmanus.Event) {
		switch b := ev.Body.(type) {
		case openmanus.CallDone:
			fmt.Println("result:", b.Parts.Text())
		case openmanus.ModelSaid:
			if b.Stop == llm.End {
				fmt.Println("reply:", b.Message.Text())
			}
		}
	})
	fmt.Println(err)
	// Output:
	// result: 3
	// reply: It is 3.
	// <nil>
}

// A runtime that keeps no state between two tasks, such as one that hands each
// task to another machine.
func ExampleWorker() {
	ctx, agent := context.Background(), calculator()
	w := &run.Worker{Journal: new(journal.Memory), Flow: run.FlowsByName(agent)}
	if err := openmanus.Open(ctx, w.Journal, "s", agent, &question); err != nil {
		fmt.Println(err)
	}
	carryOut := func(x *run.Session, t openmanus.Task) error {
		bodies, err := w.Do(ctx, x, t)
		for err == nil && len(bodies) == 1 {
			switch bodies[0].(type) {
			case openmanus.CallStarted, openmanus.Snapped: // the call runs after that
			default:
				return w.Record(ctx, x.ID, bodies[0])
			}
			if err := w.Append(ctx, x, bodies[0]); errors.Is(err, openmanus.ErrExists) {
				return nil // another worker has claimed the call
			} else if err != nil {
				return err
			}
			bodies, err = w.Do(ctx, x, t)
		}
		for _, b := range bodies {
			err = errors.Join(err, w.Record(ctx, x.ID, b))
		}
		return err
	}
	for {
		x, err := w.Load(ctx, "s")
		if err != nil {
			fmt.Println(err)
			return
		}
		tasks := x.Flow.Next(x.State)
		if len(tasks) == 0 {
			fmt.Println(x.State.Status(), x.State.Answer)
			return
		}
		fmt.Println(tasks[0].Do)
		if err := carryOut(x, tasks[0]); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// reply
	// rule
	// use
	// reply
	// finished It is 3.
}

// Questions finds the calls that wait for the user, in a session and in those
// below it.
func ExampleQuestions() {
	pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay", Description: "Pays."}},
		func(context.Context, openmanus.Call, struct{}) (openmanus.Result, error) {
			return openmanus.TextResult("paid"), nil
		})
	agent := &openmanus.Agent{Name: "buyer", Tools: []openmanus.Tool{pay}, Model: llmtest.Script(
		llmtest.Use("", "pay", struct{}{}), llmtest.Say("Done."))}

	ctx, j := context.Background(), new(journal.Memory)
	l := &run.Local{Worker: run.Worker{Journal: j, Flow: run.FlowsByName(agent)}}
	fmt.Println(openmanus.Open(ctx, j, "s", agent, &question), l.Wake(ctx, "s"))
	qs, err := run.Questions(ctx, j, "s")
	for _, q := range qs {
		fmt.Println(q.Session, q.Call.Question().Question, err)
		_, err = j.Append(ctx, q.Session, openmanus.Ruled{Call: q.Call.ID, Allow: true, By: "me"})
	}
	fmt.Println(err, l.Wake(ctx, "s"))
	s, _ := openmanus.Load(ctx, j, "s")
	fmt.Println(s.Status())
	// Output:
	// <nil> <nil>
	// s May pay run? <nil>
	// <nil> <nil>
	// finished
}
