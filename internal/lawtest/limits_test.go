package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// busyModel calls the tool "look" with ever new arguments, and never ends.
func busyModel() *actor {
	return &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		return take{Message: llmtest.Use("1", "look", map[string]int{"n": n})}
	}}
}

func look() openmanus.Tool {
	return counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))
}

func TestLimitsStopARunWithATypedReasonAndALargerOneLetsItGoOn(t *testing.T) {
	for _, c := range []struct {
		name   string
		limits openmanus.Limits
		reason openmanus.Reason
		asks   int
		error  string
		larger openmanus.Limits
		more   int // asks after resuming
	}{
		{"steps", openmanus.Limits{Steps: 6}, openmanus.NoSteps, 6, "reached max steps (6)", openmanus.Limits{}, 6},
		{"one step", openmanus.Limits{Steps: 1}, openmanus.NoSteps, 1, "reached max steps (1)", openmanus.Limits{Steps: 4}, 4},
		{"tokens", openmanus.Limits{Tokens: 100}, openmanus.NoTokens, 3, "the next request would pass the token budget (Current: 45, Needed: 61, Max: 100)", openmanus.Limits{Tokens: 200}, 5},
		{"too few tokens for one request", openmanus.Limits{Tokens: 61}, openmanus.NoTokens, 0, "(Current: 0, Needed: 62, Max: 61)", openmanus.Limits{Tokens: 62}, 2},
		{"money", openmanus.Limits{Money: 2 * openmanus.Dollar}, openmanus.NoMoney, 4, "the next request would pass the money budget (Current: 1.0000, Needed: 1.2200, Max: 2.0000 USD)", openmanus.Limits{Money: 3 * openmanus.Dollar}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := busyModel()
			c.limits.Stuck = -1
			a := &openmanus.Agent{Name: "a", Model: m, Limits: c.limits, Tools: []openmanus.Tool{look()},
				Prices: openmanus.Prices{Input: openmanus.Dollar / 50, Output: openmanus.Dollar / 100}} // a quarter dollar a step
			l, j := begin(t, a, "go")
			s := wake(t, l)
			ended(t, s, openmanus.Halted, c.reason)
			if n := len(m.asked()); n != c.asks || !strings.Contains(s.Outcome.Error, c.error) {
				t.Fatalf("stopped after %d replies: %s; want %d: %s", n, s.Outcome.Error, c.asks, c.error)
			}
			wake(t, l)
			if n := len(m.asked()); n != c.asks {
				t.Fatalf("it went on by itself: %d replies", n)
			}
			put(t, j, openmanus.Resumed{ID: "1", Limits: c.larger})
			s = wake(t, l)
			ended(t, s, openmanus.Halted, c.reason)
			if n := len(m.asked()) - c.asks; n != c.more {
				t.Errorf("with %+v it went on for %d replies, want %d", c.larger, n, c.more)
			}
			lawful(t, m.asked())
		})
	}
}

// Resuming without a larger budget asks the model nothing.
func TestResumingWithoutALargerBudgetStopsAtOnce(t *testing.T) {
	m := busyModel()
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Tokens: 20}, Tools: []openmanus.Tool{look()}}, "go")
	wake(t, l)
	n := len(m.asked())
	for id := range 3 {
		put(t, j, openmanus.Resumed{ID: fmt.Sprint(id)})
		ended(t, wake(t, l), openmanus.Halted, openmanus.NoTokens)
	}
	if len(m.asked()) != n {
		t.Errorf("asked %d more times", len(m.asked())-n)
	}
}

func TestNoLimitIsNone(t *testing.T) {
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n < 120 {
			return take{Message: llmtest.Use("1", "look", "{}"), usage: llm.Usage{Input: 1e6}}
		}
		return take{Message: llmtest.Say("at last")}
	}}
	none := openmanus.Limits{Steps: -1, Tokens: -1, Money: -1, Time: -1, Depth: -1, FanOut: -1, Stuck: -1}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: none, Prices: openmanus.Prices{Input: openmanus.Dollar}, Tools: []openmanus.Tool{look()}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
}

