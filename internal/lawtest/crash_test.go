package lawtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// An epic is a session in which everything happens: parallel calls, an
// approval, a question, a steering message, a plan with two children, one of
// which asks for an approval too. Its tools count what they do.
type epic struct {
	j     *tamper
	pipe  bool // its driver goes on while events are stored
	flows []openmanus.Flow
	asks  []*actor

	again atomic.Bool // somebody spoke to a child, and wakes the root when it can

	mu   sync.Mutex
	paid map[string]int // by session and call
}

func newEpic(t *testing.T) *epic {
	e := &epic{j: &tamper{Memory: new(journal.Memory)}, paid: make(map[string]int)}
	pay := tool("pay", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.paid[call.Session+" "+call.ID]++
		return openmanus.TextResult("paid"), nil
	})
	read := tool("read", openmanus.Hints{ReadOnly: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("read %s", call.Input), nil
	})
	ask := tool("ask", openmanus.Hints{Internal: true, Idempotent: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		if len(call.Answers) < 2 {
			return openmanus.Result{}, &openmanus.Ask{Question: fmt.Sprintf("Question %d?", len(call.Answers))}
		}
		return openmanus.TextResult("%s and %s", call.Answers[0].Text, call.Answers[1].Text), nil
	})
	steer := tool("steer", openmanus.Hints{Idempotent: true, Internal: true}, func(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
		_, err := e.j.say(ctx, call.Session, userSays("steer", "by the way"))
		if errors.Is(err, openmanus.ErrExists) {
			err = nil
		}
		return openmanus.TextResult("steered"), err
	})
	do := func(name, input string) llm.Message { return llmtest.Use("same", name, input) }
	root := e.plays(
		llmtest.Calls(llmtest.Say("I begin."), do("read", `{"n":1}`), do("read", `{"n":2}`), do("pay", "{}"), do("ask", "{}"), do("read", `{"n":3}`)),
		do("steer", "{}"),
		llmtest.Calls(do("nothing", "{}"), do("plan", `{"steps":["one","two"]}`)),
		llmtest.Say("That is all."))
	hand := e.plays(
		llmtest.Calls(do("read", `{"n":4}`), do("pay", `{"n":5}`)),
		llmtest.Say("Done."))
	tools := []openmanus.Tool{pay, read, ask, steer, planTool()}
	f := planFlow{&openmanus.Agent{Name: "planner", Model: root, Tools: tools}}
	e.flows = []openmanus.Flow{f, &openmanus.Agent{Name: "hand", Model: hand, Tools: tools}}
	if err := openmanus.Open(t.Context(), e.j.Memory, sess, f, ptr(userSays("task", "go"))); err != nil {
		t.Fatal(err)
	}
	return e
}

// plays returns an actor that answers by how often it has spoken, so that one
// who is asked again says the same.
func (e *epic) plays(script ...llm.Message) *actor {
	a := &actor{play: func(_ context.Context, _ int, req *llm.Request) take {
		return take{Message: script[min(llmtest.Spoken(req), len(script)-1)]}
	}}
	e.asks = append(e.asks, a)
	return a
}

// live is the life of one process, with a person beside it who answers what is
// asked. It ends when nothing is left to do, or with the error of Wake.
func (e *epic) live(t *testing.T) error {
	l := local(e.j, e.flows...)
	if e.pipe {
		l = local(piping{tamper: e.j}, e.flows...)
	}
	for {
		if err := l.Wake(t.Context(), sess); err != nil {
			return err
		}
		if !e.answer(t) && !e.again.Swap(false) {
			return nil
		}
	}
}

// answer answers all that is asked in all sessions, and reports whether there
// was anything.
func (e *epic) answer(t *testing.T) bool {
	some := false
	say := func(id string, b openmanus.Body) {
		some = true
		if _, err := e.j.say(context.WithoutCancel(t.Context()), id, b); err != nil && !errors.Is(err, openmanus.ErrExists) {
			t.Error(err)
		}
	}
	for _, id := range e.sessions(t) {
		s := load(t, e.j.Memory, id)
		if s.Outcome.Status != "" {
			continue
		}
		for _, c := range s.Pending() {
			if n := len(c.Questions); n > len(c.Answers) {
				say(id, openmanus.Answered{Call: c.ID, N: c.Questions[n-1].N, Text: fmt.Sprint("answer ", n)})
			} else {
				say(id, openmanus.Ruled{Call: c.ID, Allow: true, By: "gopher"})
			}
		}
	}
	return some
}

