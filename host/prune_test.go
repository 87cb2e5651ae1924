package host_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// readable reports whether all files of a tree can be read.
func readable(t *testing.T, db *store.DB, text string) error {
	t.Helper()
	tree, err := snapshot.ParseTree(text)
	if err != nil {
		t.Fatal(err)
	}
	r := snapshot.NewReader(db)
	for c, err := range r.Diff(t.Context(), snapshot.Tree{}, tree) {
		if err == nil && c.Now.Kind == snapshot.File {
			err = r.WriteTo(t.Context(), io.Discard, c.Now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recorded makes a session with n snapshots, of which the first old are a year old, and
// returns the trees.
func (f *follower) recorded(h *host.Host, id string, n, old int) (trees []string) {
	f.t.Helper()
	f.begin(h, f.db, id+"-now", "")
	f.write("ws/unchanged of "+id, strings.Repeat(id, 50))
	for i := range n {
		f.write("ws/a", fmt.Sprint(id, i))
		f.snap(id+"-now", fmt.Sprint(i))
		trees = append(trees, f.tracker.Tree().String())
	}
	var events []openmanus.Event
	for ev, err := range f.db.Events(f.t.Context(), id+"-now", 0) {
		if err != nil {
			f.t.Fatal(err)
		}
		if _, is := ev.Body.(openmanus.Snapped); is {
			if old--; old >= 0 {
				ev.Time = ev.Time.Add(-365 * 24 * time.Hour)
			}
		}
		events = append(events, ev)
	}
	err := errors.Join(f.db.Restore(f.t.Context(), id, events), f.db.Delete(f.t.Context(), id+"-now"))
	if err != nil {
		f.t.Fatal(err)
	}
	return trees
}

// Content that only old states need is deleted; a session that is driven is left
// alone; the newest keeps what it has.
func TestPrune(t *testing.T) {
	p := newPlace(t, "-- 1 --\nDone.\n")
	p.write("ws/a", "")
	h, db, stop := p.open()
	defer stop()
	h.Config.History.MaxSize, h.Config.History.MaxAge = 1<<30, 90*24*time.Hour
	first := p.follow(db).recorded(h, "first", 6, 4)
	second := p.follow(db).recorded(h, "second", 2, 0)

	check := func(when string, trees []string, gone ...int) {
		t.Helper()
		for i, tree := range trees {
			err := readable(t, db, tree)
			if is := slices.Contains(gone, i); is && !errors.Is(err, snapshot.ErrGone) || !is && err != nil {
				t.Errorf("%s: tree %d: %v", when, i, err)
			}
		}
	}
	prune := func(dry bool, want string) {
		t.Helper()
		out, err := h.Prune(t.Context(), dry)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range out.Sessions {
			got = append(got, fmt.Sprintf("%s:%v:%v:%s", s.ID, !s.Since.IsZero(), s.Free > 0, s.Skipped))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("pruned %q, not %q", got, want)
		}
	}
	check("at first", first)
	prune(true, "first:true:true:")
	check("only looked", first)
	prune(false, "first:true:true:")
	check("after their age", first, 1, 2) // the pack of the first has the file that did not change
	check("after their age", second)
	prune(false, "")

	h.Config.History.MaxSize = 1
	lease, err := db.Lock(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	prune(false, "first:false:false:it is running")
	check("while it is driven", first, 1, 2)
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	before := db.Pruned()
	prune(false, "first:false:true:")
	check("beyond the size", first, 0, 1, 2, 3, 4, 5)
	check("beyond the size", second)
	if db.Pruned() == before {
		t.Error("no one is told")
	}
	tree, _ := snapshot.ParseTree(first[5])
	if is, err := db.Refers(t.Context(), "first", tree.Root.Parts[0].Pack); is || err != nil {
		t.Errorf("it keeps its last tree: %v, %v", is, err)
	}
	if s, err := h.Storage(t.Context()); err != nil || s.Snapshots == 0 || s.Database == 0 || s.MaxSize != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}
