package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A tight model refuses what is larger than its window, and says how large
// each request was.
func tight(window int, play func(n int, req *llm.Request) take) *actor {
	return &actor{play: func(_ context.Context, n int, req *llm.Request) take {
		size := tokensOf(req)
		if size > window {
			return take{err: &llm.Error{Kind: llm.Context, Err: fmt.Errorf("%d tokens, and %d fit", size, window)}}
		}
		t := play(n, req)
		t.usage = llm.Usage{Input: size, Output: 20}
		return t
	}}
}

func asksForSummary(req *llm.Request) bool {
	return strings.Contains(req.Messages[len(req.Messages)-1].Text(), "is about to be replaced by a summary")
}

// lawfulWithCuts fails the test unless all requests keep laws 6 and 7: each
// that is no request for a summary begins with the one before, but after a
// declared cut. It returns how many cuts there were.
func lawfulWithCuts(t *testing.T, j openmanus.Journal, asks []*llm.Request) int {
	t.Helper()
	cuts, breaks := 0, 0
	for _, ev := range events(t, j, sess) {
		switch ev.Body.(type) {
		case openmanus.Elided, openmanus.Compacted:
			cuts++
		}
	}
	before := []llm.Message{}
	for i, req := range asks {
		if err := law7(req.Messages); err != nil {
			t.Fatalf("request %d: %v: %s", i, err, dialogue(req.Messages))
		}
		now := req.Messages[:req.Fixed]
		if asksForSummary(req) {
			if len(now) > 1 && (len(now) > len(before) || encode(t, before[:len(now)]) != encode(t, now)) {
				breaks++ // results were elided just before
				before = now
			}
			continue
		}
		if len(now) < len(before) || encode(t, now[:len(before)]) != encode(t, before) {
			breaks++
		}
		before = now
	}
	if breaks > cuts {
		t.Fatalf("%d requests do not begin with the one before, and %d cuts were declared", breaks, cuts)
	}
	return cuts
}

// reader is a tool whose results have n bytes and a fact each.
func reader(n int) openmanus.Tool {
	return tool("read", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("the fact of %s is F%x.\n%s", call.ID, fact(call.ID), strings.Repeat("and so on ", n/10)), nil
	})
}

func fact(of string) (n uint64) {
	for _, b := range []byte(of) {
		n = n*131 + uint64(b) + 7
	}
	return n
}

func planner2() openmanus.Tool {
	return tool("planning", openmanus.Hints{Internal: true, Idempotent: true, Keep: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		res := openmanus.TextResult("[✓] read everything [ ] write the report (%s)", call.Input)
		res.Detail = call.Input
		return res, nil
	})
}

