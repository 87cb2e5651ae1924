package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// The faults of the first sketch of this design, one test each.

func TestBrokeTheSameCallIDInALaterTurn(t *testing.T) {
	var runs atomic.Int64
	m := lines(llmtest.Use("call_1", "do", `{"n":1}`), llmtest.Use("call_1", "do", `{"n":2}`), llmtest.Say("ok"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("do", openmanus.Hints{}, &runs)}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	if runs.Load() != 2 {
		t.Errorf("ran %d times, want 2", runs.Load())
	}
	lawful(t, m.asked())
}

func TestBrokeAnEmptyCallIDTwiceInOneTurn(t *testing.T) {
	var runs atomic.Int64
	m := lines(llmtest.Calls(llmtest.Use("", "do", `{"n":1}`), llmtest.Use("", "do", `{"n":2}`)), llmtest.Say("ok"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("do", openmanus.Hints{}, &runs)}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	if runs.Load() != 2 {
		t.Errorf("ran %d times, want 2", runs.Load())
	}
	lawful(t, m.asked())
}

func TestBrokeRetryAfterAFailedReply(t *testing.T) {
	m := cast(take{Message: llmtest.Say("I was ab"), err: &llm.Error{Kind: llm.Network, Status: 503, Err: errors.New("overloaded")}},
		take{Message: llmtest.Say("ok")})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Failed, "network")
	if s.Outcome.HTTP != 503 || !strings.Contains(s.Outcome.Error, "overloaded") {
		t.Errorf("it failed with %+v", s.Outcome)
	}
	wake(t, l) // nobody has spoken: it does not try again by itself
	put(t, j, openmanus.Resumed{ID: "1"})
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); got != "user: go | assistant: ok" || len(m.asked()) != 2 {
		t.Errorf("asked %d times: %s", len(m.asked()), got)
	}
	lawful(t, m.asked())
}

func TestBrokeAMessageThatArrivesDuringAFailingReply(t *testing.T) {
	var j *journal.Memory
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n == 0 {
			put(t, j, userSays("2", "also this"))
			return take{err: &llm.Error{Kind: llm.Network, Err: errors.New("connection reset")}}
		}
		return take{Message: llmtest.Say("ok")}
	}}
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	j = mem
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); got != "user: go | user: also this | assistant: ok" {
		t.Error(got)
	}
}

// Two drivers ask about different pasts. One of them is heard, and it is on
// record what it had seen.
func TestBrokeTwoDriversAtDifferentRe(t *testing.T) {
	m := llmtest.Script(llmtest.Say("first"), llmtest.Say("second"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	early := openmanus.Task{Do: openmanus.Reply, Turn: 0, Re: 3}
	put(t, j, userSays("2", "more"))
	late := openmanus.Task{Do: openmanus.Reply, Turn: 0, Re: 4}
	for _, task := range []openmanus.Task{early, late} {
		if err := do(t.Context(), &l.Worker, sess, task); err != nil {
			t.Fatal(err)
		}
	}
	s := wake(t, l)
	if got := dialogue(s.Said); got != "user: go | assistant: first | user: more | assistant: second" {
		t.Error(got)
	}
	if m.Asked.Load() != 2 {
		t.Errorf("asked %d times", m.Asked.Load())
	}
}

func TestBrokeInterruptWhileADeleteIsPendingThenDoNotDelete(t *testing.T) {
	var deleted, looked atomic.Int64
	m := lines(
		llmtest.Calls(llmtest.Use("1", "delete", "{}"), llmtest.Use("2", "look", "{}")),
		llmtest.Say("I leave it."))
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{
		counted("delete", openmanus.Hints{Destructive: true}, &deleted), counted("look", openmanus.Hints{ReadOnly: true}, &looked)}}
	l, j := begin(t, a, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	put(t, j, openmanus.Interrupted{ID: "1"})
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
	put(t, j, userSays("2", "stop! do not delete"))
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if deleted.Load()+looked.Load() != 0 {
		t.Errorf("after the interrupt, delete ran %d times and look %d times", deleted.Load(), looked.Load())
	}
	if got := dialogue(s.Said); !strings.Contains(got, "not run: the person interrupted + not run: the person interrupted | user: stop! do not delete") {
		t.Error(got)
	}
	lawful(t, m.asked())
}

func TestBrokeOddArgumentsAreByteEqualAfterResume(t *testing.T) {
	for name, input := range map[string]string{
		"angle brackets":   `{"html":"<b>&amp;</b>"}`,
		"a line separator": "{\"x\":\"\u2028\"}",
		"invalid UTF-8":    "{\"x\":\"\xff\xc3\x28\"}",
		"broken JSON":      `{"x": [1, 2`,
		"no JSON":          `rm -rf <everything>`,
		"nothing":          ``,
		"spaces":           " {\n \"x\" :  1e400 } ",
		"a lone surrogate": `{"x":"\ud800"}`,
		"large":            `{"x":"` + strings.Repeat("<\xff>", 9000) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := lines(llmtest.Use("1", "do", input), llmtest.Say("ok"))
			l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("do", openmanus.Hints{}, new(atomic.Int64))}}, "go")
			wake(t, l)
			s := load(t, j, sess) // as after a restart
			if c := s.Said[1].Calls()[0]; c.Input != input {
				t.Errorf("%q became %q", input, c.Input)
			}
			lawful(t, append(m.asked(), s.Request(openmanus.Task{Re: s.Seq})))
		})
	}
}

