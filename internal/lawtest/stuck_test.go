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

// A rut is a way of going round in circles: the replies of a model by number,
// and what its tool "do" says to them.
type rut struct {
	name  string
	reply func(n int) llm.Message
	tool  func(n int, input string) (string, error)

	firstNudge int // the request that carries it, from 0
	asks       int // until it is stopped
}

var ruts = []rut{
	{
		name:  "the same call with the same result",
		reply: func(int) llm.Message { return llmtest.Use("1", "do", `{"x":1}`) },
		tool:  func(int, string) (string, error) { return "nothing", nil },

		firstNudge: 3, asks: 6,
	}, {
		name: "two calls in turn: A-B-A-B",
		reply: func(n int) llm.Message {
			return llmtest.Use("1", "do", map[string]int{"x": n % 2})
		},
		tool: func(_ int, input string) (string, error) { return input, nil },

		firstNudge: 6, asks: 12,
	}, {
		name: "three calls in turn: A-B-C-A-B-C",
		reply: func(n int) llm.Message {
			return llmtest.Use("1", "do", map[string]int{"x": n % 3})
		},
		tool: func(_ int, input string) (string, error) { return input, nil },

		firstNudge: 9, asks: 18,
	}, {
		name:  "other arguments, the same error",
		reply: func(n int) llm.Message { return llmtest.Use("1", "do", map[string]int{"x": n}) },
		tool:  func(int, string) (string, error) { return "", errors.New("permission denied") },

		firstNudge: 3, asks: 6,
	}, {
		name: "other arguments, the same kind of error",
		reply: func(n int) llm.Message {
			return llmtest.Use("1", "do", map[string]string{"path": fmt.Sprint("file", n)})
		},
		tool: func(n int, input string) (string, error) {
			return "", fmt.Errorf("%s: there is no such file; the most similar of %d is dir/x%d.txt", input, 7*n, n)
		},

		firstNudge: 3, asks: 6,
	}, {
		name: "two kinds of error in turn, of arguments that change",
		reply: func(n int) llm.Message {
			return llmtest.Use("1", "do", map[string]string{"path": fmt.Sprint("file", n)})
		},
		tool: func(n int, input string) (string, error) {
			return "", errors.New([]string{"there is no such file", "permission denied"}[n%2])
		},

		firstNudge: 3, asks: 12,
	}, {
		name:  "nothing but errors, of ever new kinds",
		reply: func(n int) llm.Message { return llmtest.Use("1", "do", map[string]int{"x": n}) },
		tool: func(n int, _ string) (string, error) {
			return "", errors.New(strings.Repeat("a", n) + " failed")
		},

		firstNudge: 3, asks: 12,
	}, {
		name:  "commands with the same error",
		reply: func(n int) llm.Message { return llmtest.Use("1", "do", map[string]int{"x": n}) },
		tool: func(n int, _ string) (string, error) {
			return fmt.Sprintf("line %d: command not found\n[exit code 127]", n), errFailed
		},

		firstNudge: 3, asks: 12,
	}, {
		name:  "the same call, with another result each time",
		reply: func(int) llm.Message { return llmtest.Use("1", "do", `{"x":1}`) },
		tool:  func(n int, _ string) (string, error) { return fmt.Sprint(n), nil },

		firstNudge: 3, asks: 12,
	}, {
		name: "the same words, with another call each time",
		reply: func(n int) llm.Message {
			return llmtest.Calls(llmtest.Say("Let me look."), llmtest.Use("1", "do", map[string]int{"x": n}))
		},
		tool: func(n int, _ string) (string, error) { return fmt.Sprint(n), nil },

		firstNudge: 3, asks: 12,
	}, {
		name:  "nothing at all",
		reply: func(int) llm.Message { return llm.Message{Role: llm.Assistant} },

		firstNudge: 1, asks: 6,
	}, {
		name:  "a tool that does not exist",
		reply: func(int) llm.Message { return llmtest.Use("1", "fly", `{}`) },

		firstNudge: 3, asks: 6,
	}, {
		name:  "arguments that are no JSON",
		reply: func(n int) llm.Message { return llmtest.Use("1", "do", fmt.Sprintf(`{"x": %d, "y": [`, n)) },

		firstNudge: 3, asks: 6,
	}, {
		name:  "arguments that do not fit the schema",
		reply: func(n int) llm.Message { return llmtest.Use("1", "do", `[]`) },

		firstNudge: 3, asks: 6,
	},
}

// errFailed stands for a call that ran what failed.
var errFailed = errors.New("failed")

func (r rut) agent() (*openmanus.Agent, *actor) {
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take { return take{Message: r.reply(n)} }}
	ran := 0
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		ran++
		text, err := r.tool(ran, call.Input)
		res := openmanus.TextResult("%s", text)
		if res.Failed = err == errFailed; res.Failed {
			err = nil
		}
		return res, err
	})
	return &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}, m
}

func nudged(req *llm.Request) bool { return req.Fixed < len(req.Messages) }

