//go:build unix

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// expire lets the lease of a session run out, as if its holder had been stopped.
func expire(t *testing.T, url, session string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "UPDATE leases SET expires = 0 WHERE session = $1", session); err != nil {
		t.Fatal(err)
	}
}

// A process that was stopped, and whose session another one has taken over, appends
// nothing when it wakes; also not beside one that appends.
func TestTakenOver(t *testing.T) {
	url := pgtest.Start(t).URL("fence")
	open := func(lease time.Duration) *postgres.DB {
		db, err := postgres.Open(t.Context(), url, &postgres.Options{Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	stopped, other, quick := open(time.Hour), open(time.Hour), open(90*time.Millisecond)
	if _, err := stopped.Append(t.Context(), "s", openmanus.Opened{Flow: "manus"}); err != nil {
		t.Fatal(err)
	}
	const times = 50
	for i := range times {
		first, err := stopped.Lock(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stopped.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint("driven ", i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint("beside ", i)}); err != nil {
			t.Fatalf("whoever does not drive may append: %v", err)
		}
		expire(t, url, "s")
		second, err := other.Lock(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if evs, err := stopped.Append(t.Context(), "s", openmanus.Noted{ID: fmt.Sprint("late ", i)}); !errors.Is(err, openmanus.ErrDriven) {
			t.Fatalf("the one that woke got %v, %v, want ErrDriven", evs, err)
		}
		if err := errors.Join(first.Release(), second.Release()); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for ev, err := range other.Events(t.Context(), "s", 1) {
		if err != nil || strings.Contains(ev.Body.(openmanus.Noted).ID, "late") {
			t.Fatalf("%v, %v", ev, err)
		}
		n++
	}
	if n != 2*times {
		t.Errorf("%d events, want %d", n, 2*times)
	}
	// One that runs notices that it has lost the lease.
	lease, err := quick.Lock(t.Context(), "q")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "UPDATE leases SET token = token + 1000, expires = 8e15 WHERE session = 'q'"); err != nil {
		t.Fatal(err)
	}
	<-lease.Lost()
	if err := lease.Release(); err != nil || !other.Driven("q") {
		t.Errorf("release: %v; the other has its lease: %v", err, other.Driven("q"))
	}
}

// The server dies again and again while many append and follow: nothing that was
// acknowledged is lost, nothing is there twice, and everybody goes on.
func TestServerDies(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL("dies")
	open := func() *postgres.DB {
		db, err := postgres.Open(t.Context(), url, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	one, two := open(), open()
	const sessions, kills = 4, 5
	var appending, following sync.WaitGroup
	over := make(chan struct{})
	for s := range sessions {
		name := fmt.Sprint("s", s)
		if _, err := one.Append(t.Context(), name, openmanus.Opened{Flow: "manus"}); err != nil {
			t.Fatal(err)
		}
		appending.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					if _, err := one.Append(t.Context(), name, openmanus.Noted{ID: "end", Text: fmt.Sprint(i)}); err != nil {
						t.Errorf("%s: the last append: %v", name, err)
					}
					return
				default:
				}
				evs, err := one.Append(t.Context(), name, openmanus.Noted{ID: fmt.Sprint(i)})
				if err != nil || evs[0].Seq != int64(i)+2 {
					t.Errorf("%s: append %d: %v, %v", name, i, evs, err)
					return
				}
			}
		})
		following.Go(func() {
			next := int64(1)
			for ev, err := range two.Follow(t.Context(), name, 0) {
				if err != nil || ev.Seq != next {
					t.Errorf("%s: followed %d, %v, want event %d", name, ev.Seq, err, next)
					return
				}
				if b, ok := ev.Body.(openmanus.Noted); ok && b.ID == "end" {
					if b.Text != fmt.Sprint(ev.Seq-2) {
						t.Errorf("%s: %s events were acknowledged and there are %d", name, b.Text, ev.Seq-2)
					}
					return
				}
				next++
			}
		})
	}
	for range kills {
		for range two.Follow(t.Context(), "s0", 1) {
			break // something was appended since the server began
		}
		server.Stop("immediate")
		server.Start()
	}
	close(over)
	appending.Wait()
	following.Wait()
}

// Each error says what is wrong with what, and not the password.
func TestRefuses(t *testing.T) {
	server := pgtest.Start(t)
	good := server.URL("newer")
	db, err := postgres.Open(t.Context(), good, nil)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	conn, err := pgx.Connect(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)"); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		good: "its schema version is 99 and this openmanus supports ",
		"postgres://tester:secret@/none?host=" + server.Dir: `database "none" does not exist`,
		"postgres://me:secret@127.0.0.1:1/db":               "127.0.0.1:1",
		"mysql://me:secret@example.org/db":                  "the URL of the store",
	} {
		db, err := postgres.Open(t.Context(), url, nil)
		if err == nil {
			db.Close()
			t.Errorf("%s is a store", url)
		} else if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