func TestFinishingOnTheLastStepIsNoLimit(t *testing.T) {
	m := lines(llmtest.Use("1", "look", "{}"), llmtest.Say("done"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Steps: 2}, Tools: []openmanus.Tool{look()}}, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if s.Outcome.Error != "" {
		t.Error(s.Outcome.Error)
	}
	if last := m.asked()[1]; last.Fixed == len(last.Messages) || !strings.Contains(last.Messages[last.Fixed].Text(), "last step") {
		t.Error("the model was not told that it is its last step")
	}
}

func TestANewRequestHasAFullStepBudgetAndRemembersTheConversation(t *testing.T) {
	m := &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
		switch llmtest.Spoken(req) {
		case 3, 7:
			return take{Message: llmtest.Say(fmt.Sprintf("of %d messages", req.Fixed))}
		}
		return take{Message: llmtest.Use("1", "look", map[string]int{"n": len(req.Messages)})}
	}}
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Steps: 4}, Tools: []openmanus.Tool{look()}}, "first")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if s.Steps != 4 || s.Answer != "of 7 messages" {
		t.Fatalf("%d steps: %s", s.Steps, s.Answer)
	}
	put(t, j, userSays("2", "second"))
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if s.Steps != 4 || s.Answer != "of 15 messages" {
		t.Errorf("the second request took %d steps: %s", s.Steps, s.Answer)
	}
}

// The prices of the time of the call count, to the token.
func TestMoneyIsCountedToTheToken(t *testing.T) {
	m := cast(
		take{Message: llmtest.Use("1", "look", "{}"), usage: llm.Usage{Input: 1101, Cached: 1000, CacheWrite: 100, Output: 7}},
		take{Message: llmtest.Use("2", "look", "{}"), usage: llm.Usage{Input: 3, Output: 1, Reasoning: 1}},
		take{err: &llm.Error{Kind: llm.Network, Err: errors.New("gone")}},
		take{Message: llmtest.Say("ok"), usage: llm.Usage{Input: 5, Output: 5}})
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look()}, Prices: openmanus.Prices{Input: 3000, Output: 15000, Cached: 300, CacheWrite: 3750}}
	l, j := begin(t, a, "go")
	wake(t, l)
	put(t, j, openmanus.Resumed{ID: "1"})
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	const want = 3000*(1+3+5) + 300*1000 + 3750*100 + 15000*(7+1+5)
	if s.Cost != want || s.Usage != (llm.Usage{Input: 1109, Cached: 1000, CacheWrite: 100, Output: 13, Reasoning: 1}) {
		t.Errorf("%d for %+v, want %d", s.Cost, s.Usage, want)
	}
}

// A clock is a tool and a model that take their time.
func slow(d time.Duration) openmanus.Tool {
	return tool("slow", openmanus.Hints{}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		select {
		case <-time.After(d):
			return openmanus.TextResult("at last"), nil
		case <-ctx.Done():
			return openmanus.TextResult("half"), ctx.Err()
		}
	})
}

func TestTheTimeLimitStopsARunInTheMiddleOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := lines(llmtest.Calls(llmtest.Use("1", "slow", "{}"), llmtest.Use("2", "slow", "{}")), llmtest.Say("ok"))
		a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Limits: openmanus.Limits{Time: time.Minute}, Tools: []openmanus.Tool{slow(time.Hour)}}
		l, j := begin(t, a, "go")
		start := time.Now()
		s := wake(t, l)
		ended(t, s, openmanus.Halted, openmanus.NoTime)
		if d := time.Since(start); d != time.Minute || s.Active != time.Minute {
			t.Errorf("stopped after %v, active for %v; want one minute", d, s.Active)
		}
		if got, _ := result(t, j, "c0-1"); !strings.Contains(got, "may or may not have happened") {
			t.Errorf("the call that ran: %q", got)
		}
		if got, _ := result(t, j, "c0-2"); strings.Contains(got, "may or may not") || !strings.Contains(got, "not run") {
			t.Errorf("the call that did not run: %q", got)
		}
		put(t, j, openmanus.Resumed{ID: "1"})
		ended(t, wake(t, l), openmanus.Finished, "")
		lawful(t, m.asked())
	})
}