// TestFiftyFactsStayReachable: a run of 200 steps in a window that holds ten
// of them. No request is larger than the window; the task and the plan stay
// word for word; every fact that was read can be read again, by what the model
// sees at the end and the references in it; and every path is still there.
func TestFiftyFactsStayReachable(t *testing.T) {
	const window, steps = 16_000, 200
	n := 0
	m := tight(window, func(_ int, req *llm.Request) take {
		if asksForSummary(req) {
			return take{Message: llmtest.Say("I read files.")}
		}
		switch n++; {
		case n == 3:
			return take{Message: llmtest.Use("", "planning", `{"x":"the plan"}`)}
		case n > steps:
			return take{Message: llmtest.Say("done")}
		}
		return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"path":"docs/file-%d.txt"}`, n))}
	})
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{reader(2500), planner2()}, Gate: openmanus.AllowAll,
		Window: openmanus.Window{Tokens: window, Reply: 1000}, Limits: openmanus.Limits{Steps: -1, Stuck: -1}}
	l, j := begin(t, a, "Read all of docs and tell me the fact of each.")
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if cuts := lawfulWithCuts(t, j, m.asked()); cuts < 5 || cuts > 100 {
		t.Errorf("%d cuts", cuts)
	}
	for _, ev := range events(t, j, sess) {
		if f, ok := ev.Body.(openmanus.ModelFailed); ok {
			t.Fatal(f.Error)
		}
	}
	last := s.Transcript(s.Seq)
	words := dialogue(last)
	if !strings.Contains(words, "user: Read all of docs and tell me the fact of each. |") || !strings.Contains(words, `[✓] read everything [ ] write the report ({"x":"the plan"})`) {
		t.Errorf("the task or the plan is gone: %.3000s", words)
	}
	all := reachable(t, j, words)
	for i := range 50 {
		i = 4 + i*4 - i/49 // from the first to the last
		for id, c := range callsOf(t, j) {
			if c == fmt.Sprintf(`{"path":"docs/file-%d.txt"}`, i) && !strings.Contains(all, fmt.Sprintf("F%x.", fact(id))) {
				t.Errorf("the fact of step %d (%s) is lost", i, id)
			}
		}
		if !strings.Contains(all, fmt.Sprintf("docs/file-%d.txt", i)) {
			t.Errorf("the path of step %d is lost", i)
		}
	}
}

// callsOf are the arguments of all calls, by id.
func callsOf(t *testing.T, j openmanus.Journal) map[string]string {
	calls := make(map[string]string)
	for _, ev := range events(t, j, sess) {
		if said, ok := ev.Body.(openmanus.ModelSaid); ok {
			for _, c := range said.Message.Calls() {
				calls[c.ID] = c.Input
			}
		}
	}
	return calls
}

// stateOf folds the journal of the session.
func stateOf(t *testing.T, j openmanus.Journal) *openmanus.State {
	t.Helper()
	s, err := openmanus.Load(t.Context(), j, sess)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var refIn = regexp.MustCompile(`"ref":"([0-9a-f]+)"`)

// reachable is text with all that the references in it lead to.
func reachable(t *testing.T, j *journal.Memory, text string) string {
	seen := make(map[openmanus.Ref]bool)
	refs := stateOf(t, j).Refs()
	for todo := []string{text}; len(todo) > 0; todo = todo[1:] {
		for _, m := range refIn.FindAllStringSubmatch(todo[0], -1) {
			found := openmanus.FindRef(refs, m[1])
			if len(found) != 1 {
				t.Fatalf("the ref %s leads to %v", m[1], found)
			}
			ref := found[0]
			if seen[ref] {
				continue
			}
			seen[ref] = true
			data, err := openmanus.ReadBlob(t.Context(), j, ref)
			if err != nil {
				t.Fatalf("%s: %v", ref, err)
			}
			todo = append(todo, string(data))
			text += string(data)
		}
	}
	return text
}

// TestNeverOverTheWindow: random histories, in windows of random size, with a
// model that counts as we do, half as much, or does not tell. No request is
// larger than the window, and every session comes to an end, which only what
// cannot be cut can spoil.
func TestNeverOverTheWindow(t *testing.T) {
	for seed := range uint64(40 / testbed.Slower) {
		r := rand.New(rand.NewPCG(seed, 3))
		window := 8000 + r.IntN(30_000)
		steps, silent := 5+r.IntN(60), r.IntN(3) == 0
		n := 0
		m := &actor{}
		m.play = func(_ context.Context, _ int, req *llm.Request) take {
			size := tokensOf(req)
			if size > window {
				t.Errorf("seed %d: a request of %d tokens for a window of %d", seed, size, window)
			}
			usage := llm.Usage{Input: size, Output: 10}
			if silent {
				usage = llm.Usage{Output: 1}
			}
			if asksForSummary(req) {
				return take{Message: llmtest.Say(strings.Repeat("summary ", 1+r.IntN(5000))), usage: usage}
			}
			if n++; n > steps {
				return take{Message: llmtest.Say("done"), usage: usage}
			}
			var calls []llm.Message
			for i := range 1 + r.IntN(4)*r.IntN(4) {
				calls = append(calls, llmtest.Use("", []string{"read", "big", "planning"}[r.IntN(3)], fmt.Sprintf(`{"n":"%d-%d"}`, n, i)))
			}
			return take{Message: llmtest.Calls(calls...), usage: usage}
		}
		tools := []openmanus.Tool{reader(1 + r.IntN(3000)), planner2(), tool("big", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("%s", strings.Repeat("<big>", 8000)), nil
		})}
		a := &openmanus.Agent{Name: "a", Model: m, Tools: tools, Gate: openmanus.AllowAll,
			Window: openmanus.Window{Tokens: window, Reply: r.IntN(2000)}, Limits: openmanus.Limits{Steps: -1, Stuck: -1, Tokens: -1}}
		l, j := begin(t, a, "Go."+strings.Repeat(" Go.", r.IntN(200)))
		for i := range r.IntN(4) {
			put(t, j, userSays(fmt.Sprint("more", i), strings.Repeat("Also this. ", 1+r.IntN(300))))
		}
		s := wake(t, l)
		if s.Status() != openmanus.Finished {
			t.Errorf("seed %d: it is %s: %s\n%s", seed, s.Status(), s.Outcome.Error, log(t, j, sess))
		}
		if asks := len(m.asked()); asks > 4*steps+10 {
			t.Errorf("seed %d: %d requests for %d steps: it turns in a circle", seed, asks, steps)
		}
		lawfulWithCuts(t, j, m.asked())
		if t.Failed() {
			return
		}
	}
}

// A call that has its result makes room with its arguments: they
// are replaced by a reference, where nothing else is left.
func TestLargeArgumentsMakeRoom(t *testing.T) {
	text := strings.Repeat("a line of the file, and another one; ", 220)
	n := 0
	m := tight(5000, func(_ int, req *llm.Request) take {
		if asksForSummary(req) {
			return take{Message: llmtest.Say("I wrote files.")}
		}
		if n++; n > 12 {
			return take{Message: llmtest.Say("done")}
		}
		return take{Message: llmtest.Use("", "write", map[string]any{"path": fmt.Sprintf("f%d.txt", n), "content": fmt.Sprint(n, text)})}
	})
	write := tool("write", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("written"), nil
	})
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{write}, Window: openmanus.Window{Tokens: 5000}, Limits: openmanus.Limits{Stuck: -1}}
	l, j := begin(t, a, "Write twelve files.")
	ended(t, wake(t, l), openmanus.Finished, "")
	lawfulWithCuts(t, j, m.asked())
	inputs := 0
	for _, ev := range events(t, j, sess) {
		if b, ok := ev.Body.(openmanus.Elided); ok {
			for _, x := range b.Calls {
				whole, err := openmanus.ReadBlob(t.Context(), j, x.Whole)
				if x.Input && (err != nil || !strings.Contains(string(whole), text) || !strings.Contains(x.Text, `"path":"f`) || !strings.Contains(x.Text, "read_output")) {
					t.Errorf("%v: %s stands for %d bytes", err, x.Text, len(whole))
				}
				if x.Input {
					inputs++
				}
			}
		}
	}
	if inputs == 0 {
		t.Errorf("no arguments were left out\n%s", log(t, j, sess))
	}
}

