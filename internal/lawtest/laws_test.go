package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// The thirteen laws of docs/design.md, as far as they are kept by those who
// drive sessions. The duties of journals are in journaltest.

func TestLaw01EveryTaskDoneTwiceIsRecordedOnceAndAsksTheModelOnce(t *testing.T) {
	var runs atomic.Int64
	m := llmtest.Script(llmtest.Use("x", "pay", "{}"), llmtest.Say("paid"))
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}}
	l, j := begin(t, a, "go")
	w := &l.Worker
	for range 20 {
		todo, err := tasks(t.Context(), w, sess)
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range todo {
			for range 2 {
				if err := do(t.Context(), w, sess, task); err != nil {
					t.Fatalf("%+v: %v", task, err)
				}
			}
		}
	}
	const all = "open config/0 user/task model/0 rule/c0-1 start/c0-1/1 done/c0-1 model/1"
	if got := keys(t, j, sess); got != all || m.Asked.Load() != 2 || runs.Load() != 1 {
		t.Errorf("asked %d times, paid %d times, recorded\n%s\nwant\n%s", m.Asked.Load(), runs.Load(), got, all)
	}
}

// A caller that opens a session again learns whether it is its own.
func TestLaw01OpeningASessionTwice(t *testing.T) {
	a := &openmanus.Agent{Name: "a", Instructions: "be kind"}
	other := &openmanus.Agent{Name: "a", Instructions: "be brief"}
	j := new(journal.Memory)
	for _, c := range []struct {
		name string
		flow openmanus.Flow
		m    *openmanus.UserSaid
		want error
	}{
		{"the first time", a, ptr(userSays("1", "go")), nil},
		{"in the same way", a, ptr(userSays("1", "go")), nil},
		{"with other words", a, ptr(userSays("1", "stop")), openmanus.ErrConflict},
		{"with another message", a, ptr(userSays("2", "go")), openmanus.ErrConflict},
		{"with another flow", &openmanus.Agent{Name: "b"}, ptr(userSays("1", "go")), openmanus.ErrConflict},
		{"with another configuration", other, ptr(userSays("1", "go")), openmanus.ErrConflict},
		{"with no message", a, nil, nil},
	} {
		if err := openmanus.Open(t.Context(), j, sess, c.flow, c.m); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if got := keys(t, j, sess); got != "open config/0 user/1" {
		t.Errorf("the session has %s", got)
	}
}

func TestLaw02AMessageThatArrivesWhileTheModelSpeaksSortsAfterThatReply(t *testing.T) {
	var j *journal.Memory
	m := &actor{play: func(_ context.Context, n int, req *llm.Request) take {
		if n == 0 {
			put(t, j, userSays("2", "wait"))
		}
		return take{Message: llmtest.Say(fmt.Sprintf("heard %d", len(req.Messages)))}
	}}
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m}, "hello")
	j = mem
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	const want = "user: hello | assistant: heard 1 | user: wait | assistant: heard 3"
	if got := dialogue(s.Said); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	lawful(t, m.asked())
}

func TestLaw02SpeakingWhileAnApprovalIsPendingDeniesIt(t *testing.T) {
	var runs atomic.Int64
	m := lines(llmtest.Use("x", "pay", "{}"), llmtest.Say("I will not."))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}}, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	put(t, j, userSays("2", "do not"))
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, isErr := result(t, j, "c0-1"); got != "not run: the person answered with the message that follows" || !isErr || runs.Load() != 0 {
		t.Errorf("ran %d times; the model reads %q", runs.Load(), got)
	}
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"}) // too late
	wake(t, l)
	if runs.Load() != 0 {
		t.Error("a call that was denied ran")
	}
}

