package tools

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

type obj = map[string]any

// process drives a session in journal with tools of its own, as a process that
// has just been started does, and returns the results of all calls so far.
func process(t *testing.T, s *session, journal *journal.Memory, prompt string, replies ...llm.Message) []openmanus.CallDone {
	t.Helper()
	s.restart(t)
	agent := &openmanus.Agent{Name: "a", Model: llmtest.Script(replies...), Gate: openmanus.AllowAll}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		agent.Tools = append(agent.Tools, s.tools[name])
	}
	if err := openmanus.Open(t.Context(), journal, "s", agent, nil); err != nil {
		t.Fatal(err)
	}
	said := openmanus.UserSaid{ID: prompt, Message: llm.Say(llm.User, prompt)}
	if _, err := journal.Append(t.Context(), "s", said); err != nil {
		t.Fatal(err)
	}
	l := &run.Local{Worker: run.Worker{Journal: journal, Flow: run.FlowsByName(agent)}}
	if err := l.Wake(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	var done []openmanus.CallDone
	for ev, err := range journal.Events(t.Context(), "s", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := ev.Body.(openmanus.CallDone); ok {
			done = append(done, d)
		}
	}
	return done
}

// The memory of the editor and the plan goes from one process to the next by
// the journal alone, and calls that only look do not make them forget it.
func TestMemoryIsInTheJournal(t *testing.T) {
	s := newSession(t)
	journal := new(journal.Memory)
	write(t, s, "f.txt", "one\r\ntwo\r\n")
	process(t, s, journal, "change it",
		llmtest.Use("", "planning", obj{"command": "create", "plan_id": "p", "title": "T", "steps": []string{"a", "b"}}),
		llmtest.Use("", "str_replace_editor", obj{"command": "str_replace", "path": "f.txt", "old_str": "one\ntwo", "new_str": "1\n2"}),
		llmtest.Calls(
			llmtest.Use("", "str_replace_editor", obj{"command": "view", "path": "f.txt"}),
			llmtest.Use("", "str_replace_editor", obj{"command": "create", "path": "g.txt", "file_text": strings.Repeat("long ", 10_000)}),
			llmtest.Use("", "str_replace_editor", obj{"command": "view", "path": "g.txt"}),
			llmtest.Use("", "planning", obj{"command": "mark_step", "step_index": 0, "step_status": "completed"}),
		),
		llmtest.Say("Changed."),
	)
	if got := read(t, s, "f.txt"); got != "1\r\n2\r\n" {
		t.Fatalf("the file is %q", got)
	}
	undo := func(path string) llm.Message {
		return llmtest.Use("", "str_replace_editor", obj{"command": "undo_edit", "path": path})
	}
	spoken := []llm.Message{{}, {}, {}, {}} // the replies that the script gave above
	done := process(t, s, journal, "undo it", append(spoken,
		llmtest.Calls(undo("f.txt"), undo("f.txt"), undo("g.txt"), llmtest.Use("", "planning", obj{"command": "get"})),
		llmtest.Calls(llmtest.Say("All is as it was."), llmtest.Use("", "terminate", obj{"status": "success"})),
	)...)
	if got := read(t, s, "f.txt"); got != "one\r\ntwo\r\n" {
		t.Errorf("the file is %q", got)
	}
	results := done[len(done)-5:]
	for i, want := range []string{"Last edit to f.txt undone", "No edit history found for f.txt.", "The file is removed", "0. [✓] a\n1. [ ] b", "completed with status: success"} {
		if got := results[i].Parts.Text(); !strings.Contains(got, want) {
			t.Errorf("result %d is %q and not %q", i, got, want)
		}
	}
	plans, err := ReadPlans(results[3].Detail)
	if err != nil || plans.Find("p") == nil {
		t.Errorf("the plans are %v, %v", plans, err)
	}
	var change FileChange
	if err := json.Unmarshal(results[2].Detail, &change); err != nil || change.Path != "g.txt" || change.Change != Deleted {
		t.Errorf("the change is %+v, %v", change, err)
	}
}
