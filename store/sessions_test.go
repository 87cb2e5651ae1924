package store_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store"
)

func list(t testing.TB, db *store.DB, opts journal.ListOptions) (ids []string) {
	t.Helper()
	for info, err := range db.Sessions(t.Context(), opts) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	add(t, db, "s", openmanus.Opened{}, done("1", big("x")))
	add(t, db, "other", openmanus.Opened{})
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	for ev, err := range db.Events(t.Context(), "s", 0) {
		t.Errorf("there is an event: %v, %v", ev, err)
	}
	if got := list(t, db, journal.ListOptions{}); !slices.Equal(got, []string{"other"}) {
		t.Errorf("the sessions are %v", got)
	}
	if n := files(t, filepath.Join(dir, "locks")); n != 0 {
		t.Errorf("%d lock files are left", n)
	}
	if err := db.Delete(t.Context(), "s"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("deleting it again: %v, want ErrNoSession", err)
	}
	if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: "1"}); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("append to it: %v, want ErrNoSession", err)
	}
	add(t, db, "s", openmanus.Opened{}) // the name is free again
}

// A store forgets what it remembers of a session when another process appends to
// it, or deletes it and gives its row to another session.
func TestAnotherProcessChangesASession(t *testing.T) {
	dir := t.TempDir()
	ours, theirs := open(t, dir, nil), open(t, dir, nil)
	appendTo := func(db *store.DB, session string, b openmanus.Body) (int64, error) {
		evs, err := db.Append(t.Context(), session, b)
		if err != nil {
			return 0, err
		}
		return evs[0].Seq, nil
	}
	for _, step := range []struct {
		db      *store.DB
		session string
		body    openmanus.Body
		seq     int64
	}{
		{ours, "a", openmanus.Opened{}, 1},
		{theirs, "a", openmanus.Noted{ID: "1"}, 2},
		{ours, "a", openmanus.Noted{ID: "2"}, 3},
		{theirs, "a", openmanus.Noted{ID: "3"}, 4},
		{ours, "a", openmanus.Noted{ID: "4"}, 5},
	} {
		if seq, err := appendTo(step.db, step.session, step.body); seq != step.seq || err != nil {
			t.Fatalf("%s: %d, %v; want %d", step.body.Key(), seq, err, step.seq)
		}
	}
	if err := theirs.Delete(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := appendTo(theirs, "b", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	if _, err := appendTo(ours, "a", openmanus.Noted{ID: "5"}); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("appending to a deleted session: %v", err)
	}
	if seq, err := appendTo(ours, "b", openmanus.Noted{ID: "6"}); seq != 2 || err != nil {
		t.Errorf("the other session: %d, %v", seq, err)
	}
}
