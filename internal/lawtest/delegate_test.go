package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// give is a tool that delegates.
func give() openmanus.Tool {
	return tool("give", openmanus.Hints{Internal: true, Delegates: true}, nil)
}

// giving is a call that delegates to an agent.
func giving(agent, task string) llm.Message {
	return llmtest.Use("", "give", map[string]string{"agent": agent, "task": task, "returns": "one word"})
}

// firm is a runtime for a boss, who opens sess, and those below.
func firm(t *testing.T, boss *openmanus.Agent, others ...openmanus.Flow) (*run.Local, *journal.Memory) {
	t.Helper()
	l, j := begin(t, boss, "go")
	l.Flow = run.FlowsByName(append(others, boss)...)
	return l, j
}

func named(name string, m llm.Model, tools ...openmanus.Tool) *openmanus.Agent {
	return &openmanus.Agent{Name: name, Model: m, Tools: tools}
}

func TestADelegationIsACallWhoseResultIsTheChildsAnswer(t *testing.T) {
	boss := lines(llmtest.Calls(giving("hand", "dig"), giving("foot", "walk")), llmtest.Say("all done"))
	hand := lines(llmtest.Use("1", "dig", "{}"), llmtest.Say("a hole"))
	foot := cast(take{err: &llm.Error{Kind: llm.Auth, Err: errors.New("no key")}})
	l, j := firm(t, named("boss", boss, give()), &openmanus.Agent{Name: "hand", Model: hand, Gate: openmanus.AllowAll,
		Tools: []openmanus.Tool{counted("dig", openmanus.Hints{}, new(atomic.Int64))}}, named("foot", foot))
	l.Changes = follows{run.Followed{
		Own:       []openmanus.FileChange{{Path: "hole.txt", Change: openmanus.FileCreated}, {Path: "old.txt", Change: openmanus.FileDeleted}},
		Meanwhile: []openmanus.FileChange{{Path: "hole.txt", Change: openmanus.FileCreated}, {Path: "big.pdf", Change: openmanus.FileCreated}},
	}}
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	lawful(t, boss.asked())
	want := "a hole\n\nFiles made or changed:\n- hole.txt\n- old.txt (deleted)\n\nChanged in the workspace meanwhile, perhaps by others:\n- big.pdf"
	if got, bad := result(t, j, "c0-1"); bad {
		t.Error("the call failed: " + got)
	}
	said := dialogue(s.Said)
	if !strings.Contains(said, want) || !strings.Contains(said, "auth: ") || strings.Contains(said, "dig\n") {
		t.Errorf("the boss reads %s", said)
	}
	if first := hand.asked()[0].Messages[0].Text(); first != "dig\n\nAnswer with: one word" {
		t.Errorf("the hand reads %q", first)
	}
	if s.Usage.Total() != 2*15+2*15 {
		t.Errorf("the tree used %d tokens", s.Usage.Total())
	}
	if c := load(t, j, "s.c0-1"); c.Opened.Parent != sess || c.Opened.Depth != 1 {
		t.Errorf("%+v", c.Opened)
	}
}

// More delegations than there may be at once wait their turn, and those that
// run do so together.
func TestDelegationsRunAtOnceUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gives []llm.Message
		for i := range 7 {
			gives = append(gives, giving("hand", fmt.Sprint(i)))
		}
		boss := named("boss", lines(llmtest.Calls(gives...), llmtest.Say("all done")), give())
		boss.Limits.FanOut = 3
		var now, most atomic.Int64
		hand := &actor{play: func(context.Context, int, *llm.Request) take {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			now.Add(-1)
			return take{Message: llmtest.Say("ok")}
		}}
		l, _ := firm(t, boss, named("hand", hand))
		start := time.Now()
		ended(t, wake(t, l), openmanus.Finished, "")
		if d := time.Since(start); d != 3*time.Second || most.Load() != 3 {
			t.Errorf("7 delegations took %v, at most %d at once", d, most.Load())
		}
	})
}

