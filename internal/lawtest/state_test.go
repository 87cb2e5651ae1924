package lawtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// fold is the state of a session with these events, a second apart, after
// "open" and "config/0" with the tools of [madeUp].
func fold(bodies ...openmanus.Body) *openmanus.State {
	s := new(openmanus.State)
	all := append([]openmanus.Body{openmanus.Opened{Flow: "a"}, openmanus.Configured{Tools: madeUp}}, bodies...)
	for i, b := range all {
		s.Apply(openmanus.Event{Seq: int64(i) + 1, Time: time.Unix(int64(i), 0), Body: b})
	}
	return s
}

// A reply of the model of turn 0, to everything before.
func says(turn int, re int64, m llm.Message, stop llm.Stop) openmanus.ModelSaid {
	return openmanus.ModelSaid{Turn: turn, Re: re, Message: m, Stop: stop}
}

func TestStatusOfASession(t *testing.T) {
	task := userSays("1", "go") // event 3
	reads := says(0, 3, llmtest.Use("c0-1", "read", "{}"), llm.ToolUse)
	asked := openmanus.Asked{Call: "c0-1", Kind: openmanus.AskRuling}
	ruled := openmanus.Ruled{Call: "c0-1", Allow: true, By: "me"}
	started := openmanus.CallStarted{Call: "c0-1", Attempt: 1}
	done := openmanus.CallDone{Call: "c0-1"}
	question := openmanus.Asked{Call: "c0-1", N: 1, Kind: openmanus.AskText}
	ends := says(0, 3, llmtest.Use("c0-1", "end", "{}"), llm.ToolUse)
	endRuled := openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate", Hints: openmanus.Hints{Final: true}}
	endDone := openmanus.CallDone{Call: "c0-1"}
	endFailed := openmanus.CallDone{Call: "c0-1", Detail: []byte(`{"status":"failure"}`)}
	for _, c := range []struct {
		name   string
		events []openmanus.Body
		want   openmanus.Status
		tasks  string
	}{
		{"nothing was asked of it", nil, openmanus.Idle, "[]"},
		{"a title is no task", []openmanus.Body{openmanus.Titled{ID: "1"}}, openmanus.Idle, "[]"},
		{"a person spoke", []openmanus.Body{task}, openmanus.Running, "[reply]"},
		{"the model wants a call", []openmanus.Body{task, reads}, openmanus.Running, "[rule]"},
		{"a person is asked", []openmanus.Body{task, reads, asked}, openmanus.Waiting, "[]"},
		{"the person allowed it", []openmanus.Body{task, reads, asked, ruled}, openmanus.Running, "[use]"},
		{"the call runs", []openmanus.Body{task, reads, asked, ruled, started}, openmanus.Running, "[use]"},
		{"the tool asks", []openmanus.Body{task, reads, asked, ruled, started, question}, openmanus.Waiting, "[]"},
		{"the person answers", []openmanus.Body{task, reads, asked, ruled, started, question, openmanus.Answered{Call: "c0-1", N: 1}}, openmanus.Running, "[use]"},
		{"the call is done", []openmanus.Body{task, reads, asked, ruled, started, done}, openmanus.Running, "[reply]"},
		{"the model has answered", []openmanus.Body{task, says(0, 3, llmtest.Say("hi"), llm.End)}, openmanus.Finished, "[]"},
		{"more was asked", []openmanus.Body{task, says(0, 3, llmtest.Say("hi"), llm.End), userSays("2", "and?")}, openmanus.Running, "[reply]"},
		{"the model was cut", []openmanus.Body{task, says(0, 3, llmtest.Say("hi"), llm.Length)}, openmanus.Halted, "[]"},
		{"the model failed", []openmanus.Body{task, openmanus.ModelFailed{Re: 3, Kind: llm.Auth}}, openmanus.Failed, "[]"},
		{"a limit", []openmanus.Body{task, openmanus.Stopped{Re: 3, Reason: openmanus.NoSteps}}, openmanus.Halted, "[]"},
		{"interrupted", []openmanus.Body{task, openmanus.Interrupted{ID: "1"}}, openmanus.Halted, "[]"},
		{"resumed", []openmanus.Body{task, openmanus.Interrupted{ID: "1"}, openmanus.Resumed{ID: "1"}}, openmanus.Running, "[reply]"},
		{"interrupted when there was nothing to interrupt", []openmanus.Body{openmanus.Interrupted{ID: "1"}}, openmanus.Idle, "[]"},
		{"interrupted when it was finished", []openmanus.Body{task, says(0, 3, llmtest.Say("hi"), llm.End), openmanus.Interrupted{ID: "1"}}, openmanus.Finished, "[]"},
		{"resumed when it was finished", []openmanus.Body{task, says(0, 3, llmtest.Say("hi"), llm.End), openmanus.Resumed{ID: "1"}}, openmanus.Finished, "[]"},
		{"it ended the work", []openmanus.Body{task, ends, endRuled, endDone}, openmanus.Finished, "[]"},
		{"resumed when it had ended the work", []openmanus.Body{task, ends, endRuled, endDone, openmanus.Resumed{ID: "1"}}, openmanus.Finished, "[]"},
		{"it ended the work in failure, and is to try again", []openmanus.Body{task, ends, endRuled, endFailed, openmanus.Resumed{ID: "1"}}, openmanus.Running, "[reply]"},
	} {
		s := fold(c.events...)
		var verbs []string
		for _, task := range (&openmanus.Agent{}).Next(s) {
			verbs = append(verbs, string(task.Do))
		}
		if got := fmt.Sprint(verbs); s.Status() != c.want || got != c.tasks {
			t.Errorf("%s: %s %s, want %s %s", c.name, s.Status(), got, c.want, c.tasks)
		}
	}
}

