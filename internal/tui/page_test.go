package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
)

var start = time.Date(2026, 11, 23, 1, 0, 0, 0, time.UTC)

// stored returns bodies as events after the event last, a second apart.
func stored(last int64, bodies ...openmanus.Body) (evs []openmanus.Event) {
	for i, b := range bodies {
		seq := last + int64(i) + 1
		evs = append(evs, openmanus.Event{Seq: seq, Time: start.Add(time.Duration(seq) * time.Second), Body: b})
	}
	return evs
}

func userSays(id, text string) openmanus.UserSaid {
	return openmanus.UserSaid{ID: id, Message: llm.Message{Role: llm.User, Parts: llm.Parts{llm.Text{Text: text}}}}
}

func modelSays(turn int, parts ...llm.Part) openmanus.ModelSaid {
	return openmanus.ModelSaid{Turn: turn, Re: 1, Stop: llm.End, Message: llm.Message{Role: llm.Assistant, Parts: parts}}
}

// screenOf draws a session at a size, without colours.
func screenOf(t *testing.T, width, height int, evs []openmanus.Event, live ...openmanus.Body) string {
	t.Helper()
	p := newProgram(context.Background(), Options{Theme: Theme{Name: "none"}})
	p.id, p.width, p.height = "s1", width, height
	p.now = func() time.Time { return start.Add(100 * time.Second) }
	for _, ev := range evs {
		p.event(ev)
	}
	for _, b := range live {
		p.event(openmanus.Event{Body: b})
	}
	p.layout()
	return shownOf(p)
}

// shownOf returns what is on the screen, without empty lines at its top and spaces at
// the ends of lines.
func shownOf(p *program) string {
	var lines []string
	for _, l := range p.frame {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n")
}

func TestScreen(t *testing.T) {
	bash := llm.Call{ID: "c1", Name: "bash", Input: `{"command":"go test ./..."}`}
	diff, _ := json.Marshal(map[string]string{"diff": "--- a\n+++ a\n@@ -9,2 +9,2 @@\n same\n-old\n+new 世界\n"})
	tests := []struct {
		name          string
		width, height int
		evs           []openmanus.Event
		live          []openmanus.Body
		want          string
	}{
		{"a conversation", 60, 20, stored(0, userSays("m1", "hello\nthere"), modelSays(0, llm.Thinking{Text: "hm\nhm"}, llm.Text{Text: "**Hi**"})), nil, `
▌ hello
▌ there

✻ hm hm

  Hi
>
finished`},
		{"a call that failed", 60, 20, stored(0, userSays("m1", "test"), modelSays(0, bash),
			openmanus.CallStarted{Call: "c1", Attempt: 1},
			openmanus.CallDone{Call: "c1", Parts: llm.Parts{llm.Text{Text: "ok\r50%\r100%\nFAIL \x1b[31mred\x1b[0m"}}, Failed: true, Detail: json.RawMessage(`{"exit_code":1}`)}), nil, `
▌ test

● Ran  go test ./... · exit 1 · 1.0 s
  │ 100%
  │ FAIL red
>
◐ thinking · 1 min 36 s · Esc interrupts`},
		{"a diff", 60, 20, stored(0, userSays("m1", "edit"), modelSays(0, llm.Call{ID: "c1", Name: "edit", Input: `{"path":"a\u202e.go"}`}),
			openmanus.CallDone{Call: "c1", Detail: diff}), nil, `
▌ edit

● edit  a\u202e.go · +1 −1
  │    9   same
  │   10 - old
  │   10 + new 世界
>
◐ thinking · 1 min 37 s · Esc interrupts`},
		{"what streams", 60, 20, stored(0, userSays("m1", "go"), modelSays(0, bash), openmanus.CallStarted{Call: "c1", Attempt: 1}),
			[]openmanus.Body{openmanus.Output{Call: "c1", Text: "one\ntwo\x1b]0;title\x07"}}, `
▌ go

◐ Running  go test ./... · 1 min 37 s
  │ one
  │ two
>
◐ bash · 1 min 37 s · Esc interrupts`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := screenOf(t, tt.width, tt.height, tt.evs, tt.live...), strings.Trim(tt.want, "\n"); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// The person sees how full the model's window is, what the session used, and takes an
// answer along without what a terminal would obey.
func TestCostAndCopy(t *testing.T) {
	p := newProgram(t.Context(), Options{Source: newFake(), Theme: Theme{Name: "none"}})
	p.id, p.width, p.height = "s1", 100, 20
	if cmd := p.command("/copy", ""); cmd != nil {
		t.Error("there is nothing to copy yet")
	}
	said := modelSays(0, llm.Text{Text: "The answer\nis \x1b[31m42."})
	said.Usage = llm.Usage{Input: 39_000, Output: 1_000, Cached: 30_000, Estimated: 7}
	for _, ev := range stored(0, openmanus.Configured{Window: openmanus.Window{Tokens: 200_000}}, userSays("m1", "hello"), said) {
		p.event(ev)
	}
	p.layout()
	if got := shownOf(p); !strings.Contains(got, "40.0k tokens · 20% of its window") && !strings.Contains(got, "40k tokens · 20% of its window") {
		t.Errorf("the status line does not say how full the window is:\n%s", got)
	}
	p.command("/cost", "")
	p.layout()
	for _, want := range []string{"39000 tokens in (30000 cached), 1000 out, of which 7 are estimated", "begins with 40000 tokens, 20% of the model's window of 200000"} {
		if got := shownOf(p); !strings.Contains(got, want) {
			t.Errorf("/cost does not say %q:\n%s", want, got)
		}
	}
	got := fmt.Sprint(p.command("/copy", "")())
	if want := `The answer` + "\n" + `is \x1b[31m42.`; got != want {
		t.Errorf("it copies %q, want %q", got, want)
	}
	p.event(stored(3, openmanus.Compacted{N: 1, UpTo: 2, Summary: "x"})[0])
	p.layout()
	if got := strings.Split(shownOf(p), "\n"); strings.Contains(got[len(got)-1], "window") {
		t.Errorf("after a compaction the old size is shown: %s", got[len(got)-1])
	}
}
