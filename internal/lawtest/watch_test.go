package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A screen is someone who watches, and checks that what they see makes sense:
// stored events in order and once, nothing typed after its turn is over, and
// what was typed the beginning of what is said in the end.
type screen struct {
	t     *testing.T
	seq   int64
	turn  int // outcomes so far
	typed llm.Reply
	lines []string // a story of what was seen
}

func (s *screen) see(ev openmanus.Event) {
	if ev.Seq > 0 {
		if s.seq > 0 && ev.Seq != s.seq+1 {
			s.t.Errorf("event %d after event %d", ev.Seq, s.seq)
		}
		s.seq = ev.Seq
		s.lines = append(s.lines, ev.Body.Key())
	}
	switch b := ev.Body.(type) {
	case openmanus.Typing:
		s.typing(b)
	case openmanus.Output:
		s.lines = append(s.lines, "output:"+b.Text)
	case openmanus.ModelSaid:
		if text := s.typed.Message.Text(); !strings.HasPrefix(b.Message.Text(), text) {
			s.t.Errorf("typed %q, said %q", text, b.Message.Text())
		}
		s.turn, s.typed = b.Turn+1, llm.Reply{}
	case openmanus.ModelFailed:
		s.turn, s.typed = b.Turn+1, llm.Reply{}
	case openmanus.Interrupted:
		s.typed = llm.Reply{}
	}
}

func (s *screen) typing(b openmanus.Typing) {
	if b.Turn < s.turn {
		s.t.Errorf("typed %q of turn %d, which is over", b.Parts.Text(), b.Turn)
	}
	if b.Reset {
		s.typed = llm.Reply{}
		s.lines = append(s.lines, "reset")
	}
	for i, p := range b.Parts {
		if err := s.typed.Add(llm.Delta{Part: b.Part + i, Piece: p}); err != nil {
			s.t.Errorf("typed out of order: %v", err)
		}
		if text, ok := p.(llm.Text); ok {
			s.lines = append(s.lines, "typed:"+text.Text)
		}
	}
}

// watch looks until the events of want, as one line, have been seen.
func (s *screen) watch(seq iter.Seq2[openmanus.Event, error], want string) {
	s.t.Helper()
	for ev, err := range seq {
		if err != nil {
			s.t.Fatal(err)
		}
		s.see(ev)
		got := strings.Join(s.lines, " ")
		if got == want {
			return
		}
		if !strings.HasPrefix(want, got) {
			s.t.Fatalf("saw  %s\nwant %s", got, want)
		}
	}
	s.t.Fatalf("saw only %s", strings.Join(s.lines, " "))
}

// typist is a model that types what it gets on its channel.
type typist struct{ keys chan llm.Delta }

func (m typist) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for {
			select {
			case d := <-m.keys:
				if !yield(d, nil) || d.Stop != "" {
					return
				}
			case <-ctx.Done():
				yield(llm.Delta{}, ctx.Err())
				return
			}
		}
	}
}

func types(text string) llm.Delta { return llm.Delta{Piece: llm.Text{Text: text}} }

// awake drives sess in the background; the function that it returns waits for
// the end.
func awake(t *testing.T, l *run.Local, ctx context.Context) func() error {
	done := make(chan error, 1)
	go func() { done <- l.Wake(ctx, sess) }()
	return func() error { return <-done }
}

