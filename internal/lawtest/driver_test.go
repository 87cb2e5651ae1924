package lawtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// The duties of a driver to other processes, and to the jobs that it has begun.

func TestACallThatWasApprovedMayAskAQuestion(t *testing.T) {
	ask := tool("ask", openmanus.Hints{}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		if len(call.Answers) == 0 {
			return openmanus.Result{}, &openmanus.Ask{Question: "Which year?", Schema: json.RawMessage(`{"type":"integer"}`)}
		}
		return openmanus.TextResult("%s %s", call.Answers[0].Text, call.Answers[0].Data), nil
	})
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "ask", "{}"), llmtest.Say("ok")), Tools: []openmanus.Tool{ask}}, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"})
	s := wake(t, l)
	ended(t, s, openmanus.Waiting, "")
	q := s.Pending()[0].Questions[0]
	if q.Question != "Which year?" || string(q.Schema) != `{"type":"integer"}` {
		t.Errorf("the question is %+v", q)
	}
	put(t, j, openmanus.Answered{Call: "c0-1", N: q.N, Text: "in", Data: json.RawMessage(`2025`), By: "gopher"})
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, isErr := result(t, j, "c0-1"); got != "in 2025" || isErr {
		t.Errorf("the model reads %q", got)
	}
}

// Tasks travel, and may be stale: what was not allowed does not run.
func TestATaskToUseACallThatIsNotAllowedDoesNothing(t *testing.T) {
	var runs atomic.Int64
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "pay", "{}")), Tools: []openmanus.Tool{counted("pay", openmanus.Hints{}, &runs)}}, "go")
	ended(t, wake(t, l), openmanus.Waiting, "")
	before := keys(t, j, sess)
	if err := do(t.Context(), &l.Worker, sess, openmanus.Task{Do: openmanus.Use, Call: "c0-1"}); err != nil {
		t.Fatal(err)
	}
	if runs.Load() != 0 || keys(t, j, sess) != before {
		t.Errorf("it ran %d times without leave: %s", runs.Load(), keys(t, j, sess))
	}
}

// Two calls end while the driver is busy with the journal, one well and one
// with an error of the program. The work of the first one is recorded.
func TestAResultIsKeptWhenAnotherJobEndsTheRun(t *testing.T) {
	good := tool("good", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("it is done"), nil
	})
	bad := tool("bad", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("%s", strings.Repeat("x", 20_000)), nil // for which there is no room
	})
	for range 50 { // whichever ends first
		l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Calls(llmtest.Use("1", "good", "{}"), llmtest.Use("2", "bad", "{}"))), Tools: []openmanus.Tool{good, bad}}, "go")
		l.Blobs = fullDisk{}
		if err := l.Wake(t.Context(), sess); !errors.Is(err, errFull) {
			t.Fatalf("Wake: %v", err)
		}
		if ks := keys(t, j, sess); !strings.Contains(ks, "done/c0-1") {
			t.Fatalf("the result was lost: %s", ks)
		}
	}
}

// A gate that fails halts the run; the reply that called for a ruling was paid
// for, and is kept.
func TestAReplyIsKeptWhenTheGateFails(t *testing.T) {
	broken := errors.New("the policy cannot be read")
	ok := false
	m := lines(llmtest.Use("1", "look", "{}"), llmtest.Say("ok"))
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{counted("look", openmanus.Hints{}, new(atomic.Int64))},
		Gate: openmanus.GateFunc(func(context.Context, openmanus.Call, openmanus.ToolSpec) (openmanus.Verdict, error) {
			if ok {
				return openmanus.Verdict{Allow: true}, nil
			}
			return openmanus.Verdict{}, broken
		})}
	l, j := begin(t, a, "go")
	if err := l.Wake(t.Context(), sess); !errors.Is(err, broken) {
		t.Fatalf("Wake: %v", err)
	}
	if ks := keys(t, j, sess); !strings.Contains(ks, "model/0") {
		t.Fatalf("the reply was lost: %s", ks)
	}
	ok = true
	ended(t, wake(t, l), openmanus.Finished, "")
	if n := len(m.asked()); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
}

// Somebody in another process speaks when the driver has read everything but
// not yet let go: their own attempt to drive is refused, so that the driver
// has to look once more.
func TestAMessageWhileTheLeaseIsBeingGivenBackIsHeard(t *testing.T) {
	m := llmtest.Script(llmtest.Say("first"), llmtest.Say("second"))
	a := &openmanus.Agent{Name: "a", Model: m}
	j := &lateWord{Memory: new(journal.Memory)}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "go"))); err != nil {
		t.Fatal(err)
	}
	j.word = func() {
		put(t, j, userSays("2", "one more thing"))
		if err := local(j.Memory, a).Wake(t.Context(), sess); !errors.Is(err, openmanus.ErrDriven) {
			t.Errorf("the other process is told %v", err)
		}
	}
	s := wake(t, local(j, a))
	if got := dialogue(s.Said); got != "user: go | assistant: first | user: one more thing | assistant: second" {
		t.Error(got)
	}
}

// lateWord is a journal in which somebody speaks, once, just before a lease is
// given back.
type lateWord struct {
	*journal.Memory
	word func()
}

type lateLease struct {
	openmanus.Lease
	j *lateWord
}

func (j *lateWord) Lock(ctx context.Context, id string) (openmanus.Lease, error) {
	l, err := j.Memory.Lock(ctx, id)
	return lateLease{l, j}, err
}

func (l lateLease) Release() error {
	if word := l.j.word; word != nil {
		l.j.word = nil
		word()
	}
	return l.Lease.Release()
}