// A reply is cut at the output limit while a person speaks. The run goes on,
// and what was said stands where it was said.
func TestAReplyCutWhileAPersonSpokeIsReadInItsPlace(t *testing.T) {
	s := fold(userSays("1", "go"), userSays("2", "also"),
		says(0, 3, llmtest.Say("I was abo"), llm.Length))
	if s.Status() != openmanus.Running {
		t.Fatalf("it is %s", s.Status())
	}
	if got := dialogue(s.Transcript(s.Seq)); got != "user: go | assistant: I was abo | user: also" {
		t.Error(got)
	}
	s = fold(userSays("1", "go"), userSays("2", "also"),
		says(0, 3, llmtest.Say("I was abo"), llm.Length),
		says(1, 5, llmtest.Use("c1-1", "read", "{}"), llm.ToolUse),
		userSays("3", "and this"),
		openmanus.CallDone{Call: "c1-1", Parts: llm.Parts{llm.Text{Text: "ok"}}})
	if got := dialogue(s.Transcript(s.Seq)); got != "user: go | assistant: I was abo | user: also | assistant: read{} | tool: ok | user: and this" {
		t.Error(got)
	}
}

// The model reads the shown part of a reply if the person answers it; the part
// is dropped if they have it tried again.
func TestAnInterruptedReplyIsReadOrTriedAgain(t *testing.T) {
	task, cut := userSays("1", "go"), openmanus.Interrupted{ID: "1", Said: "First I will delete"}
	if got := dialogue(fold(task, cut, userSays("2", "no!")).Transcript(9)); got != "user: go | assistant: First I will delete | user: no!" {
		t.Error(got)
	}
	if got := dialogue(fold(task, cut, openmanus.Resumed{ID: "1"}).Transcript(9)); got != "user: go" {
		t.Error(got)
	}
	again := fold(task, cut, openmanus.Resumed{ID: "1"}, says(1, 5, llmtest.Say("I look first"), llm.End), userSays("2", "good"))
	if got := dialogue(again.Transcript(9)); got != "user: go | assistant: I look first | user: good" {
		t.Error(got)
	}
	for _, stop := range []llm.Stop{llm.Length, llm.Filter, llm.Refusal} {
		said := llmtest.Calls(llmtest.Say("I would"), llmtest.Use("c0-1", "write", "{}"))
		if stop == llm.Length {
			said = llmtest.Say("I would")
		}
		if got := dialogue(fold(task, says(0, 3, said, stop), userSays("2", "go on")).Transcript(9)); got != "user: go | assistant: I would | user: go on" {
			t.Errorf("%s: %s", stop, got)
		}
		if got := dialogue(fold(task, says(0, 3, said, stop), openmanus.Resumed{ID: "1"}).Transcript(9)); got != "user: go" {
			t.Errorf("%s: %s", stop, got)
		}
	}
}