func TestWatchFromTheBeginning(t *testing.T) {
	m := typist{make(chan llm.Delta)}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	wait := awake(t, l, t.Context())
	var s screen
	s.t = t
	next, stop := iter.Pull2(l.Watch(t.Context(), sess, 0))
	defer stop()
	see := func(n int, want string) {
		t.Helper()
		for range n {
			ev, _, _ := next()
			s.see(ev)
		}
		if got := strings.Join(s.lines, " "); got != want {
			t.Fatalf("saw  %s\nwant %s", got, want)
		}
	}
	see(3, "open config/0 user/task")
	m.keys <- types("ab")
	see(1, "open config/0 user/task typed:ab")
	m.keys <- types("cd")
	see(1, "open config/0 user/task typed:ab typed:cd")
	m.keys <- llm.Delta{Stop: llm.End}
	see(1, "open config/0 user/task typed:ab typed:cd model/0")
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

func TestWhoJoinsInTheMiddleOfAReplyGetsWhatWasTypedSoFarOnce(t *testing.T) {
	m := typist{make(chan llm.Delta)}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	wait := awake(t, l, t.Context())
	for _, k := range []string{"ab", "cd", "ef"} {
		m.keys <- types(k)
	}
	m.keys <- types("gh") // it has read "ef" when it takes this
	first := screen{t: t}
	for ev, err := range l.Watch(t.Context(), sess, 0) {
		if err != nil {
			t.Fatal(err)
		}
		first.see(ev)
		if b, ok := ev.Body.(openmanus.Typing); ok {
			if got := b.Parts.Text(); got != "abcdef" && got != "abcdefgh" {
				t.Errorf("first typed: %q", got)
			}
			break
		}
	}
	var all sync.WaitGroup
	for range 5 { // the same for each of many, while it types on
		all.Go(func() {
			s := screen{t: t}
			for ev := range l.Watch(t.Context(), sess, 2) {
				s.see(ev)
				if said, ok := ev.Body.(openmanus.ModelSaid); ok {
					if want := "user/task model/0"; !strings.HasPrefix(strings.Join(s.lines, " "), "user/task") {
						t.Errorf("saw %q, want %s with typing between", s.lines, want)
					}
					if said.Message.Text() != "abcdefghxyz" {
						t.Error(said.Message.Text())
					}
					return
				}
			}
		})
	}
	for _, k := range []string{"x", "y", "z"} {
		m.keys <- types(k)
	}
	m.keys <- llm.Delta{Stop: llm.End}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

// A reader who is far behind gets everything that is stored, in its place, and
// nothing of what was typed in turns that are over.
func TestASlowReaderMissesNothingStoredAndSeesNothingOutOfPlace(t *testing.T) {
	const turns = 30
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n == turns {
			return take{Message: llmtest.Say("that is all")}
		}
		return take{Message: llmtest.Calls(llmtest.Say(fmt.Sprint("I take step ", n)), llmtest.Use("", "look", map[string]int{"n": n}))}
	}}
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look()}}, "go")
	next, stop := iter.Pull2(l.Watch(t.Context(), sess, 0))
	defer stop()
	s := screen{t: t}
	read := func(n int) {
		for range n {
			ev, err, _ := next()
			if err != nil {
				t.Fatal(err)
			}
			s.see(ev)
		}
	}
	read(4 - 1) // it watches, then stops reading
	wake(t, l)
	end := load(t, j, sess).Seq
	for s.seq < end {
		read(1)
	}
	put(t, j, openmanus.Titled{ID: "1"})
	for s.seq <= end {
		read(1) // and nothing else that had been left over
	}
	if got := strings.Count(strings.Join(s.lines, " "), "model/"); got != turns+1 {
		t.Errorf("saw %d replies", got)
	}
}

// Deltas that a subscriber does not read in time are merged.
func TestAReaderWhoSleepsGetsWhatWasTypedInLargerPieces(t *testing.T) {
	m := typist{make(chan llm.Delta)}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	next, stop := iter.Pull2(l.Watch(t.Context(), sess, 0))
	defer stop()
	s := screen{t: t}
	see := func() openmanus.Event {
		ev, _, _ := next()
		s.see(ev)
		return ev
	}
	for range 3 {
		see()
	}
	wait := awake(t, l, t.Context())
	const n = 5000
	for i := range n {
		m.keys <- types(fmt.Sprintf("%05d", i))
	}
	m.keys <- llm.Delta{Stop: llm.End}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	pieces := 0
	for s.turn == 0 {
		see()
		pieces++
	}
	if pieces > 2000 || s.seq != 4 {
		t.Errorf("got %d pieces of %d", pieces, n)
	}
}

func TestARetryIsShownAsAReset(t *testing.T) {
	m := typist{make(chan llm.Delta)}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	joined := make(chan struct{})
	seen := make(chan struct{})
	go func() {
		defer close(seen)
		s := screen{t: t}
		s.watch(func(yield func(openmanus.Event, error) bool) {
			for ev, err := range l.Watch(t.Context(), sess, 2) {
				if !yield(ev, err) {
					return
				}
				if ev.Seq == 3 {
					close(joined)
				}
			}
		}, "user/task typed:wro reset typed:rig typed:ht model/0")
	}()
	<-joined
	wait := awake(t, l, t.Context())
	m.keys <- types("wro")
	m.keys <- llm.Delta{Reset: true}
	m.keys <- types("rig")
	m.keys <- types("ht")
	m.keys <- llm.Delta{Stop: llm.End}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	<-seen
}

// A driver is stopped in the middle of a reply and another begins it anew:
// who has watched all the time is told that what they saw is void, and who
// joins between the two sees nothing of it.
func TestAReplyThatIsBegunAnewIsNotShownTwice(t *testing.T) {
	m := typist{make(chan llm.Delta)}
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	joined, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		s := screen{t: t}
		s.watch(func(yield func(openmanus.Event, error) bool) {
			for ev, err := range l.Watch(t.Context(), sess, 2) {
				if _, taken := ev.Body.(openmanus.TakenOver); taken {
					s.seq++ // depends on the clock
					continue
				}
				if !yield(ev, err) {
					return
				}
				if ev.Seq == 3 {
					close(joined)
				}
			}
		}, "user/task typed:first reset typed:second model/0")
	}()
	<-joined
	ctx, kill := context.WithCancel(t.Context())
	wait := awake(t, l, ctx)
	m.keys <- types("first")
	kill()
	if err := wait(); err == nil {
		t.Fatal("it was not stopped")
	}
	for ev, err := range l.Watch(t.Context(), sess, 2) {
		if err != nil || ev.Seq == 0 {
			t.Fatalf("who joins when nobody drives sees %v, %v", ev.Body, err)
		}
		break
	}
	wait = awake(t, l, t.Context())
	m.keys <- types("second")
	m.keys <- llm.Delta{Stop: llm.End}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	<-seen
}

