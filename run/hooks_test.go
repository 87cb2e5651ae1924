package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A fakeHook says of each call what answer returns, and notes what it was asked about.
type fakeHook struct {
	answer  func(call openmanus.Call) (run.Screened, error)
	request run.Screened

	mu    sync.Mutex
	asked []string
}

func (f *fakeHook) Asks(*openmanus.State, string) bool { return f.answer != nil }

func (f *fakeHook) BeforeCall(
	_ context.Context, session string, _ *openmanus.State, call openmanus.Call, _ openmanus.ToolSpec,
) (run.Screened, error) {
	f.mu.Lock()
	f.asked = append(f.asked, session+" "+call.ID+" "+call.Input)
	f.mu.Unlock()
	return f.answer(call)
}

func (f *fakeHook) BeforeRequest(context.Context, string, *openmanus.State) (run.Screened, error) {
	return f.request, nil
}

// noted is a tool that notes the arguments that it ran with, and changes something.
func noted(ran *[]string) openmanus.Tool {
	return openmanus.Func(openmanus.ToolSpec{ToolSpec: llm.ToolSpec{Name: "note", Description: "Notes a word."}},
		func(_ context.Context, c openmanus.Call, in struct {
			Word string `json:"word"`
		}) (openmanus.Result, error) {
			*ran = append(*ran, in.Word)
			return openmanus.TextResult("noted"), nil
		})
}

// bodiesOf returns the bodies of a session.
func bodiesOf[B openmanus.Body](t *testing.T, j openmanus.Journal, id string) (all []B) {
	t.Helper()
	for ev, err := range j.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := ev.Body.(B); ok {
			all = append(all, b)
		}
	}
	return all
}

// hooked runs a session with one call of note under a hook.
func hooked(t *testing.T, h *fakeHook, gate openmanus.Gate) (*run.Local, *[]string) {
	t.Helper()
	ran := new([]string)
	a := &openmanus.Agent{Name: "a", Tools: []openmanus.Tool{noted(ran)}, Gate: gate, Model: llmtest.Script(
		llmtest.Use("", "note", map[string]string{"word": "said"}), llmtest.Say("Done."))}
	l := &run.Local{Worker: run.Worker{Journal: new(journal.Memory), Flow: run.FlowsByName(a), Hooks: h}}
	if err := openmanus.Open(t.Context(), l.Journal, "s", a, &question); err != nil {
		t.Fatal(err)
	}
	return l, ran
}

// The answers of hooks, and their effects: they narrow what the gate rules, and the
// gate, the tool and the model get the changed arguments.
func TestHooksRuleBeforeTheGate(t *testing.T) {
	all, none := openmanus.Mode(openmanus.ApproveAll), openmanus.Mode(openmanus.ApproveReadOnly)
	for _, c := range []struct {
		name  string
		says  run.Screened
		gate  openmanus.Gate
		ran   string // "": it did not run
		rule  string // of the ruling, or of the question
		reads string // what the model reads, or the person
	}{
		{"nothing", run.Screened{}, all, "said", "mode all", "noted"},
		{"a refusal", run.Screened{Denied: true, By: "hook a", Reason: "the hook a denies it: no"}, all, "", "hook a", "the hook a denies it: no"},
		{"an allowance widens nothing", run.Screened{}, none, "", "mode readonly", "read-only"},
		{"a question", run.Screened{Ask: true, By: "hook a", Reason: "the hook a asks: sure?"}, all, "", "hook a", "the hook a asks: sure?"},
		{"a question beside the gate's", run.Screened{Ask: true, By: "hook a", Reason: "the hook a asks: sure?"},
			openmanus.Mode(openmanus.ApproveAsk), "", "mode ask", "the hook a asks: sure?"},
		{"a question about what is denied", run.Screened{Ask: true, By: "hook a", Reason: "sure?"}, none, "", "mode readonly", "read-only"},
		{"other arguments", run.Screened{Input: `{"word":"changed"}`, ChangedBy: "hook a"}, all, "changed", "mode all",
			`(with changed arguments: {"word":"changed"})`},
		{"arguments that do not fit", run.Screened{Input: `{"word":7}`, ChangedBy: "hook a"}, all, "", "hook a", "do not fit"},
		{"arguments that are no JSON", run.Screened{Input: `]`, ChangedBy: "hook a"}, all, "", "hook a", "do not fit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &fakeHook{answer: func(openmanus.Call) (run.Screened, error) { return c.says, nil }}
			l, ran := hooked(t, h, c.gate)
			if err := l.Wake(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(*ran, ","); got != c.ran {
				t.Errorf("ran with %q, want %q", got, c.ran)
			}
			rule, reads := "", ""
			for _, b := range bodiesOf[openmanus.Asked](t, l.Journal, "s") {
				rule, reads = b.Rule, b.Question
			}
			for _, b := range bodiesOf[openmanus.Ruled](t, l.Journal, "s") {
				rule, reads = b.Rule, b.Reason
			}
			for _, b := range bodiesOf[openmanus.CallDone](t, l.Journal, "s") {
				reads += b.Parts.Text()
			}
			if rule != c.rule || !strings.Contains(reads, c.reads) {
				t.Errorf("rule %q, %q; want %q, %q", rule, reads, c.rule, c.reads)
			}
		})
	}
}

