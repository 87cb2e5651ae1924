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
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// story is a journal as one text, with the events of parallel calls in the
// order of the calls.
func storyOf(t *testing.T, evs []openmanus.Event, times bool) string {
	lines := make([]string, len(evs))
	for i, ev := range evs {
		ev.Seq = 0
		if said, ok := ev.Body.(openmanus.ModelSaid); ok {
			said.Re = 0
			ev.Body = said
		}
		lines[i] = ev.Body.Key() + " " + encode(t, ev.Body)
		if times {
			lines[i] = ev.Time.Format(time.RFC3339Nano) + " " + lines[i]
		}
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
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			l, j := begin(t, busyAgent(), "go")
			wake(t, l)
			got := storyOf(t, events(t, j, sess), true)
			if first == "" {
				first = got
			}
			if got != first {
				t.Fatalf("got\n%s\nbefore\n%s", got, first)
			}
		})
	}
}

// A run played again, with its recorded replies for a model and its recorded
// results for tools, gives the same journal: no key, no network, no tool.
func TestAReplayGivesTheSameJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := busyAgent()
		l, j := begin(t, a, "go")
		wake(t, l)
		recorded := events(t, j, sess)
		again := *a
		again.Model, again.Tools = replayModel(recorded), nil
		for _, old := range a.Tools {
			again.Tools = append(again.Tools, replayTool{old.Spec(), recorded, j})
		}
		l, j = begin(t, &again, "go")
		wake(t, l)
		if got, want := storyOf(t, events(t, j, sess), false), storyOf(t, recorded, false); got != want {
			t.Errorf("replayed\n%s\nrecorded\n%s", got, want)
		}
	})
}

func replayModel(recorded []openmanus.Event) llm.Model {
	var takes []take
	for _, ev := range recorded {
		if said, ok := ev.Body.(openmanus.ModelSaid); ok {
			takes = append(takes, take{Message: said.Message, stop: said.Stop, usage: said.Usage})
		}
	}
	return cast(takes...)
}

// A replayTool gives the results that are on record.
type replayTool struct {
	spec     openmanus.ToolSpec
	recorded []openmanus.Event
	blobs    openmanus.Blobs
}

func (r replayTool) Spec() openmanus.ToolSpec { return r.spec }

func (r replayTool) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	for _, ev := range r.recorded {
		d, ok := ev.Body.(openmanus.CallDone)
		if !ok || d.Call != call.ID {
			continue
		}
		res := openmanus.Result{Parts: d.Parts, Source: d.Source}
		if d.Detail != nil {
			res.Detail = d.Detail
		}
		if d.IsError { // what the model reads ends with the error
			half, text, _ := strings.Cut(d.Parts.Text(), "\n")
			return openmanus.TextResult("%s", half), errors.New(text)
		}
		if d.Whole == "" {
			return res, nil
		}
		whole, err := openmanus.ReadBlob(ctx, r.blobs, d.Whole)
		res.Parts = openmanus.TextResult("%s", whole).Parts
		return res, err
	}
	return openmanus.Result{}, errors.New("there is no result on record")
}
