package journaltest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openmanus-go/openmanus"
)

func lockCases() []testCase {
	return []testCase{
		{name: "the second driver is told at once", needs: locker, run: secondDriver},
		{name: "a session may be driven again after its release", needs: locker, run: driveAgain},
		{name: "who does not drive may append and follow", needs: locker, run: notDriving},
		{name: "of many drivers one drives", needs: locker, run: manyDrivers},
		{name: "sessions with odd names are driven apart", needs: locker, run: oddDrivers},
	}
}

func lock(t testing.TB, j openmanus.Journal, session string) openmanus.Lease {
	t.Helper()
	lease, err := j.(openmanus.Locker).Lock(t.Context(), session)
	if err != nil {
		t.Fatalf("lock %q: %v", session, err)
	}
	return lease
}

func release(t testing.TB, lease openmanus.Lease) {
	t.Helper()
	if err := lease.Release(); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func secondDriver(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	begin(t, one, "s")
	lease := lock(t, one, "s")
	defer release(t, lease)
	for _, j := range []openmanus.Journal{one, two} {
		if second, err := j.(openmanus.Locker).Lock(t.Context(), "s"); !errors.Is(err, openmanus.ErrDriven) || second != nil {
			t.Errorf("the second driver got %v, %v, want ErrDriven", second, err)
		}
	}
	release(t, lock(t, two, "other"))
	select {
	case <-lease.Lost():
		t.Error("the lease says that it is lost")
	default:
	}
}

func driveAgain(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	begin(t, one, "s")
	for range 5 {
		lease := lock(t, one, "s")
		release(t, lease)
		other := lock(t, two, "s")
		release(t, lease) // once more changes nothing
		if _, err := one.(openmanus.Locker).Lock(t.Context(), "s"); !errors.Is(err, openmanus.ErrDriven) {
			t.Errorf("a second release ended the other's lease: %v", err)
		}
		release(t, other)
	}
}

func notDriving(t testing.TB, open Opener) {
	dir := t.TempDir()
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	begin(t, one, "s")
	defer release(t, lock(t, one, "s"))
	f := follow(t, two, "s", 0)
	contiguous(t, f.next(1), 1)
	evs := add(t, two, "s", openmanus.Interrupted{ID: "i1"})
	same(t, "what was followed", f.next(1), evs)
	same(t, "what the driver reads", read(t, one, "s", 1), evs)
}

func manyDrivers(t testing.TB, open Opener) {
	dir := t.TempDir()
	handles := []openmanus.Journal{open(t, Options{Dir: dir}), open(t, Options{Dir: dir})}
	begin(t, handles[0], "s")
	var driving, drove atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				lease, err := handles[i%2].(openmanus.Locker).Lock(t.Context(), "s")
				if errors.Is(err, openmanus.ErrDriven) {
					continue
				}
				if err != nil {
					t.Errorf("lock: %v", err)
					return
				}
				if n := driving.Add(1); n != 1 {
					t.Errorf("%d drive at once", n)
				}
				drove.Add(1)
				driving.Add(-1)
				if err := lease.Release(); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if drove.Load() == 0 {
		t.Error("nobody drove")
	}
}

func oddDrivers(t testing.TB, open Opener) {
	j := simple(t, open)
	for i, name := range []string{"a", "A", "..", "a b", "a:b", `a\b`, "CON", "é", "e\u0301", "new\nline", fmt.Sprintf("%0200d", 7)} {
		begin(t, j, name)
		lease := lock(t, j, name)
		t.Cleanup(func() {
			if err := lease.Release(); err != nil {
				t.Errorf("release %d: %v", i, err)
			}
		})
	}
}
