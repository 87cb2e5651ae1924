package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// Results stand in the order of the calls, however they end.
func TestParallelCallsRunAtOnceAndTheirResultsStandInCallOrder(t *testing.T) {
	const n = 8
	var turn [n + 1]chan struct{}
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	read := tool("read", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		var in struct{ I int }
		if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
			return openmanus.Result{}, err
		}
		<-turn[in.I+1] // the last call ends first, which it can only if all run at once
		close(turn[in.I])
		return openmanus.TextResult("%d", in.I), nil
	})
	close(turn[n])
	var calls []llm.Message
	for i := range n {
		calls = append(calls, llmtest.Use("", "read", map[string]int{"i": i}))
	}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Calls(calls...), llmtest.Say("ok")), Tools: []openmanus.Tool{read}}, "go")
	if got := dialogue(wake(t, l).Said[2:3]); got != "tool: 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7" {
		t.Error(got)
	}
}

// Every verdict is asked for at once, so that a person sees all of them; a
// call whose verdict is out waits for those before it.
func TestAPersonIsAskedAboutAllCallsAtOnce(t *testing.T) {
	var order []string
	pay := tool("pay", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		order = append(order, call.ID)
		return openmanus.TextResult("paid"), nil
	})
	p := llmtest.Use("", "pay", "{}")
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Calls(p, p, p), llmtest.Say("ok")), Tools: []openmanus.Tool{pay}}, "go")
	if n := len(wake(t, l).Pending()); n != 3 {
		t.Fatalf("%d calls are asked about", n)
	}
	for _, c := range []string{"c0-3", "c0-1"} {
		put(t, j, openmanus.Ruled{Call: c, Allow: true, By: "gopher"})
		ended(t, wake(t, l), openmanus.Waiting, "")
	}
	if got := fmt.Sprint(order); got != "[c0-1]" {
		t.Errorf("before the second verdict, %s ran", got)
	}
	put(t, j, openmanus.Ruled{Call: "c0-2", By: "gopher", Reason: "too dear"})
	ended(t, wake(t, l), openmanus.Finished, "")
	if got := fmt.Sprint(order); got != "[c0-1 c0-3]" {
		t.Errorf("%s ran", got)
	}
	if got, isErr := result(t, j, "c0-2"); got != "not allowed: too dear" || !isErr {
		t.Errorf("the model reads %q", got)
	}
}

// terminate is a Final tool as OpenManus has it.
func terminate() openmanus.Tool {
	type in struct {
		Status string `json:"status"`
		Answer string `json:"answer,omitempty"`
	}
	return openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "terminate"}, Hints: openmanus.Hints{Final: true, Internal: true}},
		func(_ context.Context, _ openmanus.Call, in in) (openmanus.Result, error) {
			if in.Status == "never" {
				return openmanus.Result{}, errors.New("not yet")
			}
			res := openmanus.TextResult("bye")
			res.Detail = openmanus.Ending{Status: in.Status, Answer: in.Answer}
			return res, nil
		})
}

func TestTerminateEndsTheWork(t *testing.T) {
	end := func(status, answer string) llm.Message {
		return llmtest.Use("", "terminate", map[string]string{"status": status, "answer": answer})
	}
	for _, c := range []struct {
		name   string
		script []llm.Message
		status openmanus.Status
		reason openmanus.Reason
		answer string
	}{
		{"with an answer", []llm.Message{llmtest.Calls(llmtest.Say("I end."), end("success", "42"))}, openmanus.Finished, "", "42"},
		{"with words beside the call", []llm.Message{llmtest.Calls(llmtest.Say("It is 42."), end("success", ""))}, openmanus.Finished, "", "It is 42."},
		{"without words: the last thing that was said", []llm.Message{llmtest.Calls(llmtest.Say("It is 41."), llmtest.Use("", "look", "{}")),
			llmtest.Use("", "look", "{}"), end("success", "")}, openmanus.Finished, "", "It is 41."},
		{"in failure", []llm.Message{llmtest.Calls(llmtest.Say("It cannot be done."), end("failure", ""))}, openmanus.Failed, openmanus.ByAgent, "It cannot be done."},
		{"not, if the call fails", []llm.Message{end("never", ""), llmtest.Say("then like this")}, openmanus.Finished, "", "then like this"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := lines(c.script...)
			l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{terminate(), look()}}, "go")
			s := wake(t, l)
			ended(t, s, c.status, c.reason)
			if s.Answer != c.answer || len(m.asked()) != len(c.script) {
				t.Errorf("the answer is %q after %d replies, want %q after %d", s.Answer, len(m.asked()), c.answer, len(c.script))
			}
		})
	}
}

