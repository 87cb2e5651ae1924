package lawtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal/replay"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// storyOf is a journal as one text, with the events of parallel calls in the
// order of the calls.
func storyOf(t *testing.T, evs []openmanus.Event) string {
	lines := make([]string, len(evs))
	for i, ev := range evs {
		ev.Seq = 0
		if said, ok := ev.Body.(openmanus.ModelSaid); ok {
			said.Re = 0
			ev.Body = said
		}
		lines[i] = ev.Body.Key() + " " + encode(t, ev.Body)
		lines[i] = ev.Time.Format(time.RFC3339Nano) + " " + lines[i]
	}
	for begin := 0; begin < len(lines); begin++ { // sort each run of results
		end := begin
		for end < len(evs) && strings.HasPrefix(evs[end].Body.Key(), "done/") {
			end++
		}
		slices.Sort(lines[begin:end])
	}
	return strings.Join(lines, "\n")
}

// busyAgent is one with parallel calls, an error, a slow call and a big one.
func busyAgent() *openmanus.Agent {
	m := llmtest.Script(
		llmtest.Calls(llmtest.Say("I look."), llmtest.Use("x", "slow", `{"n":1}`), llmtest.Use("x", "fail", `{"n":2}`), llmtest.Use("x", "slow", `{"n":3}`)),
		llmtest.Use("y", "write", `{"text":"<é>"}`),
		llmtest.Use("z", "none", `{`),
		llmtest.Say("That is all."))
	return &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{
		tool("slow", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
			time.Sleep(time.Second)
			return openmanus.TextResult("%s", strings.Repeat(call.Input, 2000)), nil
		}),
		tool("fail", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("half"), errors.New("broken pipe")
		}),
		tool("write", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
			return openmanus.Result{Parts: llm.Parts{llm.Text{Text: "written"}}, Detail: call.Input, Source: "disk"}, nil
		}),
	}}
}

// The same script and the same clock give the same journal.
func TestAScriptedRunIsTheSameEveryTime(t *testing.T) {
	var first string
	for range 100 / testbed.Slower {
		synctest.Test(t, func(t *testing.T) {
			l, j := begin(t, busyAgent(), "go")
			wake(t, l)
			got := storyOf(t, events(t, j, sess))
			if first == "" {
				first = got
			}
			if got != first {
				t.Fatalf("got\n%s\nbefore\n%s", got, first)
			}
		})
	}
}

// A run played again gives the same journal: no key, no network, no tool.
func TestAReplayGivesTheSameJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, j := begin(t, busyAgent(), "go")
		wake(t, l)
		rec, err := replay.Load(t.Context(), j, j, sess)
		if err != nil {
			t.Fatal(err)
		}
		r, err := replay.Run(t.Context(), rec, replay.Options{})
		if err != nil || r.ModelCalls != 4 || r.ToolCalls != 4 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
