package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/llm"
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

func session(t testing.TB, db *store.DB, id string) journal.SessionInfo {
	t.Helper()
	info, err := db.Session(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func TestSessionInfo(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	evs, err := db.Append(t.Context(), "s", openmanus.Opened{Flow: "manus", Parent: "above"},
		openmanus.Configured{Spec: openmanus.Spec{Model: "openai/small", Workspace: "/old"}},
		openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "  Find the three\n\tbest months\x1b[31m ")})
	if err != nil {
		t.Fatal(err)
	}
	first := session(t, db, "s")
	if want := (journal.SessionInfo{
		ID: "s", Title: "Find the three best months [31m", Created: evs[0].Time, Updated: evs[2].Time, Events: 3, Last: "user_said",
		Flow: "manus", Parent: "above", Model: "openai/small", Workspace: "/old",
	}); !reflect.DeepEqual(first, want) {
		t.Errorf("the listing says\n%+v, want\n%+v", first, want)
	}
	u := llm.Usage{Input: 100, Output: 10, Cached: 50, CacheWrite: 5, Reasoning: 3}
	add(t, db, "s", openmanus.UserSaid{ID: "2", Message: llm.Say(llm.User, "and the worst")}, openmanus.ModelSaid{Usage: u, Cost: 7})
	add(t, db, "s", openmanus.ModelFailed{Turn: 1, Usage: u, Cost: 1}, openmanus.ChildDone{Child: "c", Usage: u, Cost: 1000},
		openmanus.Configured{N: 1, Spec: openmanus.Spec{Model: "openai/large", Workspace: "/new"}})
	add(t, db, "s", openmanus.Titled{ID: "1", Title: "Months"}, openmanus.Titled{ID: "2", Title: "The months"}, openmanus.Foreign{Type: "teleported", Stored: "t/1", Content: []byte("{}")})
	got := session(t, db, "s")
	if got.Title != "The months" || got.Model != "openai/large" || got.Workspace != "/new" || got.Events != 11 || got.Last != "teleported" {
		t.Errorf("the listing says %+v", got)
	}
	if got.Usage != u.Add(u) || got.Cost != 8 {
		t.Errorf("the usage is %+v and the cost %d, want %+v and 8", got.Usage, got.Cost, u.Add(u))
	}
	if got.Created != first.Created || !got.Updated.After(first.Updated) {
		t.Errorf("created %v, updated %v", got.Created, got.Updated)
	}
}

func TestLongTitle(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	for i, words := range []string{strings.Repeat("wörter ", 5000), strings.Repeat("🙂", 5000), strings.Repeat(" ", 50) + strings.Repeat("x", 81)} {
		id := fmt.Sprint(i)
		add(t, db, id, openmanus.Opened{}, openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, words)})
		title := []rune(session(t, db, id).Title)
		if len(title) > 80 || len(title) < 70 || title[len(title)-1] != '…' {
			t.Errorf("the title of %.20q is %q", words, string(title))
		}
	}
}