// A request that cannot be cut is not sent: the person reads how large it is.
func TestATaskLargerThanTheWindow(t *testing.T) {
	m := tight(4000, func(int, *llm.Request) take { return take{Message: llmtest.Say("hm")} })
	a := &openmanus.Agent{Name: "a", Model: m, Window: openmanus.Window{Tokens: 4000}}
	l, _ := begin(t, a, strings.Repeat("long ", 5000))
	s := wake(t, l)
	ended(t, s, openmanus.Failed, openmanus.Reason(llm.Context))
	if len(m.asked()) != 0 || !strings.Contains(s.Outcome.Error, "about 12508 tokens where 3500 fit, and nothing more can be left out") {
		t.Errorf("%d requests; %s", len(m.asked()), s.Outcome.Error)
	}
}

// A provider whose window is smaller than anybody knew refuses: the
// conversation is compacted once, and goes on. If that does not help, the
// session says so.
func TestTheProviderRefusesWhatIsTooLarge(t *testing.T) {
	for _, tt := range []struct {
		name   string
		later  int // the window after the first refusal
		status openmanus.Status
	}{{"once", 9000, openmanus.Finished}, {"again", 100, openmanus.Failed}} {
		t.Run(tt.name, func(t *testing.T) {
			n, window := 0, 9000
			m := &actor{}
			m.play = func(_ context.Context, _ int, req *llm.Request) take {
				size := tokensOf(req)
				if asksForSummary(req) {
					return take{Message: llmtest.Say("I read, and there is more to read.")}
				}
				if size > window {
					window = tt.later
					return take{err: &llm.Error{Kind: llm.Context, Status: 400, Err: errors.New("too many tokens")}}
				}
				if n++; n > 15 {
					return take{Message: llmtest.Say("done")}
				}
				return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"n":%d}`, n))}
			}
			a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{reader(2000)}, Limits: openmanus.Limits{Stuck: -1}}
			l, j := begin(t, a, "go")
			s := wake(t, l)
			if s.Status() != tt.status {
				t.Fatalf("it is %s: %s\n%s", s.Status(), s.Outcome.Error, log(t, j, sess))
			}
			i := slices.IndexFunc(events(t, j, sess), func(ev openmanus.Event) bool { _, ok := ev.Body.(openmanus.Compacted); return ok })
			if c := events(t, j, sess)[i].Body.(openmanus.Compacted); c.Refused != "too many tokens (HTTP 400)" || c.Usage.Input == 0 {
				t.Errorf("%+v", c)
			}
			if tt.status == openmanus.Failed && !strings.Contains(s.Outcome.Error, "older parts of the conversation have been left out already") {
				t.Error(s.Outcome.Error)
			}
			lawfulWithCuts(t, j, m.asked())
		})
	}
}

// A session outlives any number of refusals, whether the window is unknown or said to be
// larger than it is, and whether a server takes a summary of everything or of a part.
// One that has failed goes on when it is resumed.
func TestTheProviderRefusesAgainAndAgain(t *testing.T) {
	for _, tt := range []struct {
		name  string
		known openmanus.Window
		size  int // of a result
	}{{"the window is unknown", openmanus.Window{}, 2000}, {"the window is smaller than it is said to be", openmanus.Window{Tokens: 200_000}, 2000},
		{"results that alone are too large", openmanus.Window{}, 30_000}} {
		t.Run(tt.name, func(t *testing.T) {
			const window, most = 9000, 120
			n, refused, down := 0, 0, 0
			m := &actor{}
			m.play = func(_ context.Context, _ int, req *llm.Request) take {
				switch size := tokensOf(req); {
				case size > window:
					refused++
					return take{err: &llm.Error{Kind: llm.Context, Status: 400, Err: errors.New("too many tokens")}}
				case asksForSummary(req):
					return take{Message: llmtest.Say("I read, and there is more to read.")}
				}
				if n == most/2 && down == 0 {
					down++
					return take{err: &llm.Error{Kind: llm.Auth, Permanent: true, Err: errors.New("no more")}}
				}
				if n++; n > most {
					return take{Message: llmtest.Say("done")}
				}
				return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"n":%d}`, n))}
			}
			a := &openmanus.Agent{Name: "a", Model: m, Window: tt.known, Tools: []openmanus.Tool{reader(tt.size)}, Limits: openmanus.Limits{Stuck: -1, Steps: 1000}}
			l, j := begin(t, a, "go")
			s := wake(t, l)
			ended(t, s, openmanus.Failed, openmanus.Reason(llm.Auth))
			put(t, j, openmanus.Resumed{ID: "again"})
			s = wake(t, l)
			if s.Status() != openmanus.Finished || refused < 5 {
				t.Fatalf("it is %s after %d replies and %d refusals: %s", s.Status(), n, refused, s.Outcome.Error)
			}
			if refused > 8*most {
				t.Errorf("%d refusals", refused)
			}
			for _, req := range m.asked() {
				if err := law7(req.Messages); err != nil {
					t.Fatalf("%v: %s", err, dialogue(req.Messages))
				}
			}
		})
	}
}