func TestBrokeAReplyWithCallsCutAtLength(t *testing.T) {
	var runs atomic.Int64
	m := cast(
		take{Message: llmtest.Calls(llmtest.Say("now"), llmtest.Use("1", "pay", `{"sum":1}`), llmtest.Use("2", "pay", `{"sum":1`)), stop: llm.Length},
		take{Message: llmtest.Say("I will say less")})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	for _, c := range []string{"c0-1", "c0-2"} {
		if got, isErr := result(t, j, c); !isErr || !strings.Contains(got, "cut off at the output limit") {
			t.Errorf("%s: %q", c, got)
		}
	}
	if runs.Load() != 0 {
		t.Errorf("%d calls of a reply that was cut ran", runs.Load())
	}
	lawful(t, m.asked())
}

func TestBrokeAToolThatVanishesBetweenRulingAndUse(t *testing.T) {
	m := lines(llmtest.Use("1", "pay", "{}"), llmtest.Say("then not"))
	with := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, new(atomic.Int64))}}
	without := &openmanus.Agent{Name: "a", Model: m}
	l, j := begin(t, with, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"})
	l = local(j, without) // as after an upgrade
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, isErr := result(t, j, "c0-1"); !isErr || !strings.Contains(got, "the tool pay is no longer there") {
		t.Errorf("the model reads %q", got)
	}
	lawful(t, m.asked())
}

// losable is a journal whose leases can be lost.
type losable struct {
	*journal.Memory
	lost chan struct{}
}

func (j *losable) Lock(context.Context, string) (openmanus.Lease, error) { return lease{j.lost}, nil }

type lease struct{ lost chan struct{} }

func (l lease) Lost() <-chan struct{} { return l.lost }
func (lease) Release() error          { return nil }

func TestBrokeLeaseLostDuringAPaymentThatThenSucceeds(t *testing.T) {
	paying, pay := make(chan struct{}), make(chan struct{})
	slow := tool("pay", openmanus.Hints{}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		close(paying)
		<-ctx.Done() // it is told to stop, but it is too late
		<-pay
		return openmanus.TextResult("paid 5 dollars"), nil
	})
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		switch n {
		case 0:
			return take{Message: llmtest.Use("1", "pay", "{}")}
		case 1:
			return take{Message: llmtest.Say("I do not know whether it was paid.")}
		}
		return take{Message: llmtest.Say("Good, it was paid.")}
	}}
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{slow}}
	j := &losable{new(journal.Memory), make(chan struct{})}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "pay"))); err != nil {
		t.Fatal(err)
	}
	first := make(chan error)
	go func() { first <- local(j, a).Wake(t.Context(), sess) }()
	<-paying
	close(j.lost)
	second := local(&losable{j.Memory, nil}, a)
	ended(t, wake(t, second), openmanus.Finished, "")
	if got, _ := result(t, j, "c0-1"); !strings.Contains(got, "may or may not have happened") {
		t.Errorf("the second driver tells the model %q", got)
	}
	close(pay)
	if err := <-first; !errors.Is(err, run.ErrLost) {
		t.Errorf("the first driver ends with %v, want ErrLost", err)
	}
	put(t, j, userSays("2", "was it paid?"))
	s := wake(t, second)
	if got := dialogue(s.Said); !strings.Contains(got, "pay (c0-1), which had been given up, did finish after all:\n + paid 5 dollars | user: was it paid? | assistant: Good") {
		t.Errorf("the truth was lost: %s\n%s", got, log(t, j, sess))
	}
	lawful(t, m.asked())
}

