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
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A runaway is a model that never ends of itself. All of them stop within
// their budget and one step, say why in one word, and go on if they are given
// more.
type runaway struct {
	name   string
	limits openmanus.Limits
	play   func(n int) take
	tools  []openmanus.Tool
	reason openmanus.Reason
	asks   int // at most
	larger openmanus.Limits
}

func runaways() []runaway {
	calls := func(n int, name string, h openmanus.Hints, runs *atomic.Int64) ([]openmanus.Tool, llm.Message) {
		var all []llm.Message
		for i := range n {
			all = append(all, llmtest.Use("", name, map[string]int{"i": i}))
		}
		return []openmanus.Tool{counted(name, h, runs)}, llmtest.Calls(all...)
	}
	readTools, reads := calls(1000/testbed.Slower, "read", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))
	writeTools, writes := calls(1000/testbed.Slower, "write", openmanus.Hints{}, new(atomic.Int64))
	broken := tool("do", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.Result{}, errors.New("connection refused")
	})
	steps := openmanus.Limits{Steps: 20}
	return []runaway{
		{name: "the same call", limits: steps, reason: openmanus.Stuck, asks: 6, tools: []openmanus.Tool{look()},
			play: func(int) take { return take{Message: llmtest.Use("", "look", "{}")} }},
		{name: "A-B-A-B", limits: steps, reason: openmanus.Stuck, asks: 12, tools: []openmanus.Tool{look()},
			play: func(n int) take { return take{Message: llmtest.Use("", "look", map[string]int{"n": n % 2})} }},
		{name: "growing arguments", limits: steps, reason: openmanus.NoSteps, asks: 20, tools: []openmanus.Tool{look()},
			play: func(n int) take {
				return take{Message: llmtest.Use("", "look", map[string]string{"x": strings.Repeat("x", n*100)})}
			}},
		{name: "an error, tried again with other arguments", limits: steps, reason: openmanus.Stuck, asks: 6, tools: []openmanus.Tool{broken},
			play: func(n int) take { return take{Message: llmtest.Use("", "do", map[string]int{"n": n})} }},
		{name: "a thousand calls that read in every turn", limits: openmanus.Limits{Steps: 1}, reason: openmanus.NoSteps, asks: 1, tools: readTools,
			play: func(int) take { return take{Message: reads} }},
		{name: "a thousand calls that write in every turn", limits: openmanus.Limits{Steps: 1}, reason: openmanus.NoSteps, asks: 1, tools: writeTools,
			play: func(int) take { return take{Message: writes} }},
		{name: "empty replies", limits: steps, reason: openmanus.Stuck, asks: 6,
			play: func(int) take { return take{} }},
		{name: "replies of thinking alone", limits: steps, reason: openmanus.Stuck, asks: 6,
			play: func(int) take {
				return take{Message: llm.Message{Parts: llm.Parts{llm.Thinking{Text: "hm"}}}}
			}},
		{name: "arguments that are no JSON", limits: steps, reason: openmanus.Stuck, asks: 6, tools: []openmanus.Tool{look()},
			play: func(n int) take { return take{Message: llmtest.Use("", "look", fmt.Sprintf(`{"n": %d, `, n))} }},
		{name: "calls that are cut at the output limit", limits: steps, reason: openmanus.Stuck, asks: 6, tools: []openmanus.Tool{look()},
			play: func(n int) take {
				return take{Message: llmtest.Use("", "look", fmt.Sprintf(`{"n": %d`, n)), stop: llm.Length}
			}},
		{name: "a token budget and dear replies", limits: openmanus.Limits{Tokens: 100_000}, reason: openmanus.NoTokens, asks: 4, tools: []openmanus.Tool{look()},
			play: func(n int) take {
				return take{Message: llmtest.Use("", "look", map[string]int{"n": n}), usage: llm.Usage{Input: 30_000}}
			}, larger: openmanus.Limits{Tokens: 200_000}},
	}
}