func TestBelowTheLimitOfDepthTheAgentGoesOnByItself(t *testing.T) {
	boss := named("boss", &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
		if llmtest.Spoken(req) == 0 {
			return take{Message: giving("boss", "you do it")}
		}
		return take{Message: llmtest.Say("done")}
	}}, give())
	boss.Limits.Depth = 4
	l, j := firm(t, boss)
	ended(t, wake(t, l), openmanus.Finished, "")
	bottom := load(t, j, "s.c0-1.c0-1.c0-1.c0-1")
	ended(t, bottom, openmanus.Finished, "")
	if got := dialogue(bottom.Said); !strings.Contains(got, "4 deep); do it yourself") || len(bottom.Children) != 0 {
		t.Errorf("the bottom reads %s", got)
	}
	if all := openmanus.DefaultLimits().Tokens; bottom.Limits.Tokens < all/17 { // each is alone
		t.Errorf("the bottom has %d of %d tokens", bottom.Limits.Tokens, all)
	}
}

// The part of a budget that a sub-agent does not use comes back: the next one has as much.
func TestWhatASubAgentLeavesComesBack(t *testing.T) {
	hand := named("hand", lines(llmtest.Say("done")))
	boss := named("boss", &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
		if n := llmtest.Spoken(req); n < 4 {
			return take{Message: giving("hand", strings.Repeat("dig ", n+1))}
		}
		return take{Message: llmtest.Say("done")}
	}}, give())
	l, _ := firm(t, boss, hand)
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	all := openmanus.DefaultLimits()
	for i, c := range s.Children {
		if c.Limits.Tokens < all.Tokens*49/100 || c.Limits.Money < all.Money*49/100 {
			t.Errorf("the sub-agent %d has %d tokens and %v", i, c.Limits.Tokens, c.Limits.Money)
		}
	}
	if len(s.Children) != 4 {
		t.Errorf("there are %d", len(s.Children))
	}
}

func TestADelegationToNobodyFailsAlone(t *testing.T) {
	l, _ := firm(t, named("boss", lines(giving("nobody", "x"), llmtest.Say("a pity")), give()))
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); !strings.Contains(got, `there is no flow "nobody"`) {
		t.Error(got)
	}
}

// deep is a tree of three: boss, middle, hand; hand asks before it pays. The
// boss has another branch that needs nobody.
func deep(t *testing.T) (*run.Local, *journal.Memory, *atomic.Int64) {
	var paid atomic.Int64
	boss := named("boss", lines(llmtest.Calls(giving("middle", "pay"), giving("other", "look")), llmtest.Say("all done")), give())
	middle := named("middle", lines(giving("hand", "pay"), llmtest.Say("paid by another")), give())
	hand := named("hand", lines(llmtest.Use("", "pay", "{}"), llmtest.Say("paid")), counted("pay", openmanus.Hints{}, &paid))
	other := named("other", lines(llmtest.Say("seen")))
	l, j := firm(t, boss, middle, hand, other)
	return l, j, &paid
}

func TestAnApprovalAtDepthThreeIsAnsweredAtTheTop(t *testing.T) {
	l, j, paid := deep(t)
	s := wake(t, l)
	if s.Status() != openmanus.Running || s.Call("c0-2").Done == nil {
		t.Errorf("the other branch has not ended: %s", s.Status())
	}
	qs, err := run.Questions(t.Context(), j, sess)
	if err != nil || len(qs) != 1 {
		t.Fatal(qs, err)
	}
	q := qs[0]
	if path := strings.Join(q.Path, " > "); q.Session != "s.c0-1.c0-1" || path != "boss > middle > hand" || q.Call.Name != "pay" {
		t.Errorf("%s asks by %s about %s", q.Session, path, q.Call.Name)
	}
	if _, err := j.Append(t.Context(), q.Session, openmanus.Ruled{Call: q.Call.ID, Allow: true, By: "gopher"}); err != nil {
		t.Fatal(err)
	}
	ended(t, wake(t, l), openmanus.Finished, "")
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}

