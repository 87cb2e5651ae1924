package lawtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// follows is a follower that says this of every call.
type follows struct{ run.Followed }

func (f follows) Begin(
	context.Context, string, *openmanus.State, openmanus.Call, openmanus.ToolSpec, func(int),
) (openmanus.Body, func(context.Context) run.Followed) {
	return nil, func(context.Context) run.Followed { return f.Followed }
}

func (follows) Added(context.Context, string, *openmanus.State, *openmanus.CallState, []string) openmanus.Body {
	return nil
}

func (f follows) Broken(context.Context, string, *openmanus.State, *openmanus.CallState) openmanus.Body {
	return nil
}

func (f follows) Restore(context.Context, string, *openmanus.State) (openmanus.Body, error) {
	return nil, errors.New("not expected")
}

// An observer is a follower that records the workspace before and after every call.
type observer struct{}

func (observer) Begin(
	_ context.Context, _ string, s *openmanus.State, call openmanus.Call, _ openmanus.ToolSpec, _ func(int),
) (openmanus.Body, func(context.Context) run.Followed) {
	c := s.Call(call.ID)
	if !c.Snapped {
		return openmanus.Snapped{ID: openmanus.BeforeCall(c.ID, c.Attempts), Tree: "before " + c.ID}, nil
	}
	return nil, func(context.Context) run.Followed {
		return run.Followed{Snapped: openmanus.Snapped{
			ID: openmanus.AfterCall(c.ID, c.Attempts), Call: c.ID, Before: s.Snapshot.Tree, Tree: "after " + c.ID,
		}}
	}
}

func (observer) Added(context.Context, string, *openmanus.State, *openmanus.CallState, []string) openmanus.Body {
	return nil
}

func (observer) Broken(_ context.Context, _ string, s *openmanus.State, c *openmanus.CallState) openmanus.Body {
	return openmanus.Snapped{
		ID: openmanus.AfterCall(c.ID, c.Attempts), Call: c.ID, Before: s.Snapshot.Tree, Tree: "found", Broken: true,
	}
}

func (observer) Restore(_ context.Context, _ string, s *openmanus.State) (openmanus.Body, error) {
	return openmanus.Snapped{ID: s.Unfinished.ID, Rewound: s.Unfinished.ID, Before: s.Snapshot.Tree, Tree: "restored"}, nil
}

// The content of the workspace is recorded before a call runs, and again together
// with the result. A call that only reads costs nothing.
func TestTheWorkspaceIsRecordedAroundCalls(t *testing.T) {
	var runs atomic.Int64
	m := llmtest.Script(llmtest.Use("1", "look", "{}"), llmtest.Use("2", "dig", "{}"), llmtest.Say("done"))
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{
		counted("look", openmanus.Hints{ReadOnly: true}, &runs), counted("dig", openmanus.Hints{}, &runs),
	}}
	l, j := begin(t, a, "go")
	l.Changes = observer{}
	s := wake(t, l)
	var keys []string
	var at []int64
	for _, ev := range events(t, j, sess) {
		switch ev.Body.(type) {
		case openmanus.CallStarted, openmanus.Snapped, openmanus.CallDone:
			keys, at = append(keys, ev.Body.Key()), append(at, ev.Time.UnixMicro())
		}
	}
	want := "start/c0-1/1 done/c0-1 start/c1-1/1 snap/before/c1-1 snap/c1-1 done/c1-1"
	if got := strings.Join(keys, " "); got != want || runs.Load() != 2 {
		t.Fatalf("%d calls ran, and the journal has %s", runs.Load(), got)
	}
	if at[4] != at[5] {
		t.Error("the snapshot and the result are in two commits")
	}
	if s.Snapshot.Tree != "after c1-1" {
		t.Errorf("the state has %+v", s.Snapshot)
	}
}

// The changes during a call whose process was killed are recorded once, with its
// result; the changes of a call that had ended are not recorded again.
func TestTheWorkspaceOfABrokenCall(t *testing.T) {
	for _, ended := range []bool{false, true} {
		a := &openmanus.Agent{Name: "a", Model: llmtest.Script(llmtest.Say("done")), Gate: openmanus.AllowAll,
			Tools: []openmanus.Tool{counted("dig", openmanus.Hints{}, new(atomic.Int64))}}
		l, j := begin(t, a, "go")
		l.Changes = observer{}
		put(t, j, openmanus.ModelSaid{Re: 3, Stop: "tool_use", Message: llmtest.Use("c0-1", "dig", "{}")},
			openmanus.Ruled{Call: "c0-1", Allow: true, By: openmanus.ByGate}, openmanus.CallStarted{Call: "c0-1", Attempt: 1},
			openmanus.Snapped{ID: openmanus.BeforeCall("c0-1", 1), Tree: "before c0-1"})
		if ended {
			put(t, j, openmanus.Snapped{ID: openmanus.AfterCall("c0-1", 1), Call: "c0-1", Before: "before c0-1", Tree: "after c0-1"})
		}
		s := wake(t, l)
		if s.Status() != openmanus.Finished {
			t.Fatalf("it is %s: %s", s.Status(), s.Outcome.Error)
		}
		var trees []string
		for _, ev := range events(t, j, sess) {
			if b, ok := ev.Body.(openmanus.Snapped); ok {
				trees = append(trees, b.Tree)
			}
		}
		want := []string{"before c0-1", "found"}
		if ended {
			want[1] = "after c0-1"
		}
		if !slices.Equal(trees, want) {
			t.Errorf("ended %t: the trees are %q", ended, trees)
		}
	}
}

// A session that went back and whose process was killed before all files were put back
// puts them back when it goes on, once.
func TestGoingBackIsFinished(t *testing.T) {
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Say("one"), llmtest.Say("two"))}, "go")
	l.Changes = observer{}
	wake(t, l)
	put(t, j, openmanus.Rewound{ID: "w", To: 2, Files: true, Talk: true, Before: "now"}, userSays("2", "again"))
	if s := wake(t, l); s.Unfinished != nil || s.Snapshot.Tree != "restored" || s.Answer != "two" {
		t.Errorf("unfinished: %v, the tree is %q, the answer %q", s.Unfinished, s.Snapshot.Tree, s.Answer)
	}
	before := len(events(t, j, sess))
	wake(t, l)
	if after := len(events(t, j, sess)); after != before {
		t.Errorf("%d events became %d", before, after)
	}
}
