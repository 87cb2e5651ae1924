//go:build unix

package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/internal/s3test"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/store/postgres"
	"github.com/openmanus-go/openmanus/store/s3"
)

func bucket(t testing.TB, url string, o s3.Options) *s3.Bucket {
	t.Helper()
	b, err := s3.Open(t.Context(), url, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// With blobs in an object store, a journal is what it is without.
func TestJournalWithObjects(t *testing.T) {
	server, objects := pgtest.Start(t), s3test.Start(t)
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		return open(t, server, o.Dir, &postgres.Options{Secrets: o.Secrets, Objects: bucket(t, objects.URL, s3.Options{})})
	})
}

// blobsOfFaults is how many blobs TestObjectsFail puts: BLOBS_OF_FAULTS in place of
// some hundreds.
func blobsOfFaults() int {
	if n, err := strconv.Atoi(os.Getenv("BLOBS_OF_FAULTS")); err == nil {
		return n
	}
	return 200
}

// While a fifth of all requests to the object store fail, in any way, no event ever names
// a blob that cannot be read, and every blob that was put is there.
func TestObjectsFail(t *testing.T) {
	const many = 16
	server, objects := pgtest.Start(t), s3test.Start(t)
	url := server.URL("faults")
	var dbs []*postgres.DB
	for range 2 {
		b := bucket(t, objects.URL, s3.Options{Try: 250 * time.Millisecond, Patience: 5 * time.Second})
		db, err := postgres.Open(t.Context(), url, &postgres.Options{Objects: b})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		dbs = append(dbs, db)
	}
	content := func(i int) string { return strings.Repeat(fmt.Sprint("blob ", i/2, " "), 2000) } // each of two writers puts the same
	if _, err := dbs[0].Append(t.Context(), "s", openmanus.Opened{Flow: "manus"}); err != nil {
		t.Fatal(err)
	}
	objects.Fail(0.2, 7)
	var failed int
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range many {
		all.Go(func() {
			for i := w; i < blobsOfFaults(); i += many {
				// a short patience now and then, as of a process that is killed in between
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if i%7 == 0 {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), 5*time.Millisecond)
				}
				_, err := dbs[i%2].Append(ctx, "s", openmanus.Noted{ID: fmt.Sprint(i), Text: content(i)})
				cancel()
				if err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	objects.Fail(0, 7)
	n := 0
	for ev, err := range dbs[1].Events(t.Context(), "s", 1) {
		if err != nil {
			t.Fatalf("an event names what cannot be read: %v", err)
		}
		b := ev.Body.(openmanus.Noted)
		if i, _ := strconv.Atoi(b.ID); b.Text != content(i) {
			t.Fatalf("event %d has another text", ev.Seq)
		}
		n++
	}
	t.Logf("%d events, %d appends that failed, %d requests that failed", n, failed, objects.Failed.Load())
	if n+failed != blobsOfFaults() || n < blobsOfFaults()/2 || objects.Failed.Load() == 0 {
		t.Errorf("%d events and %d appends that failed, of %d", n, failed, blobsOfFaults())
	}
}

// A blob that nobody needs goes with its object, one that is put again in between gets
// another object, and what could not be removed is removed the next time.
func TestObjectsAreSwept(t *testing.T) {
	server, objects := pgtest.Start(t), s3test.Start(t)
	url := server.URL("sweep")
	db, err := postgres.Open(t.Context(), url, &postgres.Options{Objects: bucket(t, objects.URL, s3.Options{Patience: 50 * time.Millisecond, Try: 20 * time.Millisecond})})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	data := []byte("some content")
	ref, err := db.Put(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := db.Put(t.Context(), data); err != nil || again != ref || len(objects.Names(t)) != 1 {
		t.Fatalf("put twice: %v, %v, %v", again, err, objects.Names(t))
	}
	first := objects.Names(t)[0]
	old := func() {
		if _, err := conn.Exec(t.Context(), "UPDATE blobs SET put = 0"); err != nil {
			t.Fatal(err)
		}
	}
	old()
	if err := db.Hold(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("a blob that is held was swept: %d, %v", n, err)
	}
	old()
	objects.Fail(1, 1)
	if n, err := db.Sweep(t.Context()); n != 1 || err == nil {
		t.Errorf("swept %d, %v; the object store does not answer", n, err)
	}
	objects.Fail(0, 1)
	if _, err := db.Get(t.Context(), ref); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a blob that was swept: %v", err)
	}
	if err := db.Hold(t.Context(), ref); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("hold what was swept: %v", err)
	}
	if _, err := db.Put(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Sweep(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	if names := objects.Names(t); len(names) != 1 || names[0] == first {
		t.Errorf("the object store has %v; the first object was %s", names, first)
	}
	r, err := db.Get(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(r); !bytes.Equal(got, data) {
		t.Errorf("got %q", got)
	}
	plain, err := postgres.Open(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if _, err := plain.Get(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "set [blobs] url") {
		t.Errorf("without an object store: %v", err)
	}
}

// Work of other processes is seen, and unneeded objects are found.
func TestCondition(t *testing.T) {
	server, objects := pgtest.Start(t), s3test.Start(t)
	url, b := server.URL("condition"), bucket(t, objects.URL, s3.Options{})
	db, err := postgres.Open(t.Context(), url, &postgres.Options{Objects: b, Name: "me@v1"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	serving, err := db.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer serving.Release()
	long := strings.Repeat("long ", 5000)
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{Flow: "manus", Owner: "alice"}, openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, long)}); err != nil {
		t.Fatal(err)
	}
	if c, err := db.Condition(t.Context()); err != nil || c.Clock.Abs() > time.Second || c.Notified <= 0 || c.Forgotten != 0 || c.Driven != 0 ||
		len(c.Serving) != 1 || c.Serving[0] != "me@v1" {
		t.Errorf("%+v, %v", c, err)
	}
	lease, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := db.Condition(t.Context()); err != nil || c.Driven != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "UPDATE sessions SET updated = 0"); err != nil {
		t.Fatal(err)
	}
	if c, err := db.Condition(t.Context()); err != nil || c.Forgotten != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if n, err := db.Readable(t.Context(), 10); n != 1 || err != nil {
		t.Errorf("%d blobs can be read, %v", n, err)
	}
	orphan := strings.TrimPrefix(string(openmanus.RefOf([]byte("orphan"))), "sha256:") + "-x"
	if err := b.Put(t.Context(), orphan, []byte("orphan")); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Orphans(t.Context(), b.Names(t.Context(), 0)); err != nil || len(got) != 1 || got[0] != orphan {
		t.Errorf("orphans: %v, %v", got, err)
	}
	if got, err := db.Orphans(t.Context(), b.Names(t.Context(), time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("old orphans: %v, %v", got, err)
	}
	objects.Damage(t)
	if n, err := db.Readable(t.Context(), 10); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("%d damaged blobs can be read, %v", n, err)
	}
}