func TestRunawaysStopWithinTheirBudgetAndGoOnWithALargerOne(t *testing.T) {
	for _, r := range runaways() {
		t.Run(r.name, func(t *testing.T) {
			m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take { return r.play(n) }}
			a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Limits: r.limits, Tools: r.tools}
			l, j := begin(t, a, "go")
			s := wake(t, l)
			ended(t, s, openmanus.Halted, r.reason)
			first := len(m.asked())
			if first > r.asks || s.Outcome.Error == "" {
				t.Errorf("stopped after %d replies, want %d at most: %s", first, r.asks, s.Outcome.Error)
			}
			put(t, j, openmanus.Resumed{ID: "1", Limits: r.larger})
			ended(t, wake(t, l), openmanus.Halted, r.reason)
			if n := len(m.asked()) - first; n == 0 || n > r.asks {
				t.Errorf("resumed, it stopped after %d replies", n)
			}
			lawful(t, m.asked())
		})
	}
}

// Agents that delegate to themselves, each with a plan of two, end at the
// depth limit, and what they used is counted once.
func TestRunawaySubAgents(t *testing.T) {
	p := &openmanus.Agent{Name: "hand", Tools: []openmanus.Tool{planTool()}, Limits: openmanus.Limits{Depth: 3},
		Model: llmtest.Script(llmtest.Use("", "plan", `{"steps":["left","right"]}`), llmtest.Say("done"))}
	f := tree{planFlow{p}}
	l, j := begin(t, f, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	var count func(id string) (sessions, tokens int)
	count = func(id string) (sessions, tokens int) {
		s := load(t, j, id)
		if s.Opened.Depth > 3 {
			t.Errorf("%s is %d deep", id, s.Opened.Depth)
		}
		own := 0
		for _, ev := range events(t, j, id) {
			if said, ok := ev.Body.(openmanus.ModelSaid); ok {
				own += said.Usage.Total()
			}
		}
		sessions, tokens = 1, own
		for _, c := range s.Children {
			n, used := count(c.Child)
			sessions, tokens = sessions+n, tokens+used
		}
		if s.Usage.Total() != tokens {
			t.Errorf("%s counts %d tokens, its tree used %d", id, s.Usage.Total(), tokens)
		}
		return sessions, tokens
	}
	if n, _ := count(sess); n != 1+2+4+8 {
		t.Errorf("%d sessions", n)
	}
}

// A tree is a planFlow whose children have plans of their own.
type tree struct{ planFlow }

func (f tree) Next(s *openmanus.State) []openmanus.Task {
	if s.Outcome.Status != "" || s.Open() || len(s.Calls) == 0 {
		return f.planner.Next(s)
	}
	var todo []openmanus.Task
	for _, name := range []string{"left", "right"} {
		done := false
		for _, c := range s.Children {
			done = done || strings.HasSuffix(c.Child, "."+name) && c.Done != nil
		}
		if !done {
			todo = append(todo, openmanus.Task{Do: openmanus.Delegate, Child: name, Flow: "hand", Prompt: name})
		}
	}
	if todo != nil {
		return todo
	}
	return f.planner.Next(s)
}

// A model that is as slow as it can be does not outlive its time, nor does a
// tool that never ends.
func TestRunawayTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &actor{play: func(ctx context.Context, n int, _ *llm.Request) take {
			select {
			case <-time.After(7 * time.Second):
			case <-ctx.Done():
				return take{err: ctx.Err()}
			}
			return take{Message: llmtest.Use("", "slow", map[string]int{"n": n})}
		}}
		a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Limits: openmanus.Limits{Time: time.Minute, Steps: -1}, Tools: []openmanus.Tool{slow(11 * time.Second)}}
		l, j := begin(t, a, "go")
		start := time.Now()
		s := wake(t, l)
		ended(t, s, openmanus.Halted, openmanus.NoTime)
		if d := time.Since(start); d != time.Minute {
			t.Errorf("stopped after %v", d)
		}
		put(t, j, openmanus.Resumed{ID: "1", Limits: openmanus.Limits{Time: 2 * time.Minute}})
		ended(t, wake(t, l), openmanus.Halted, openmanus.NoTime)
		if d := time.Since(start); d != 3*time.Minute {
			t.Errorf("resumed, it stopped after %v in all", d)
		}
	})
}
