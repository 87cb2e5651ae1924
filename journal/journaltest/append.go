package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func appendCases() []testCase {
	return []testCase{
		{name: "the first append opens the session", run: firstAppend},
		{name: "a session that was not opened takes nothing", run: notOpened},
		{name: "a session is opened by its first body only", run: openedLate},
		{name: "the same answer again is good news", run: sameAgain},
		{name: "another answer is a conflict", run: conflict},
		{name: "a reply and a failure compete for one turn", run: oneOutcome},
		{name: "bodies are stored together or not at all", run: together},
		{name: "a key that is there twice in one append is refused", run: twiceInOne},
		{name: "an append of nothing is refused", run: nothing},
		{name: "a provisional body is refused with all that came along", run: provisional},
		{name: "sessions do not know each other's keys", run: apart},
		{name: "two hundred bodies in one append", run: twoHundred},
		{name: "a session id may have odd characters", run: oddNames},
		{name: "an append that was cancelled tells the truth", run: cancelled},
	}
}

func firstAppend(t testing.TB, open Opener) {
	j := simple(t, open)
	evs := add(t, j, "s", opening(), openmanus.Configured{Spec: openmanus.Spec{Model: "m"}}, said("u1", "hello"))
	contiguous(t, evs, 1)
	same(t, "what was read", read(t, j, "s", 0), evs)
	more := add(t, j, "s", said("u2", "again"))
	contiguous(t, more, 4)
	same(t, "what was read", read(t, j, "s", 0), append(evs, more...))
}

func notOpened(t testing.TB, open Opener) {
	j := simple(t, open)
	evs, err := j.Append(t.Context(), "s", said("u1", "hello"))
	refused(t, "an append to a session that does not exist", evs, err)
	if !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("the error is %q, want ErrNoSession", err)
	}
	evs, err = j.Append(t.Context(), "s", said("u1", "hello"), opening())
	refused(t, "an append that opens the session too late", evs, err)
	if got := read(t, j, "s", 0); len(got) > 0 {
		t.Errorf("the session has %d events, want none", len(got))
	}
	begin(t, j, "s") // what was refused is not in the way
}

func openedLate(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	other := opening()
	other.Flow = "other"
	for _, bodies := range [][]openmanus.Body{{said("u1", "a"), opening()}, {said("u1", "a"), other}, {other, said("u1", "a")}} {
		if _, err := j.Append(t.Context(), "s", bodies...); err == nil {
			t.Errorf("a second opened was taken")
		}
	}
	if n := len(read(t, j, "s", 0)); n != 1 {
		t.Errorf("the session has %d events, want 1", n)
	}
}

func sameAgain(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	first := add(t, j, "s", said("u1", "delete <it>"))
	add(t, j, "s", said("u2", "something else"))
	again, err := j.Append(t.Context(), "s", said("u1", "delete <it>"))
	if !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Fatalf("the error is %v, want ErrExists and not ErrConflict", err)
	}
	same(t, "the event that is there", again, first)
	if n := len(read(t, j, "s", 0)); n != 3 {
		t.Errorf("the session has %d events, want 3", n)
	}
}

func conflict(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	first := add(t, j, "s", said("u1", "delete it"))
	got, err := j.Append(t.Context(), "s", said("u1", "do not delete it"))
	if !errors.Is(err, openmanus.ErrConflict) || !errors.Is(err, openmanus.ErrExists) {
		t.Fatalf("the error is %v, want ErrConflict, which is an ErrExists", err)
	}
	same(t, "the event that is there", got, first)
	same(t, "what was read", read(t, j, "s", 1), first)
}

func oneOutcome(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	first := add(t, j, "s", openmanus.ModelFailed{Turn: 0, Re: 1, Error: "no network"})
	got, err := j.Append(t.Context(), "s", openmanus.ModelSaid{Turn: 0, Re: 1})
	if !errors.Is(err, openmanus.ErrConflict) {
		t.Fatalf("the error is %v, want ErrConflict", err)
	}
	same(t, "the outcome that counts", got, first)
}