// A reply that comes after its turn was given up costs, and changes nothing.
func TestALateReplyIsPaidForAndNotHeard(t *testing.T) {
	late := says(0, 3, llmtest.Say("hello"), llm.End)
	late.Usage, late.Cost = llm.Usage{Output: 7}, 70
	s := fold(userSays("1", "go"), openmanus.Interrupted{ID: "1"}, late)
	if s.Usage.Output != 7 || s.Cost != 70 || s.Outcome.Reason != openmanus.ByPerson || len(s.Said) != 0 {
		t.Errorf("%+v, said %d", s.Outcome, len(s.Said))
	}
}

// An event that makes no sense where it stands changes nothing.
func TestEventsOutOfPlaceChangeNothing(t *testing.T) {
	task := userSays("1", "go")
	calls := says(0, 3, llmtest.Calls(llmtest.Use("c0-1", "read", "{}"), llmtest.Use("c0-2", "write", "{}")), llm.ToolUse)
	before := []openmanus.Body{task, calls, openmanus.Asked{Call: "c0-2", Kind: openmanus.AskRuling}}
	want := fold(before...)
	for _, b := range []openmanus.Body{
		says(1, 4, llmtest.Say("while calls are open"), llm.End),
		says(0, 3, llmtest.Say("a second reply to the same"), llm.End),
		says(7, 4, llmtest.Say("of a turn to come"), llm.End),
		openmanus.ModelFailed{Turn: 0, Re: 3},
		openmanus.Stopped{Turn: 5, Re: 3},
		openmanus.CallStarted{Call: "c0-1", Attempt: 1},
		openmanus.CallStarted{Call: "c0-2", Attempt: 1},
		openmanus.CallDone{Call: "c9-9"},
		openmanus.Ruled{Call: "c9-9", Allow: true},
		openmanus.Answered{Call: "c0-2"},
		openmanus.Asked{Call: "c0-1", Kind: openmanus.AskText},
		openmanus.ChildDone{Child: "nobody"},
		openmanus.Noted{ID: "1"},
	} {
		got := fold(append(before[:len(before):len(before)], b)...)
		if d, w := dialogue(got.Transcript(99)), dialogue(want.Transcript(99)); d != w || got.Status() != want.Status() || got.Turn != want.Turn ||
			fmt.Sprint((&openmanus.Agent{}).Next(got)) != fmt.Sprint((&openmanus.Agent{}).Next(want)) {
			t.Errorf("%T %+v: %s, %s", b, b, got.Status(), d)
		}
	}
}