// The gate sees the arguments that a hook wrote, so that a hook cannot lead around a rule.
func TestTheGateSeesWhatAHookChanged(t *testing.T) {
	h := &fakeHook{answer: func(openmanus.Call) (run.Screened, error) {
		return run.Screened{Input: `{"word":"secret"}`, ChangedBy: "hook a"}, nil
	}}
	l, ran := hooked(t, h, openmanus.GateFunc(func(_ context.Context, c openmanus.Call, _ openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{Allow: !strings.Contains(c.Input, "secret"), Rule: "no secrets"}, nil
	}))
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	r := bodiesOf[openmanus.Ruled](t, l.Journal, "s")
	if len(*ran) > 0 || len(r) != 1 || r[0].Allow || r[0].ChangedBy != "hook a" || r[0].Input != `{"word":"secret"}` {
		t.Errorf("ran %v, ruled %+v", *ran, r)
	}
}

// A person is shown the arguments that a hook wrote, allows them, and the model hears of it.
func TestAPersonAllowsWhatAHookChanged(t *testing.T) {
	h := &fakeHook{answer: func(openmanus.Call) (run.Screened, error) {
		return run.Screened{Input: `{"word":"changed"}`, ChangedBy: "hook a"}, nil
	}}
	l, ran := hooked(t, h, openmanus.Mode(openmanus.ApproveAsk))
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	asked := bodiesOf[openmanus.Asked](t, l.Journal, "s")
	if len(asked) != 1 || asked[0].Input != `{"word":"changed"}` || !strings.Contains(asked[0].Question, "The hook a changed the arguments") {
		t.Fatalf("%+v", asked)
	}
	if _, err := l.Journal.Append(t.Context(), "s", openmanus.Ruled{Call: asked[0].Call, Allow: true, By: "me", Hash: asked[0].Hash}); err != nil {
		t.Fatal(err)
	}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	done := bodiesOf[openmanus.CallDone](t, l.Journal, "s")
	if fmt.Sprint(*ran) != "[changed]" || len(done) != 1 || !strings.Contains(done[0].Parts.Text(), "with changed arguments") {
		t.Errorf("ran %v: %+v", *ran, done)
	}
	if len(h.asked) != 1 {
		t.Errorf("the hook was asked again about a call that was ruled: %q", h.asked)
	}
}

// A session that ends while a hook is asked knows nothing of the call: the next driver
// asks again, and the call runs once.
func TestARulingThatWasCancelledIsMadeAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	first := true
	h := &fakeHook{answer: func(openmanus.Call) (run.Screened, error) {
		if first {
			first = false
			cancel()
			<-ctx.Done()
			return run.Screened{}, ctx.Err()
		}
		return run.Screened{}, nil
	}}
	l, ran := hooked(t, h, openmanus.Mode(openmanus.ApproveAll))
	if err := l.Wake(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if r := bodiesOf[openmanus.Ruled](t, l.Journal, "s"); len(r) > 0 || len(*ran) > 0 {
		t.Fatalf("ruled %+v, ran %v", r, *ran)
	}
	if err := l.Wake(t.Context(), "s"); err != nil || fmt.Sprint(*ran) != "[said]" {
		t.Fatalf("%v, ran %v", err, *ran)
	}
}

// A person who interrupts is heard while a hook hangs.
func TestAnInterruptIsHeardWhileAHookHangs(t *testing.T) {
	hangs, ended := make(chan struct{}), make(chan struct{})
	h := new(fakeHook)
	slow := &hangingHook{fakeHook: h, hangs: hangs, ended: ended}
	h.answer = func(openmanus.Call) (run.Screened, error) { return run.Screened{}, nil }
	l, ran := hooked(t, h, openmanus.Mode(openmanus.ApproveAll))
	l.Hooks = slow
	woken := make(chan error, 1)
	go func() { woken <- l.Wake(t.Context(), "s") }()
	<-hangs
	if _, err := l.Journal.Append(t.Context(), "s", openmanus.Interrupted{ID: "i"}); err != nil {
		t.Fatal(err)
	}
	<-ended // its context ended
	if err := <-woken; err != nil || len(*ran) > 0 {
		t.Errorf("%v, ran %v", err, *ran)
	}
}

// A hangingHook hangs until its context ends.
type hangingHook struct {
	*fakeHook
	hangs, ended chan struct{}
}

func (h *hangingHook) BeforeCall(
	ctx context.Context, _ string, _ *openmanus.State, _ openmanus.Call, _ openmanus.ToolSpec,
) (run.Screened, error) {
	close(h.hangs)
	<-ctx.Done()
	close(h.ended)
	return run.Screened{}, ctx.Err()
}