func together(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	taken := add(t, j, "s", said("taken", "first"))
	for _, words := range []string{"first", "second"} {
		got, err := j.Append(t.Context(), "s", said("new1", "x"), said("taken", words), said("new2", "y"))
		if !errors.Is(err, openmanus.ErrExists) {
			t.Fatalf("the error is %v, want ErrExists", err)
		}
		same(t, "the event that is there", got, taken)
		if n := len(read(t, j, "s", 0)); n != 2 {
			t.Fatalf("the session has %d events after a refused append, want 2", n)
		}
	}
	contiguous(t, add(t, j, "s", said("new1", "x"), said("new2", "y")), 3)
}

func twiceInOne(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	evs, err := j.Append(t.Context(), "s", said("u1", "a"), said("u2", "b"), said("u1", "a"))
	refused(t, "an append that has a key twice", evs, err)
	evs, err = j.Append(t.Context(), "new", opening(), opening())
	refused(t, "an append that opens twice", evs, err)
	if n := len(read(t, j, "s", 0)) + len(read(t, j, "new", 0)); n != 1 {
		t.Errorf("there are %d events, want 1", n)
	}
}

func nothing(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	for _, session := range []string{"s", "new"} {
		evs, err := j.Append(t.Context(), session)
		refused(t, "an append of nothing", evs, err)
	}
}

func provisional(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	for _, b := range []openmanus.Body{openmanus.Typing{Turn: 1}, openmanus.Output{Call: "c", Text: "x"}, openmanus.Reading{Call: "c"}} {
		evs, err := j.Append(t.Context(), "s", said("u1", "a"), b)
		refused(t, fmt.Sprintf("an append with a %T", b), evs, err)
	}
	if n := len(read(t, j, "s", 0)); n != 1 {
		t.Errorf("the session has %d events, want 1", n)
	}
}

func apart(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "a")
	begin(t, j, "b")
	contiguous(t, add(t, j, "a", said("u1", "to a")), 2)
	evs := add(t, j, "b", said("u1", "to b"))
	contiguous(t, evs, 2)
	same(t, "the events of b", read(t, j, "b", 1), evs)
}

func twoHundred(t testing.TB, open Opener) {
	j := simple(t, open)
	bodies := []openmanus.Body{opening()}
	for i := range 199 {
		bodies = append(bodies, openmanus.CallDone{Call: fmt.Sprintf("c0-%d", i)})
	}
	evs := add(t, j, "s", bodies...)
	contiguous(t, evs, 1)
	same(t, "what was read", read(t, j, "s", 0), evs)
	got, err := j.Append(t.Context(), "s", bodies[1:]...)
	if !errors.Is(err, openmanus.ErrExists) {
		t.Fatalf("the error is %v, want ErrExists", err)
	}
	same(t, "the first that is there", got, evs[1:2])
}

func oddNames(t testing.TB, open Opener) {
	j := simple(t, open)
	names := []string{
		"plain", "PLAIN", "with space", " ", ".", "..", "-rf", "a:b", "a|b", "a*b?", `a\b`, "a%2Fb", "%", "_", "'; DROP TABLE events; --",
		"CON", "nul.txt", "ende.", "übermütig", "会话", "🙂", "é", "e\u0301", "tab\there", "new\nline", "a\u2028b", strings.Repeat("long", 50),
	}
	for i, name := range names {
		begin(t, j, name)
		add(t, j, name, said("u1", fmt.Sprint(i)))
	}
	for i, name := range names {
		evs := read(t, j, name, 0)
		if len(evs) != 2 || evs[1].Body.(openmanus.UserSaid).Message.Text() != fmt.Sprint(i) {
			t.Errorf("session %q has not the events that were put there: %v", name, evs)
		}
	}
}

func cancelled(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	for i := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); cancel() }()
		key := said(fmt.Sprint("u", i), "x")
		_, err := j.Append(ctx, "s", key)
		<-done
		there := slices.ContainsFunc(read(t, j, "s", 0), func(ev openmanus.Event) bool { return ev.Body.Key() == key.Key() })
		if there != (err == nil) {
			t.Fatalf("append returned the error %v, and the event is stored: %t", err, there)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("the error of a cancelled append is %v", err)
		}
	}
}