// The answer is what was said since the person spoke, not before.
func TestAnAnswerIsNotThatOfTheRequestBefore(t *testing.T) {
	m := lines(llmtest.Say("old answer"), llmtest.Use("", "terminate", `{"status":"success"}`))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{terminate()}}, "go")
	wake(t, l)
	put(t, j, userSays("2", "and now?"))
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if s.Answer != "" {
		t.Errorf("the answer is %q", s.Answer)
	}
}

func TestNothingRunsAfterTerminateAndEveryCallHasAResult(t *testing.T) {
	var before, after atomic.Int64
	m := lines(llmtest.Calls(llmtest.Use("", "before", "{}"), llmtest.Use("", "terminate", `{"status":"success"}`), llmtest.Use("", "after", "{}"), llmtest.Use("", "after", "{}")),
		llmtest.Say("yes?"))
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{
		terminate(), counted("before", openmanus.Hints{}, &before), counted("after", openmanus.Hints{ReadOnly: true}, &after)}}
	l, j := begin(t, a, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if before.Load() != 1 || after.Load() != 0 || s.Open() {
		t.Errorf("before ran %d times, after %d times", before.Load(), after.Load())
	}
	for _, c := range []string{"c0-3", "c0-4"} {
		if got, isErr := result(t, j, c); got != "not run: it comes after a call that ends the work" || !isErr {
			t.Errorf("%s: %q", c, got)
		}
	}
	put(t, j, userSays("2", "one more thing"))
	ended(t, wake(t, l), openmanus.Finished, "")
	lawful(t, m.asked())
}

// A person who speaks while the last call runs is answered: it is not the end.
func TestTerminateDoesNotEndWhatAPersonHasJustAsked(t *testing.T) {
	var j *journal.Memory
	end := tool("end", openmanus.Hints{Final: true, Internal: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		put(t, j, userSays("2", "wait, one more thing"))
		return openmanus.TextResult("bye"), nil
	})
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("", "end", "{}"), llmtest.Say("what is it?")), Tools: []openmanus.Tool{end}}, "go")
	j = mem
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); got != "user: go | assistant: end{} | tool: bye | user: wait, one more thing | assistant: what is it?" {
		t.Error(got)
	}
}

// Arguments.

func TestArgumentsAreCheckedBeforeAToolRuns(t *testing.T) {
	type in struct {
		Sum  int    `json:"sum"`
		To   string `json:"to" jsonschema:"who gets it"`
		Note string `json:"note,omitempty"`
	}
	var got []string
	pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay"}}, func(_ context.Context, call openmanus.Call, in in) (openmanus.Result, error) {
		got = append(got, call.Input)
		return openmanus.TextResult("paid %d to %s", in.Sum, in.To), nil
	})
	mode := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "mode", Input: json.RawMessage(
		`{"type":"object","properties":{"status":{"type":"string","enum":["success","failure"]}},"required":["status"]}`)}},
		func(context.Context, openmanus.Call, map[string]any) (openmanus.Result, error) {
			got = append(got, "mode")
			return openmanus.TextResult("ok"), nil
		})
	for _, c := range []struct {
		tool, input string
		want        string // what the model reads
		ran         string
	}{
		{"pay", `{"sum":1,"to":"bob"}`, "paid 1 to bob", `{"sum":1,"to":"bob"}`},
		{"pay", `{"sum":1}`, `the argument "to" is missing`, ""},
		{"pay", `{"sum":"much","to":"bob"}`, `the argument "sum" must be an integer`, ""},
		{"pay", `{"sum":1,"to":"bob","from":"al"}`, `there is no argument "from"`, ""},
		{"pay", `[1,"bob"]`, "not a JSON object", ""},
		{"pay", `{"sum":1,"to":"bo`, "cut off", ""},
		{"pay", "```json\n{\"sum\":1,\"to\":\"bob\"}\n```", "paid 1 to bob", `{"sum":1,"to":"bob"}`},
		{"pay", `{"sum":1,"to":"bob",}`, "paid 1 to bob", `{"sum":1,"to":"bob"}`},
		{"mode", `{"status":"maybe"}`, `must be one of "success", "failure"`, ""},
		{"fly", `{}`, "unknown tool 'fly'. The tools are: pay, mode", ""},
	} {
		t.Run(c.tool+c.input, func(t *testing.T) {
			got = nil
			m := lines(llmtest.Use("1", c.tool, c.input), llmtest.Say("ok"))
			l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{pay, mode}}, "go")
			ended(t, wake(t, l), openmanus.Finished, "")
			text, isErr := result(t, j, "c0-1")
			if !strings.Contains(text, c.want) || isErr != (c.ran == "") || strings.Join(got, "") != c.ran {
				t.Errorf("ran with %q; the model reads %q, want %q", got, text, c.want)
			}
			said := m.asked()[1].Messages[1].Calls()[0]
			if said.Input != c.input {
				t.Error("the model's own words were changed in the record")
			}
			if repaired := c.ran != c.input && c.ran != ""; repaired && said.Ran != c.ran || !repaired && said.Ran != "" {
				t.Errorf("the model reads that it ran with %q", said.Ran)
			}
		})
	}
}

