// Package journaltest tests implementations of [openmanus.Journal] against the
// contract of the interface. A test calls [Run]:
//
//	func TestJournal(t *testing.T) {
//		journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
//			db, err := store.Open(o.Dir, &store.Options{Secrets: o.Secrets})
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { db.Close() })
//			return db
//		})
//	}
//
// If the journal also implements [openmanus.Blobs], [openmanus.Locker],
// [openmanus.Restorer] or [openmanus.Pipeliner], or all that package journal knows of
// a store that lists, searches, adds up and deletes sessions, Run tests that as well. It
// logs which of these cases it leaves out.
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
)

// Options say what journal a case needs.
type Options struct {
	// Dir is a directory of the case's own, for the data. Journals that are
	// opened with the same Dir share their sessions, as two processes on one
	// store do; one without files takes it as a name.
	Dir string

	// Secrets are to be replaced in what is appended; nil if there are none.
	Secrets *journal.Secrets
}

// An Opener returns a journal for a case and arranges that it is closed when
// the test ends.
type Opener func(t testing.TB, o Options) openmanus.Journal

// Run holds the journals that open returns to every case.
func Run(t *testing.T, open Opener) {
	has := abilities(open(t, Options{Dir: t.TempDir()}))
	for _, c := range cases() {
		if c.needs != "" && !has[c.needs] {
			t.Logf("left out, for the journal is no %s: %s", c.needs, c.name)
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, open) })
	}
}

// A testCase is one promise.
type testCase struct {
	name  string
	needs string // the optional interface that it is about
	run   func(testing.TB, Opener)
}

const (
	blobs     = "openmanus.Blobs"
	locker    = "openmanus.Locker"
	restorer  = "openmanus.Restorer"
	pipeliner = "openmanus.Pipeliner"
)

func abilities(j openmanus.Journal) map[string]bool {
	_, b := j.(openmanus.Blobs)
	_, l := j.(openmanus.Locker)
	_, r := j.(openmanus.Restorer)
	_, p := j.(openmanus.Pipeliner)
	_, i := j.(indexer)
	return map[string]bool{blobs: b, locker: l, restorer: r, pipeliner: p, indexes: i}
}

func cases() []testCase {
	var all []testCase
	for _, some := range [][]testCase{appendCases(), contentCases(), blobCases(), followCases(), crowdCases(), restoreCases(), lockCases(), pipeCases(), indexCases()} {
		all = append(all, some...)
	}
	return all
}

// simple returns an empty journal without secrets.
func simple(t testing.TB, open Opener) openmanus.Journal {
	return open(t, Options{Dir: t.TempDir()})
}

// opening returns the first body of the sessions of these tests.
func opening() openmanus.Opened {
	return openmanus.Opened{Flow: "manus", Version: openmanus.FormatVersion}
}

// begin opens a session.
func begin(t testing.TB, j openmanus.Journal, session string) {
	t.Helper()
	add(t, j, session, opening())
}

// add appends bodies and insists that it works and returns one event each.
func add(t testing.TB, j openmanus.Journal, session string, bodies ...openmanus.Body) []openmanus.Event {
	t.Helper()
	evs, err := j.Append(t.Context(), session, bodies...)
	if err != nil {
		t.Fatalf("append to %q: %v", session, err)
	}
	if len(evs) != len(bodies) {
		t.Fatalf("append of %d bodies returned %d events", len(bodies), len(evs))
	}
	return evs
}

// read returns the events of a session after a number.
func read(t testing.TB, j openmanus.Journal, session string, after int64) []openmanus.Event {
	t.Helper()
	var evs []openmanus.Event
	for ev, err := range j.Events(t.Context(), session, after) {
		if err != nil {
			t.Fatalf("events of %q: %v", session, err)
		}
		evs = append(evs, ev)
	}
	return evs
}

// said is a UserSaid with this id and these words.
func said(id, words string) openmanus.UserSaid {
	return openmanus.UserSaid{ID: id, Message: llm.Say(llm.User, words)}
}

// same insists that two lists of events are equal, as values and as encoded.
func same(t testing.TB, what string, got, want []openmanus.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d events, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("%s: event %d is\n%#v\nwant\n%#v", what, i+1, got[i], want[i])
		}
		if g, w := encode(t, got[i]), encode(t, want[i]); g != w {
			t.Fatalf("%s: event %d is encoded as\n%s\nwant\n%s", what, i+1, g, w)
		}
	}
}

func encode(t testing.TB, ev openmanus.Event) string {
	t.Helper()
	data, err := json.Marshal(ev)
	if err != nil {
		t.Fatalf("encode event %d: %v", ev.Seq, err)
	}
	return string(data)
}

// contiguous insists that events are numbered from first on without a gap and
// that their times are as the format has them and do not go back.
func contiguous(t testing.TB, evs []openmanus.Event, first int64) {
	t.Helper()
	for i, ev := range evs {
		if want := first + int64(i); ev.Seq != want {
			t.Fatalf("event at place %d has number %d, want %d", i, ev.Seq, want)
		}
		if ev.Time.IsZero() || ev.Time.Location() != time.UTC || ev.Time != ev.Time.Truncate(time.Microsecond) {
			t.Fatalf("event %d has the time %v, want UTC in whole microseconds", ev.Seq, ev.Time)
		}
	}
}

// refused insists that an append failed with neither ErrExists nor success.
func refused(t testing.TB, what string, evs []openmanus.Event, err error) {
	t.Helper()
	if err == nil || errors.Is(err, openmanus.ErrExists) || len(evs) > 0 {
		t.Fatalf("%s returned %d events and the error %v, want none and an error that says what is wrong", what, len(evs), err)
	}
}

// patience is how long a case waits for what must happen before it gives up.
// Nothing is measured by it.
const patience = time.Minute

// patiently returns a context that ends when the test does, or when patience
// is at its end.
func patiently(t testing.TB) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), patience)
}
