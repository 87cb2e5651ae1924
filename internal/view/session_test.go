package view

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// standing is what people are told of a session, of its State as a driver has it.
func standing(s *openmanus.State) string {
	text := fmt.Sprint(s.Seq, s.Status(), s.Outcome, s.Usage, s.Cost, s.Unpriced, s.Title, s.Limits, s.Config.Model, s.Config.Approve, s.Requests, s.Answer)
	for _, c := range s.Pending() {
		text += " ? " + c.ID + c.Question().Question
	}
	for _, c := range s.OpenChildren() {
		text += " below " + c.Child
	}
	own, others := s.Files(0)
	return fmt.Sprint(text, own, others)
}

// People are told of a session after every event what its driver knows. A surface that begins
// in the middle tells the same in the end, and nothing else before.
func TestSessionStandsAsItsState(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "lawtest", "testdata", "journals", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		x, err := journal.ReadExport(t.Context(), f)
		f.Close()
		if err != nil {
			t.Fatal(file, err)
		}
		var state openmanus.State
		var all Session
		for _, ev := range x.Events {
			state.Apply(ev)
			all.Apply(ev)
			if got, want := standing(&all.State), standing(&state); got != want {
				t.Fatalf("%s: people are told\n%s\nand it is\n%s", file, got, want)
			}
		}
		for first := 1; first < len(x.Events); first++ {
			var before, end Session
			for _, ev := range x.Events[:first] {
				before.Apply(ev)
			}
			for _, ev := range x.Events[first:] {
				end.Apply(ev)
			}
			if st := end.Status(); st != "" && st != state.Status() {
				t.Errorf("%s: from event %d on it looks %s, and is %s", file, first+1, st, state.Status())
			}
			end.Join(&before)
			if got, want := standing(&end.State), standing(&state); got != want {
				t.Errorf("%s: joined at event %d, people are told\n%s\nand it is\n%s", file, first, got, want)
			}
		}
	}
}

// A session that goes back no longer counts the lines of files that it went back over.
func TestLinesOfFilesAfterGoingBack(t *testing.T) {
	var s Session
	change := func(diff string) openmanus.CallDone {
		return openmanus.CallDone{Files: []openmanus.FileChange{{Path: "a.go", Change: openmanus.FileModified}}, Detail: json.RawMessage(fmt.Sprintf(`{"path":"a.go","change":"edited","diff":%q}`, diff))}
	}
	for i, b := range []openmanus.Body{
		openmanus.Opened{}, change("--- a/a.go\n+++ b/a.go\n@@ -1 +1,3 @@\n+one\n+two\n"),
		openmanus.Rewound{ID: "w1", To: 1, Files: true, Changes: []openmanus.FileChange{{Path: "a.go", Change: openmanus.FileModified}}},
		change("--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n+three\n"),
	} {
		s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
	}
	if got := s.Lines["a.go"]; got.Added != 1 {
		t.Errorf("there are %+v", got)
	}
}

// Only the result of a tool for plans is a plan, whatever others call their lists.
func TestPlanOfASession(t *testing.T) {
	for name, want := range map[string]bool{"planning": true, "mcp_insurer": false} {
		var s Session
		for i, b := range []openmanus.Body{
			openmanus.UserSaid{ID: "m", Message: llm.Say(llm.User, "what is there?")},
			openmanus.ModelSaid{Re: 1, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{llm.Call{ID: "c1", Name: name, Input: `{"command":"list"}`}}}},
			openmanus.CallDone{Call: "c1", Detail: []byte(`{"plans":[{"plan_id":"p1","title":"Gold","steps":[]}]}`)},
		} {
			s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
		}
		if got := s.Plan != nil; got != want {
			t.Errorf("a result of %s is a plan: %v", name, got)
		}
	}
}

// A window that only a refusal has named is known as any other: how full it is is shown.
func TestAWindowThatARefusalNamed(t *testing.T) {
	s := new(Session)
	said := openmanus.ModelSaid{Message: llm.Say(llm.Assistant, "hello"), Stop: llm.End, Usage: llm.Usage{Input: 2000, Output: 48}}
	for i, b := range []openmanus.Body{
		openmanus.Opened{Version: openmanus.FormatVersion}, openmanus.Configured{},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "hi")},
		openmanus.Elided{Refused: "request (9012 tokens) exceeds the available context size (8192 tokens)"},
		said,
	} {
		if m, ok := b.(openmanus.ModelSaid); ok {
			m.Turn, m.Re = s.State.Turn, s.State.Seq
			b = m
		}
		s.Apply(openmanus.Event{Seq: int64(i + 1), Body: b})
	}
	if full := s.Full(); full != 25 {
		t.Errorf("it is %d percent full", full)
	}
}
