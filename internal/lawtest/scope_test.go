package lawtest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A page is a tool whose calls act on a site: "go" leads to another one.
type page struct {
	site *string
	did  *[]string
}

func (p page) Spec() openmanus.ToolSpec {
	return openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "page"}, Hints: openmanus.Hints{Ordered: true}}
}

func (p page) Run(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
	*p.did = append(*p.did, call.Input+" on "+*p.site)
	if _, to, ok := strings.Cut(call.Input, `"go":"`); ok {
		*p.site, _, _ = strings.Cut(to, `"`)
	}
	return openmanus.TextResult("done"), nil
}

func (p page) Preview(_ context.Context, call openmanus.Call) (string, error) {
	return call.Input + " on " + *p.site, nil
}

func (p page) Scope(context.Context, openmanus.Call) (string, error) {
	if *p.site == "nowhere" {
		return "", nil
	}
	return *p.site, nil
}

// pages opens a session whose model makes the calls one after the other, two in
// its first reply.
func pages(t *testing.T, gate openmanus.Gate, inputs ...string) (mem *journal.Memory, w *run.Worker, p page) {
	t.Helper()
	site := "a.example"
	p = page{&site, new([]string)}
	var replies []llm.Message
	use := func(i int) llm.Message { return llmtest.Use(fmt.Sprint(i), "page", inputs[i]) }
	replies = append(replies, llmtest.Calls(use(0), use(1)))
	for i := range inputs[2:] {
		replies = append(replies, use(i+2))
	}
	replies = append(replies, llmtest.Say("ok"))
	mem = new(journal.Memory)
	a := &openmanus.Agent{Name: "a", Model: llmtest.Script(replies...), Tools: []openmanus.Tool{p}, Gate: gate}
	w = &run.Worker{Journal: mem, Flow: run.FlowsByName(a)}
	if err := openmanus.Open(t.Context(), mem, "s", a, &openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")}); err != nil {
		t.Fatal(err)
	}
	drive(t, w, "s")
	return mem, w, p
}

// waiting returns the only question of the session.
func waiting(t *testing.T, mem *journal.Memory) (call string, q openmanus.Asked) {
	t.Helper()
	s, err := openmanus.Load(t.Context(), mem, "s")
	if err != nil || len(s.Pending()) != 1 {
		t.Fatalf("%d calls wait: %v, %s", len(s.Pending()), err, s.Status())
	}
	return s.Pending()[0].ID, *s.Pending()[0].Ruling
}

func decide(t *testing.T, mem *journal.Memory, w *run.Worker, b openmanus.Ruled) {
	t.Helper()
	if _, err := mem.Append(t.Context(), "s", b); err != nil {
		t.Fatal(err)
	}
	drive(t, w, "s")
}

// One answer covers all later calls of a tool within the scope of the question,
// those of the same reply too, and none elsewhere. The ruling says why.
func TestGrantCoversItsScope(t *testing.T) {
	mem, w, p := pages(t, nil, `{"n":1}`, `{"n":2}`, `{"go":"b.example"}`, `{"n":3}`)
	call, q := waiting(t, mem) // the second call is ruled on when the first is done
	if q.Scope != "a.example" || q.Shown != `{"n":1} on a.example` {
		t.Fatalf("the question is %+v", q)
	}
	decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash, Scope: q.Scope})
	call, q = waiting(t, mem)
	if q.Scope != "b.example" || len(*p.did) != 3 {
		t.Fatalf("it did %q, and asks %+v", *p.did, q)
	}
	s, err := openmanus.Load(t.Context(), mem, "s")
	if err != nil || !s.Granted("page", "a.example") || s.Granted("page", "b.example") || s.Granted("other", "a.example") {
		t.Errorf("granted is %v, %v", s.Grants, err)
	}
	rules := ""
	for ev := range mem.Events(t.Context(), "s", 0) {
		if r, ok := ev.Body.(openmanus.Ruled); ok && r.By == openmanus.ByGate {
			rules += r.Rule + "; "
		}
	}
	if rules != "allowed in this session on a.example; allowed in this session on a.example; " {
		t.Errorf("the gate's rules are %q", rules)
	}
	decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash}) // this once
	if s, _ := openmanus.Load(t.Context(), mem, "s"); s.Granted("page", "b.example") || s.Status() != openmanus.Finished {
		t.Errorf("a yes for once grants %v; the session is %s", s.Grants, s.Status())
	}
}

