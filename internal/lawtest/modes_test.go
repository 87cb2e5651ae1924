package lawtest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// setsMode returns an actor that sets the mode of a session at the moment at which it is
// asked for the n-th time, so that the reply is the first thing after it.
func setsMode(t *testing.T, put func(openmanus.Body), n int, mode string, takes ...llm.Message) *actor {
	return &actor{play: func(_ context.Context, asked int, _ *llm.Request) take {
		if asked == n {
			put(openmanus.ModeSet{ID: mode, Mode: mode, Note: "(now " + mode + ")"})
		}
		return take{Message: takes[min(asked, len(takes)-1)]}
	}}
}

// A mode that the person sets holds from the next ruling on, for a gate that knows no
// modes, too, and the model reads of it.
func TestTheModeOfASessionChangesWhileItRuns(t *testing.T) {
	for _, mode := range []string{openmanus.ApprovePlan, openmanus.ApproveReadOnly} {
		for name, gate := range map[string]openmanus.Gate{"of modes": openmanus.Mode(openmanus.ApproveAll), "of its own": openmanus.GateFunc(
			func(context.Context, openmanus.Call, openmanus.ToolSpec) (openmanus.Verdict, error) {
				return openmanus.Verdict{Allow: true}, nil
			})} {
			t.Run(mode+" "+name, func(t *testing.T) {
				var wrote, looked atomic.Int64
				agent := &openmanus.Agent{Name: "writer", Gate: gate, Tools: []openmanus.Tool{
					counted("write", openmanus.Hints{}, &wrote), counted("look", openmanus.Hints{ReadOnly: true}, &looked),
				}}
				l, j := begin(t, agent, "go")
				model := setsMode(t, func(b openmanus.Body) { put(t, j, b) }, 1, mode,
					llmtest.Use("1", "write", "{}"), llmtest.Calls(llmtest.Use("1", "write", "{}"), llmtest.Use("2", "look", "{}")), llmtest.Say("a plan"))
				agent.Model = model
				s := wake(t, l)
				if wrote.Load() != 1 || looked.Load() != 1 {
					t.Errorf("it wrote %d times and looked %d times", wrote.Load(), looked.Load())
				}
				if got, bad := result(t, j, "c1-1"); !bad || !strings.Contains(got, "not") {
					t.Errorf("the second call: %s", got)
				}
				if said := dialogue(s.Said); !strings.Contains(said, "(now "+mode+")") {
					t.Errorf("the model read %s", said)
				}
				if _, ok := s.Proposal(); ok != (mode == openmanus.ApprovePlan) {
					t.Errorf("a proposal: %v", ok)
				}
			})
		}
	}
}

// A session below another never has more rights than that one has when it makes a call,
// however it was opened, and whatever its own gate allows.
func TestAChildNeverHasMoreRightsThanItsParent(t *testing.T) {
	var wrote atomic.Int64
	boss := named("boss", lines(giving("hand", "dig"), llmtest.Say("done")), give())
	hand := &openmanus.Agent{Name: "hand", Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("write", openmanus.Hints{}, &wrote)}}
	l, j := firm(t, boss, hand)
	hand.Model = setsMode(t, func(b openmanus.Body) { put(t, j, b) }, 1, openmanus.ApprovePlan,
		llmtest.Use("1", "write", "{}"), llmtest.Use("1", "write", "{}"), llmtest.Say("a hole"))
	wake(t, l)
	if wrote.Load() != 1 {
		t.Errorf("it wrote %d times", wrote.Load())
	}
	if c := load(t, j, "s.c0-1"); c.ModeSets != 0 || c.Outcome.Status != openmanus.Finished {
		t.Errorf("the child: %+v", c.Outcome)
	}
}