func TestTheTimeLimitStopsARunInTheMiddleOfAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &actor{play: func(ctx context.Context, n int, _ *llm.Request) take {
			if n == 0 {
				<-ctx.Done()
				return take{err: ctx.Err()}
			}
			return take{Message: llmtest.Say("ok")}
		}}
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Time: time.Minute}}, "go")
		start := time.Now()
		s := wake(t, l)
		ended(t, s, openmanus.Halted, openmanus.NoTime)
		if d := time.Since(start); d != time.Minute || !strings.Contains(s.Outcome.Error, "1m0s") {
			t.Errorf("after %v: %s", d, s.Outcome.Error)
		}
		put(t, j, openmanus.Resumed{ID: "1", Limits: openmanus.Limits{Time: time.Hour}})
		ended(t, wake(t, l), openmanus.Finished, "")
	})
}

func TestTheTimeLimitIsThatOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
			time.Sleep(40 * time.Second)
			return take{Message: llmtest.Say("ok")}
		}}
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Time: time.Minute}}, "go")
		for i := range 3 {
			s := wake(t, l)
			ended(t, s, openmanus.Finished, "")
			if s.Active != 40*time.Second {
				t.Errorf("request %d was active for %v", i, s.Active)
			}
			time.Sleep(time.Hour) // nobody works
			put(t, j, userSays(fmt.Sprint(i), "more"))
		}
	})
}

func TestWaitingForAPersonDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
			time.Sleep(20 * time.Second)
			if n == 0 {
				return take{Message: llmtest.Use("1", "slow", "{}")}
			}
			return take{Message: llmtest.Say("ok")}
		}}
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Time: time.Minute}, Tools: []openmanus.Tool{slow(10 * time.Second)}}, "go")
		ended(t, wake(t, l), openmanus.Waiting, "")
		time.Sleep(24 * time.Hour)
		put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"})
		s := wake(t, l)
		ended(t, s, openmanus.Finished, "")
		if s.Active != 50*time.Second {
			t.Errorf("active for %v, want 50s", s.Active)
		}
	})
}

// A process dies in the middle of a call. The days until somebody starts another
// one do not count, and it is on record who took over. The output of the call
// was recorded when it died.
func TestDownTimeBetweenProcessesDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := lines(llmtest.Use("1", "slow", "{}"), llmtest.Say("ok"))
		a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Limits: openmanus.Limits{Time: time.Minute}, Tools: []openmanus.Tool{slow(30 * time.Second)}}
		l, j := begin(t, a, "go")
		ctx, kill := context.WithTimeout(t.Context(), 10*time.Second)
		defer kill()
		if err := l.Wake(ctx, sess); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		time.Sleep(72 * time.Hour)
		l.Name = "the second"
		s := wake(t, l)
		ended(t, s, openmanus.Finished, "")
		if s.Active != 10*time.Second || s.TakenOver != 1 || !strings.Contains(log(t, j, sess), `"worker":"the second"`) {
			t.Errorf("active for %v, taken over %d times\n%s", s.Active, s.TakenOver, log(t, j, sess))
		}
	})
}

// A request that was just made is not "taken over" by who drives it first; one
// that lay about is.
func TestTakenIsWrittenWhereTimeWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			wait  time.Duration
			taken int
		}{{0, 0}, {5 * time.Second, 0}, {time.Hour, 1}} {
			a := &openmanus.Agent{Name: "a", Model: lines(llmtest.Say("ok")), Limits: openmanus.Limits{Time: time.Minute}}
			l, _ := begin(t, a, "go")
			time.Sleep(c.wait)
			s := wake(t, l)
			ended(t, s, openmanus.Finished, "")
			if s.TakenOver != c.taken {
				t.Errorf("after %v: taken over %d times, want %d", c.wait, s.TakenOver, c.taken)
			}
		}
	})
}

// Delegation.

// nest returns a flow whose planner delegates to itself, again and again.
func nest(limits openmanus.Limits, steps ...string) planFlow {
	p := planner(steps...)
	p.Limits = limits
	return planFlow{p}
}

// deeper is a planFlow whose steps are done by the same flow.
type deeper struct{ planFlow }