func TestBrokeTheSameUserIDWithOtherWords(t *testing.T) {
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Say("ok"))}, "go")
	if _, err := j.Append(t.Context(), sess, userSays("task", "go")); !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("the same again: %v, want ErrExists", err)
	}
	old, err := j.Append(t.Context(), sess, userSays("task", "stop"))
	if !errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("other words: %v, want ErrConflict", err)
	}
	if said, ok := old[0].Body.(openmanus.UserSaid); !ok || said.Message.Text() != "go" {
		t.Errorf("what is there is %v", old)
	}
	if got := dialogue(wake(t, l).Said); got != "user: go | assistant: ok" {
		t.Error(got)
	}
}

// A plan's steps are named after the call that made it, so that a new plan's
// first step is not taken for the old one's.
func TestBrokeReplanningWhenStepOneOfTheOldPlanIsDone(t *testing.T) {
	var done []string
	hand := &openmanus.Agent{Name: "hand", Model: &llmtest.Model{Reply: func(req *llm.Request) llm.Message {
		done = append(done, req.Messages[0].Text())
		return llmtest.Say("did it")
	}}}
	p := &openmanus.Agent{Name: "planner", Tools: []openmanus.Tool{planTool()}, Model: llmtest.Script(
		llmtest.Use("p", "plan", `{"steps":["look"]}`), llmtest.Use("p", "plan", `{"steps":["leap"]}`), llmtest.Say("all done"))}
	f := planFlow{p}
	j := new(journal.Memory)
	l := local(j, f, hand)
	if err := openmanus.Open(t.Context(), j, sess, f, ptr(userSays("1", "do things"))); err != nil {
		t.Fatal(err)
	}
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := fmt.Sprint(done); got != "[look leap]" {
		t.Errorf("the steps done are %s", got)
	}
	if got := dialogue(s.Said); !strings.Contains(got, "s.c0-1-step-1 is finished: did it") || !strings.Contains(got, "s.c1-1-step-1 is finished: did it") {
		t.Error(got)
	}
}

// Calls that only read run at once; a call that writes waits for those before
// it, and those after it wait for it.
func TestBrokeWritesAtOnceWhenOnlyReadsMayBe(t *testing.T) {
	var reading, writing, most atomic.Int64
	bothRead := make(chan struct{})
	read := tool("read", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		if reading.Add(1) == 2 {
			close(bothRead)
		}
		<-bothRead // the two before the write, each waiting for the other
		most.Store(max(most.Load(), reading.Load()))
		if writing.Load() != 0 {
			t.Error("a read ran beside a write")
		}
		reading.Add(-1)
		return openmanus.TextResult("read"), nil
	})
	write := tool("write", openmanus.Hints{Idempotent: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		if writing.Add(1) != 1 || reading.Load() != 0 {
			t.Error("a write ran beside another call")
		}
		bothRead = make(chan struct{})
		close(bothRead)
		writing.Add(-1)
		return openmanus.TextResult("written"), nil
	})
	r, w := llmtest.Use("", "read", "{}"), llmtest.Use("", "write", "{}")
	m := lines(llmtest.Calls(r, r, w, w, r), llmtest.Say("ok"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{read, write}}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if most.Load() != 2 {
		t.Errorf("at most %d reads ran at once, want 2", most.Load())
	}
	if got := dialogue(s.Said[2:3]); got != "tool: read + read + written + written + read" {
		t.Errorf("%s\n%s", got, log(t, j, sess))
	}
}

