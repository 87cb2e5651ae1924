package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// heavy returns an agent whose instructions and tools take about so many tokens of every
// request, as those of a general agent do, with a tool that prints as seq 1 500 does.
func heavy(m llm.Model, head int, w openmanus.Window) *openmanus.Agent {
	shell := tool("bash", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		var b strings.Builder
		for i := range 500 {
			fmt.Fprintln(&b, i+1)
		}
		return openmanus.TextResult("%s of %s", b.String(), call.ID), nil
	})
	other := tool("other", openmanus.Hints{ReadOnly: true}, nil)
	about := strings.Repeat("It does this and that. ", head/23) // twice, at two bytes a token
	return &openmanus.Agent{Name: "a", Model: m, Instructions: "You are thorough. " + about, Tools: []openmanus.Tool{shell, described{other, about}, planner2()},
		Gate: openmanus.AllowAll, Window: w, Limits: openmanus.Limits{Steps: -1, Stuck: -1, Tokens: -1, Time: -1}}
}

// A described tool has another description.
type described struct {
	openmanus.Tool
	about string
}

func (d described) Spec() openmanus.ToolSpec {
	s := d.Tool.Spec()
	s.Description = d.about
	return s
}

// Sessions of 200 steps, with the instructions and tools of a general agent, come to their
// end whether the window is known, is not, or is smaller than it is said to be. Where it is
// known no request is refused, and elsewhere none after a refusal has named it. A summary is asked for as often as it helps, and no more.
func TestTwoHundredSteps(t *testing.T) {
	for _, tt := range []struct {
		name    string
		window  int // of the server
		known   openmanus.Window
		refused int // requests, at most
		most    int // summaries
	}{
		{"8k", 8192, openmanus.Window{Tokens: 8192}, 0, 120},
		{"32k", 32_768, openmanus.Window{Tokens: 32_768}, 0, 20},
		{"8k, unknown", 8192, openmanus.Window{}, 2, 120},
		{"32k, unknown", 32_768, openmanus.Window{}, 2, 20},
		{"8k, said to be 200k", 8192, openmanus.Window{Tokens: 200_000}, 2, 120},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const steps = 200
			n, refused, summaries, largest := 0, 0, 0, 0
			m := &actor{}
			m.play = func(_ context.Context, _ int, req *llm.Request) take {
				size := tokensOf(req)
				largest = max(largest, size)
				if size+min(req.Settings.MaxTokens, 256) > tt.window {
					refused++
					return take{err: &llm.Error{Kind: llm.Context, Status: 400,
						Err: fmt.Errorf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", size, tt.window)}}
				}
				usage := llm.Usage{Input: size, Output: 20}
				if asksForSummary(req) || len(req.Tools) == 0 {
					summaries++
					if req.Settings.MaxTokens == 0 {
						t.Error("a request for a summary has no limit")
					}
					return take{Message: llmtest.Say(strings.Repeat("I counted to 500. ", 200)), usage: usage}
				}
				if n++; n > steps {
					return take{Message: llmtest.Say("done"), usage: usage}
				}
				if n == 2 {
					return take{Message: llmtest.Use("", "planning", `{"x":"the plan"}`), usage: usage}
				}
				return take{Message: llmtest.Use("", "bash", fmt.Sprintf(`{"command":"seq 1 500 # %d"}`, n)), usage: usage}
			}
			l, _ := begin(t, heavy(m, 4900, tt.known), "Count.")
			s := wake(t, l)
			if s.Status() != openmanus.Finished || n != steps+1 {
				t.Fatalf("after %d replies it is %s: %s", n, s.Status(), s.Outcome.Error)
			}
			t.Logf("%d refused, %d summaries, the largest has %d", refused, summaries, largest)
			if (refused > 0) != (tt.refused > 0) || refused > tt.refused {
				t.Errorf("%d requests were refused", refused)
			}
			if summaries == 0 || summaries > tt.most {
				t.Errorf("%d summaries", summaries)
			}
			if s.Steps != n+s.Compactions {
				t.Errorf("%d steps for %d replies and %d summaries", s.Steps, n, s.Compactions)
			}
			if last := dialogue(s.Transcript(s.Seq)); !strings.Contains(last, "user: Count. |") || !strings.Contains(last, "the plan") {
				t.Errorf("the task or the plan is gone: %.2000s", last)
			}
		})
	}
}