func TestARunThatIsStuckIsNudgedThenStopped(t *testing.T) {
	for _, r := range ruts {
		t.Run(r.name, func(t *testing.T) {
			a, m := r.agent()
			l, j := begin(t, a, "go")
			s := wake(t, l)
			ended(t, s, openmanus.Halted, openmanus.Stuck)
			asks := m.asked()
			if len(asks) != r.asks {
				t.Errorf("stopped after %d replies, want %d", len(asks), r.asks)
			}
			for n, req := range asks {
				if nudged(req) != (n >= r.firstNudge) {
					t.Errorf("request %d: nudged %v", n, nudged(req))
				}
			}
			lawful(t, asks)
			if !strings.Contains(s.Outcome.Error, "again and again") {
				t.Errorf("it does not say why: %q", s.Outcome.Error)
			}
			put(t, j, openmanus.Resumed{ID: "1"})
			ended(t, wake(t, l), openmanus.Halted, openmanus.Stuck) // a fair second chance
			if len(m.asked()) != 2*r.asks {
				t.Errorf("resumed, it was stopped after %d replies, want %d", len(m.asked())-r.asks, r.asks)
			}
		})
	}
}

// A call that waits may be made again and again: the model is told to wait longer, and the
// session goes on until a limit.
func TestWaitingIsNotStuck(t *testing.T) {
	for _, waited := range []bool{true, false} {
		m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
			if n > 30 {
				return take{Message: llmtest.Say("It is done.")}
			}
			return take{Message: llmtest.Use("1", "do", `{"command":"sleep 5; test -f done || echo running"}`)}
		}}
		do := tool("do", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			res := openmanus.TextResult("running")
			res.Waited = waited
			return res, nil
		})
		l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}, "go")
		s := wake(t, l)
		if !waited {
			ended(t, s, openmanus.Halted, openmanus.Stuck)
			continue
		}
		ended(t, s, openmanus.Finished, "")
		asks := m.asked()
		if last := asks[len(asks)-2].Messages; !strings.Contains(last[len(last)-1].Text(), "Wait longer in one call") {
			t.Errorf("the model is not told how to wait: %q", last[len(last)-1].Text())
		}
	}
}

func TestTheNudgeGoesWhenThereIsProgress(t *testing.T) {
	for _, r := range ruts {
		t.Run(r.name, func(t *testing.T) {
			circle := r.reply
			r.reply = func(n int) llm.Message {
				switch n {
				case r.firstNudge:
					return llmtest.Calls(llmtest.Say("I try something else."), llmtest.Use("1", "do", `{"other":true}`))
				case r.firstNudge + 1:
					return llmtest.Say("That was it.")
				}
				return circle(n)
			}
			a, m := r.agent()
			a.Tools[0] = tool("do", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
				if strings.Contains(call.Input, "other") {
					return openmanus.TextResult("found"), nil
				}
				if strings.Contains(r.name, "error") {
					return openmanus.Result{}, errors.New("permission denied")
				}
				return openmanus.TextResult("same"), nil
			})
			l, _ := begin(t, a, "go")
			s := wake(t, l)
			ended(t, s, openmanus.Finished, "")
			asks := m.asked()
			if !nudged(asks[r.firstNudge]) || nudged(asks[r.firstNudge+1]) {
				t.Errorf("nudged %v, and after progress %v", nudged(asks[r.firstNudge]), nudged(asks[r.firstNudge+1]))
			}
			lawful(t, asks)
			if got := dialogue(s.Said); strings.Contains(got, "with no progress") || strings.Contains(got, "was empty") {
				t.Errorf("the nudge is in the record: %s", got)
			}
		})
	}
}

// Changing results are not a circle: a tool may be polled as long as it says
// something new, within reason, and a person's word begins anew.
func TestAPersonsWordBeginsAnew(t *testing.T) {
	a, m := ruts[0].agent()
	l, j := begin(t, a, "go")
	ended(t, wake(t, l), openmanus.Halted, openmanus.Stuck)
	n := len(m.asked())
	put(t, j, userSays("2", "look again"))
	ended(t, wake(t, l), openmanus.Halted, openmanus.Stuck)
	if nudged(m.asked()[n]) || len(m.asked()) != 2*n {
		t.Errorf("after a person spoke: nudged at once: %v, stopped after %d replies", nudged(m.asked()[n]), len(m.asked())-n)
	}
}

func TestStuckIsALimitOnesOwn(t *testing.T) {
	for _, c := range []struct{ stuck, asks int }{{1, 2}, {2, 4}, {5, 10}, {20, 40}, {-1, 50}} {
		a, m := ruts[0].agent()
		a.Limits.Stuck = c.stuck
		l, _ := begin(t, a, "go")
		wake(t, l)
		if len(m.asked()) != c.asks {
			t.Errorf("with %d: stopped after %d replies, want %d", c.stuck, len(m.asked()), c.asks)
		}
	}
}

// A run that repeats itself now and then, with progress between, goes on.
func TestRepetitionWithProgressIsNotStuck(t *testing.T) {
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n == 40 {
			return take{Message: llmtest.Say("done")}
		}
		x := n
		if n%2 == 0 {
			x = -1 // such as running the tests after every edit
		}
		return take{Message: llmtest.Use("1", "do", map[string]int{"x": x})}
	}}
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("tests failed"), nil
	})
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	for n, req := range m.asked() {
		if nudged(req) {
			t.Errorf("request %d was nudged", n)
		}
	}
}
