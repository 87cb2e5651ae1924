package lawtest_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// A mix is a session of large things, several in one reply: results, arguments, plans that have
// more tokens than bytes suggest, pictures that stay and views that do not. It draws them, and
// its server counts as a provider does, which is not as we do.
type mix struct {
	*rand.Rand
	window int // of the server
	skew   int // how many tokens it counts for ten of ours
	silent bool
	words  bool // a refusal names its numbers

	steps, n, refused int
	plan              string
}

// drawn returns words, digits or signs of so many bytes.
func drawn(r *rand.Rand, n int) string {
	of := []string{"the quick brown fox ", "0123456789 ", "\U0001f9ff\u0ca0\u2603", "{\"a\":[1,2]} "}[r.IntN(4)]
	return strings.ToValidUTF8(strings.Repeat(of, n/len(of)+1)[:n], "")
}

// play is the model.
func (m *mix) play(_ context.Context, _ int, req *llm.Request) take {
	size := tokensOf(req) * m.skew / 10
	if size > m.window {
		m.refused++
		why := fmt.Errorf("request (%d tokens) exceeds the available context size (%d tokens)", size, m.window)
		if !m.words {
			why = fmt.Errorf("the prompt is too long")
		}
		return take{err: &llm.Error{Kind: llm.Context, Status: 400, Err: why}}
	}
	usage := llm.Usage{Input: size, Output: 10}
	if m.silent {
		usage = llm.Usage{Output: 1}
	}
	if asksForSummary(req) || len(req.Tools) == 0 {
		return take{Message: llmtest.Say(drawn(m.Rand, 1+m.IntN(6000))), usage: usage}
	}
	if m.n++; m.n > m.steps {
		return take{Message: llmtest.Say("done"), usage: usage}
	}
	left := (m.window - size) * 2 * 10 / m.skew // bytes of arguments
	var calls []llm.Message
	for i := range 1 + m.IntN(4)*m.IntN(4) {
		most := min(left/2, 12_000)
		left -= most / 2
		name := []string{"bash", "bash", "write", "planning", "look", "view"}[m.IntN(6)]
		arg := fmt.Sprintf("%s-%d-%d ", name, m.n, i)
		switch {
		case name == "planning":
			arg += drawn(m.Rand, m.IntN(1+min(1500, most/2)))
			m.plan = fmt.Sprintf("%s-%d-%d ", name, m.n, i)
		case name == "write":
			arg += drawn(m.Rand, m.IntN(1+most/2))
		}
		calls = append(calls, llmtest.Use("", name, map[string]any{"x": arg}))
	}
	return take{Message: llmtest.Calls(calls...), usage: usage}
}

// tools are those of the session.
func (m *mix) tools(head int) []openmanus.Tool {
	reads := openmanus.Hints{ReadOnly: true}
	picture := func(view bool) func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return func(context.Context, openmanus.Call) (openmanus.Result, error) {
			res := openmanus.TextResult("a picture")
			res.Parts = append(res.Parts, llm.Blob{MIME: "image/png", Name: "p.png", Data: []byte("png"), View: view})
			return res, nil
		}
	}
	done := func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("done"), nil
	}
	return []openmanus.Tool{
		tool("bash", reads, func(_ context.Context, c openmanus.Call) (openmanus.Result, error) {
			r := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(c.Input))), 39)) // calls of one reply run at once
			return openmanus.TextResult("%s", drawn(r, r.IntN([]int{1000, 4000, 40_000}[r.IntN(3)]))), nil
		}),
		tool("write", reads, done), planner2(), tool("look", reads, picture(false)), tool("view", reads, picture(true)),
		described{tool("other", reads, done), strings.Repeat("It does this and that. ", head/12)},
	}
}

