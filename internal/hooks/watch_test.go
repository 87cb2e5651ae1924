package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

type runner func(ctx context.Context, h Hook, in Input) (Output, error)

func (f runner) Run(ctx context.Context, h Hook, in Input) (Output, error) { return f(ctx, h, in) }

// A dead hook delays neither the session nor another hook, which hears of all that
// happens after the watcher began, once and in order.
func TestWatchingHooksHearOfEventsInOrder(t *testing.T) {
	j := new(journal.Memory)
	call := llm.Call{ID: "c0-1", Name: "note", Input: `{"n":1}`}
	bodies := []openmanus.Body{
		openmanus.Opened{Flow: "a", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Agent: "a", Workspace: "/w"}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Do it.")},
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}}},
		openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May it?"},
		openmanus.Ruled{Call: "c0-1", Allow: true, By: "me"},
		openmanus.CallStarted{Call: "c0-1", Attempt: 1},
		openmanus.CallDone{Call: "c0-1", Parts: llm.Parts{llm.Text{Text: "noted"}}},
		openmanus.ModelSaid{Turn: 1, Re: 8, Stop: llm.End, Message: llm.Say(llm.Assistant, "Done.")},
	}
	var list []Hook
	for _, on := range Events[2:] {
		list = append(list, Hook{Name: on, On: on}, Hook{Name: "dead " + on, On: on})
	}
	var mu sync.Mutex
	var heard []string
	all := make(chan struct{})
	r := runner(func(ctx context.Context, h Hook, in Input) (Output, error) {
		if strings.HasPrefix(h.Name, "dead") {
			<-ctx.Done()
			return Output{}, ctx.Err()
		}
		var ev Event
		if err := json.Unmarshal(in.JSON, &ev); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		line := fmt.Sprintf("%d %s %s%s", ev.Seq, ev.Event, ev.Question, ev.Text)
		if ev.Call != nil {
			line += " " + ev.Call.Tool + string(ev.Call.Input) + ev.Call.Result
		}
		if heard = append(heard, line); len(heard) == 5 {
			close(all)
		}
		return Output{}, nil
	})
	w := NewWatcher(j, func(string) []Hook { return list }, r, nil)
	for _, b := range bodies {
		evs, err := j.Append(t.Context(), "s", b)
		if err != nil {
			t.Fatal(err)
		}
		if evs[0].Seq >= 3 {
			w.Stored("s", "/w", evs[0].Seq)
		}
	}
	<-all
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Close(ctx)
	w.Stored("s", "/w", 100) // of a session that ends late
	got := strings.Join(heard, "\n")
	for _, want := range []string{
		"0 session_start ", `5 waiting May it? note{"n":1}`, `8 after_call  note{"n":1}noted`, "9 finished Done.", "9 session_end Done.",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("%q is not once in\n%s", want, got)
		}
	}
	if len(heard) != 5 {
		t.Errorf("heard\n%s", got)
	}
}