func (e *epic) sessions(t *testing.T) []string {
	ids := []string{sess}
	for _, c := range load(t, e.j.Memory, sess).Children {
		if len(events(t, e.j.Memory, c.Child)) > 0 {
			ids = append(ids, c.Child)
		}
	}
	return ids
}

// transcript is what all sessions say, with payments in doubt taken for made,
// and children in the order of their ids rather than of their ends.
func (e *epic) transcript(t *testing.T) string {
	var b strings.Builder
	for _, id := range e.sessions(t) {
		s := load(t, e.j.Memory, id)
		all := strings.Split(dialogue(s.Transcript(s.Seq)), " | ")
		first := slices.IndexFunc(all, func(m string) bool { return strings.HasPrefix(m, "user: s.") })
		if first >= 0 && first+1 < len(all) && strings.HasPrefix(all[first+1], "user: s.") {
			slices.Sort(all[first : first+2])
		}
		fmt.Fprintf(&b, "%s is %s: %s\n", id, s.Status(), strings.Join(all, " | "))
	}
	const doubt = "interrupted while it ran: this may or may not have happened; look before you try again"
	return strings.ReplaceAll(b.String(), doubt, "paid")
}

func (e *epic) logs(t *testing.T) string {
	var b strings.Builder
	for _, id := range e.sessions(t) {
		b.WriteString(id + "\n" + log(t, e.j.Memory, id))
	}
	return b.String()
}

// check fails the test if something was paid twice or a request broke a law.
func (e *epic) check(t *testing.T) {
	t.Helper()
	replays(t, local(e.j.Memory, e.flows...))
	for call, n := range e.paid {
		if n > 1 {
			t.Errorf("%s paid %d times:\n%s", call, n, e.logs(t))
		}
	}
	for _, a := range e.asks {
		by := make(map[string][]*llm.Request) // one actor plays both children
		for _, req := range a.asked() {
			first := req.Messages[0].Text()
			by[first] = append(by[first], req)
		}
		for _, asks := range by {
			if !e.pipe {
				lawful(t, asks)
				continue
			}
			for i := range asks { // a request may have been built on events that were not stored in the end
				lawful(t, asks[i:i+1])
			}
		}
	}
}

// undisturbed is the transcript of an epic to which nothing happens, and the
// number of its appends.
func undisturbed(t *testing.T) (string, int64) {
	t.Helper()
	e := newEpic(t)
	if err := e.live(t); err != nil {
		t.Fatal(err)
	}
	e.check(t)
	if len(e.paid) != 3 {
		t.Fatalf("%d calls paid, want 3\n%s", len(e.paid), e.logs(t))
	}
	all := e.transcript(t)
	for _, words := range []string{"s is finished", "s.c2-2-step-1 is finished", "s.c2-2-step-2 is finished",
		"answer 1 and answer 2", "steered | user: by the way | assistant: nothing{}", "That is all."} {
		if !strings.Contains(all, words) {
			t.Fatalf("the epic lacks %q:\n%s", words, all)
		}
	}
	return all, e.j.n.Load()
}

func TestKilledAtEveryAppendARunReachesTheSameTranscript(t *testing.T) {
	want, appends := undisturbed(t)
	for n := int64(1); n <= appends; n++ {
		for _, stored := range []bool{false, true} {
			e := newEpic(t)
			dies := func(at int64, _ string, _ []openmanus.Body) error {
				if at >= n {
					return errCrash
				}
				return nil
			}
			if stored {
				e.j.after = dies
				e.j.before = func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(n, at) }
			} else {
				e.j.before = dies
			}
			err := e.live(t)
			if err == nil && e.j.n.Load() < n {
				continue // with luck, parallel calls end in one append
			}
			if !errors.Is(err, errCrash) {
				t.Fatalf("killed at append %d (stored: %v), Wake returns %v", n, stored, err)
			}
			e.j.before, e.j.after = nil, nil
			if err := e.live(t); err != nil {
				t.Fatal(err)
			}
			e.check(t)
			if got := e.transcript(t); got != want {
				t.Fatalf("killed at append %d (stored: %v):\n%s\nwant\n%s\n%s", n, stored, got, want, e.logs(t))
			}
		}
	}
}

func deadAfter(n, at int64) error {
	if at > n {
		return errCrash
	}
	return nil
}