// After an interrupt, what the model still types is shown to nobody.
func TestWhatIsTypedAfterAnInterruptIsNotShown(t *testing.T) {
	m := &stubborn{typing: make(chan struct{}), heard: make(chan struct{})}
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m}, "go")
	old, leave := iter.Pull2(l.Watch(t.Context(), sess, 0))
	defer leave()
	old() // somebody watches all the time
	wait := awake(t, l, t.Context())
	<-m.typing
	put(t, j, openmanus.Interrupted{ID: "1"})
	<-m.heard
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull2(l.Watch(t.Context(), sess, 0))
	defer stop()
	for n := range int64(5) {
		if n == 4 {
			put(t, j, openmanus.Titled{ID: "1"})
		}
		if ev, err, _ := next(); err != nil || ev.Seq != n+1 {
			t.Errorf("a new watcher sees %v", ev.Body)
		}
	}
}

// stubborn is a model that types on after it was told to stop.
type stubborn struct{ typing, heard chan struct{} }

func (m *stubborn) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(types("a"), nil)
		close(m.typing)
		<-ctx.Done()
		close(m.heard)
		yield(types("b"), nil)
		yield(types("c"), nil)
		yield(llm.Delta{}, ctx.Err())
	}
}

func TestWhatACallPrintsIsSeenWhileItRuns(t *testing.T) {
	more := make(chan struct{})
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		fmt.Fprint(call.Live, "half\xff")
		<-more // it is seen before the call ends
		return openmanus.TextResult("all"), nil
	})
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("", "do", "{}"), llmtest.Say("ok")), Tools: []openmanus.Tool{do}}, "go")
	var wait func() error
	s := screen{t: t}
	for ev, err := range l.Watch(t.Context(), sess, 2) {
		if err != nil {
			t.Fatal(err)
		}
		s.see(ev)
		if ev.Seq == 3 && wait == nil {
			wait = awake(t, l, t.Context())
		}
		if b, ok := ev.Body.(openmanus.Output); ok {
			if b.Call != "c0-1" || b.Text != "half\uFFFD" {
				t.Errorf("%+v", b)
			}
			close(more)
		}
		if said, ok := ev.Body.(openmanus.ModelSaid); ok && said.Turn == 1 {
			break
		}
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.lines, " "); !strings.Contains(got, "start/c0-1/1 output:half\uFFFD done/c0-1") {
		t.Error(got)
	}
}

// A subscriber that joins while a call runs gets the end of its output, and then the
// rest: nothing is missing between the two, and nothing comes twice. One that joins again
// knows from where.
func TestWhoJoinsWhileACallRunsGetsWhatItPrintedOnce(t *testing.T) {
	const big = 300 << 10 // more than is kept
	more, printed := make(chan struct{}), make(chan struct{})
	do := tool("do", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		for n := 0; n < big; n += 6 {
			fmt.Fprintf(call.Live, "é%04d", n/6%10000)
		}
		close(printed)
		<-more
		fmt.Fprint(call.Live, " and the rest")
		return openmanus.TextResult("all"), nil
	})
	model := lines(llmtest.Use("", "do", "{}"), llmtest.Say("ok"))
	l, _ := begin(t, &openmanus.Agent{Name: "a", Model: model, Tools: []openmanus.Tool{do}}, "go")
	wait := awake(t, l, t.Context())
	<-printed
	var all sync.WaitGroup
	first := make(chan struct{}, 5)
	for range 5 {
		all.Go(func() {
			had, text, joined := int64(0), "", false
			for ev, err := range l.Watch(t.Context(), sess, 2) {
				if err != nil {
					t.Error(err)
					return
				}
				switch b := ev.Body.(type) {
				case openmanus.Output:
					if joined && b.At != had {
						t.Errorf("after byte %d comes byte %d", had, b.At)
					}
					had, text = b.At+int64(len(b.Text)), text+b.Text
					if !joined {
						joined = true
						first <- struct{}{}
						if len(b.Text) < 60<<10 || len(b.Text) > 64<<10 || had != big {
							t.Errorf("joined with %d bytes up to %d", len(b.Text), had)
						}
					}
				case openmanus.CallDone:
					if !strings.HasSuffix(text, "1199 and the rest") || strings.Count(text, "rest") != 1 {
						t.Errorf("printed …%s", text[max(0, len(text)-40):])
					}
					return
				}
			}
		})
	}
	for range 5 {
		<-first
	}
	close(more)
	all.Wait()
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	for ev, err := range l.Watch(t.Context(), sess, 2) { // it is over
		if o, ok := ev.Body.(openmanus.Output); ok || err != nil {
			t.Error(o, err)
		}
		if said, ok := ev.Body.(openmanus.ModelSaid); ok && said.Turn == 1 {
			break
		}
	}
}