func (f deeper) Next(s *openmanus.State) []openmanus.Task {
	if s.Outcome.Status != "" || s.Open() || len(s.Calls) == 0 {
		return f.planner.Next(s)
	}
	const name = "again"
	for _, c := range s.Children {
		if c.Done != nil {
			return f.planner.Next(s)
		}
	}
	return []openmanus.Task{{Do: openmanus.Delegate, Child: name, Flow: "planner", Prompt: "go deeper"}}
}

func TestDelegationStopsAtItsDepth(t *testing.T) {
	f := deeper{nest(openmanus.Limits{Depth: 2}, "go")}
	l, j := begin(t, f, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	bottom := load(t, j, "s.again.again")
	ended(t, bottom, openmanus.Halted, openmanus.TooDeep)
	if !strings.Contains(bottom.Outcome.Error, "2 deep") || bottom.Opened.Depth != 2 {
		t.Errorf("%+v at depth %d", bottom.Outcome, bottom.Opened.Depth)
	}
	if n := len(events(t, j, "s.again.again.again")); n != 0 {
		t.Error("there is a session below the limit")
	}
	if d := load(t, j, "s.again").Child("s.again.again").Done; d.Reason != openmanus.TooDeep {
		t.Errorf("the middle hears %+v", d)
	}
}

func TestDelegationStopsAtItsFanOut(t *testing.T) {
	hand := &openmanus.Agent{Name: "hand", Model: llmtest.Script(llmtest.Say("ok"))}
	f := nest(openmanus.Limits{FanOut: 3}, "1", "2", "3", "4", "5")
	l, j := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	s := wake(t, l)
	ended(t, s, openmanus.Halted, openmanus.TooWide)
	if len(s.Children) != 3 || !strings.Contains(s.Outcome.Error, "3 at once") || strings.Count(keys(t, j, sess), "model/") != 2 {
		t.Errorf("%d children: %s\n%s", len(s.Children), s.Outcome.Error, log(t, j, sess))
	}
	put(t, j, openmanus.Resumed{ID: "1", Limits: openmanus.Limits{FanOut: 10}})
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if len(s.Children) != 5 {
		t.Errorf("%d children after resuming with a larger limit", len(s.Children))
	}
}

// A child gets a share of what is left, and what it used is its parent's.
func TestAChildsTokensAndMoneyComeOutOfItsParents(t *testing.T) {
	hand := &openmanus.Agent{Name: "hand", Model: busyModel(), Tools: []openmanus.Tool{look()}, Prices: openmanus.Prices{Input: 10}}
	f := nest(openmanus.Limits{Tokens: 815, FanOut: 4, Stuck: -1}, "1", "2")
	l, j := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	s := wake(t, l)
	total, money := 0, openmanus.Money(0)
	for _, c := range s.Children {
		child := load(t, j, c.Child)
		if c.Done == nil || c.Done.Reason != openmanus.NoTokens || c.Done.Usage != child.Usage {
			t.Errorf("%s is reported as %+v, and used %+v", c.Child, c.Done, child.Usage)
		}
		if left := c.Limits.Tokens - child.Usage.Total(); left < 0 || child.Usage == (llm.Usage{}) {
			t.Errorf("%s used %d of its share of %d", c.Child, child.Usage.Total(), c.Limits.Tokens)
		}
		total, money = total+child.Usage.Total(), money+child.Cost
	}
	if s.Usage.Total() != total+2*15 || s.Cost != money || total == 0 || money == 0 {
		t.Errorf("the tree used %d tokens and %d, want %d and %d", s.Usage.Total(), s.Cost, total+30, money)
	}
	if share := s.Children[0].Limits.Tokens; share != 266 {
		t.Errorf("the first share is %d of 800 for two and their parent", share)
	}
}

func TestWithoutALimitEveryChildGetsAShare(t *testing.T) {
	hand := &openmanus.Agent{Name: "hand", Model: llmtest.Script(llmtest.Say("ok"))}
	f := nest(openmanus.Limits{FanOut: -1, Tokens: 1_000_000}, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
	l, _ := begin(t, f, "go")
	l.Flow = run.FlowsByName(f, hand)
	for _, c := range wake(t, l).Children {
		if c.Done == nil || c.Done.Status != openmanus.Finished || c.Limits.Tokens < 10_000 {
			t.Errorf("%s with %d tokens: %+v", c.Child, c.Limits.Tokens, c.Done)
		}
	}
}

// A parent's interrupt and its time limit stop its children too.
func TestAChildStopsWithItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hand := &openmanus.Agent{Name: "hand", Gate: openmanus.AllowAll, Model: llmtest.Script(llmtest.Use("1", "slow", "{}"), llmtest.Say("ok")), Tools: []openmanus.Tool{slow(time.Hour)}}
		f := nest(openmanus.Limits{Time: time.Minute}, "1")
		l, j := begin(t, f, "go")
		l.Flow = run.FlowsByName(f, hand)
		start := time.Now()
		s := wake(t, l)
		ended(t, s, openmanus.Halted, openmanus.NoTime)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("after %v", d)
		}
		if st := load(t, j, "s.c0-1-step-1").Status(); st == openmanus.Finished {
			t.Errorf("the child is %s", st)
		}
	})
}

