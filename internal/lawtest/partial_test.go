package lawtest_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm/llmtest"
)

// printing returns a tool that prints, says so on printed, and waits for the end of
// its context. gives is what it returns then besides the error.
func printing(h openmanus.Hints, printed chan<- struct{}, gives string) openmanus.Tool {
	return tool("print", h, func(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
		io.WriteString(call.Live, "wrote 11\nwrote 12\n")
		select {
		case printed <- struct{}{}:
		case <-ctx.Done(): // it was begun once more while its process left, which a call that only reads may be
		}
		<-ctx.Done()
		var res openmanus.Result
		if gives != "" {
			res = openmanus.TextResult("%s", gives)
		}
		return res, errors.New("stopped")
	})
}

// The output of a call that a person interrupted is recorded, and the model reads
// it when the session continues.
func TestWhatAnInterruptedCallHadPrintedIsKept(t *testing.T) {
	for _, gives := range []string{"", "wrote 11\nwrote 12\n"} {
		printed := make(chan struct{}, 1)
		m := lines(llmtest.Use("1", "print", "{}"), llmtest.Say("I see"))
		a := &openmanus.Agent{Name: "a", Gate: openmanus.AllowAll, Model: m, Tools: []openmanus.Tool{printing(openmanus.Hints{}, printed, gives)}}
		l, j := begin(t, a, "go")
		done := make(chan *openmanus.State, 1)
		go func() { done <- wake(t, l) }()
		<-printed
		put(t, j, openmanus.Interrupted{ID: "i"})
		ended(t, <-done, openmanus.Halted, openmanus.ByPerson)
		put(t, j, userSays("2", "go on"))
		s := wake(t, l)
		ended(t, s, openmanus.Finished, "")
		const want = "user: print (c0-1) was interrupted. Before that it printed:\n + wrote 11\nwrote 12\n"
		if got := dialogue(s.Said); !strings.Contains(got, want) || !strings.Contains(got, "the person interrupted while it ran") {
			t.Errorf("%q", got)
		}
		lawful(t, m.asked())
	}
}

// A call whose process leaves has what it printed as its result, unless it runs again.
func TestWhatALeftCallHadPrintedIsItsResult(t *testing.T) {
	for _, c := range []struct {
		hints openmanus.Hints
		want  string
	}{
		{openmanus.Hints{}, openmanus.InDoubt + "\nBefore it was interrupted it printed:\nwrote 11\nwrote 12\n"},
		{openmanus.Hints{ReadOnly: true}, "again"},
	} {
		printed := make(chan struct{}, 1)
		m := lines(llmtest.Use("1", "print", "{}"), llmtest.Say("I see"))
		a := &openmanus.Agent{Name: "a", Gate: openmanus.AllowAll, Model: m, Tools: []openmanus.Tool{printing(c.hints, printed, "")}}
		l, j := begin(t, a, "go")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Wake(ctx, sess) }()
		<-printed
		cancel()
		<-done
		a.Tools = []openmanus.Tool{tool("print", c.hints, func(context.Context, openmanus.Call) (openmanus.Result, error) {
			return openmanus.TextResult("again"), nil
		})}
		ended(t, wake(t, l), openmanus.Finished, "")
		if got, _ := result(t, j, "c0-1"); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A memorySpool is a spool that outlives a worker.
type memorySpool struct {
	mu   sync.Mutex
	text map[string]string
}

type spoolPart struct {
	s    *memorySpool
	name string
}

func (p spoolPart) Write(b []byte) (int, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.text[p.name] += string(b)
	return len(b), nil
}
func (p spoolPart) Close() error { return nil }

func (s *memorySpool) Writer(session, call string) io.WriteCloser {
	s.Remove(session, call)
	return spoolPart{s, session + call}
}
func (s *memorySpool) Printed(session, call string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text[session+call]
}
func (s *memorySpool) Remove(session, call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.text, session+call)
}

