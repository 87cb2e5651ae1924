//go:build unix

package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/store/postgres"
)

func TestMain(m *testing.M) {
	if url := os.Getenv("DRIVE_SESSIONS_AT"); url != "" {
		if err := driveMany(url, manySessions(), stoppedLease()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testbed.Main(m)
}

// manySessions is how many TestStoppedProcess has: STOPPED_SESSIONS in place of 100.
func manySessions() int {
	if n, err := strconv.Atoi(os.Getenv("STOPPED_SESSIONS")); err == nil {
		return n
	}
	return 100
}

// stoppedLease is how long its leases are valid: STOPPED_LEASE in place of a second.
func stoppedLease() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("STOPPED_LEASE")); err == nil {
		return d
	}
	return time.Second
}

// driveMany appends to many sessions until each was taken over, and prints the outcome.
func driveMany(url string, many int, lease time.Duration) error {
	db, err := postgres.Open(context.Background(), url, &postgres.Options{Lease: lease})
	if err != nil {
		return err
	}
	defer db.Close()
	for i := range many {
		if _, err := db.Lock(context.Background(), fmt.Sprint("s", i)); err != nil {
			return err
		}
	}
	fmt.Println("all are leased")
	var driving sync.WaitGroup
	for i := range many {
		driving.Go(func() {
			for n := 0; ; n++ {
				_, err := db.Append(context.Background(), fmt.Sprint("s", i), openmanus.Noted{ID: fmt.Sprint("driven ", n)})
				if err != nil {
					fmt.Printf("s%d taken over: %v\n", i, errors.Is(err, openmanus.ErrDriven))
					return
				}
				time.Sleep(100 * time.Millisecond) // a process that works
			}
		})
	}
	driving.Wait()
	return nil
}

// A process is stopped for longer than its leases are valid, while it appends to many sessions
// that others take over: when it wakes, it appends to none of them.
func TestStoppedProcess(t *testing.T) {
	url := pgtest.Start(t).URL("stopped")
	db, err := postgres.Open(t.Context(), url, &postgres.Options{Lease: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	many := manySessions()
	for i := range many {
		if _, err := db.Append(t.Context(), fmt.Sprint("s", i), openmanus.Opened{}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DRIVE_SESSIONS_AT="+url)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	said := bufio.NewScanner(out)
	if !said.Scan() || said.Text() != "all are leased" {
		t.Fatalf("the process says %q, %v", said.Text(), said.Err())
	}
	last := func(i int) (seq int64, id string) {
		for ev, err := range db.Events(t.Context(), fmt.Sprint("s", i), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if b, ok := ev.Body.(openmanus.Noted); ok {
				seq, id = ev.Seq, b.ID
			}
		}
		return seq, id
	}
	wait := func(what string, is func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: not in time", what)
			}
		}
	}
	wait("the process works", func() bool { seq, _ := last(many - 1); return seq > 3 })
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	taken := make([]int64, many)
	for i := range many {
		id := fmt.Sprint("s", i)
		wait("a lease expires", func() bool {
			_, err := db.Lock(t.Context(), id)
			return err == nil
		})
		evs, err := db.Append(t.Context(), id, openmanus.Noted{ID: "taken over"})
		if err != nil {
			t.Fatal(err)
		}
		taken[i] = evs[0].Seq
	}
	t.Logf("%d sessions were taken over %v after the process was stopped", many, time.Since(stopped).Round(100*time.Millisecond))
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for said.Scan() {
		if !strings.HasSuffix(said.Text(), "taken over: true") {
			t.Error(said.Text())
		}
		refused++
	}
	if err := errors.Join(said.Err(), cmd.Wait()); err != nil || refused != many {
		t.Errorf("%d of %d sessions were refused to it, %v", refused, many, err)
	}
	for i := range many {
		if seq, id := last(i); seq != taken[i] || id != "taken over" {
			t.Errorf("s%d: event %d is %q, after it was taken over with %d", i, seq, id, taken[i])
		}
	}
}