// A summary is a step: the limit counts every request to the model.
func TestSummariesAreSteps(t *testing.T) {
	const limit = 30
	m := tight(1<<20, func(n int, req *llm.Request) take {
		if asksForSummary(req) || len(req.Tools) == 0 {
			return take{Message: llmtest.Say("I counted.")}
		}
		return take{Message: llmtest.Use("", "bash", fmt.Sprintf(`{"command":"seq 1 500 # %d"}`, n))}
	})
	a := heavy(m, 4900, openmanus.Window{Tokens: 8192})
	a.Limits.Steps = limit
	l, _ := begin(t, a, "Count.")
	s := wake(t, l)
	ended(t, s, openmanus.Halted, openmanus.NoSteps)
	if asks := len(m.asked()); s.Compactions == 0 || asks > limit {
		t.Errorf("%d requests for %d steps, %d of them for summaries", asks, limit, s.Compactions)
	}
}

// Where instructions and tools alone are larger than the window, a sentence says so before
// anything is asked.
func TestBelowTheFloor(t *testing.T) {
	m := tight(4096, func(int, *llm.Request) take { return take{Message: llmtest.Say("hm")} })
	l, _ := begin(t, heavy(m, 4900, openmanus.Window{Tokens: 4096}), "Count.")
	s := wake(t, l)
	ended(t, s, openmanus.Failed, openmanus.Reason(llm.Context))
	if len(m.asked()) != 0 || !strings.Contains(s.Outcome.Error, "the instructions and the tools alone have") || !strings.Contains(s.Outcome.Error, "an agent with fewer tools") {
		t.Errorf("%d requests; %s", len(m.asked()), s.Outcome.Error)
	}
}

// A refusal in words that nobody has written down, of a request that has grown, is worth one
// compaction; one that is about something else is none.
func TestRefusalsInOtherWords(t *testing.T) {
	for words, want := range map[string]openmanus.Status{
		"The sequence you sent is 9000 positions long, the limit is 8192.": openmanus.Finished,
		"conversation exceeds what the engine can hold":                    openmanus.Finished,
		"messages[3].tool_calls[0].function.name is too long":              openmanus.Failed,
		"max_tokens must be at least 1":                                    openmanus.Failed,
		"temperature is out of range":                                      openmanus.Failed,
	} {
		t.Run(words, func(t *testing.T) {
			n := 0
			m := &actor{}
			m.play = func(_ context.Context, _ int, req *llm.Request) take {
				size := tokensOf(req)
				switch {
				case size > 8192:
					return take{err: &llm.Error{Kind: llm.Protocol, Status: 400, Err: errors.New(words)}}
				case asksForSummary(req) || len(req.Tools) == 0:
					return take{Message: llmtest.Say("I counted.")}
				}
				if n++; n > 20 {
					return take{Message: llmtest.Say("done")}
				}
				return take{Message: llmtest.Use("", "bash", fmt.Sprintf(`{"command":"seq 1 500 # %d"}`, n))}
			}
			l, _ := begin(t, heavy(m, 4900, openmanus.Window{}), "Count.")
			if s := wake(t, l); s.Status() != want {
				t.Errorf("it is %s after %d replies: %s", s.Status(), n, s.Outcome.Error)
			}
		})
	}
}

// The last word of a tool that has more tokens than bytes suggest is worth no summary that
// makes the request larger: what does not help is not asked for.
func TestASummaryIsSmaller(t *testing.T) {
	dense := strings.Repeat("\U0001f9ff\u0ca0\u2603", 150)
	n := 0
	m := tight(8192, func(_ int, req *llm.Request) take {
		if asksForSummary(req) || len(req.Tools) == 0 {
			return take{Message: llmtest.Say(dense)}
		}
		if n++; n > 20 {
			return take{Message: llmtest.Say("done")}
		}
		if n%3 == 1 {
			return take{Message: llmtest.Use("", "planning", fmt.Sprintf(`{"x":"%d %s"}`, n, dense))}
		}
		return take{Message: llmtest.Use("", "bash", fmt.Sprintf(`{"command":"seq 1 500 # %d"}`, n))}
	})
	a := heavy(m, 2000, openmanus.Window{Tokens: 8192})
	l, j := begin(t, a, "Count.")
	ended(t, wake(t, l), openmanus.Finished, "")
	s, compactions := new(openmanus.State), 0
	for _, ev := range events(t, j, sess) {
		_, compacts := ev.Body.(openmanus.Compacted)
		before := s.Size()
		if s.Apply(ev); compacts {
			compactions++
			if s.Size() >= before {
				t.Errorf("summary %d makes of %d tokens %d", compactions, before, s.Size())
			}
		}
	}
	if compactions == 0 {
		t.Error("there is no summary")
	}
}
