package journaltest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func crowdCases() []testCase {
	return []testCase{
		{name: "of many answers to one question one wins", run: oneWins},
		{name: "of many who open a session one does", run: oneOpens},
		{name: "events of many appenders are numbered without a gap", run: noGaps},
		{name: "many sessions grow at once", run: manySessions},
	}
}

// crowd runs f in n goroutines that share two handles on one journal.
func crowd(t testing.TB, open Opener, n int, f func(j openmanus.Journal, i int)) openmanus.Journal {
	t.Helper()
	dir := t.TempDir()
	handles := []openmanus.Journal{open(t, Options{Dir: dir}), open(t, Options{Dir: dir})}
	begin(t, handles[0], "s")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(handles[i%2], i) })
	}
	wg.Wait()
	return handles[0]
}

// winners counts who won each of several questions, and holds the losers to
// the winner's event.
type winners struct {
	mu     sync.Mutex
	events map[string][]openmanus.Event // the winners', by key
	losers map[string][]openmanus.Event
}

func (w *winners) note(t testing.TB, key string, evs []openmanus.Event, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil && len(evs) == 1:
		w.events[key] = append(w.events[key], evs[0])
	case errors.Is(err, openmanus.ErrExists) && len(evs) == 1:
		w.losers[key] = append(w.losers[key], evs[0])
	default:
		t.Errorf("append of %s returned %d events and %v", key, len(evs), err)
	}
}

func (w *winners) check(t testing.TB, questions int) {
	if len(w.events) != questions {
		t.Errorf("%d questions were answered, want %d", len(w.events), questions)
	}
	for key, evs := range w.events {
		if len(evs) != 1 {
			t.Errorf("%s was answered %d times", key, len(evs))
		}
		for _, ev := range w.losers[key] {
			if !reflect.DeepEqual(ev, evs[0]) {
				t.Errorf("who lost %s was shown %v, want the winner's %v", key, ev, evs[0])
			}
		}
	}
}

func oneWins(t testing.TB, open Opener) {
	w := winners{events: map[string][]openmanus.Event{}, losers: map[string][]openmanus.Event{}}
	j := crowd(t, open, 16, func(j openmanus.Journal, i int) {
		for q := range 10 {
			body := openmanus.CallStarted{Call: fmt.Sprint("c", q), Attempt: 1, Worker: fmt.Sprint("w", i)}
			evs, err := j.Append(t.Context(), "s", body)
			w.note(t, body.Key(), evs, err)
		}
	})
	w.check(t, 10)
	contiguous(t, read(t, j, "s", 1), 2)
}

func oneOpens(t testing.TB, open Opener) {
	w := winners{events: map[string][]openmanus.Event{}, losers: map[string][]openmanus.Event{}}
	crowd(t, open, 16, func(j openmanus.Journal, i int) {
		evs, err := j.Append(t.Context(), "new", openmanus.Opened{Flow: fmt.Sprint("f", i)})
		w.note(t, "open", evs, err)
	})
	w.check(t, 1)
}

func noGaps(t testing.TB, open Opener) {
	var mu sync.Mutex
	var returned []openmanus.Event
	j := crowd(t, open, 16, func(j openmanus.Journal, i int) {
		for k := range 10 {
			evs, err := j.Append(t.Context(), "s", said(fmt.Sprintf("%d-%d-a", i, k), "x"), said(fmt.Sprintf("%d-%d-b", i, k), "y"))
			if err != nil || len(evs) != 2 || evs[1].Seq != evs[0].Seq+1 {
				t.Errorf("append of two returned %v, %v, want two neighbours", evs, err)
				return
			}
			mu.Lock()
			returned = append(returned, evs...)
			mu.Unlock()
		}
	})
	evs := read(t, j, "s", 1)
	contiguous(t, evs, 2)
	slices.SortFunc(returned, func(a, b openmanus.Event) int { return int(a.Seq - b.Seq) })
	same(t, "what was read", evs, returned)
}

func manySessions(t testing.TB, open Opener) {
	j := crowd(t, open, 64, func(j openmanus.Journal, i int) {
		id := fmt.Sprint("session-", i)
		if _, err := j.Append(t.Context(), id, opening()); err != nil {
			t.Errorf("open %s: %v", id, err)
		}
		for k := range 10 {
			if _, err := j.Append(t.Context(), id, said(fmt.Sprint(k), id)); err != nil {
				t.Errorf("append to %s: %v", id, err)
			}
		}
	})
	for i := range 64 {
		evs := read(t, j, fmt.Sprint("session-", i), 0)
		contiguous(t, evs, 1)
		if len(evs) != 11 {
			t.Errorf("session %d has %d events, want 11", i, len(evs))
		}
	}
}
