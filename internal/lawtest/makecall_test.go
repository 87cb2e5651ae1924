package lawtest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A prelude is a flow that calls a tool before the model first replies.
type prelude struct {
	agent       *openmanus.Agent
	name, input string
}

func (p prelude) Agent() *openmanus.Agent { return p.agent }

func (p prelude) Next(s *openmanus.State) []openmanus.Task {
	if s.Turn > 0 || !s.Due() {
		return p.agent.Next(s)
	}
	return []openmanus.Task{{Do: openmanus.MakeCall, Turn: s.Turn, Re: s.Seq, Name: p.name, Input: p.input}}
}

func TestAFlowCallsATool(t *testing.T) {
	m := lines(llmtest.Say("I have read the rules."))
	rules := tool("rules", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("no rules in %s", call.Input), nil
	})
	l, j := begin(t, prelude{&openmanus.Agent{Model: m, Tools: []openmanus.Tool{rules}}, "rules", `{"of":"here"}`}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := keys(t, j, sess); got != "open config/0 user/task model/0 rule/c0-1 start/c0-1/1 done/c0-1 model/1" {
		t.Error(got)
	}
	if s.Steps != 1 || s.Moves != 2 || s.Turn != 2 {
		t.Errorf("%d steps, %d moves, turn %d", s.Steps, s.Moves, s.Turn)
	}
	lawful(t, m.asked())
	if got := dialogue(m.asked()[0].Messages); !strings.Contains(got, `no rules in {"of":"here"}`) {
		t.Errorf("the model reads\n%s", got)
	}
	// The call, its ruling and its start are one commit.
	evs := events(t, j, sess)
	if !evs[3].Time.Equal(evs[5].Time) {
		t.Error(log(t, j, sess))
	}
}

func TestTheCallOfAFlowIsAskedAbout(t *testing.T) {
	var runs atomic.Int64
	m := lines(llmtest.Say("Done."))
	f := prelude{&openmanus.Agent{Model: m, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}, Gate: openmanus.Mode(openmanus.ApproveAsk)}, "pay", `{}`}
	l, j := begin(t, f, "go")
	if s := wake(t, l); s.Status() != openmanus.Waiting || runs.Load() != 0 || s.Pending()[0].Name != "pay" {
		t.Fatalf("it is %s, paid %d times", s.Status(), runs.Load())
	}
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "me"})
	ended(t, wake(t, l), openmanus.Finished, "")
	if runs.Load() != 1 {
		t.Errorf("paid %d times", runs.Load())
	}
}

func TestTheCallOfAFlowNamesNoTool(t *testing.T) {
	l, j := begin(t, prelude{&openmanus.Agent{Model: lines(llmtest.Say("So be it."))}, "nothing", `{}`}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	if text, isError := result(t, j, "c0-1"); !isError || !strings.Contains(text, "unknown tool 'nothing'") {
		t.Error(text)
	}
}

// A message that arrives while the call is recorded comes after it.
func TestTheCallOfAFlowHasSeenWhatItSays(t *testing.T) {
	s := fold(userSays("1", "go"), userSays("2", "and more"),
		openmanus.Called{Turn: 0, Re: 3, Call: "c0-1", Name: "look", Input: "{}"})
	if got := dialogue(s.Said); strings.Contains(got, "and more") || len(s.Inbox) != 1 || s.Call("c0-1") == nil {
		t.Errorf("said\n%s\nunread: %v", got, s.Inbox)
	}
	before := s.Turn
	s.Apply(openmanus.Event{Seq: 6, Body: openmanus.Called{Turn: 1, Re: 5, Call: "c1-1", Name: "look", Input: "{}"}})
	if s.Turn != before || s.Call("c1-1") != nil {
		t.Error("a call was made while another one was open")
	}
}
