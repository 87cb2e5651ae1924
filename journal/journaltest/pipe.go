package journaltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

func pipeCases() []testCase {
	return []testCase{
		{name: "a pipe stores what it returned, in order", needs: pipeliner, run: pipeInOrder},
		{name: "a pipe replaces secrets and keeps large strings as blobs", needs: pipeliner, run: pipeRound},
		{name: "a pipe stores nothing after another's event, nor ever again", needs: pipeliner, run: pipeMoved},
		{name: "a pipe stores nothing after as many events of another", needs: pipeliner, run: pipeMovedAsFar},
		{name: "a pipe does not answer twice", needs: pipeliner, run: pipeTaken},
		{name: "subscribers see the events of a pipe once, when they are stored", needs: pipeliner, run: pipeFollowed},
	}
}

// noted is a body with a key of its own.
func noted(id string) openmanus.Body { return openmanus.Noted{ID: id, Text: "noted " + id} }

// pipe returns a pipe at the end of a session that has one event.
func pipe(t testing.TB, j openmanus.Journal) openmanus.Pipe {
	t.Helper()
	begin(t, j, "s")
	return j.(openmanus.Pipeliner).Pipe("s", 1)
}

// send appends through a pipe.
func send(t testing.TB, p openmanus.Pipe, bodies ...openmanus.Body) (evs []openmanus.Event, wait func() error) {
	t.Helper()
	evs, wait, err := p.Append(t.Context(), bodies...)
	if err != nil {
		t.Fatalf("append through a pipe: %v", err)
	}
	return evs, wait
}

func pipeInOrder(t testing.TB, open Opener) {
	j := simple(t, open)
	p := pipe(t, j)
	want := read(t, j, "s", 0)
	var waits []func() error
	for i := range 50 {
		evs, wait := send(t, p, noted(fmt.Sprint(i, "a")), noted(fmt.Sprint(i, "b")))
		want, waits = append(want, evs...), append(waits, wait)
	}
	for i, wait := range waits {
		if err := wait(); err != nil {
			t.Fatalf("append %d through a pipe: %v", i, err)
		}
	}
	same(t, "events through a pipe", read(t, j, "s", 0), want)
	add(t, j, "s", noted("after")) // an ordinary append goes on from there
}

func pipeRound(t testing.TB, open Opener) {
	const secret = "a-secret-in-a-pipe"
	j := open(t, Options{Dir: t.TempDir(), Secrets: journal.NewSecrets(map[string]string{"db": secret})})
	p := pipe(t, j)
	evs, wait := send(t, p, openmanus.Noted{ID: "n", Text: "it is " + secret}, said("u", strings.Repeat("long ", 4000)))
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if n := evs[0].Body.(openmanus.Noted); n.Text == "it is "+secret {
		t.Error("a pipe returns a secret")
	}
	same(t, "events through a pipe", read(t, j, "s", 1), evs)
}

func pipeMoved(t testing.TB, open Opener) {
	j := simple(t, open)
	p := pipe(t, j)
	add(t, j, "s", noted("other"))
	_, wait1 := send(t, p, noted("1"))
	_, wait2 := send(t, p, noted("2"), noted("3"))
	if err := wait1(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("after another's event: %v, want ErrMoved", err)
	}
	if err := wait2(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("after an append that failed: %v, want ErrMoved", err)
	}
	_, wait3 := send(t, p, noted("4"))
	if err := wait3(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("later: %v, want ErrMoved", err)
	}
	if n := len(read(t, j, "s", 0)); n != 2 {
		t.Errorf("the session has %d events, want 2", n)
	}
}

// A pipe whose first append failed may not take the events that are there
// instead for its own because they are as many.
func pipeMovedAsFar(t testing.TB, open Opener) {
	j := simple(t, open)
	p := pipe(t, j)
	add(t, j, "s", noted("other"), noted("another"))
	_, wait1 := send(t, p, noted("1"), noted("2"))
	_, wait2 := send(t, p, noted("3"))
	if err := wait1(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("after others' events: %v, want ErrMoved", err)
	}
	if err := wait2(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("after an append that failed: %v, want ErrMoved", err)
	}
	if n := len(read(t, j, "s", 0)); n != 3 {
		t.Errorf("the session has %d events, want 3", n)
	}
}

func pipeTaken(t testing.TB, open Opener) {
	j := simple(t, open)
	p := pipe(t, j)
	_, wait1 := send(t, p, noted("1"))
	_, wait2 := send(t, p, openmanus.Noted{ID: "1", Text: "other words"})
	_, wait3 := send(t, p, noted("2"))
	if err := wait1(); err != nil {
		t.Error(err)
	}
	if err := wait2(); !errors.Is(err, openmanus.ErrExists) {
		t.Errorf("a key that is taken: %v, want ErrExists", err)
	}
	if err := wait3(); !errors.Is(err, openmanus.ErrMoved) {
		t.Errorf("after an append that failed: %v, want ErrMoved", err)
	}
	if n := len(read(t, j, "s", 0)); n != 2 {
		t.Errorf("the session has %d events, want 2", n)
	}
}

func pipeFollowed(t testing.TB, open Opener) {
	j := simple(t, open)
	p := pipe(t, j)
	follower := follow(t, j, "s", 1)
	var want []openmanus.Event
	for i := range 20 {
		evs, wait := send(t, p, noted(fmt.Sprint(i)))
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		want = append(want, evs...)
	}
	same(t, "what a subscriber sees", follower.next(len(want)), want)
}