// A request that a hook refuses is not sent, and the session stops with the reason.
func TestAHookRefusesARequest(t *testing.T) {
	h := &fakeHook{request: run.Screened{Denied: true, By: "hook hours", Reason: "the hook hours denies it: it is night"}}
	l, _ := hooked(t, h, nil)
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	s, err := openmanus.Load(t.Context(), l.Journal, "s")
	if err != nil || s.Status() != openmanus.Halted || s.Outcome.Reason != openmanus.ByHook || s.Outcome.Error != h.request.Reason {
		t.Errorf("%v: %+v", err, s.Outcome)
	}
	if n := len(bodiesOf[openmanus.ModelSaid](t, l.Journal, "s")); n > 0 {
		t.Errorf("%d replies", n)
	}
}

// 10,000 calls in sessions at depth 0 to 3, in parallel, under hooks that refuse, crash
// and allow: no call starts before its allowance.
func TestNoCallStartsBeforeItsAllowance(t *testing.T) {
	const depth, width, fan = 3, 250, 3
	var allowed sync.Map // session and call
	var started, refused atomic.Int64
	mark := openmanus.Func(openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "mark", Description: "Marks."}, Hints: openmanus.Hints{ReadOnly: true},
	}, func(_ context.Context, c openmanus.Call, _ struct{}) (openmanus.Result, error) {
		started.Add(1)
		if _, ok := allowed.Load(c.Session + " " + c.ID); !ok {
			t.Errorf("%s %s started before it was allowed", c.Session, c.ID)
		}
		return openmanus.TextResult("marked"), nil
	})
	delegate := openmanus.Func(openmanus.ToolSpec{
		ToolSpec: llm.ToolSpec{Name: "delegate", Description: "Has it done."}, Hints: openmanus.Hints{Delegates: true},
	}, func(context.Context, openmanus.Call, openmanus.Delegation) (openmanus.Result, error) {
		return openmanus.Result{}, errors.New("a child does it")
	})
	say := func(n int, tool string, input string) (parts llm.Parts) {
		for i := range n {
			parts = append(parts, llm.Call{ID: fmt.Sprint(i), Name: tool, Input: input})
		}
		return parts
	}
	model := &llmtest.Model{Reply: func(r *llm.Request) llm.Message {
		if llmtest.Spoken(r) > 0 {
			return llmtest.Say("Done.")
		}
		level := 0
		for _, m := range r.Messages {
			if i := strings.LastIndex(m.Parts.Text(), "level "); i >= 0 {
				level = int(m.Parts.Text()[i+6] - '0')
			}
		}
		parts := say(width, "mark", "{}")
		if level < depth {
			parts = append(parts, say(fan, "delegate", fmt.Sprintf(`{"task":"level %d"}`, level+1))...)
		}
		return llm.Message{Role: llm.Assistant, Parts: parts}
	}}
	a := &openmanus.Agent{Name: "a", Tools: []openmanus.Tool{mark, delegate}, Model: model, Gate: openmanus.Mode(openmanus.ApproveAll)}
	var n atomic.Int64
	h := &countingHook{decide: func(session, call, tool string) run.Screened {
		if k := n.Add(1); tool == "mark" && k%3 != 0 {
			refused.Add(1)
			return run.Screened{Denied: true, By: "hook h", Reason: "the hook h crashed"}
		}
		allowed.Store(session+" "+call, true)
		return run.Screened{}
	}}
	l := &run.Local{Worker: run.Worker{Journal: new(journal.Memory), Flow: run.FlowsByName(a), Hooks: h}}
	limits := openmanus.Limits{Steps: -1, Tokens: -1, Money: -1, Time: -1, Depth: depth, FanOut: fan}
	a.Spec.Limits = limits
	a.Limits = limits
	if err := openmanus.Open(t.Context(), l.Journal, "s", a, &question); err != nil {
		t.Fatal(err)
	}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	sessions := int64(0)
	for i, k := 0, int64(1); i <= depth; i, k = i+1, k*fan {
		sessions += k
	}
	if all := started.Load() + refused.Load(); all != sessions*width || all < 10_000 || started.Load() == 0 {
		t.Errorf("%d calls started and %d were refused, of %d", started.Load(), refused.Load(), sessions*width)
	}
}

// A countingHook decides on calls without keeping them.
type countingHook struct {
	decide func(session, call, tool string) run.Screened
}

func (h *countingHook) Asks(*openmanus.State, string) bool { return true }

func (h *countingHook) BeforeCall(
	_ context.Context, session string, _ *openmanus.State, call openmanus.Call, _ openmanus.ToolSpec,
) (run.Screened, error) {
	return h.decide(session, call.ID, call.Name), nil
}

func (h *countingHook) BeforeRequest(context.Context, string, *openmanus.State) (run.Screened, error) {
	return run.Screened{}, nil
}