// A summary that cannot be had halts the session, which can be resumed; what
// is paid for it counts; another model may write it, from the text alone.
func TestTheSummarizer(t *testing.T) {
	n, down := 0, true
	m := tight(1<<20, func(_ int, req *llm.Request) take {
		if n++; n > 12 {
			return take{Message: llmtest.Say("done")}
		}
		return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"n":%d}`, n))}
	})
	other := &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
		if down {
			return take{err: &llm.Error{Kind: llm.Network, Err: errors.New("it is down")}}
		}
		return take{Message: llmtest.Say("Read some."), usage: llm.Usage{Input: 1000, Output: 100}}
	}}
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{reader(900)}, Window: openmanus.Window{Tokens: 6000, Reply: 500}, Limits: openmanus.Limits{Stuck: -1},
		Summarizer: openmanus.Helper{Model: other, Name: "other/one", Prices: openmanus.Prices{Input: 3, Output: 5}, Window: openmanus.Window{Tokens: 2000}}}
	l, j := begin(t, a, "go")
	s := wake(t, l)
	ended(t, s, openmanus.Failed, openmanus.Reason(llm.Network))
	if !strings.Contains(s.Outcome.Error, "could not be summed up: it is down") {
		t.Error(s.Outcome.Error)
	}
	down = false
	put(t, j, openmanus.Resumed{ID: "1"})
	s = wake(t, l)
	ended(t, s, openmanus.Finished, "")
	for _, req := range other.asked() {
		if len(req.Messages) != 1 || len(req.Tools) != 0 || len(req.Messages[0].Text()) > 2000+1500 {
			t.Errorf("it reads %d messages, %d bytes", len(req.Messages), len(req.Messages[0].Text()))
		}
	}
	summaries := len(other.asked()) - 1
	if summaries == 0 || s.Cost != openmanus.Money(summaries)*3500 {
		t.Errorf("%d summaries cost %d", summaries, s.Cost)
	}
}

// A person who interrupts the writing of a summary is heard at once.
func TestInterruptWhileSummarizing(t *testing.T) {
	n := 0
	var j *journal.Memory
	m := &actor{}
	m.play = func(ctx context.Context, _ int, req *llm.Request) take {
		if asksForSummary(req) {
			put(t, j, openmanus.Interrupted{ID: "x"})
			<-ctx.Done()
			return take{err: ctx.Err()}
		}
		n++
		return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"n":%d}`, n))}
	}
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{reader(900)}, Window: openmanus.Window{Tokens: 6000, Reply: 500}, Limits: openmanus.Limits{Stuck: -1}}
	var l *run.Local
	l, j = begin(t, a, "go")
	ended(t, wake(t, l), openmanus.Halted, openmanus.ByPerson)
}

