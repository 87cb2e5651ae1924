package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// opened returns a store with a session s.
func opened(t *testing.T) *DB {
	t.Helper()
	db, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := db.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	return db
}

// occupy keeps the writer busy until the function that it returns is called.
func occupy(t *testing.T, db *DB) (free func()) {
	t.Helper()
	busy, wait := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- db.writer.do(context.Background(), db.writer.exclusive, &job{do: func(*queries) error {
			close(busy)
			<-wait
			return nil
		}})
	}()
	<-busy
	return func() {
		t.Helper()
		close(wait)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, db *DB, session string) (n int) {
	t.Helper()
	for _, err := range db.Events(t.Context(), session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestConcurrentAppendsShareACommit(t *testing.T) {
	db := opened(t)
	for i := range 64 {
		if _, err := db.Append(t.Context(), fmt.Sprint("s", i), openmanus.Opened{}); err != nil {
			t.Fatal(err)
		}
	}
	free := occupy(t, db)
	times := make(map[time.Time]int) // all that is stored in one commit has its time
	var mu sync.Mutex
	var started, wg sync.WaitGroup
	for i := range 64 {
		started.Add(1)
		wg.Go(func() {
			ctx := &watched{Context: t.Context(), waits: started.Done}
			evs, err := db.Append(ctx, fmt.Sprint("s", i), openmanus.Noted{ID: "n"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			times[evs[0].Time]++
		})
	}
	started.Wait()
	free()
	wg.Wait()
	if len(times) > 8 {
		t.Errorf("64 appends that waited took %d commits: %v", len(times), times)
	}
}

// A watched context reports the first wait for it.
type watched struct {
	context.Context
	once  sync.Once
	waits func()
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(w.waits)
	return w.Context.Done()
}

func TestAppendsOfOneCommitAreIndependent(t *testing.T) {
	db := opened(t)
	if _, err := db.Append(t.Context(), "s", openmanus.Noted{ID: "taken", Text: "first"}); err != nil {
		t.Fatal(err)
	}
	bodies := [][]openmanus.Body{
		{openmanus.Noted{ID: "a"}, openmanus.Noted{ID: "b"}},
		{openmanus.Noted{ID: "c"}, openmanus.Noted{ID: "taken", Text: "second"}},
		{openmanus.Noted{ID: "taken", Text: "first"}, openmanus.Noted{ID: "c"}},
		{openmanus.Noted{ID: "d"}, openmanus.Noted{ID: "d"}},
		{openmanus.Noted{ID: "e"}},
	}
	batch := make([]*job, len(bodies))
	entries := make([]*entry, len(bodies))
	for i, b := range bodies {
		e, err := db.encode(t.Context(), "s", b)
		if err != nil {
			t.Fatal(err)
		}
		defer e.links.release()
		entries[i], batch[i] = e, &job{do: e.add, done: make(chan error, 1)}
	}
	unborn, err := db.encode(t.Context(), "unborn", []openmanus.Body{openmanus.Noted{ID: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	batch = append(batch, &job{do: unborn.add, done: make(chan error, 1)})
	all := &job{do: func(q *queries) error {
		for _, j := range batch {
			if err := j.do(q); err != nil {
				return err
			}
		}
		return nil
	}}
	if err := db.writer.do(t.Context(), db.writer.exclusive, all); err != nil {
		t.Fatal(err)
	}
	want := []error{nil, openmanus.ErrConflict, openmanus.ErrExists, nil, nil}
	for i, e := range entries {
		switch {
		case i == 3 && (e.refused == nil || e.added):
			t.Error("a key that is there twice was taken")
		case i != 3 && !errors.Is(e.refused, want[i]) || want[i] == nil && i != 3 && e.refused != nil:
			t.Errorf("append %d: %v, want %v", i, e.refused, want[i])
		}
	}
	if !errors.Is(unborn.refused, openmanus.ErrNoSession) {
		t.Errorf("append to a session that does not exist: %v", unborn.refused)
	}
	if n := count(t, db, "s"); n != 5 { // opened, taken, a, b, e
		t.Errorf("the session has %d events, want 5", n)
	}
}

func TestAppendCancelledBeforeCommit(t *testing.T) {
	db := opened(t)
	free := occupy(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		_, err := db.Append(&watched{Context: ctx, waits: func() { close(waits) }}, "s", openmanus.Noted{ID: "n"})
		result <- err
	}()
	<-waits
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) { // while the writer is still busy
		t.Errorf("the append returned %v, want the context's error", err)
	}
	free()
	if n := count(t, db, "s"); n != 1 {
		t.Errorf("the session has %d events: a withdrawn one was stored", n)
	}
}

func TestAppendCancelledDuringCommit(t *testing.T) {
	db := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	e, err := db.encode(ctx, "s", []openmanus.Body{openmanus.Noted{ID: "n"}})
	if err != nil {
		t.Fatal(err)
	}
	err = db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		cancel()
		return e.add(q)
	}})
	if err != nil {
		t.Errorf("the append returned %v, though it was stored", err)
	}
	if n := count(t, db, "s"); n != 2 {
		t.Errorf("the session has %d events, want 2", n)
	}
}

func TestFullDisk(t *testing.T) {
	db := opened(t)
	ctx := context.Background()
	var pages int
	limit := func(n int) {
		t.Helper()
		err := db.writer.do(ctx, db.writer.jobs, &job{do: func(*queries) error {
			if n == 0 {
				if err := db.writer.conn.QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages); err != nil {
					return err
				}
				n = pages
			}
			_, err := db.writer.conn.ExecContext(ctx, fmt.Sprint("PRAGMA max_page_count = ", n))
			return err
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(0)
	free := occupy(t, db)
	errs := make(chan error)
	for i := range 10 {
		go func() {
			_, err := db.Append(ctx, "s", openmanus.Noted{ID: fmt.Sprint(i), Text: strings.Repeat("x", 8000)})
			errs <- err
		}()
	}
	free()
	failed := 0
	for range 10 {
		err := <-errs
		if err == nil {
			continue
		}
		failed++
		if !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), db.path) {
			t.Errorf("the error is %q, and does not say what is full", err)
		}
	}
	if n := count(t, db, "s"); failed == 0 || n != 1+10-failed {
		t.Errorf("%d of 10 appends failed, and there are %d events", failed, n)
	}
	limit(pages + 1000)
	if _, err := db.Append(ctx, "s", openmanus.Noted{ID: "after"}); err != nil {
		t.Errorf("append after room was made: %v", err)
	}
}

func TestAppendWhileDatabaseIsBusy(t *testing.T) {
	dir := t.TempDir()
	one, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if _, err := one.Append(t.Context(), "s", openmanus.Opened{}); err != nil {
		t.Fatal(err)
	}
	free := occupy(t, one) // has the database to itself
	done := make(chan error, 1)
	go func() {
		_, err := two.Append(t.Context(), "s", openmanus.Noted{ID: "n"})
		done <- err
	}()
	if n := count(t, two, "s"); n != 1 { // who reads does not wait
		t.Errorf("%d events, want 1", n)
	}
	free()
	if err := <-done; err != nil {
		t.Errorf("the append that had to wait: %v", err)
	}
}