// Sessions of 200 steps with a mix of large things come to their end at windows of 8k and 32k,
// whether the window is known, is not, or is smaller than it is said to be, however the
// server counts, and whether it says how much. The task and the last plan stay.
func TestTwoHundredStepsOfAMix(t *testing.T) {
	for seed := range uint64(12 / testbed.Slower) {
		r := rand.New(rand.NewPCG(seed, 39))
		m := &mix{Rand: r, steps: 200, window: []int{8192, 32_768}[r.IntN(2)], skew: []int{5, 8, 10, 10}[r.IntN(4)],
			silent: r.IntN(4) == 0, words: r.IntN(2) == 0}
		known := openmanus.Window{Tokens: []int{m.window, m.window, 0, 200_000}[r.IntN(4)]}
		head := 1000 + r.IntN(m.window/2-1000)
		name := fmt.Sprintf("seed %d: %d tokens, said to be %d, %d of ours are %d, silent %t, numbers %t, head %d", seed, m.window, known.Tokens, 10, m.skew, m.silent, m.words, head)
		a := &openmanus.Agent{Name: "a", Model: &actor{play: m.play}, Tools: m.tools(head), Gate: openmanus.AllowAll, Window: known,
			Limits: openmanus.Limits{Steps: -1, Stuck: -1, Tokens: -1, Time: -1}}
		l, j := begin(t, a, "Do it all.")
		for i := range r.IntN(4) {
			put(t, j, userSays(fmt.Sprint("more", i), strings.Repeat("Also this. ", 1+r.IntN(40))))
		}
		s := wake(t, l)
		if s.Status() != openmanus.Finished || m.n != m.steps+1 {
			t.Errorf("%s: after %d replies it is %s: %s", name, m.n, s.Status(), s.Outcome.Error)
			continue
		}
		if asks := len(a.Model.(*actor).asked()); known.Tokens == m.window && m.refused > 0 || asks > 4*m.steps {
			t.Errorf("%s: %d of %d requests were refused", name, m.refused, asks)
		}
		if last := dialogue(s.Transcript(s.Seq)); !strings.Contains(last, "user: Do it all. |") || !strings.Contains(last, m.plan) {
			t.Errorf("%s: the task or the plan %q is gone", name, m.plan)
		}
		lawfulWithCuts(t, j, a.Model.(*actor).asked())
	}
}

// Several things in one reply, of which none is large, fit together into no window of 8k beside
// the tools of a general agent: smaller ones make room, too, and so do pictures that nobody has
// seen yet, which is said.
func TestManySmallThingsInOneReply(t *testing.T) {
	for name, c := range map[string]struct {
		tool  string
		n     int
		bytes int // of the arguments
	}{
		"pictures":                   {"view", 7, 10},
		"results of a middle size":   {"middle", 12, 10},
		"arguments of a middle size": {"write", 8, 700},
		"plans":                      {"planning", 6, 700},
	} {
		for _, known := range []int{8192, 0} {
			t.Run(fmt.Sprintf("%s, %d", name, known), func(t *testing.T) {
				m, n := &mix{Rand: rand.New(rand.NewPCG(1, 1)), window: 8192, skew: 10}, 0
				model := tight(m.window, func(_ int, req *llm.Request) take {
					if asksForSummary(req) || len(req.Tools) == 0 {
						return take{Message: llmtest.Say("I did much.")}
					}
					if n++; n > 10 {
						return take{Message: llmtest.Say("done")}
					}
					var calls []llm.Message
					for i := range c.n {
						calls = append(calls, llmtest.Use("", c.tool, map[string]any{"x": fmt.Sprint(n, i, strings.Repeat(" word", c.bytes/5))}))
					}
					return take{Message: llmtest.Calls(calls...)}
				})
				middle := tool("middle", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
					return openmanus.TextResult("%s", strings.Repeat("of it ", 150)), nil
				})
				a := &openmanus.Agent{Name: "a", Model: model, Tools: append(m.tools(4400), middle), Gate: openmanus.AllowAll,
					Window: openmanus.Window{Tokens: known}, Limits: openmanus.Limits{Steps: -1, Stuck: -1, Tokens: -1, Time: -1}}
				l, j := begin(t, a, "Do it all.")
				ended(t, wake(t, l), openmanus.Finished, "")
				lawfulWithCuts(t, j, model.asked())
				if words := dialogue(model.asked()[len(model.asked())-1].Messages); !strings.Contains(words, openmanus.LeftOut) && !strings.Contains(words, "<summary>") {
					t.Errorf("nothing says what was left out: %s", words)
				}
			})
		}
	}
}