// The step limit is reached at the same moment as a person speaks: they have
// begun a new request, with budgets of its own.
func TestAMessageAtTheMomentOfALimitIsNotSwallowed(t *testing.T) {
	var j *tamper
	m := &actor{play: func(_ context.Context, n int, _ *llm.Request) take {
		if n < 2 {
			return take{Message: llmtest.Use("1", "look", map[string]int{"n": n})}
		}
		return take{Message: llmtest.Say("I hear you")}
	}}
	a := &openmanus.Agent{Name: "a", Model: m, Limits: openmanus.Limits{Steps: 2}, Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))}}
	j = &tamper{Memory: new(journal.Memory)}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "go"))); err != nil {
		t.Fatal(err)
	}
	j.before = func(_ int64, _ string, bodies []openmanus.Body) error {
		if _, stop := bodies[len(bodies)-1].(openmanus.Stopped); stop {
			j.before = nil
			put(t, j.Memory, userSays("2", "how far are you?"))
		}
		return nil
	}
	s := wake(t, local(j, a))
	ended(t, s, openmanus.Finished, "")
	if s.Answer != "I hear you" {
		t.Error(dialogue(s.Said))
	}
}

// deaf is a journal that can no longer be followed.
type deaf struct{ *journal.Memory }

var errDeaf = errors.New("disk I/O error")

func (deaf) Follow(context.Context, string, int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) { yield(openmanus.Event{}, errDeaf) }
}

// A driver that cannot hear an interrupt does not go on.
func TestADriverThatCannotFollowItsJournalStops(t *testing.T) {
	m := &actor{play: func(ctx context.Context, _ int, _ *llm.Request) take {
		<-ctx.Done()
		return take{err: ctx.Err()}
	}}
	a := &openmanus.Agent{Name: "a", Model: m}
	j := deaf{new(journal.Memory)}
	if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "go"))); err != nil {
		t.Fatal(err)
	}
	if err := local(j, a).Wake(t.Context(), sess); !errors.Is(err, errDeaf) {
		t.Errorf("Wake: %v, want %v", err, errDeaf)
	}
}

// A verdict on a call that has yet to be made stands in the way of the gate's.
// That is somebody's mistake, and an error rather than an endless loop.
func TestAVerdictBeforeItsTimeIsAnError(t *testing.T) {
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Use("1", "look", "{}")), Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))}}, "go")
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: "gopher"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := l.Wake(ctx, sess); err == nil || !strings.Contains(err.Error(), "rule/c0-1") {
		t.Errorf("Wake: %v", err)
	}
}

// unlocked is a journal without leases.
type unlocked struct{ openmanus.Journal }

// Without leases, two processes may drive at once. They get in each other's
// way, but what is recorded is recorded once.
func TestTwoDriversWithoutLeasesRecordEverythingOnce(t *testing.T) {
	for range 20 {
		m := llmtest.Script(llmtest.Use("1", "look", "{}"), llmtest.Use("2", "look", "{}"), llmtest.Say("ok"))
		a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{counted("look", openmanus.Hints{ReadOnly: true}, new(atomic.Int64))}}
		j := unlocked{new(journal.Memory)}
		if err := openmanus.Open(t.Context(), j, sess, a, ptr(userSays("1", "go"))); err != nil {
			t.Fatal(err)
		}
		put(t, j, openmanus.Titled{ID: "1"}) // so that both have to take over
		errs := make(chan error)
		for range 2 {
			go func() { errs <- local(j, a).Wake(t.Context(), sess) }()
		}
		for range 2 {
			if err := <-errs; err != nil {
				t.Fatal(err)
			}
		}
		s := load(t, j, sess)
		ended(t, s, openmanus.Finished, "")
		if err := law7(s.Transcript(s.Seq)); err != nil || s.Turn != 3 {
			t.Fatalf("%v\n%s", err, log(t, j, sess))
		}
	}
}

// A Final call waits for those before it even if all of them only read.
func TestAFinalCallWaitsForThoseBeforeIt(t *testing.T) {
	for range 20 {
		reading := make(chan struct{})
		var read atomic.Bool
		look := tool("look", openmanus.Hints{ReadOnly: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			<-reading
			read.Store(true)
			return openmanus.TextResult("seen"), nil
		})
		end := tool("end", openmanus.Hints{ReadOnly: true, Final: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			if !read.Load() {
				t.Error("it ended before the call before it had a result")
			}
			return openmanus.TextResult("bye"), nil
		})
		l, _ := begin(t, &openmanus.Agent{Name: "a", Model: lines(llmtest.Calls(llmtest.Use("1", "look", "{}"), llmtest.Use("2", "end", "{}"))), Tools: []openmanus.Tool{look, end}}, "go")
		close(reading)
		s := wake(t, l)
		ended(t, s, openmanus.Finished, "")
		if s.Open() {
			t.Fatal("a call has no result")
		}
	}
}

// The agent's model is missing: that is the program's fault, and said at once.
func TestAnAgentWithoutAModelIsAnError(t *testing.T) {
	l, _ := begin(t, &openmanus.Agent{Name: "mute"}, "go")
	if err := l.Wake(t.Context(), sess); err == nil || !strings.Contains(err.Error(), `"mute" has no model`) {
		t.Errorf("Wake: %v", err)
	}
}

func TestASessionOfAnUnknownFlowOrNoneIsAnError(t *testing.T) {
	l, j := begin(t, &openmanus.Agent{Name: "a"}, "go")
	l.Flow = run.FlowsByName(&openmanus.Agent{Name: "b"})
	if err := l.Wake(t.Context(), sess); err == nil || !strings.Contains(err.Error(), `there is no flow "a"`) {
		t.Errorf("Wake: %v", err)
	}
	if err := local(j).Wake(t.Context(), "nowhere"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("Wake: %v, want ErrNoSession", err)
	}
}
