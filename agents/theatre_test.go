package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/llm/llmtest"
	"github.com/openmanus-go/openmanus/run"
)

// A theatre runs flows: it has the journal, and records which sessions started.
type theatre struct {
	j *dying

	child func(context.Context, string, *openmanus.State, openmanus.Task) (openmanus.Spec, error) // [run.Worker].Child

	mu   sync.Mutex
	runs []string // who began to speak, in this order
}

const root = "s"

type worker = func(context.Context, *openmanus.State) (openmanus.Flow, error)

// begins returns v, and records its first reply as a run of label.
func (th *theatre) begins(label string, v voice) voice {
	return func(req *llm.Request) (llm.Message, error) {
		if llmtest.Spoken(req) == 0 {
			th.mu.Lock()
			th.runs = append(th.runs, label)
			th.mu.Unlock()
		}
		return v(req)
	}
}

// open opens the session of a flow, with a request.
func (th *theatre) open(t *testing.T, w worker, flow, request string) {
	t.Helper()
	if th.j == nil {
		th.j = &dying{Memory: new(journal.Memory)}
	}
	f, err := w(t.Context(), &openmanus.State{Opened: openmanus.Opened{Flow: flow}})
	if err != nil {
		t.Fatal(err)
	}
	m := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, request)}
	if err := openmanus.Open(t.Context(), th.j.Memory, root, f, &m); err != nil {
		t.Fatal(err)
	}
}

// wake drives the session until it is idle.
func (th *theatre) wake(t *testing.T, w worker) (*openmanus.State, error) {
	t.Helper()
	l := &run.Local{Worker: run.Worker{Journal: th.j, Flow: w, Child: th.child}}
	if err := l.Wake(t.Context(), root); err != nil {
		return nil, err
	}
	return openmanus.Load(t.Context(), th.j, root)
}

// A dying journal fails at its n-th append, and from then on.
type dying struct {
	*journal.Memory
	mu     sync.Mutex
	n, at  int
	stored bool // the n-th is stored all the same
}

var errKilled = errors.New("the process was killed")

func (j *dying) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	j.mu.Lock()
	j.n++
	n := j.n
	j.mu.Unlock()
	if j.at > 0 && (n > j.at || n == j.at && !j.stored) {
		return nil, errKilled
	}
	evs, err := j.Memory.Append(ctx, session, bodies...)
	if j.at > 0 && n == j.at {
		return nil, errKilled
	}
	return evs, err
}

// A performance is an open session: how to wake it, and what of its end to
// compare besides its children.
type performance struct {
	wake func(*testing.T) (*openmanus.State, error)
	look func(*openmanus.State) string
}

// sameEndWhereverKilled runs a flow again and again, each time killed at another
// of its appends, before or after it is stored, and then woken. The end must be
// the same as without a kill. It returns that end. The flow must have a minimum
// number of appends.
func sameEndWhereverKilled(t *testing.T, least int, begin func(*dying) performance) string {
	t.Helper()
	play := func(at int, stored bool) (end string, appends int) {
		j := &dying{Memory: new(journal.Memory)}
		p := begin(j)
		j.at, j.stored = at, stored
		if _, err := p.wake(t); err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		appends, j.at = j.n, 0
		s, err := p.wake(t)
		if err != nil {
			t.Fatalf("killed at %d: %v", at, err)
		}
		must(t, s, openmanus.Finished, "")
		var ends []string
		for _, c := range s.Children {
			ends = append(ends, fmt.Sprint(nameOf(c), " ", c.Done.Status))
		}
		slices.Sort(ends)
		return p.look(s) + "\n" + strings.Join(ends, "\n"), appends
	}
	want, appends := play(0, false)
	if appends < least {
		t.Fatalf("%d appends\n%s", appends, want)
	}
	for at := 1; at <= appends; at++ {
		for _, stored := range []bool{false, true} {
			if got, _ := play(at, stored); got != want {
				t.Fatalf("killed at append %d (stored: %v):\n%s\nwant\n%s", at, stored, got, want)
			}
		}
	}
	return want
}