// A process that is killed after n appends, again and again, gets to the end
// as long as n is enough for three sessions that are taken over, and a call
// that starts and ends in each.
func TestKilledOverAndOverARunReachesTheSameTranscript(t *testing.T) {
	want, appends := undisturbed(t)
	for n := int64(9); n <= appends; n++ {
		e := newEpic(t)
		lives := 0
		for ; ; lives++ {
			born := e.j.n.Load()
			e.j.before = func(at int64, _ string, _ []openmanus.Body) error { return deadAfter(born+n, at) }
			e.j.after = e.j.before
			if err := e.live(t); err == nil {
				break
			}
			if lives > 1000 {
				t.Fatalf("with %d appends a life, it gets nowhere:\n%s", n, e.logs(t))
			}
		}
		e.check(t)
		if got := e.transcript(t); got != want {
			t.Fatalf("killed %d times, after %d appends each:\n%s\nwant\n%s\n%s", lives, n, got, want, e.logs(t))
		}
	}
}

// others runs an epic once for every append, with another process that has a
// word just before it or just after it.
func others(t *testing.T, word func(t *testing.T, e *epic), verify func(t *testing.T, e *epic)) {
	othersIn(t, newEpic, word, verify)
}

// othersIn is others with epics that begin makes.
func othersIn(t *testing.T, begin func(*testing.T) *epic, word, verify func(t *testing.T, e *epic)) {
	_, appends := undisturbed(t)
	for n := int64(1); n <= appends; n++ {
		for _, after := range []bool{false, true} {
			e := begin(t)
			spoken := false
			at := func(at int64, _ string, _ []openmanus.Body) error {
				if at == n {
					spoken = true
					word(t, e)
				}
				return nil
			}
			if after {
				e.j.after = at
			} else {
				e.j.before = at
			}
			if err := e.live(t); err != nil {
				t.Fatal(err)
			}
			if !spoken {
				continue // with luck, parallel calls end in one append
			}
			verify(t, e)
			e.check(t)
			if t.Failed() {
				t.Fatalf("append %d (after it: %v)\n%s", n, after, e.logs(t))
			}
		}
	}
}

func TestInterruptAtEveryMomentThenGoOn(t *testing.T) {
	others(t, func(t *testing.T, e *epic) { put(t, e.j.Memory, openmanus.Interrupted{ID: "x"}) }, func(t *testing.T, e *epic) {
		s := load(t, e.j.Memory, sess)
		if st := s.Status(); st != openmanus.Halted && st != openmanus.Finished || s.Open() {
			t.Errorf("after an interrupt the session is %s", st)
		}
		put(t, e.j.Memory, userSays("on", "go on"))
		if err := e.live(t); err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, e.j.Memory, sess), openmanus.Finished, "")
		if got := e.transcript(t); strings.Count(got, "user: go on") != 1 {
			t.Error(got)
		}
	})
}

func TestInterruptAtEveryMomentThenRetry(t *testing.T) {
	others(t, func(t *testing.T, e *epic) { put(t, e.j.Memory, openmanus.Interrupted{ID: "x"}) }, func(t *testing.T, e *epic) {
		put(t, e.j.Memory, openmanus.Resumed{ID: "on"})
		if err := e.live(t); err != nil {
			t.Fatal(err)
		}
		ended(t, load(t, e.j.Memory, sess), openmanus.Finished, "")
	})
}

func TestSteeringAtEveryMomentIsHeardOnce(t *testing.T) {
	others(t, func(t *testing.T, e *epic) { put(t, e.j.Memory, userSays("now", "and hurry")) }, func(t *testing.T, e *epic) {
		s := load(t, e.j.Memory, sess)
		ended(t, s, openmanus.Finished, "")
		if got := dialogue(s.Said); strings.Count(got, "user: and hurry") != 1 || strings.HasSuffix(got, "user: and hurry") {
			t.Errorf("heard %d times: %s", strings.Count(got, "user: and hurry"), got)
		}
	})
}

// Events of others that do not concern the driver change nothing, whenever they
// come between its appends.
func TestATitleAtEveryMomentChangesNothing(t *testing.T) {
	want, _ := undisturbed(t)
	others(t, func(t *testing.T, e *epic) { put(t, e.j.Memory, openmanus.Titled{ID: "x", Title: "An epic"}) }, func(t *testing.T, e *epic) {
		if got := e.transcript(t); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

// A person who answers at once, while other calls run and other things are
// written, is heard like one who waits until nothing else is left to do.
func TestAnswersAtEveryMomentAreHeard(t *testing.T) {
	want, _ := undisturbed(t)
	others(t, func(t *testing.T, e *epic) { e.again.Store(e.answer(t)) }, func(t *testing.T, e *epic) {
		if got := e.transcript(t); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}