// A call that was given up may end after all. The model hears of it if it did
// something, and once.
func TestWhatAGivenUpCallDidIsToldOnce(t *testing.T) {
	begun := []openmanus.Body{userSays("1", "go"),
		says(0, 3, llmtest.Calls(llmtest.Use("c0-1", "write", "{}"), llmtest.Use("c0-2", "write", "{}")), llm.ToolUse),
		openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate"}, openmanus.CallStarted{Call: "c0-1", Attempt: 1}, openmanus.Interrupted{ID: "1"}}
	words := llm.Parts{llm.Text{Text: "written"}}
	for _, c := range []struct {
		name string
		then []openmanus.Body
		told int
	}{
		{"it succeeded", []openmanus.Body{openmanus.CallDone{Call: "c0-1", Parts: words}}, 1},
		{"it failed", []openmanus.Body{openmanus.CallDone{Call: "c0-1", Parts: words, IsError: true}}, 0},
		{"it never ran", []openmanus.Body{openmanus.CallDone{Call: "c0-2", Parts: words}}, 0},
		{"it is on record as late", []openmanus.Body{openmanus.CallLate{Call: "c0-1", Parts: words}}, 1},
	} {
		if s := fold(append(begun[:len(begun):len(begun)], c.then...)...); len(s.Inbox) != c.told {
			t.Errorf("%s: the model is told %d times, want %d", c.name, len(s.Inbox), c.told)
		}
	}
}

// The note that comes with a message is read before it, by the model alone.
func TestANoteComesBeforeItsMessage(t *testing.T) {
	m := userSays("1", "go")
	m.Note = llm.Parts{llm.Text{Text: "It is Monday.\n"}}
	if got := dialogue(fold(m).Transcript(9)); got != "user: It is Monday.\n + go" {
		t.Error(got)
	}
}

// Interrupts, one for each moment.

func TestInterruptDuringAReply(t *testing.T) {
	var j *journal.Memory
	m := &actor{play: func(ctx context.Context, n int, _ *llm.Request) take {
		if n > 0 {
			return take{Message: llmtest.Say("as you say")}
		}
		put(t, j, openmanus.Interrupted{ID: "1", Said: "I was ab"})
		<-ctx.Done() // the driver hears it, and cancels
		return take{err: ctx.Err()}
	}}
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	j = mem
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
	put(t, j, userSays("2", "be brief"))
	s := wake(t, l)
	if got := dialogue(s.Said); got != "user: go | assistant: I was ab | user: be brief | assistant: as you say" {
		t.Error(got)
	}
	lawful(t, m.asked())
}

func TestInterruptDuringACall(t *testing.T) {
	var j *journal.Memory
	ends := make(chan struct{})
	do := tool("do", openmanus.Hints{}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		put(t, j, openmanus.Interrupted{ID: "1"})
		<-ctx.Done()
		close(ends)
		return openmanus.Result{}, ctx.Err()
	})
	d := llmtest.Use("", "do", "{}")
	m := lines(llmtest.Calls(d, d), llmtest.Say("ok"))
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{do}}, "go")
	j = mem
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
	<-ends // the call was cancelled, and Wake has waited for it
	for call, want := range map[string]string{"c0-1": "the person interrupted while it ran; this may or may not have happened", "c0-2": "not run: the person interrupted"} {
		if got, isErr := result(t, j, call); got != want || !isErr {
			t.Errorf("%s: %q", call, got)
		}
	}
	put(t, j, openmanus.Resumed{ID: "2"})
	ended(t, wake(t, l), openmanus.Finished, "")
	lawful(t, m.asked())
}

func TestInterruptWhileItWaits(t *testing.T) {
	do := tool("do", openmanus.Hints{}, nil)
	m := lines(llmtest.Use("", "do", "{}"), llmtest.Say("ok"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	put(t, j, openmanus.Interrupted{ID: "1"})
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"}, openmanus.Resumed{ID: "2"}) // too late to allow it
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, _ := result(t, j, "c0-1"); got != "not run: the person interrupted" {
		t.Error(got)
	}
}

// Steering: what is said while a call runs is read with its result.
func TestSteeringDuringACall(t *testing.T) {
	var j *journal.Memory
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(ctx context.Context, _ openmanus.Call) (openmanus.Result, error) {
		put(t, j, userSays("2", "in French"))
		return openmanus.TextResult("done"), ctx.Err() // not cancelled
	})
	m := lines(llmtest.Use("", "do", "{}"), llmtest.Say("voilà"))
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{do}}, "go")
	j = mem
	if got := dialogue(wake(t, l).Said); got != "user: go | assistant: do{} | tool: done | user: in French | assistant: voilà" {
		t.Error(got)
	}
}

// Rewind: a change of configuration takes effect with the next request.
func TestAChangedConfigurationIsThatOfTheNextRequest(t *testing.T) {
	m := lines(llmtest.Say("one"), llmtest.Say("two"))
	a := &openmanus.Agent{Name: "a", Model: m, Instructions: "be kind"}
	l, j := begin(t, a, "go")
	wake(t, l)
	first := m.asked()[0]
	c := a.Configured(1)
	c.System, c.Settings.MaxTokens = "be brief", 10
	put(t, j, c, userSays("2", "again"))
	wake(t, l)
	second := m.asked()[1]
	if first.System != "be kind" || second.System != "be brief" || second.Settings.MaxTokens != 10 {
		t.Errorf("%q, then %q", first.System, second.System)
	}
	if first.Memo == nil || second.Memo == nil || first.Memo == second.Memo {
		t.Error("two configurations share a memo")
	}
	if got := dialogue(second.Messages); !strings.HasPrefix(got, "user: go | assistant: one") {
		t.Error(got)
	}
}