func TestBrokeAChildThatWaitsForApprovalIsNotDone(t *testing.T) {
	var runs atomic.Int64
	hand := &openmanus.Agent{Name: "hand", Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)},
		Model: llmtest.Script(llmtest.Use("1", "pay", "{}"), llmtest.Say("paid"))}
	f := planFlow{planner("pay")}
	l, j := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	const child = "s.c0-1-step-1"
	s := wake(t, l)
	if got := load(t, j, child).Status(); got != openmanus.Waiting {
		t.Fatalf("the child is %s\n%s", got, log(t, j, child))
	}
	if s.Status() == openmanus.Finished || s.Child(child).Done != nil || runs.Load() != 0 {
		t.Fatalf("reported as done while it waits:\n%s", log(t, j, sess))
	}
	if _, err := j.Append(t.Context(), child, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"}); err != nil {
		t.Fatal(err)
	}
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if d := s.Child(child).Done; d == nil || d.Status != openmanus.Finished || d.Text != "paid" || runs.Load() != 1 {
		t.Errorf("the child is reported as %+v; paid %d times", d, runs.Load())
	}
}

func TestBrokeAChildThatAlwaysFailsIsReportedAsFailed(t *testing.T) {
	hand := &openmanus.Agent{Name: "hand", Model: cast(take{err: &llm.Error{Kind: llm.Network, Err: errors.New("nobody is there")}})}
	f := planFlow{planner("look")}
	l, j := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	s := wake(t, l)
	d := s.Child("s.c0-1-step-1").Done
	if d == nil || d.Status != openmanus.Failed || d.Reason != "network" || !strings.Contains(d.Text, "nobody is there") {
		t.Fatalf("the child is reported as %+v\n%s", d, log(t, j, sess))
	}
	if got := dialogue(s.Said); !strings.Contains(got, "s.c0-1-step-1 is failed: network: nobody is there") {
		t.Errorf("the planner does not read it: %s", got)
	}
}

func TestBrokeAChildThatRanOutOfStepsIsReportedAsStopped(t *testing.T) {
	hand := &openmanus.Agent{Name: "hand", Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))},
		Model: &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
			return take{Message: llmtest.Use("1", "look", map[string]int{"n": n})}
		}}}
	p := planner("look")
	p.Limits.Steps = 4
	f := planFlow{p}
	l, j := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	s := wake(t, l)
	if d := s.Child("s.c0-1-step-1").Done; d == nil || d.Status != openmanus.Halted || d.Reason != openmanus.NoSteps {
		t.Fatalf("the child is reported as %+v\n%s", d, log(t, j, sess))
	}
}

func TestBrokePartialOutputWithAnError(t *testing.T) {
	half := tool("half", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("line 1"), errors.New("exit status 3")
	})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "half", "{}"), llmtest.Say("ok")), Tools: []openmanus.Tool{half}}, "go")
	wake(t, l)
	if got, isErr := result(t, j, "c0-1"); got != "line 1\nexit status 3" || !isErr {
		t.Errorf("the model reads %q (an error: %v)", got, isErr)
	}
}

type badDetail struct{}

func (badDetail) MarshalJSON() ([]byte, error) { panic("no JSON today") }

func TestBrokeADetailThatCannotBeEncoded(t *testing.T) {
	for name, detail := range map[string]any{"a channel": make(chan int), "a marshaler that panics": badDetail{}} {
		t.Run(name, func(t *testing.T) {
			odd := tool("odd", openmanus.Hints{}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
				res := openmanus.TextResult("it happened")
				res.Detail = detail
				return res, nil
			})
			l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "odd", "{}"), llmtest.Say("ok")), Gate: openmanus.AllowAll, Tools: []openmanus.Tool{odd}}, "go")
			ended(t, wake(t, l), openmanus.Finished, "")
			if got, isErr := result(t, j, "c0-1"); got != "it happened" || isErr {
				t.Errorf("the model reads %q (an error: %v)", got, isErr)
			}
			if s := log(t, j, sess); !strings.Contains(s, "the detail cannot be encoded") {
				t.Errorf("people are not told:\n%s", s)
			}
		})
	}
}

// panicky panics wherever the core calls it.
type panicky struct {
	openmanus.Tool
	hints bool
}

func (p panicky) Hints(openmanus.Call) openmanus.Hints {
	if p.hints {
		panic("no hints")
	}
	return openmanus.Hints{ReadOnly: true}
}

