package journaltest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

func restoreCases() []testCase {
	return []testCase{
		{name: "restore keeps numbers and times, and the session goes on", needs: restorer, run: restoreOn},
		{name: "restore leaves alone a session that exists", needs: restorer, run: restoreTwice},
		{name: "restore refuses numbers with a gap", needs: restorer, run: restoreGap},
		{name: "restore refuses what no session can be", needs: restorer, run: restoreNonsense},
		{name: "restore wakes who follows", needs: restorer, run: restoreFollowed},
		{name: "a fork keeps what was, and is interrupted", needs: restorer, run: forked},
		{name: "an exported session is the same in another journal", needs: restorer, run: exported},
	}
}

// recorded returns events as another journal, long ago, would have had them.
func recorded() []openmanus.Event {
	evs := []openmanus.Event{{Body: opening()}, {Body: said("u1", strings.Repeat("long ago ", 2000))}}
	for i := range 20 {
		evs = append(evs, openmanus.Event{Body: openmanus.Noted{ID: fmt.Sprint(i), Text: "noted"}})
	}
	for i := range evs {
		evs[i].Seq = int64(i) + 1
		evs[i].Time = time.Date(2001, 2, 3, 4, 5, 6, 7000*i, time.UTC)
	}
	return evs
}

func restore(t testing.TB, j openmanus.Journal, session string) []openmanus.Event {
	t.Helper()
	if err := j.(openmanus.Restorer).Restore(t.Context(), session, recorded()); err != nil {
		t.Fatalf("restore: %v", err)
	}
	return recorded()
}

func restoreOn(t testing.TB, open Opener) {
	j := simple(t, open)
	evs := restore(t, j, "s")
	same(t, "what was read", read(t, j, "s", 0), evs)
	if _, err := j.Append(t.Context(), "s", evs[1].Body); !errors.Is(err, openmanus.ErrExists) || errors.Is(err, openmanus.ErrConflict) {
		t.Errorf("append of what was restored: %v, want ErrExists", err)
	}
	more := add(t, j, "s", said("u2", "now"))
	contiguous(t, more, int64(len(evs))+1)
	same(t, "what was read", read(t, j, "s", 0), append(evs, more...))
}

func restoreNonsense(t testing.TB, open Opener) {
	j := simple(t, open)
	note := openmanus.Noted{ID: "1"}
	for what, bodies := range map[string][]openmanus.Body{
		"nothing":      nil,
		"not opened":   {note},
		"opened twice": {opening(), opening()},
		"a key twice":  {opening(), note, note},
		"provisional":  {opening(), openmanus.Typing{}},
	} {
		var evs []openmanus.Event
		for i, b := range bodies {
			evs = append(evs, openmanus.Event{Seq: int64(i) + 1, Time: journal.Now(), Body: b})
		}
		if err := j.(openmanus.Restorer).Restore(t.Context(), "s", evs); err == nil || errors.Is(err, openmanus.ErrExists) {
			t.Errorf("%s was restored: %v, want an error that says what is wrong", what, err)
		}
		if n := len(read(t, j, "s", 0)); n > 0 {
			t.Fatalf("%s: a restore that failed left %d events", what, n)
		}
	}
}

func restoreTwice(t testing.TB, open Opener) {
	j := simple(t, open)
	begin(t, j, "s")
	want := read(t, j, "s", 0)
	if err := j.(openmanus.Restorer).Restore(t.Context(), "s", recorded()); !errors.Is(err, openmanus.ErrExists) {
		t.Errorf("restore over a session: %v, want ErrExists", err)
	}
	same(t, "what was read", read(t, j, "s", 0), want)
}

func restoreGap(t testing.TB, open Opener) {
	j := simple(t, open)
	missing := slices.Delete(recorded(), 4, 5)
	late := recorded()[1:]
	twice := slices.Insert(recorded(), 4, recorded()[3])
	for _, evs := range [][]openmanus.Event{missing, late, twice} {
		if err := j.(openmanus.Restorer).Restore(t.Context(), "s", evs); err == nil || errors.Is(err, openmanus.ErrExists) {
			t.Errorf("restore of broken numbers: %v, want an error that says so", err)
		}
		if n := len(read(t, j, "s", 0)); n > 0 {
			t.Fatalf("a restore that failed left %d events", n)
		}
	}
	restore(t, j, "s") // what was refused is not in the way
}

func restoreFollowed(t testing.TB, open Opener) {
	j := simple(t, open)
	f := follow(t, j, "s", 0)
	evs := restore(t, j, "s")
	same(t, "what the follower got", f.next(len(evs)), evs)
}

func forked(t testing.TB, open Opener) {
	j := simple(t, open)
	add(t, j, "s", Bodies()...)
	for _, seq := range []int64{1, 7, 0} {
		to := fmt.Sprint("fork-", seq)
		if err := journal.Fork(t.Context(), j, "s", seq, to); err != nil {
			t.Fatal(err)
		}
		got, want := read(t, j, to, 1), read(t, j, "s", 1)
		last := len(got) - 1
		if seq > 0 {
			want = want[:seq-1]
		}
		same(t, "what was copied", got[:last], want)
		if b, ok := got[last].Body.(openmanus.Interrupted); !ok || b.ID != journal.ForkID(to) {
			t.Errorf("the last event of a fork is %#v", got[last])
		}
	}
}

func exported(t testing.TB, open Opener) {
	one, two := simple(t, open), simple(t, open)
	b, ok := one.(openmanus.Blobs)
	if !ok {
		b = new(journal.Memory)
	}
	whole := []byte(strings.Repeat("the whole output, and more than that; ", 1000))
	ref, err := b.Put(t.Context(), whole)
	if err != nil {
		t.Fatal(err)
	}
	evs := add(t, one, "s", append(Bodies(), openmanus.CallDone{Call: "c9-0", Whole: ref}, said("long", strings.Repeat("wörter ", 5000)))...)
	var file, again bytes.Buffer
	if err := journal.Export(t.Context(), one, b, "s", &file); err != nil {
		t.Fatal(err)
	}
	c, ok := two.(openmanus.Blobs)
	if !ok {
		c = new(journal.Memory)
	}
	if id, err := journal.Import(t.Context(), two, c, "", bytes.NewReader(file.Bytes())); id != "s" || err != nil {
		t.Fatalf("import: %q, %v", id, err)
	}
	same(t, "what was imported", read(t, two, "s", 0), evs)
	if data, err := openmanus.ReadBlob(t.Context(), c, ref); err != nil || !bytes.Equal(data, whole) {
		t.Errorf("the whole output came back as %d bytes, %v", len(data), err)
	}
	if err := journal.Export(t.Context(), two, c, "s", &again); err != nil || !bytes.Equal(again.Bytes(), file.Bytes()) {
		t.Errorf("what was imported is exported as something else (%v)", err)
	}
}