// An endpoint that reports no usage is counted, so that both budgets hold. Each
// request is smaller than what is left, and its reply is bounded by that.
func TestBudgetsHoldWhereNoUsageIsReported(t *testing.T) {
	for _, c := range []struct {
		limits openmanus.Limits
		reason openmanus.Reason
	}{
		{openmanus.Limits{Tokens: 2000}, openmanus.NoTokens},
		{openmanus.Limits{Money: 10_000}, openmanus.NoMoney},
	} {
		m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
			return take{Message: llmtest.Use("1", "look", map[string]int{"n": n}), usage: llm.Usage{Cached: 1}}
		}}
		c.limits.Stuck = -1
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Limits: c.limits, Tools: []openmanus.Tool{look()},
			Prices: openmanus.Prices{Input: 5, Output: 5}}, "go")
		s := wake(t, l)
		ended(t, s, openmanus.Halted, c.reason)
		last := m.asked()[len(m.asked())-1]
		switch {
		case s.Usage.Estimated != s.Usage.Total() || s.Usage.Total() < 500 || s.Steps < 3:
			t.Errorf("%d replies used %+v", s.Steps, s.Usage)
		case c.limits.Tokens > 0 && s.Usage.Total() > c.limits.Tokens, c.limits.Money > 0 && s.Cost > c.limits.Money:
			t.Errorf("it used %d tokens and %d, with %+v", s.Usage.Total(), s.Cost, c.limits)
		case last.Settings.MaxTokens <= 0 || last.Settings.MaxTokens > 2000:
			t.Errorf("the last reply may have %d tokens", last.Settings.MaxTokens)
		case !strings.Contains(s.Outcome.Error, "Current: ") || !strings.Contains(s.Outcome.Error, "Needed: ") || !strings.Contains(s.Outcome.Error, "Max: "):
			t.Error(s.Outcome.Error)
		}
		if again := load(t, j, sess); again.Usage != s.Usage || again.Cost != s.Cost {
			t.Errorf("another fold has %+v", again.Usage)
		}
	}
}

// Unknown values are not 0: tokens of a model without prices, and of a child that
// asked one.
func TestAnUnknownPriceIsUnknown(t *testing.T) {
	for _, c := range []struct {
		prices   openmanus.Prices
		unpriced int
	}{{openmanus.Prices{}, 15}, {openmanus.Prices{Free: true}, 0}, {openmanus.Prices{Input: 1}, 0}} {
		hand := &openmanus.Agent{Name: "hand", Model: llmtest.Script(llmtest.Say("ok")), Prices: c.prices}
		f := nest(openmanus.Limits{}, "1")
		l, _ := begin(t, f, "go")
		l.Flow = run.FlowsByName(f, hand)
		s := wake(t, l)
		child := s.Children[0].Done
		if child.Unpriced != c.unpriced || child.Free != (c.prices.Free) {
			t.Errorf("with %+v the child is reported with %+v", c.prices, child)
		}
		if own := s.Unpriced - child.Unpriced; own != s.Usage.Total()-child.Usage.Total() {
			t.Errorf("%d tokens of the parent have no price: %+v", own, s.Usage)
		}
	}
	if openmanus.KnownUSD(0, 1) != nil || *openmanus.KnownUSD(0, 0) != 0 || *openmanus.KnownUSD(openmanus.Dollar, 1) != 1 {
		t.Error("KnownUSD")
	}
}