func TestTheRestOfAnOutput(t *testing.T) {
	o := openmanus.Output{Call: "c", At: 10, Text: "abcd"}
	for _, tt := range []struct {
		end  int64
		rest string
		then int64
	}{
		{0, "abcd", 14}, {10, "abcd", 14}, {12, "cd", 14}, {14, "", 14}, {20, "", 20},
	} {
		rest, then := o.Rest(tt.end)
		if rest.Text != tt.rest || then != tt.then || rest.Text != "" && rest.At != max(o.At, tt.end) {
			t.Errorf("after %d: %+v, %d", tt.end, rest, then)
		}
	}
}

// A subscriber sees events of other processes, whether the session is driven or
// not.
func TestWatchingWhatOthersWrite(t *testing.T) {
	l, j := begin(t, &openmanus.Agent{Name: "a"}, "go")
	s := screen{t: t}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range l.Watch(ctx, sess, 0) {
		if err != nil {
			t.Fatal(err)
		}
		s.see(ev)
		switch {
		case ev.Seq < 3:
		case ev.Seq < 20:
			put(t, j, openmanus.Titled{ID: fmt.Sprint(ev.Seq)})
		default:
			cancel() // then it ends, without an error
		}
	}
	if s.seq != 20 {
		t.Errorf("saw %d events", s.seq)
	}
}

// A driver hears what other processes write while a call runs.
func TestADriverHearsOthersWhileACallRuns(t *testing.T) {
	running, ask := make(chan struct{}), make(chan struct{})
	wait := tool("wait", openmanus.Hints{ReadOnly: true}, func(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
		close(running)
		<-ask
		return openmanus.TextResult("waited"), ctx.Err()
	})
	quick := tool("quick", openmanus.Hints{ReadOnly: true, Destructive: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		if len(call.Answers) == 0 {
			return openmanus.Result{}, &openmanus.Ask{Question: "how many?"}
		}
		close(ask)
		return openmanus.TextResult("%s", call.Answers[0].Text), nil
	})
	gate := openmanus.GateFunc(func(_ context.Context, _ openmanus.Call, spec openmanus.ToolSpec) (openmanus.Verdict, error) {
		return openmanus.Verdict{Allow: true, Ask: spec.Hints.Destructive}, nil
	})
	m := lines(llmtest.Calls(llmtest.Use("", "wait", "{}"), llmtest.Use("", "quick", "{}")), llmtest.Say("ok"))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Gate: gate, Tools: []openmanus.Tool{wait, quick}}, "go")
	end := awake(t, l, t.Context())
	<-running
	put(t, j, openmanus.Ruled{Call: "c0-2", Allow: true, By: "gopher"})
	for ev := range j.Follow(t.Context(), sess, 0) {
		if q, ok := ev.Body.(openmanus.Asked); ok && q.Kind == openmanus.AskText {
			put(t, j, openmanus.Answered{Call: "c0-2", N: q.N, Text: "three"})
			break
		}
	}
	if err := end(); err != nil { // "wait" ends only when "quick" has had its answer
		t.Fatal(err)
	}
	if got := dialogue(load(t, j, sess).Said[2:3]); got != "tool: waited + three" {
		t.Error(got)
	}
}

// A subscriber gets an error when no more events can come.
func TestWatchingABrokenJournal(t *testing.T) {
	a := &openmanus.Agent{Name: "a"}
	j := deaf{new(journal.Memory)}
	if err := openmanus.Open(t.Context(), j, sess, a, nil); err != nil {
		t.Fatal(err)
	}
	var last error
	for _, err := range local(j, a).Watch(t.Context(), sess, 0) {
		last = err
	}
	if !errors.Is(last, errDeaf) {
		t.Errorf("it ended with %v, want %v", last, errDeaf)
	}
}

// Whoever stops watching, or whose context ends, leaves nothing behind.
func TestLeavingAWatch(t *testing.T) {
	l, _ := begin(t, &openmanus.Agent{Name: "a"}, "go")
	for range l.Watch(t.Context(), sess, 0) {
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for ev, err := range l.Watch(ctx, sess, 0) {
		t.Errorf("got %v, %v of a watch that has ended", ev, err)
	}
}