// Deltas are in no journal; TestWatch... tells who sees it.
func TestLaw03WhatIsTypedIsNotStored(t *testing.T) {
	j := new(journal.Memory)
	for _, b := range []openmanus.Body{openmanus.Typing{}, openmanus.Output{}} {
		if evs, err := j.Append(t.Context(), sess, openmanus.Opened{Flow: "a"}, b); err == nil {
			t.Errorf("%T was stored: %v", b, evs)
		}
	}
	var s, fresh openmanus.State
	s.Apply(openmanus.Event{Body: openmanus.Typing{Parts: llm.Parts{llm.Text{Text: "x"}}}})
	if encode(t, s) != encode(t, fresh) {
		t.Error("a provisional event changed the state")
	}
}

// A call that started and is not done is run again only if its tool said,
// when it was ruled on, that it may be.
func TestLaw04AnInterruptedCallIsInDoubt(t *testing.T) {
	for _, c := range []struct {
		hints openmanus.Hints
		runs  int64
	}{
		{openmanus.Hints{}, 0},
		{openmanus.Hints{Destructive: true, Edits: true}, 0},
		{openmanus.Hints{Idempotent: true}, 1},
		{openmanus.Hints{ReadOnly: true}, 1},
	} {
		var runs atomic.Int64
		a := &openmanus.Agent{Name: "a", Model: lines(llmtest.Say("ok")), Tools: []openmanus.Tool{
			counted("pay", openmanus.Hints{ReadOnly: true, Idempotent: true}, &runs)}} // what it says now does not count
		l, j := begin(t, a, "go")
		put(t, j, openmanus.ModelSaid{Re: 3, Stop: llm.ToolUse, Message: llmtest.Use("c0-1", "pay", "{}")},
			openmanus.Ruled{Call: "c0-1", Allow: true, By: "gate", Hints: c.hints},
			openmanus.CallStarted{Call: "c0-1", Attempt: 1})
		wake(t, l)
		got, isErr := result(t, j, "c0-1")
		if runs.Load() != c.runs || isErr != (c.runs == 0) || isErr != strings.Contains(got, "may or may not have happened") {
			t.Errorf("%+v: ran %d times, want %d; the model reads %q", c.hints, runs.Load(), c.runs, got)
		}
	}
}

func TestLaw05OneDriverPerSession(t *testing.T) {
	speaking, speak := make(chan struct{}), make(chan struct{})
	m := &actor{play: func(context.Context, int, *llm.Request) take {
		speaking <- struct{}{}
		<-speak
		return take{Message: llmtest.Say("ok")}
	}}
	a := &openmanus.Agent{Name: "a", Model: m}
	l, j := begin(t, a, "go")
	first := make(chan error)
	go func() { first <- l.Wake(t.Context(), sess) }()
	<-speaking
	other := local(j, a) // such as another process
	if err := other.Wake(t.Context(), sess); !errors.Is(err, openmanus.ErrDriven) {
		t.Errorf("the second driver gets %v, want ErrDriven", err)
	}
	// A process that does not hold the lease may still append messages, and
	// follow.
	put(t, j, userSays("2", "and then?"))
	speak <- struct{}{}
	<-speaking
	speak <- struct{}{}
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if n := len(m.asked()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

func TestLaw05TheSameProcessWaitsForItsOwnDriver(t *testing.T) {
	m := llmtest.Script(llmtest.Say("ok"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := l.Wake(t.Context(), sess); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if m.Asked.Load() != 1 {
		t.Errorf("asked %d times", m.Asked.Load())
	}
}

// See also TestPrefix.
func TestLaw06TheNudgeIsOfTheMoment(t *testing.T) {
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n < 4 {
			return take{Message: llmtest.Use("x", "look", "{}")}
		}
		return take{Message: llmtest.Say("there is nothing")}
	}}
	var runs atomic.Int64
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, &runs)}}, "go")
	s := wake(t, l)
	var nudged []bool
	for _, req := range m.asked() {
		nudged = append(nudged, req.Fixed < len(req.Messages))
	}
	if got := fmt.Sprint(nudged); got != "[false false false true true]" {
		t.Errorf("nudged: %s", got)
	}
	lawful(t, m.asked())
	if err := law7(s.Said); err != nil || strings.Contains(dialogue(s.Said), "another way") {
		t.Errorf("the nudge is in the record: %s", dialogue(s.Said))
	}
}