// Whoever is never answered holds up nothing but the own branch; what is
// interrupted at the top ends below.
func TestAnApprovalThatNobodyGivesEndsWithTheTop(t *testing.T) {
	l, j, paid := deep(t)
	wake(t, l)
	wake(t, l)
	put(t, j, openmanus.Interrupted{ID: "x"})
	s := wake(t, l)
	ended(t, s, openmanus.Halted, openmanus.ByPerson)
	for _, id := range []string{"s.c0-1", "s.c0-1.c0-1"} {
		ended(t, load(t, j, id), openmanus.Halted, openmanus.ByPerson)
	}
	if d := s.Child("s.c0-1").Done; d == nil || d.Usage.Total() == 0 || paid.Load() != 0 {
		t.Errorf("the top heard %+v, and %d was paid", d, paid.Load())
	}
	if len(s.OpenChildren()) != 0 {
		t.Error("a share is still reserved")
	}
	put(t, j, userSays("on", "and now?"))
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); !strings.Contains(got, "s.c0-1 is stopped") {
		t.Error("what became of it was not told: " + got)
	}
}

// A branch that waits goes on as soon as it is answered, while another keeps
// the session going.
func TestABranchThatIsAnsweredGoesOnWhileOthersRun(t *testing.T) {
	paid, let := make(chan struct{}), make(chan struct{})
	pay := tool("pay", openmanus.Hints{}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		close(paid)
		return openmanus.TextResult("paid"), nil
	})
	slow := &actor{play: func(ctx context.Context, _ int, _ *llm.Request) take {
		select {
		case <-let:
		case <-ctx.Done():
			return take{err: ctx.Err()}
		}
		return take{Message: llmtest.Say("at last")}
	}}
	boss := named("boss", lines(llmtest.Calls(giving("hand", "pay"), giving("slow", "wait")), llmtest.Say("all done")), give())
	l, j := firm(t, boss, named("hand", lines(llmtest.Use("", "pay", "{}"), llmtest.Say("paid")), pay), named("slow", slow))
	var driving sync.WaitGroup
	driving.Go(func() { wake(t, l) })
	for ev, err := range j.Follow(t.Context(), "s.c0-1", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(openmanus.Asked); ok {
			break
		}
	}
	if _, err := j.Append(t.Context(), "s.c0-1", openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"}); err != nil {
		t.Fatal(err)
	}
	<-paid // while the other branch waits
	close(let)
	driving.Wait()
	ended(t, load(t, j, sess), openmanus.Finished, "")
}

// A session reads the same reports of its delegations, wherever it was killed.
func TestDelegationsSurviveBeingKilledAtEveryAppend(t *testing.T) {
	run := func(n int64, stored bool) (string, int64) {
		var paid atomic.Int64
		play := func(script ...llm.Message) *actor {
			return &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
				return take{Message: script[min(llmtest.Spoken(req), len(script)-1)]}
			}}
		}
		boss := named("boss", play(llmtest.Calls(giving("hand", "a"), giving("hand", "b")), llmtest.Say("all done")), give())
		hand := named("hand", play(llmtest.Use("", "pay", "{}"), llmtest.Say("paid")), counted("pay", openmanus.Hints{}, &paid))
		hand.Gate = openmanus.AllowAll
		j := &tamper{Memory: new(journal.Memory)}
		l := local(j, boss, hand)
		if err := openmanus.Open(t.Context(), j.Memory, sess, boss, ptr(userSays("task", "go"))); err != nil {
			t.Fatal(err)
		}
		if dies := func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(n-1, at) }; !stored {
			j.before = dies
		} else {
			j.after = dies
			j.before = func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(n, at) }
		}
		if err := l.Wake(t.Context(), sess); err != nil && !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		appends := j.n.Load()
		j.before, j.after = nil, nil
		s := wake(t, local(j, boss, hand))
		ended(t, s, openmanus.Finished, "")
		if paid.Load() > 2 || len(s.Children) != 2 {
			t.Fatalf("killed at %d: paid %d times by %d", n, paid.Load(), len(s.Children))
		}
		return dialogue(s.Said), appends
	}
	want, appends := run(1<<40, false)
	for n := int64(1); n <= appends; n++ {
		for _, stored := range []bool{false, true} {
			if got, _ := run(n, stored); got != want {
				t.Fatalf("killed at append %d (stored: %v):\n%s\nwant\n%s", n, stored, got, want)
			}
		}
	}
}