// A person may change the arguments: the model is told, they are checked like
// the model's own, and its own stay on record.
func TestAPersonMayChangeTheArguments(t *testing.T) {
	for _, c := range []struct {
		name, input, want string
		runs              int64
	}{
		{"changed", `{"sum":1}`, "(with changed arguments: {\"sum\":1})\npaid 1", 1},
		{"changed badly", `{"sum":"x"}`, `the argument "sum" must be an integer`, 0},
		{"left as they are", ``, "paid 1000", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs atomic.Int64
			pay := openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "pay"}}, func(_ context.Context, _ openmanus.Call, in struct {
				Sum int `json:"sum"`
			}) (openmanus.Result, error) {
				runs.Add(1)
				return openmanus.TextResult("paid %d", in.Sum), nil
			})
			m := lines(llmtest.Use("1", "pay", `{"sum":1000}`), llmtest.Say("ok"))
			l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{pay}}, "go")
			q := wake(t, l).Pending()[0].Ruling
			if q.Question != "May pay run?" || q.Hash != openmanus.Fingerprint("pay", `{"sum":1000}`) {
				t.Errorf("asked %+v", q)
			}
			put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher", Input: c.input})
			ended(t, wake(t, l), openmanus.Finished, "")
			got, isErr := result(t, j, "c0-1")
			if !strings.Contains(got, c.want) || isErr != (c.runs == 0) || runs.Load() != c.runs {
				t.Errorf("ran %d times; the model reads %q, want %q", runs.Load(), got, c.want)
			}
			if c.runs == 0 && !strings.Contains(got, "changed") {
				t.Errorf("the model is not told that the arguments are not its own: %q", got)
			}
			if m.asked()[1].Messages[1].Calls()[0].Input != `{"sum":1000}` {
				t.Error("the model's own words were changed in the record")
			}
		})
	}
}

func TestAPersonIsShownTheMendedArguments(t *testing.T) {
	m := lines(llmtest.Use("1", "pay", "Sure: {'sum': 1}"), llmtest.Say("ok"))
	var ran string
	pay := tool("pay", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		ran = call.Input
		return openmanus.TextResult("paid"), nil
	})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{pay}}, "go")
	c := wake(t, l).Pending()[0]
	if c.Arguments() == c.Input || !json.Valid([]byte(c.Arguments())) || c.Ruling.Hash != openmanus.Fingerprint("pay", c.Arguments()) {
		t.Fatalf("shown %q", c.Arguments())
	}
	shown := c.Arguments()
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"})
	wake(t, l)
	if ran != shown {
		t.Errorf("shown %q, ran with %q", shown, ran)
	}
}

// Gates.

func TestModesOfTheGate(t *testing.T) {
	const allow, ask, deny = "allowed", "asked about", "denied"
	hints := []openmanus.Hints{{ReadOnly: true}, {Edits: true}, {Destructive: true}, {}, {Internal: true}, {Final: true}}
	zero := openmanus.GateFunc(func(context.Context, openmanus.Call, openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{}, nil
	})
	for _, c := range []struct {
		name string
		gate openmanus.Gate
		want [6]string // for each of hints
	}{
		{"none", nil, [6]string{allow, ask, ask, ask, allow, allow}},
		{"the zero mode", openmanus.Mode(""), [6]string{allow, ask, ask, ask, allow, allow}},
		{"ask", openmanus.Mode(openmanus.ApproveAsk), [6]string{allow, ask, ask, ask, allow, allow}},
		{"a mode that is none", openmanus.Mode("al"), [6]string{allow, ask, ask, ask, allow, allow}},
		{"edits", openmanus.Mode(openmanus.ApproveEdits), [6]string{allow, allow, ask, ask, allow, allow}},
		{"all", openmanus.AllowAll, [6]string{allow, allow, allow, allow, allow, allow}},
		{"readonly", openmanus.Mode(openmanus.ApproveReadOnly), [6]string{allow, deny, deny, deny, allow, allow}},
		{"the zero verdict", zero, [6]string{deny, deny, deny, deny, deny, deny}},
	} {
		for i, h := range hints {
			var runs atomic.Int64
			l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "do", "{}"), llmtest.Say("ok")), Gate: c.gate,
				Tools: []openmanus.Tool{counted("do", h, &runs)}}, "go")
			s := wake(t, l)
			got := allow
			if s.Status() == openmanus.Waiting {
				got = ask
			} else if text, isErr := result(t, j, "c0-1"); isErr && strings.HasPrefix(text, "not allowed") {
				got = deny
			}
			if got != c.want[i] || runs.Load() == 0 != (got != allow) {
				t.Errorf("gate %s: %+v is %s and ran %d times, want %s", c.name, h, got, runs.Load(), c.want[i])
			}
		}
	}
}