// See also FuzzNext and TestKilledAnywhere.
func TestLaw07EveryCallHasAResultAfterACrashACutADenialAndAVanishedTool(t *testing.T) {
	var runs atomic.Int64
	m := lines(
		llmtest.Calls(llmtest.Use("a", "gone", "{}"), llmtest.Use("a", "deny", "{}"), llmtest.Use("", "bad", "{"), llmtest.Use("", "ok", "{}")),
		llmtest.Say("done"))
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.Mode(openmanus.ApproveReadOnly), Tools: []openmanus.Tool{
		counted("deny", openmanus.Hints{}, &runs), counted("bad", openmanus.Hints{}, &runs), counted("ok", openmanus.Hints{ReadOnly: true}, &runs)}}
	l, j := begin(t, a, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	lawful(t, m.asked())
	if runs.Load() != 1 {
		t.Errorf("%d calls ran, want 1", runs.Load())
	}
	for call, words := range map[string]string{"c0-1": "unknown tool 'gone'", "c0-2": "read-only", "c0-3": "not valid JSON", "c0-4": "done"} {
		if got, _ := result(t, j, call); !strings.Contains(got, words) {
			t.Errorf("%s: %q does not say %q", call, got, words)
		}
	}
}

func TestLaw08WhatIsNotAnEndIsNotFinished(t *testing.T) {
	for _, c := range []struct {
		name   string
		take   take
		status openmanus.Status
		reason openmanus.Reason
	}{
		{"a whole reply", take{Message: llmtest.Say("that is it")}, openmanus.Finished, ""},
		{"cut at the output limit", take{Message: llmtest.Say("that is"), stop: llm.Length}, openmanus.Halted, openmanus.NoTokens},
		{"withheld by the provider", take{Message: llmtest.Say("that"), stop: llm.Filter}, openmanus.Failed, "filter"},
		{"refused", take{Message: llmtest.Say("I cannot"), stop: llm.Refusal}, openmanus.Failed, "refusal"},
		{"broken off", take{Message: llmtest.Say("that"), stop: "-"}, openmanus.Failed, "protocol"},
		{"no reply", take{err: &llm.Error{Kind: llm.Auth, Status: 401, Err: errors.New("no key")}}, openmanus.Failed, "auth"},
		{"broken off within a call", take{Message: llmtest.Use("x", "pay", `{"sum":1`), stop: "-"}, openmanus.Failed, "protocol"},
		{"a call in a withheld reply", take{Message: llmtest.Use("x", "pay", `{}`), stop: llm.Filter}, openmanus.Failed, "filter"},
		{"a call in a refusal", take{Message: llmtest.Use("x", "pay", `{}`), stop: llm.Refusal}, openmanus.Failed, "refusal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs atomic.Int64
			m := cast(c.take)
			l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}}, "go")
			s := wake(t, l)
			ended(t, s, c.status, c.reason)
			if runs.Load() != 0 {
				t.Error("a call of a reply that is no end ran")
			}
			if c.status != openmanus.Finished && s.Outcome.Error == "" {
				t.Error("it does not say why")
			}
			if n := len(m.asked()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestLaw09LargeTextsComeBackAsTheyWere(t *testing.T) {
	big := strings.Repeat("Ω<&>\x00\n", 8_000)
	m := lines(llmtest.Say(big))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m}, big)
	if s := wake(t, l); s.Answer != big || s.Said[0].Text() != big || m.asked()[0].Messages[0].Text() != big {
		t.Error("a large text changed on its way through the journal")
	}
	for _, ev := range events(t, j, sess) {
		st, err := journal.Codec{Blobs: j}.Encode(t.Context(), ev.Body)
		if err != nil || len(st.Body) > journal.BigString {
			t.Errorf("%s is stored in %d bytes (%v)", ev.Body.Key(), len(st.Body), err)
		}
	}
}