// A grant counts only as an answer to a question with this scope, and a new
// configuration ends it.
func TestGrantIsAnAnswer(t *testing.T) {
	for name, scope := range map[string]string{"another scope": "b.example", "none": ""} {
		mem, w, _ := pages(t, nil, `{"n":1}`, `{"n":2}`)
		call, q := waiting(t, mem)
		decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash, Scope: scope})
		if s, _ := openmanus.Load(t.Context(), mem, "s"); len(s.Grants) > 0 || len(s.Pending()) != 1 {
			t.Errorf("%s: granted %v, %d wait", name, s.Grants, len(s.Pending()))
		}
	}
	s := new(openmanus.State)
	s.Grants = []openmanus.Grant{{Tool: "page", Scope: "a.example"}}
	c := s.Clone()
	c.Apply(openmanus.Event{Seq: 1, Body: openmanus.Configured{N: 1}})
	if len(c.Grants) != 0 || len(s.Grants) != 1 {
		t.Errorf("after a new configuration: %v; the state that was cloned has %v", c.Grants, s.Grants)
	}
}

// A call that was allowed within a scope does not run outside of it, and the
// answer to the question of a rule that must be asked each time grants nothing.
func TestScopeHoldsWhenTheCallRuns(t *testing.T) {
	mem, w, p := pages(t, nil, `{"n":1}`, `{"n":2}`)
	call, q := waiting(t, mem)
	*p.site = "b.example"
	decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash, Scope: q.Scope})
	if text := resultOf(t, mem, call); !strings.Contains(text, "it was allowed on a.example, and would act elsewhere now") || len(*p.did) != 0 {
		t.Errorf("said %q, did %q", text, *p.did)
	}

	always := openmanus.GateFunc(func(context.Context, openmanus.Call, openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{Ask: true, Reason: "Each time?"}, nil
	})
	mem, w, _ = pages(t, always, `{"n":1}`, `{"n":2}`)
	call, q = waiting(t, mem)
	if q.Scope != "" {
		t.Errorf("the question offers %q", q.Scope)
	}
	decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash, Scope: "a.example"})
	waiting(t, mem)
}

// A stale approval says what has changed.
func TestStaleApprovalSaysWhatChanged(t *testing.T) {
	holds := "old"
	mem, w := onShelf(t, &holds)
	call, q := waiting(t, mem)
	holds = "newer"
	decide(t, mem, w, openmanus.Ruled{Call: call, Allow: true, By: "person", Hash: q.Hash})
	if text := resultOf(t, mem, call); !strings.Contains(text, `(it was "- old", and is "- newer" now)`) {
		t.Errorf("said %q", text)
	}
}

// Calls of an ordered tool run one after the other even if they only read, each
// when all before it are done.
func TestOrderedCallsRunInOrder(t *testing.T) {
	var order []string
	spec := openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "look"}, Hints: openmanus.Hints{ReadOnly: true, Ordered: true}}
	tool := openmanus.Func(spec, func(_ context.Context, call openmanus.Call, _ struct{}) (openmanus.Result, error) {
		order = append(order, call.ID) // unguarded: the race detector sees calls that overlap
		return openmanus.TextResult("seen"), nil
	})
	var uses []llm.Message
	for i := range 8 {
		uses = append(uses, llmtest.Use(fmt.Sprint(i), "look", "{}"))
	}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Calls(uses...), llmtest.Say("ok")), Tools: []openmanus.Tool{tool}}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := strings.Join(order, " "); got != "c0-1 c0-2 c0-3 c0-4 c0-5 c0-6 c0-7 c0-8" {
		t.Errorf("the order is %s", got)
	}
}