// Texts that were indexed in advance are found like those that are indexed on
// demand.
func TestIndexingInAdvanceChangesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"short": "the account is DE02120300000000202051",
		"long":  strings.Repeat("nothing to see here, ", 4000) + "the account is DE02120300000000202051",
	} {
		const call = `{"to":"DE02120300000000202051","amount":5}`
		first := openmanus.UserSaid{ID: "0", Message: llm.Say(llm.User, "hello")}
		said := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, text)}
		plain, indexed := fold(first, said), fold(first)
		indexed.Provenance(call) // from here on, it is indexed in advance
		indexed.Apply(openmanus.Event{Seq: plain.Seq, Body: said})
		indexed.IndexPassages()
		got, want := indexed.Provenance(call), plain.Provenance(call)
		if !reflect.DeepEqual(got, want) || len(want.Record()) == 0 {
			t.Errorf("%s: %+v\nwithout an index: %+v", name, got, want)
		}
	}
}

// A file that a call wrote has the sources of what the call brought, and of what it was
// given, also if an event and no argument names the file.
func TestWhatACallBringsIsInTheFileThatItWrites(t *testing.T) {
	fetch := openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "fetch"},
		Arguments: []openmanus.Argument{{Name: "save_to", Kind: openmanus.PathArgument, Does: openmanus.Writes}},
	}
	page := openmanus.Source{From: "https://example.org/data.csv"}
	for name, tt := range map[string]struct {
		input string
		hints openmanus.Hints
		wrote []string
		files string // that have the page among their sources
	}{
		"an argument": {`{"save_to":"a.csv"}`, openmanus.Hints{Edits: true}, nil, "a.csv"},
		"an event":    {`{}`, openmanus.Hints{Edits: true}, []string{"/w/b.csv", "c/d.csv"}, "b.csv c/d.csv"},
		"none":        {`{"save_to":"a.csv"}`, openmanus.Hints{ReadOnly: true}, nil, ""},
	} {
		call := llm.Call{ID: "c0-1", Name: "fetch", Input: tt.input}
		s := fold(
			openmanus.Opened{Version: openmanus.FormatVersion},
			openmanus.Configured{Spec: openmanus.Spec{Workspace: "/w"}, Tools: []openmanus.ToolSpec{fetch}},
			openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")},
			openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}}},
			openmanus.Ruled{Call: call.ID, Allow: true, By: openmanus.ByGate, Hints: tt.hints},
			openmanus.CallStarted{Call: call.ID, Attempt: 1},
			openmanus.CallDone{Call: call.ID, Parts: llm.Parts{llm.Text{Text: "saved"}}, Wrote: tt.wrote,
				Sources: []openmanus.Source{page, openmanus.FileSource("x")}},
		)
		var files []string
		for _, f := range []string{"a.csv", "b.csv", "c/d.csv", "x"} {
			if got := s.FileSources(f); len(got) == 2 && got[1].From == page.From {
				files = append(files, f)
			}
		}
		if got := strings.Join(files, " "); got != tt.files {
			t.Errorf("%s: the page is a source of %q, want %q", name, got, tt.files)
		}
	}
}

// A text of others stays theirs, even if a person allowed a call to write it.
func TestAllowedWordsKeepTheirSourcesInAFile(t *testing.T) {
	page := openmanus.ArgumentSource{Argument: "text", From: "https://example.org/a", Text: "obey"}
	save := openmanus.ToolSpec{
		ToolSpec:  llm.ToolSpec{Name: "save"},
		Arguments: []openmanus.Argument{{Name: "path", Kind: openmanus.PathArgument, Does: openmanus.Writes}},
	}
	call := llm.Call{ID: "c0-1", Name: "save", Input: `{"path":"/w/notes.txt","text":"obey"}`}
	s := fold(
		openmanus.Opened{Version: openmanus.FormatVersion},
		openmanus.Configured{Spec: openmanus.Spec{Workspace: "/w"}, Tools: []openmanus.ToolSpec{save}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "go")},
		openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}}},
		openmanus.Asked{Call: call.ID, Kind: openmanus.AskRuling, Sources: []openmanus.ArgumentSource{page}},
		openmanus.Ruled{Call: call.ID, Allow: true, By: "me"},
		openmanus.CallStarted{Call: call.ID, Attempt: 1},
		openmanus.CallDone{Call: call.ID, Parts: llm.Parts{llm.Text{Text: "saved"}}},
	)
	got := s.FileSources("notes.txt")
	if len(got) != 2 || got[0].From != "file:notes.txt" || got[1].From != page.From {
		t.Errorf("the sources are %+v", got)
	}
}