// A document is read from its beginning: what is too long loses its end, and not its
// middle, at the end of a line. How much is shown depends on the model's window, and
// on nothing that changes later.
func TestLaw10ADocumentKeepsItsBeginning(t *testing.T) {
	line := strings.Repeat("é", 50) + "\n"
	whole := strings.Repeat(line, 2000)
	for window, limit := range map[int]int{0: 50_000, 16_000: 10_000, 200_000: 50_000} {
		doc := tool("doc", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
			if got := call.ResultSize().Text; got != limit*4/5 {
				t.Errorf("window %d: the tool may return %d bytes", window, got)
			}
			res := openmanus.TextResult("%s", whole)
			res.Reading = true
			return res, nil
		})
		m := lines(llmtest.Use("x", "doc", "{}"), llmtest.Say("ok"))
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{doc}, Window: openmanus.Window{Tokens: window}}
		l, j := begin(t, a, "go")
		wake(t, l)
		seen, _ := result(t, j, "c0-1")
		head, marker, found := strings.Cut(seen, "\n\n[... ")
		shown := len(head) + 1
		want := fmt.Sprintf(`%d bytes left out; read_output {"ref":%q,"offset":%d} goes on ...]`, len(whole)-shown,
			openmanus.ShortRef(nil, openmanus.RefOf([]byte(whole))), shown)
		if !found || marker != want || whole[:shown] != head+"\n" || shown%len(line) != 0 {
			t.Errorf("window %d: %d bytes and %q, want %q", window, shown, marker, want)
		}
		if len(seen) > limit || len(seen) < limit*3/4 {
			t.Errorf("window %d: the model reads %d bytes", window, len(seen))
		}
	}
}

func TestLaw10TheModelSeesTheCutOutputAndPeopleTheDetail(t *testing.T) {
	whole := strings.Repeat("0123456789abcdé\n", 10_000)
	big := tool("big", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		res := openmanus.TextResult("%s", whole)
		res.Detail = map[string]string{"table": "for people"}
		return res, nil
	})
	m := lines(llmtest.Use("x", "big", "{}"), llmtest.Say("ok"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{big}}, "go")
	wake(t, l)
	seen, _ := result(t, j, "c0-1")
	if len(seen) > 10_000 || strings.Contains(seen, "for people") {
		t.Errorf("the model sees %d bytes", len(seen))
	}
	head, rest, found := strings.Cut(seen, "\n\n[... ")
	marker, tail, found2 := strings.Cut(rest, " ...]\n\n")
	if !found || !found2 || !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) || head == "" || tail == "" {
		t.Fatalf("not cut in the middle: %.100q … %.200q", seen, rest)
	}
	var missing int
	var args struct {
		Ref    string
		Offset int
	}
	from, to := strings.Index(marker, "{"), strings.Index(marker, "}")+1
	if _, err := fmt.Sscanf(marker, "%d bytes left out", &missing); err != nil || json.Unmarshal([]byte(marker[from:to]), &args) != nil {
		t.Fatalf("the marker cannot be used: %q", marker)
	}
	refs := openmanus.FindRef(stateOf(t, j).Refs(), args.Ref)
	if len(args.Ref) != 8 || len(refs) != 1 {
		t.Fatalf("the ref %q leads to %v", args.Ref, refs)
	}
	kept, err := openmanus.ReadBlob(t.Context(), j, refs[0])
	if err != nil || string(kept) != whole {
		t.Fatalf("the whole output cannot be read: %d bytes, %v", len(kept), err)
	}
	if got := head + string(kept[args.Offset:args.Offset+missing]) + tail; args.Offset != len(head) || got != whole {
		t.Errorf("what is missing is not where the marker says: %q", marker)
	}
	for _, ev := range events(t, j, sess) {
		if d, ok := ev.Body.(openmanus.CallDone); ok && (string(d.Detail) != `{"table":"for people"}` || d.Whole != refs[0]) {
			t.Errorf("people see %s and %s", d.Detail, d.Whole)
		}
	}
}

