//go:build unix

package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// One process has a workspace at a time, others know which one had it last for as long as
// that one serves, and what sessions recorded last there is found.
func TestWorkspaces(t *testing.T) {
	url := pgtest.Start(t).URL("workspaces")
	open := func(name string) *postgres.DB {
		db, err := postgres.Open(t.Context(), url, &postgres.Options{Name: name, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	one, two := open("one"), open("two")
	dir := "/srv/" + strings.Repeat("deep/", 100)
	holder := func(want string) {
		t.Helper()
		if got, err := two.Holder(t.Context(), dir); err != nil || got != want {
			t.Errorf("the workspace is at %q, %v, want %q", got, err, want)
		}
	}
	holder("")
	serving, err := one.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lease, _, err := one.Claim(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	holder("one")
	if _, at, err := two.Claim(t.Context(), dir); !errors.Is(err, openmanus.ErrDriven) || at != "one" {
		t.Errorf("two claims it: %q, %v", at, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	holder("one")
	second, _, err := two.Claim(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	holder("") // two does not serve
	if err := errors.Join(second.Release(), serving.Release()); err != nil {
		t.Fatal(err)
	}
	if again, _, err := one.Claim(t.Context(), dir); err != nil || again.Release() != nil {
		t.Error(err)
	}
	holder("") // one does not serve any more

	last := func(want string) {
		t.Helper()
		if got, err := two.LastTree(t.Context(), dir); err != nil || got != want {
			t.Errorf("the last tree is %q, %v, want %q", got, err, want)
		}
	}
	last("")
	for _, s := range []string{"a", "b", "elsewhere"} {
		ws := dir
		if s == "elsewhere" {
			ws = "/other"
		}
		_, err := one.Append(t.Context(), s, openmanus.Opened{Flow: "manus"}, openmanus.Configured{Spec: openmanus.Spec{Workspace: ws}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range []struct{ session, tree, want string }{
		{"a", "t1", "t1"}, {"b", "t2", "t2"}, {"elsewhere", "t3", "t2"}, {"b", "", "t2"}, {"a", "t4", "t4"},
	} {
		if _, err := one.Append(t.Context(), c.session, openmanus.Snapped{ID: string(rune('0' + i)), Tree: c.tree}); err != nil {
			t.Fatal(err)
		}
		last(c.want)
	}
}

// Many processes spend together, and none more than is allowed.
func TestPurse(t *testing.T) {
	url := pgtest.Start(t).URL("purse")
	var all sync.WaitGroup
	var spent, refused atomic.Int64
	for range 4 {
		db, err := postgres.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		for range 4 {
			all.Go(func() {
				for range 25 {
					_, ok, err := db.Spend(t.Context(), "day", 3, 1000)
					switch {
					case err != nil:
						t.Error(err)
					case ok:
						spent.Add(3)
					default:
						refused.Add(1)
					}
				}
			})
		}
	}
	all.Wait()
	if spent.Load() != 999 || refused.Load() != 400-333 {
		t.Errorf("spent %d, %d times refused", spent.Load(), refused.Load())
	}
	db, err := postgres.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range []struct {
		amount, most, want int64
		ok                 bool
	}{{5, 1000, 999, false}, {-100, -1, 899, true}, {200, -1, 1099, true}, {1, 1000, 1099, false}} {
		if got, ok, err := db.Spend(t.Context(), "day", c.amount, c.most); got != c.want || ok != c.ok || err != nil {
			t.Errorf("%+v: %d, %v, %v", c, got, ok, err)
		}
	}
	if got, ok, err := db.Spend(t.Context(), "other", 2000, 1000); got != 0 || ok || err != nil {
		t.Errorf("more than all at once: %d, %v, %v", got, ok, err)
	}
}

// Sessions of a user are counted, and nobody else's, nor children.
func TestTally(t *testing.T) {
	db := open(t, pgtest.Start(t), "tally", nil)
	for _, s := range []struct{ id, owner, parent string }{
		{"a", "alice", ""}, {"b", "alice", ""}, {"b.c", "alice", "b"}, {"d", "bob", ""},
	} {
		_, err := db.Append(t.Context(), s.id, openmanus.Opened{Flow: "manus", Owner: s.owner, Parent: s.parent}, openmanus.UserSaid{ID: "1"})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.MarkIdle(t.Context(), "a", 2); err != nil {
		t.Fatal(err)
	}
	for since, want := range map[time.Time][3]int{time.Now().Add(-time.Minute): {2, 2, 1}, time.Now().Add(time.Minute): {2, 0, 1}} {
		if all, created, underWay, err := db.Tally(t.Context(), "alice", since); err != nil || [3]int{all, created, underWay} != want {
			t.Errorf("since %v: %d, %d, %d, %v, want %v", since, all, created, underWay, err, want)
		}
	}
}