// Killed at every append, a session that is compacted several times comes to
// the same end, without an orphan, and no call runs twice.
func TestKilledAtEveryAppendWhileCompacting(t *testing.T) {
	run := func(t *testing.T, at int64) (string, int64) {
		j := &tamper{Memory: new(journal.Memory)}
		m := tight(8000, func(_ int, req *llm.Request) take {
			if asksForSummary(req) {
				return take{Message: llmtest.Say("Some.")}
			}
			n := strings.Count(steps(t, j.Memory), "model/")
			if n >= 20 {
				return take{Message: llmtest.Say("done")}
			}
			return take{Message: llmtest.Use("", "read", fmt.Sprintf(`{"n":%d}`, n))}
		})
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{reader(1500)}, Gate: openmanus.AllowAll,
			Window: openmanus.Window{Tokens: 8000, Reply: 800}, Limits: openmanus.Limits{Stuck: -1}}
		if err := openmanus.Open(t.Context(), j.Memory, sess, a, ptr(userSays("task", "go"))); err != nil {
			t.Fatal(err)
		}
		j.after = func(n int64, _ string, _ []openmanus.Body) error {
			if n == at {
				return errCrash
			}
			return nil
		}
		err := local(j, a).Wake(t.Context(), sess)
		if at > 0 {
			if !errors.Is(err, errCrash) {
				t.Fatalf("killed at append %d, Wake returns %v", at, err)
			}
			err = local(j, a).Wake(t.Context(), sess)
		}
		if err != nil {
			t.Fatal(err)
		}
		s := load(t, j, sess)
		ended(t, s, openmanus.Finished, "")
		if cuts := lawfulWithCuts(t, j, m.asked()); cuts < 3 {
			t.Errorf("%d cuts", cuts)
		}
		return dialogue(s.Transcript(s.Seq)), j.n.Load()
	}
	want, appends := run(t, 0)
	for n := int64(1); n < appends; n++ {
		if got, _ := run(t, n); got != want {
			t.Fatalf("killed at append %d:\n%s\nwant\n%s", n, got, want)
		}
	}
}

func steps(t *testing.T, j openmanus.Journal) string { return keys(t, j, sess) }

// tokensOf is how many tokens a request has, counted whole.
func tokensOf(req *llm.Request) int {
	n := llm.CountHead(nil, req.System, req.Tools)
	for _, m := range req.Messages {
		n += llm.Count(nil, m)
	}
	return n
}
