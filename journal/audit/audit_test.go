package audit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/journal/audit"
	"github.com/openmanus-go/openmanus/llm"
)

// written returns a journal with a session of these bodies after its opening and
// its first message, which are the events 1 to 3.
func written(t *testing.T, bodies ...openmanus.Body) *journal.Memory {
	t.Helper()
	j := new(journal.Memory)
	opening := []openmanus.Body{
		openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Approve: "ask"}, Sandbox: "landlock", System: "Be brief."},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")},
	}
	for _, b := range append(opening, bodies...) {
		if _, err := j.Append(t.Context(), "s", b); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

// calls is a reply that calls tools with the same arguments.
func calls(input string, tools ...string) openmanus.ModelSaid {
	m := openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant}}
	for i, name := range tools {
		m.Message.Parts = append(m.Message.Parts, llm.Call{ID: "c0-" + string(rune('1'+i)), Name: name, Input: input})
	}
	return m
}

func TestRead(t *testing.T) {
	text := func(s string) llm.Parts { return llm.Parts{llm.Text{Text: s}} }
	for name, c := range map[string]struct {
		bodies                  []openmanus.Body
		decision, by, outcome   string
		input, said             string
		changed, asked, started bool
	}{
		"allowed by the gate": {bodies: []openmanus.Body{
			openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate"}, openmanus.CallStarted{Call: "c0-1", Attempt: 1},
			openmanus.CallDone{Call: "c0-1", Parts: text("fine")},
		}, decision: "allowed", by: "gate", outcome: "done", input: `{"a":1}`, started: true},
		"failed": {bodies: []openmanus.Body{
			openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate"}, openmanus.CallStarted{Call: "c0-1", Attempt: 1},
			openmanus.CallDone{Call: "c0-1", Parts: text("broken"), IsError: true},
		}, decision: "allowed", by: "gate", outcome: "error", input: `{"a":1}`, said: "broken", started: true},
		"denied by a person": {bodies: []openmanus.Body{
			openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May it?"}, openmanus.Ruled{Call: "c0-1", By: "person", Reason: "no"},
		}, decision: "denied", by: "person", outcome: "denied", input: `{"a":1}`, asked: true},
		"with other arguments": {bodies: []openmanus.Body{
			openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling, Question: "May it?"},
			openmanus.Ruled{Call: "c0-1", Allow: true, By: "person", Input: `{"a":2}`}, openmanus.CallStarted{Call: "c0-1", Attempt: 1},
			openmanus.CallDone{Call: "c0-1", Parts: text("fine")},
		}, decision: "allowed", by: "person", outcome: "done", input: `{"a":2}`, changed: true, asked: true, started: true},
		"waiting":   {bodies: []openmanus.Body{openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling}}, outcome: "waiting", input: `{"a":1}`, asked: true},
		"not yet":   {outcome: "not run yet", input: `{"a":1}`},
		"given up":  {bodies: []openmanus.Body{openmanus.Interrupted{ID: "i"}}, outcome: "not run", input: `{"a":1}`, said: "interrupted"},
		"not ruled": {bodies: []openmanus.Body{openmanus.CallDone{Call: "c0-1", Parts: text("unknown tool"), IsError: true}}, outcome: "not run", input: `{"a":1}`, said: "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			j := written(t, append([]openmanus.Body{calls(`{"a":1}`, "bash")}, c.bodies...)...)
			list, err := audit.Read(t.Context(), j, "s")
			if err != nil || len(list) != 1 {
				t.Fatalf("%d calls, %v", len(list), err)
			}
			got := list[0]
			if got.Tool != "bash" || got.Approve != "ask" || got.Sandbox != "landlock" || got.Seq != 4 {
				t.Errorf("%+v", got)
			}
			if got.Decision != c.decision || got.By != c.by || got.Outcome != c.outcome || got.Arguments != c.input || got.Changed != c.changed ||
				(got.Asked != nil) != c.asked || (len(got.Runs) > 0) != c.started || !strings.Contains(got.Text, c.said) {
				t.Errorf("%+v\nwant %+v", got, c)
			}
		})
	}
}

// A request is made again as it was sent, and an event that is no outcome is an
// error that lists those that are.
func TestRequest(t *testing.T) {
	j := written(t, openmanus.ModelSaid{Re: 3, Stop: llm.End, Message: llm.Say(llm.Assistant, "done")})
	req, conf, err := audit.Request(t.Context(), j, "s", 4)
	if err != nil {
		t.Fatal(err)
	}
	if req.System != "Be brief." || len(req.Messages) != 1 || req.Messages[0].Text() != "go" || conf.Sandbox != "landlock" {
		t.Errorf("%+v, made with %+v", req, conf)
	}
	var none *audit.NoRequestError
	if _, _, err := audit.Request(t.Context(), j, "s", 3); !errors.As(err, &none) || !strings.HasSuffix(err.Error(), "the last of them: 4") {
		t.Errorf("%v", err)
	}
	if _, _, err := audit.Request(t.Context(), written(t), "s", 3); err == nil || !strings.Contains(err.Error(), "asked no model") {
		t.Errorf("%v", err)
	}
}