// Any number of sessions, agents, models and journals do not know each other.
func TestLaw11NothingIsGlobal(t *testing.T) {
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			word := fmt.Sprint("answer ", i)
			a := &openmanus.Agent{Name: "same name", Model: llmtest.Script(llmtest.Use("x", "same", "{}"), llmtest.Say(word)), Tools: []openmanus.Tool{
				tool("same", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
					return openmanus.TextResult("%s", word), nil
				})}}
			var last openmanus.Event
			for ev, err := range run.Agent(t.Context(), a, "go") {
				if err != nil {
					t.Error(err)
				}
				if d, ok := ev.Body.(openmanus.CallDone); ok && d.Parts.Text() != word {
					t.Errorf("got the result %q, want %q", d.Parts.Text(), word)
				}
				last = ev
			}
			if said, ok := last.Body.(openmanus.ModelSaid); !ok || said.Message.Text() != word {
				t.Errorf("got %v, want %q", last.Body, word)
			}
		})
	}
	all.Wait()
}

func TestLaw12ASessionFromTheFutureIsReadAndNotDriven(t *testing.T) {
	m := llmtest.Script(llmtest.Say("ok"))
	a := &openmanus.Agent{Name: "a", Model: m}
	l, j := begin(t, a, "go")
	future := openmanus.Foreign{Type: "dreamt", Stored: "dream/1", Content: json.RawMessage(`{"of":"sheep"}`)}
	put(t, j, future)
	if err := l.Wake(t.Context(), sess); err == nil || !strings.Contains(err.Error(), "dreamt") || !strings.Contains(err.Error(), "not driven") {
		t.Errorf("Wake: %v", err)
	}
	if _, err := tasks(t.Context(), &l.Worker, sess); err == nil {
		t.Error("it has tasks")
	}
	if err := do(t.Context(), &l.Worker, sess, openmanus.Task{Do: openmanus.Reply, Re: 3}); err == nil || m.Asked.Load() != 0 {
		t.Errorf("Do: %v; asked %d times", err, m.Asked.Load())
	}
	if s := load(t, j, sess); s.Foreign != "dreamt" || len(a.Next(s)) != 0 {
		t.Error("its state has tasks")
	}
	if evs := events(t, j, sess); encode(t, evs[3].Body) != encode(t, future) {
		t.Errorf("it reads as %v", evs[3])
	}
}

func TestLaw12ANewerFormatIsReadAndNotDriven(t *testing.T) {
	m := llmtest.Script(llmtest.Say("ok"))
	l := local(new(journal.Memory))
	l.Flow = run.FlowsByName(&openmanus.Agent{Name: "a", Model: m})
	put(t, l.Journal, openmanus.Opened{Flow: "a", Version: openmanus.FormatVersion + 1}, openmanus.Configured{}, userSays("1", "go"))
	if err := l.Wake(t.Context(), sess); err == nil || !strings.Contains(err.Error(), "version 3 of the journal format") || m.Asked.Load() != 0 {
		t.Errorf("Wake: %v; asked %d times", err, m.Asked.Load())
	}
}

// A body of the future that arrives while a session is driven stops it.
func TestLaw12AnEventFromTheFutureStopsTheDriver(t *testing.T) {
	var j *journal.Memory
	m := &actor{play: func(ctx context.Context, n int, _ *llm.Request) take {
		put(t, j, openmanus.Foreign{Type: "dreamt", Stored: "dream/1", Content: json.RawMessage(`{}`)})
		<-ctx.Done()
		return take{err: ctx.Err()}
	}}
	l, mem := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	j = mem
	if err := l.Wake(t.Context(), sess); err == nil || !strings.Contains(err.Error(), "dreamt") {
		t.Errorf("Wake: %v", err)
	}
}

