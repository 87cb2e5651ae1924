// Package viewtest holds every surface to it that it leaves no event out.
package viewtest

import (
	"reflect"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/llm"
)

// head are the events that no conversation shows: a surface has what they say in its head,
// or beside the conversation.
var head = map[string]bool{"opened": true, "titled": true, "snapped": true}

// Every plays each body there is to a surface, in a session in which it can happen, and fails
// for one that does not change what the surface shows. silent says by the name of a body why
// it is not shown; a reason that is not needed fails, too. start returns a new surface, as a
// function that takes an event and returns all that was shown so far. The session has worked
// on a message since its event 3.
func Every(t *testing.T, silent map[string]string, start func() func(openmanus.Event) string) {
	t.Helper()
	for name, b := range samples() {
		show, seq := start(), int64(0)
		play := func(b openmanus.Body) string {
			seq++
			return show(openmanus.Event{Seq: seq, Time: time.Date(2026, 11, 23, 1, 0, int(seq), 0, time.UTC), Body: b})
		}
		was := ""
		for _, before := range beginning(name) {
			was = play(before)
		}
		switch shown := play(b) != was; {
		case !shown && silent[name] == "" && !head[name]:
			t.Errorf("%s is not shown: show it, or say why not", name)
		case shown && silent[name] != "":
			t.Errorf("%s is shown, although %s", name, silent[name])
		}
	}
}

// samples returns one of each kind of body: the outcome of the first turn, or about its call.
func samples() map[string]openmanus.Body {
	all := make(map[string]openmanus.Body)
	for _, b := range journaltest.Bodies() {
		name := openmanus.TypeName(b)
		if all[name] != nil {
			continue
		}
		own := reflect.New(reflect.TypeOf(b)).Elem()
		own.Set(reflect.ValueOf(b))
		for _, field := range []string{"Turn", "N"} {
			if f := own.FieldByName(field); f.IsValid() {
				f.SetInt(0)
			}
		}
		for field, is := range map[string]string{"Call": callOf(name).ID, "Kind": string(openmanus.AskText), "Child": "child", "Status": string(openmanus.Failed)} {
			if f := own.FieldByName(field); f.Kind() == reflect.String {
				f.SetString(is)
			}
		}
		all[name] = own.Interface().(openmanus.Body)
	}
	all["configured"] = openmanus.Configured{N: 1, Spec: openmanus.Spec{Model: "another"}}
	return all
}

// callOf returns the call that a body of this name is about.
func callOf(name string) llm.Call {
	if name == "asked" || name == "answered" || name == "call_late" {
		return llm.Call{ID: "c0-1", Name: "ask", Input: `{"inquire":"Which?"}`}
	}
	return llm.Call{ID: "c0-0", Name: "bash", Input: `{"command":"ls"}`}
}

// beginning returns what comes before a body of this name.
func beginning(name string) []openmanus.Body {
	all := []openmanus.Body{
		openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Agent: "manus", Model: "m", Approve: openmanus.ApproveAsk}},
		openmanus.UserSaid{ID: "first", Message: llm.Say(llm.User, "go")},
	}
	call := callOf(name)
	reply := openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}}}
	allow := openmanus.Ruled{Call: call.ID, Allow: true, By: openmanus.ByGate, Rule: "mode all"}
	begin := openmanus.CallStarted{Call: call.ID, Attempt: 1}
	switch name {
	case "resumed":
		return append(all, openmanus.Stopped{Reason: openmanus.NoSteps, Error: "no more steps"})
	case "ruled":
		return append(all, reply)
	case "call_started", "child_opened":
		return append(all, reply, allow)
	case "child_done":
		return append(all, reply, allow, openmanus.ChildOpened{Call: call.ID, Child: "child"})
	case "asked", "call_done", "call_late":
		return append(all, reply, allow, begin)
	case "answered":
		return append(all, reply, allow, begin, openmanus.Asked{Call: call.ID, Kind: openmanus.AskText, Question: "Which?"})
	}
	return all
}