func TestBrokeAPanicInATool(t *testing.T) {
	boom := tool("boom", openmanus.Hints{}, func(context.Context, openmanus.Call) (openmanus.Result, error) { panic("boom!") })
	for _, c := range []struct {
		tool  openmanus.Tool
		words string
	}{{panicky{boom, false}, "boom crashed: boom!"}, {panicky{boom, true}, "boom crashed: no hints"}} {
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "boom", "{}"), llmtest.Say("I see")), Tools: []openmanus.Tool{c.tool}}, "go")
		ended(t, wake(t, l), openmanus.Finished, "")
		if got, isErr := result(t, j, "c0-1"); got != c.words || !isErr {
			t.Errorf("the model reads %q (an error: %v), want %q", got, isErr, c.words)
		}
		if s := log(t, j, sess); c.words == "boom crashed: boom!" && !strings.Contains(s, "goroutine") {
			t.Errorf("people do not see the stack:\n%s", s)
		}
	}
}

func TestBrokeTwoHundredCallsInATurn(t *testing.T) {
	for name, h := range map[string]openmanus.Hints{"reads at once": {ReadOnly: true}, "writes in order": {}} {
		t.Run(name, func(t *testing.T) {
			var runs, last atomic.Int64
			do := tool("do", h, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
				var n int64
				if _, err := fmt.Sscanf(call.ID, "c0-%d", &n); err != nil {
					t.Error(err)
				}
				if before := last.Swap(n); !h.ReadOnly && before != n-1 {
					t.Errorf("call %d ran after call %d", n, before)
				}
				return openmanus.TextResult("%d", runs.Add(1)), nil
			})
			var calls []llm.Message
			for range 200 {
				calls = append(calls, llmtest.Use("same", "do", "{}"))
			}
			m := lines(llmtest.Calls(calls...), llmtest.Say("ok"))
			l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{do}}, "go")
			ended(t, wake(t, l), openmanus.Finished, "")
			if runs.Load() != 200 {
				t.Errorf("%d calls ran", runs.Load())
			}
			lawful(t, m.asked())
		})
	}
}

// busy counts the work that a journal is given.
type busy struct {
	*journal.Memory
	read, appends atomic.Int64
}

func (j *busy) Append(ctx context.Context, id string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	j.appends.Add(1)
	return j.Memory.Append(ctx, id, bodies...)
}

func (j *busy) Events(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		for ev, err := range j.Memory.Events(ctx, id, after) {
			j.read.Add(1)
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (j *busy) Follow(ctx context.Context, id string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		for ev, err := range j.Memory.Follow(ctx, id, after) {
			j.read.Add(1)
			if !yield(ev, err) {
				return
			}
		}
	}
}

// The work of a step does not grow with the steps before it: each event is
// read a fixed number of times, each message is encoded once, and a step is
// two commits.
func TestBrokeAThousandStepsWithoutQuadraticCost(t *testing.T) {
	const steps = 1000
	encoded := 0
	m := &actor{}
	m.play = func(_ context.Context, n int, req *llm.Request) take {
		kept, _ := req.Memo.Load(m).(int)
		encoded += req.Fixed - kept
		req.Memo.Store(m, req.Fixed)
		if n < steps {
			return take{Message: llmtest.Use("1", "look", map[string]int{"n": n})}
		}
		return take{Message: llmtest.Say("ok")}
	}
	a := &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Steps: -1, Stuck: -1}, Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))}}
	j := &busy{Memory: new(journal.Memory)}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "go"))); err != nil {
		t.Fatal(err)
	}
	s := wake(t, local(j, a))
	ended(t, s, openmanus.Finished, "")
	if s.Seq != 4*steps+4 {
		t.Errorf("%d events, want 4 a step", s.Seq)
	}
	if n := j.appends.Load(); n > 2*steps+2 {
		t.Errorf("%d appends, want 2 a step", n)
	}
	if n := j.read.Load(); n > 3*s.Seq {
		t.Errorf("%d events were read of %d", n, s.Seq)
	}
	if encoded != 2*steps+1 {
		t.Errorf("%d messages were encoded, want each once: %d", encoded, 2*steps+1)
	}
}