// A tool that prints a secret tells it to nobody: not to the model, not to the
// journal. A call with the placeholder in its arguments does not run.
func TestLaw13SecretsAreReplacedOnTheWayInAndTheirPlaceholdersRefused(t *testing.T) {
	const secret = "hunter2-hunter2"
	var runs atomic.Int64
	j := &journal.Memory{Secrets: journal.NewSecrets(map[string]string{"PASSWORD": secret})}
	m := lines(
		llmtest.Use("1", "leak", "{}"),
		llmtest.Use("2", "write", `{"text":"password = [[secret:PASSWORD]]"}`),
		llmtest.Say("I cannot."))
	a := &openmanus.Agent{Name: "a", Model: m, Gate: openmanus.AllowAll, Tools: []openmanus.Tool{
		tool("leak", openmanus.Hints{}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.Result{Parts: llm.Parts{llm.Text{Text: "it is " + secret}}, Detail: secret}, errors.New("so it is: " + secret)
		}),
		counted("write", openmanus.Hints{}, &runs),
	}}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "keep "+secret))); err != nil {
		t.Fatal(err)
	}
	l := local(j, a)
	ended(t, wake(t, l), openmanus.Finished, "")
	for i, req := range m.asked() {
		if strings.Contains(encode(t, req.Messages), secret) {
			t.Errorf("request %d tells the secret: %s", i, dialogue(req.Messages))
		}
	}
	if s := log(t, j, sess); strings.Contains(s, secret) || !strings.Contains(s, "[[secret:PASSWORD]]") {
		t.Errorf("the journal tells it:\n%s", s)
	}
	if got, _ := result(t, j, "c1-1"); runs.Load() != 0 || !strings.Contains(got, "[[secret:PASSWORD]]") || !strings.Contains(got, "did not run") {
		t.Errorf("the placeholder was written %d times; the model reads %q", runs.Load(), got)
	}
}

// State is folded from what the journal yields, so that one who was there and
// one who comes later know the same: also of what JSON cannot hold.
func TestLaw13TheDriverFoldsWhatALaterReaderReads(t *testing.T) {
	odd := `{"x":"<&>` + "\u2028" + `","y":` + "\"\xff\xfe\"}"
	m := lines(llmtest.Calls(llmtest.Say("\xff<é>"), llmtest.Use("1", "odd", odd)), llmtest.Say("ok"))
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{tool("odd", openmanus.Hints{ReadOnly: true}, nil)}}
	l, j := begin(t, a, "a\xffb<c>")
	s := wake(t, l)
	later := load(t, j, sess).Request(openmanus.Task{Re: s.Seq})
	sent := m.asked()[1]
	if got, want := encode(t, later.Messages[:sent.Fixed]), encode(t, sent.Messages); got != want {
		t.Errorf("sent\n%s\nread later\n%s", want, got)
	}
	if c := sent.Messages[1].Calls()[0]; c.Input != odd {
		t.Errorf("the arguments %q became %q", odd, c.Input)
	}
}

// A Blobs that cannot keep is an error of the run, not a lost output.
func TestLaw10AnOutputThatCannotBeKeptStopsTheRun(t *testing.T) {
	big := tool("big", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("%s", strings.Repeat("x", 20_000)), nil
	})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("x", "big", "{}"), llmtest.Say("ok")), Tools: []openmanus.Tool{big}}, "go")
	l.Blobs = fullDisk{}
	if err := l.Wake(t.Context(), sess); !errors.Is(err, errFull) {
		t.Errorf("Wake: %v, want %v", err, errFull)
	}
	l.Blobs = nil // there is room again
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, _ := result(t, j, "c0-1"); !strings.Contains(got, "left out") {
		t.Errorf("the model reads %.100q", got)
	}
}

var errFull = errors.New("no space left on device")

type fullDisk struct{}

func (fullDisk) Put(context.Context, []byte) (openmanus.Ref, error)        { return "", errFull }
func (fullDisk) Get(context.Context, openmanus.Ref) (io.ReadCloser, error) { return nil, errFull }
