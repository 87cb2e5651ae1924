package journaltest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func followCases() []testCase {
	return []testCase{
		{name: "follow yields what is there and what comes", run: followOn},
		{name: "follow waits for a session that does not exist yet", run: followUnborn},
		{name: "follow begins after a number, even one to come", run: followAfter},
		{name: "follow ends without an error when its context does", run: followEnds},
		{name: "follow may be left in the middle", run: followLeft},
		{name: "who follows may append", run: followAndAppend},
		{name: "a slow reader misses nothing and slows down no one", run: slowReader},
		{name: "follow sees what is appended through another handle", run: followOther},
		{name: "many follow many sessions", run: followMany},
	}
}

// A follower reads in its own goroutine and hands over one event at a time.
type follower struct {
	t      testing.TB
	events chan openmanus.Event
	end    chan error // gets the error, or nil, with which the sequence ended
	cancel context.CancelFunc
	began  <-chan struct{} // closed when Follow has looked at its context, or ended
}

// A noticing context reports when a goroutine first waits for its end.
type noticing struct {
	context.Context
	once   sync.Once
	waited chan struct{}
}

func (c *noticing) Done() <-chan struct{} {
	c.notice()
	return c.Context.Done()
}

func (c *noticing) notice() { c.once.Do(func() { close(c.waited) }) }

func follow(t testing.TB, j openmanus.Journal, session string, after int64) *follower {
	ctx, cancel := patiently(t)
	watched := &noticing{Context: ctx, waited: make(chan struct{})}
	f := &follower{t, make(chan openmanus.Event), make(chan error, 1), cancel, watched.waited}
	go func() {
		defer close(f.events)
		defer watched.notice()
		for ev, err := range j.Follow(watched, session, after) {
			if err != nil {
				f.end <- err
				return
			}
			select {
			case f.events <- ev:
			case <-ctx.Done():
			}
		}
		f.end <- nil
	}()
	t.Cleanup(cancel)
	return f
}

// next waits for n events.
func (f *follower) next(n int) []openmanus.Event {
	f.t.Helper()
	var evs []openmanus.Event
	for range n {
		ev, ok := <-f.events
		if !ok {
			f.t.Fatalf("follow ended (%v) after %d events, want %d", <-f.end, len(evs), n)
		}
		evs = append(evs, ev)
	}
	return evs
}

// stop ends the follower and returns what it ended with.
func (f *follower) stop() error {
	f.cancel()
	return <-f.end
}

func followOn(t testing.TB, open Opener) {
	j := simple(t, open)
	want := add(t, j, "s", opening(), said("u1", "x"))
	f := follow(t, j, "s", 0)
	same(t, "what was there", f.next(2), want)
	for i := range 20 {
		want := add(t, j, "s", said(fmt.Sprint("v", i), "x"), said(fmt.Sprint("w", i), "y"))
		same(t, "what came", f.next(2), want)
	}
	if err := f.stop(); err != nil {
		t.Errorf("follow ended with %v", err)
	}
}

func followUnborn(t testing.TB, open Opener) {
	j := simple(t, open)
	f := follow(t, j, "s", 0)
	<-f.began
	begin(t, j, "other")
	same(t, "what came", add(t, j, "s", opening()), f.next(1))
	if err := f.stop(); err != nil {
		t.Errorf("follow ended with %v", err)
	}
}

func followAfter(t testing.TB, open Opener) {
	j := simple(t, open)
	add(t, j, "s", opening(), said("u2", "x"), said("u3", "x"))
	early, all, late := follow(t, j, "s", 2), follow(t, j, "s", -1), follow(t, j, "s", 5)
	contiguous(t, early.next(1), 3)
	for i := range 4 {
		add(t, j, "s", said(fmt.Sprint("v", i), "x"))
	}
	contiguous(t, early.next(4), 4)
	contiguous(t, all.next(7), 1)
	contiguous(t, late.next(2), 6)
}

func followEnds(t testing.TB, open Opener) {
	j := simple(t, open)
	add(t, j, "s", opening(), said("u1", "x"))
	waiting := follow(t, j, "s", 0)
	waiting.next(2)
	if err := waiting.stop(); err != nil {
		t.Errorf("follow that waited ended with %v", err)
	}
	if err := follow(t, j, "s", 0).stop(); err != nil {
		t.Errorf("follow that had something to yield ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for ev, err := range j.Follow(ctx, "s", 0) {
		t.Errorf("follow with a context that had ended yielded %v, %v", ev, err)
	}
}

func followLeft(t testing.TB, open Opener) {
	j := simple(t, open)
	add(t, j, "s", opening(), said("u1", "x"))
	ctx, cancel := patiently(t)
	defer cancel()
	for range 2 {
		n := 0
		for ev, err := range j.Follow(ctx, "s", 0) {
			if n++; err != nil || ev.Seq != int64(n) {
				t.Fatalf("follow yielded event %d, %v", ev.Seq, err)
			}
			if n == 2 {
				break
			}
		}
	}
}

func followAndAppend(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	ctx, cancel := patiently(t)
	defer cancel()
	next := int64(1)
	for ev, err := range j.Follow(ctx, "s", 0) {
		if err != nil || ev.Seq != next {
			t.Fatalf("follow yielded event %d, %v, want %d", ev.Seq, err, next)
		}
		if next++; next == 50 {
			return
		}
		add(t, j, "s", said(fmt.Sprint("u", ev.Seq), "x"))
	}
	t.Error("follow ended too soon")
}

func slowReader(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	slow, fast := follow(t, j, "s", 0), follow(t, j, "s", 0)
	first := slow.next(1) // and then reads nothing while all of this goes on
	contiguous(t, first, 1)
	fast.next(1)
	var want []openmanus.Event
	for i := range 400 {
		want = append(want, add(t, j, "s", said(fmt.Sprint("u", i), "x"), said(fmt.Sprint("v", i), "y"))...)
		fast.next(2)
	}
	same(t, "what the slow reader got", slow.next(len(want)), want)
}

func followOther(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	begin(t, one, "s")
	f, g := follow(t, one, "s", 1), follow(t, two, "s", 1)
	for i := range 5 {
		want := append(add(t, two, "s", said(fmt.Sprint("u", i), "by two")), add(t, one, "s", said(fmt.Sprint("v", i), "by one"))...)
		same(t, "what the first handle's follower got", f.next(2), want)
		same(t, "what the second handle's follower got", g.next(2), want)
	}
	var want []openmanus.Event // and now faster than they can be told apart
	for i := range 200 {
		want = append(want, add(t, []openmanus.Journal{one, two}[i*i/3%2], "s", said(fmt.Sprint("w", i), "quick"))...)
	}
	same(t, "what the first handle's follower got", f.next(200), want)
	same(t, "what the second handle's follower got", g.next(200), want)
}

func followMany(t testing.TB, open Opener) {
	j := simple(t, open)
	var fs []*follower
	for i := range 50 {
		begin(t, j, fmt.Sprint("s", i))
		fs = append(fs, follow(t, j, fmt.Sprint("s", i), 1), follow(t, j, fmt.Sprint("s", i), 0))
	}
	for i := range 50 {
		evs := add(t, j, fmt.Sprint("s", i), said("u1", fmt.Sprint("to ", i)))
		same(t, "what came", fs[2*i].next(1), evs)
		contiguous(t, fs[2*i+1].next(2), 1)
	}
}