// A tool whose calls differ is ruled on, and run, by the hints of the call.
func TestHintsAreThoseOfTheCall(t *testing.T) {
	var runs atomic.Int64
	shell := perCall{counted("shell", openmanus.Hints{}, &runs)}
	m := lines(llmtest.Calls(llmtest.Use("1", "shell", `{"cmd":"ls"}`), llmtest.Use("2", "shell", `{"cmd":"rm"}`)), llmtest.Say("ok"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{shell}}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Waiting, "")
	if p := s.Pending(); runs.Load() != 1 || len(p) != 1 || p[0].ID != "c0-2" || !p[0].Ruling.Hints.Destructive {
		t.Errorf("%d calls ran, %d are asked about", runs.Load(), len(p))
	}
}

type perCall struct{ openmanus.Tool }

func (perCall) Hints(call openmanus.Call) openmanus.Hints {
	return openmanus.Hints{ReadOnly: strings.Contains(call.Input, "ls"), Destructive: strings.Contains(call.Input, "rm")}
}

// A tool's memory is the detail of its last success, also after a restart, and
// also for the hints of its next call.
func TestAToolRemembersByItsDetail(t *testing.T) {
	var last []string
	count := tool("count", openmanus.Hints{Internal: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		last = append(last, string(call.Last))
		var n int
		if call.Last != nil {
			if err := json.Unmarshal(call.Last, &n); err != nil {
				return openmanus.Result{}, err
			}
		}
		if strings.Contains(call.Input, "fail") {
			return openmanus.Result{Detail: 100}, errors.New("failed")
		}
		return openmanus.Result{Detail: n + 1}, nil
	})
	c := llmtest.Use("", "count", "{}")
	m := lines(llmtest.Calls(c, c), llmtest.Use("", "count", `{"x":"fail"}`), llmtest.Say("ok"), c, llmtest.Say("ok"))
	var hinted string
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{hinter{count, func(call openmanus.Call) { hinted = string(call.Last) }}}}
	l, j := begin(t, a, "go")
	wake(t, l)
	put(t, j, userSays("2", "again"))
	wake(t, local(j, a))
	if got := fmt.Sprintf("%q", last); got != `["" "1" "2" "2"]` || hinted != "2" {
		t.Errorf("it remembered %s, and %q when asked for hints", got, hinted)
	}
}

type hinter struct {
	openmanus.Tool
	see func(openmanus.Call)
}

func (h hinter) Hints(call openmanus.Call) openmanus.Hints {
	h.see(call)
	return h.Spec().Hints
}

// A result that came after an interrupt is not lost.
func TestALateResultIsTold(t *testing.T) {
	var j *journal.Memory
	pay := tool("pay", openmanus.Hints{}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		put(t, j, openmanus.Interrupted{ID: "1"})
		<-ctx.Done() // too late
		return openmanus.TextResult("paid 5 dollars"), nil
	})
	m := lines(llmtest.Use("1", "pay", "{}"), llmtest.Say("so it was paid"))
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{pay}}, "go")
	j = mem
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
	put(t, j, userSays("2", "what happened?"))
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	want := "user: go | assistant: pay{} | tool: the person interrupted while it ran; this may or may not have happened" +
		" | user: pay (c0-1), which had been given up, did finish after all:\n + paid 5 dollars | user: what happened? | assistant: so it was paid"
	if got := dialogue(s.Said); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	lawful(t, m.asked())
}

// A call that is cancelled and says that it failed has no more to tell.
func TestAFailureAfterAnInterruptIsNoNews(t *testing.T) {
	var j *journal.Memory
	do := tool("do", openmanus.Hints{}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		put(t, j, openmanus.Interrupted{ID: "1"})
		<-ctx.Done()
		return openmanus.Result{}, errors.New("killed")
	})
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "do", "{}")), Gate: openmanus.AllowAll, Tools: []openmanus.Tool{do}}, "go")
	j = mem
	if s := wake(t, l); len(s.Inbox) != 0 {
		t.Errorf("the model would read %v", s.Inbox)
	}
}