func TestSessionsAreListedByLastUpdate(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	for _, id := range []string{"a", "b", "c"} {
		add(t, db, id, openmanus.Opened{}, openmanus.Configured{Spec: openmanus.Spec{Workspace: "/" + id}})
	}
	add(t, db, "b.1", openmanus.Opened{Parent: "b"}, openmanus.Configured{Spec: openmanus.Spec{Workspace: "/b"}})
	add(t, db, "a", openmanus.Noted{ID: "1"})
	for _, tt := range []struct {
		opts journal.ListOptions
		want string
	}{
		{journal.ListOptions{}, "a b.1 c b"},
		{journal.ListOptions{Limit: 2}, "a b.1"},
		{journal.ListOptions{Roots: true}, "a c b"},
		{journal.ListOptions{Parent: "b"}, "b.1"},
		{journal.ListOptions{Workspace: "/b"}, "b.1 b"},
		{journal.ListOptions{Workspace: "/b", Roots: true}, "b"},
		{journal.ListOptions{Parent: "nobody"}, ""},
	} {
		if got := strings.Join(list(t, db, tt.opts), " "); got != tt.want {
			t.Errorf("with %+v: %q, want %q", tt.opts, got, tt.want)
		}
	}
	for range db.Sessions(t.Context(), journal.ListOptions{}) {
		break // may be left, and the store goes on
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for info, err := range db.Sessions(ctx, journal.ListOptions{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a list that was cancelled yielded %v, %v", info, err)
		}
	}
	if _, err := db.Session(t.Context(), "nobody"); !errors.Is(err, openmanus.ErrNoSession) {
		t.Errorf("a session that is not there: %v", err)
	}
}

func TestFind(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	for _, id := range []string{"abc", "abd", "ab%", "x", "xyz", "ünique", "_a"} {
		add(t, db, id, openmanus.Opened{}, openmanus.Titled{ID: "1", Title: "about " + id})
	}
	for i := range 12 {
		add(t, db, fmt.Sprintf("many-%02d", i), openmanus.Opened{})
	}
	for prefix, want := range map[string]string{"abc": "abc", "x": "x", "xy": "xyz", "ü": "ünique", "ab%": "ab%", "_": "_a"} {
		if got, err := db.Find(t.Context(), prefix); got != want || err != nil {
			t.Errorf("%q finds %q, %v, want %q", prefix, got, err, want)
		}
	}
	for _, prefix := range []string{"", "q", "%", "AB"} {
		if got, err := db.Find(t.Context(), prefix); !errors.Is(err, openmanus.ErrNoSession) {
			t.Errorf("%q finds %q, %v, want ErrNoSession", prefix, got, err)
		}
	}
	_, err := db.Find(t.Context(), "ab")
	if err == nil || errors.Is(err, openmanus.ErrNoSession) {
		t.Fatalf("a prefix of three finds one: %v", err)
	}
	for _, s := range []string{`"ab"`, "abc  about abc", "abd  about abd", "ab%  about ab%", "give more"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the error is %q, and does not say %q", err, s)
		}
	}
	if _, err := db.Find(t.Context(), "many"); err == nil || !strings.Contains(err.Error(), "and more") || strings.Count(err.Error(), "many-") != 8 {
		t.Errorf("the error is %q", err)
	}
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

func TestDeleteRefusesDrivenSession(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	add(t, db, "s", openmanus.Opened{})
	lease, err := open(t, dir, nil).Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "s"); !errors.Is(err, openmanus.ErrDriven) {
		t.Errorf("delete: %v, want ErrDriven", err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if err := db.Delete(t.Context(), "s"); err != nil {
		t.Errorf("delete after the release: %v", err)
	}
}

func TestFollowEndsWhenSessionIsDeleted(t *testing.T) {
	dir := t.TempDir()
	one, two := open(t, dir, nil), open(t, dir, nil)
	for _, id := range []string{"here", "there"} {
		add(t, one, id, openmanus.Opened{})
	}
	type follower struct {
		began chan struct{}
		ended chan error
	}
	follow := func(db *store.DB, id string) follower {
		f := follower{make(chan struct{}), make(chan error, 1)}
		go func() {
			for _, err := range db.Follow(t.Context(), id, 0) {
				if err != nil {
					f.ended <- err
					return
				}
				close(f.began)
			}
			f.ended <- nil
		}()
		return f
	}
	followers := []follower{follow(one, "here"), follow(two, "here"), follow(one, "there"), follow(two, "there")}
	for _, f := range followers {
		<-f.began
	}
	for _, id := range []string{"here", "there"} {
		if err := one.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range followers {
		if err := <-f.ended; !errors.Is(err, openmanus.ErrNoSession) {
			t.Errorf("follower %d ended with %v, want ErrNoSession", i, err)
		}
	}
}

// What a store remembers of a session ends when another process appends to it, or
// deletes it and gives its row to another session.
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