// A call that was asked about or allowed, and has not started, does not run in a mode
// that only looks. When plan mode ends, what was ruled on in it does not go on.
func TestCallsWhenTheModeChanges(t *testing.T) {
	reads := openmanus.Hints{ReadOnly: true}
	call := func(id string) openmanus.Body {
		return openmanus.ModelSaid{Turn: 0, Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant,
			Parts: llm.Parts{llm.Call{ID: id, Name: "do", Input: "{}"}}}}
	}
	allowed := func(h openmanus.Hints) openmanus.Body {
		return openmanus.Ruled{Call: "c", Allow: true, By: openmanus.ByGate, Hints: h}
	}
	asked := openmanus.Asked{Call: "c", Kind: openmanus.AskRuling, Question: "May it?"}
	started := openmanus.CallStarted{Call: "c", Attempt: 1}
	set := func(mode string) openmanus.Body { return openmanus.ModeSet{ID: mode, Mode: mode} }
	for _, tc := range []struct {
		name  string
		begin string
		then  []openmanus.Body
		gone  bool // the call has a result
	}{
		{"allowed, then plan", "ask", []openmanus.Body{allowed(openmanus.Hints{}), set("plan")}, true},
		{"asked, then readonly", "ask", []openmanus.Body{asked, set("readonly")}, true},
		{"not ruled on yet", "ask", []openmanus.Body{set("plan")}, false},
		{"it only reads", "ask", []openmanus.Body{allowed(reads), set("plan")}, false},
		{"it has started", "ask", []openmanus.Body{allowed(openmanus.Hints{}), started, set("plan")}, false},
		{"another mode", "ask", []openmanus.Body{allowed(openmanus.Hints{}), set("edits")}, false},
		{"a mode of a later version", "ask", []openmanus.Body{allowed(openmanus.Hints{}), set("dream")}, false},
		{"ruled on by one who had not heard", "ask", []openmanus.Body{set("plan"), allowed(openmanus.Hints{})}, true},
		{"asked by one who had not heard", "ask", []openmanus.Body{set("plan"), asked, openmanus.Ruled{Call: "c", Allow: true, By: "person"}}, true},
		{"allowed in plan mode, then ask", "plan", []openmanus.Body{allowed(reads), set("ask")}, true},
		{"started in plan mode, then ask", "plan", []openmanus.Body{allowed(reads), started, set("ask")}, true},
		{"begun as read-only, with a gate that allows", "readonly", []openmanus.Body{allowed(openmanus.Hints{})}, false},
	} {
		var s openmanus.State
		bodies := append([]openmanus.Body{openmanus.Opened{Version: openmanus.FormatVersion},
			openmanus.Configured{Spec: openmanus.Spec{Approve: tc.begin}, Tools: []openmanus.ToolSpec{{ToolSpec: llm.ToolSpec{Name: "do"}}}},
			userSays("1", "go"), call("c")}, tc.then...)
		for i, b := range bodies {
			s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
		}
		if gone := s.Call("c").Done != nil; gone != tc.gone {
			t.Errorf("%s: the call has a result: %v", tc.name, gone)
		}
	}
}

// The model reads of a mode that was set while nothing ran with the next message, once,
// and only the last word on it.
func TestTheModelReadsOfTheModeWithTheNextMessage(t *testing.T) {
	model := lines(llmtest.Say("one"), llmtest.Say("two"))
	l, j := begin(t, named("writer", model), "go")
	wake(t, l)
	put(t, j, openmanus.ModeSet{ID: "1", Mode: openmanus.ApprovePlan, Note: "(plan)"})
	put(t, j, openmanus.ModeSet{ID: "2", Mode: openmanus.ApproveAll, Note: "(all)"})
	if s := load(t, j, sess); s.Status() != openmanus.Finished {
		t.Fatalf("it is %s", s.Status())
	}
	put(t, j, userSays("2", "more"))
	s := wake(t, l)
	if said := dialogue(s.Said); strings.Contains(said, "(plan)") || strings.Count(said, "(all)") != 1 {
		t.Errorf("the model read %s", said)
	}
}