// A process that was killed leaves what a call had printed in the spool: the call is
// in doubt, and the model is told.
func TestWhatAKilledCallHadPrintedIsTold(t *testing.T) {
	m := lines(llmtest.Say("I see"))
	a := &openmanus.Agent{Name: "a", Gate: openmanus.AllowAll, Model: m, Tools: []openmanus.Tool{look(), printing(openmanus.Hints{}, nil, "")}}
	l, j := begin(t, a, "go")
	sp := &memorySpool{text: map[string]string{sess + "c0-1": "wrote 13\n"}}
	l.Spool = sp
	put(t, j, openmanus.ModelSaid{Turn: 0, Re: 3, Stop: "tool_use", Message: llmtest.Use("c0-1", "print", "{}")})
	put(t, j, openmanus.Ruled{Call: "c0-1", Allow: true, By: openmanus.ByGate})
	put(t, j, openmanus.CallStarted{Call: "c0-1", Attempt: 1})
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); !strings.Contains(got, openmanus.InDoubt+"\nBefore it was interrupted it printed:\nwrote 13\n") {
		t.Errorf("%q", got)
	}
	if left := sp.Printed(sess, "c0-1"); left != "" {
		t.Errorf("%q stays in the spool", left)
	}
}

// A call after one that was to end the work, and could not, runs; after one that has
// ended it, it does not, and an event says so.
func TestACallIsBarredByAnEndThatIsValid(t *testing.T) {
	end := tool("end", openmanus.Hints{Final: true, Internal: true}, func(_ context.Context, call openmanus.Call) (openmanus.Result, error) {
		if call.Input != `{"well":true}` {
			return openmanus.Result{}, errors.New("say how it went")
		}
		return openmanus.TextResult("bye"), nil
	})
	m := lines(llmtest.Calls(llmtest.Use("1", "end", "{}"), llmtest.Use("2", "look", `{"n":1}`)),
		llmtest.Calls(llmtest.Use("3", "end", `{"well":true}`), llmtest.Use("4", "look", `{"n":2}`)))
	l, j := begin(t, &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look(), end}}, "go")
	ended(t, wake(t, l), openmanus.Finished, "")
	if got, isErr := result(t, j, "c0-2"); isErr {
		t.Errorf("after an end that failed: %q", got)
	}
	if got, isErr := result(t, j, "c1-2"); got != "not run: it comes after a call that ends the work" || !isErr {
		t.Errorf("after the end: %q", got)
	}
	if got := resultOf(t, j, "c1-2"); got == "" {
		t.Error("no event says that the call did not run")
	}
	lawful(t, m.asked())
}

// A session of before, which went on without such a call, still does.
func TestABarredCallOfASessionOfBefore(t *testing.T) {
	end := tool("end", openmanus.Hints{Final: true, Internal: true}, func(context.Context, openmanus.Call) (openmanus.Result, error) {
		return openmanus.TextResult("bye"), nil
	})
	m := lines(llmtest.Say("done"))
	j := new(journal.Memory)
	l := local(j)
	a := &openmanus.Agent{Name: "a", Model: m, Tools: []openmanus.Tool{look(), end}}
	l.Flow = func(context.Context, *openmanus.State) (openmanus.Flow, error) { return a, nil }
	put(t, j, openmanus.Opened{Flow: "a", Version: 1}, a.Configured(0), userSays("1", "go"),
		openmanus.ModelSaid{Turn: 0, Re: 3, Stop: "tool_use", Message: llmtest.Calls(llmtest.Use("c0-1", "end", `[]`), llmtest.Use("c0-2", "look", `{}`))},
		openmanus.FailedCall("c0-1", "end did not run"),
		openmanus.ModelSaid{Turn: 1, Re: 5, Stop: "tool_use", Message: llmtest.Use("c1-1", "look", `{}`)})
	s := wake(t, l)
	ended(t, s, openmanus.Finished, "")
	if got := dialogue(s.Said); !strings.Contains(got, "not run: it comes after a call that ends the work") || s.Turn != 3 {
		t.Errorf("%d turns: %q", s.Turn, got)
	}
	lawful(t, m.asked())
}
