package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/store"
)

// A child is this test binary in another process.
type child struct {
	*exec.Cmd
	out *bufio.Scanner
	in  io.WriteCloser
}

func spawn(t *testing.T, role string, args ...string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0], args...)}
	c.Env = append(os.Environ(), "STORE_TEST_ROLE="+role)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.kill() })
	return c
}

// line waits for the next line that the child prints.
func (c *child) line(t *testing.T) string {
	t.Helper()
	if !c.out.Scan() {
		t.Fatalf("the child printed no more: %v", c.out.Err())
	}
	return c.out.Text()
}

func (c *child) kill() {
	_ = c.Process.Kill()
	_ = c.Wait()
}

// play does what a child is started for.
func play(role string) {
	var err error
	switch role {
	case "drive":
		err = drive(os.Args[1], os.Args[2])
	case "append":
		err = appendOn(os.Args[1], os.Args[2])
	case "wait":
		_, err = io.Copy(io.Discard, os.Stdin)
	default:
		err = fmt.Errorf("no such role: %s", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
}

// drive locks a session, starts a child process that outlives it, and waits to be
// killed.
func drive(dir, session string) error {
	db, err := store.Open(dir, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.Lock(context.Background(), session); err != nil {
		return err
	}
	grandchild := exec.Command(os.Args[0])
	grandchild.Env = append(os.Environ(), "STORE_TEST_ROLE=wait")
	grandchild.Stdin = os.Stdin // ends with the test
	if err := grandchild.Start(); err != nil {
		return err
	}
	fmt.Println(grandchild.Process.Pid)
	select {}
}

func TestLockEndsWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	for range 5 {
		c := spawn(t, "drive", dir, "s")
		c.line(t) // it has the lock, and a child
		_, err := db.Lock(t.Context(), "s")
		if !errors.Is(err, openmanus.ErrDriven) {
			t.Fatalf("lock: %v, want ErrDriven", err)
		}
		if want := fmt.Sprintf("(pid %d)", c.Process.Pid); !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "session s:") {
			t.Errorf("the error is %q, and does not say %q", err, want)
		}
		c.kill() // its child lives on
		lease, err := db.Lock(t.Context(), "s")
		if err != nil {
			t.Fatalf("lock after the holder was killed: %v", err)
		}
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
		c.in.Close()
	}
}

func TestLockOfThisProcess(t *testing.T) {
	db := open(t, t.TempDir(), nil)
	lease, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	defer lease.Release()
	_, err = db.Lock(t.Context(), "s")
	if want := strconv.Itoa(os.Getpid()); !errors.Is(err, openmanus.ErrDriven) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "which is this process") {
		t.Errorf("the error is %q", err)
	}
}

func TestLockFilesDoNotAccumulate(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	var leases []openmanus.Lease
	for i := range 50 {
		lease, err := db.Lock(t.Context(), fmt.Sprint("s", i))
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	if n := files(t, filepath.Join(dir, "locks")); n != 50 {
		t.Errorf("%d lock files while 50 sessions are driven", n)
	}
	for _, lease := range leases {
		if err := lease.Release(); err != nil {
			t.Error(err)
		}
	}
	if n := files(t, filepath.Join(dir, "locks")); n != 0 {
		t.Errorf("%d lock files are left", n)
	}
}

// TestLockExcludesWhileFilesAreRemoved has many goroutines take and release one
// lock, each of which removes the file.
func TestLockExcludesWhileFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	var driving sync.Mutex
	var wg sync.WaitGroup
	drove := make([]int, 8)
	for i := range drove {
		db := open(t, dir, nil)
		wg.Go(func() {
			for range 500 {
				lease, err := db.Lock(t.Context(), "s")
				if errors.Is(err, openmanus.ErrDriven) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !driving.TryLock() {
					t.Error("two drive at once")
					return
				}
				drove[i]++
				files(t, filepath.Join(dir, "locks")) // take some time
				driving.Unlock()
				if err := lease.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := files(t, filepath.Join(dir, "locks")); n != 0 {
		t.Errorf("%d lock files are left", n)
	}
	t.Log(drove)
}

func TestLockAfterFilesWereRemovedByHand(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	first, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "locks"))
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if err := os.Remove(filepath.Join(dir, "locks", entries[0].Name())); err != nil {
		t.Skip("this system does not remove files that are open")
	}
	second, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Release(); err != nil { // must leave alone what is not its own
		t.Error(err)
	}
	if _, err := db.Lock(t.Context(), "s"); !errors.Is(err, openmanus.ErrDriven) {
		t.Errorf("lock: %v, want ErrDriven", err)
	}
	if err := second.Release(); err != nil {
		t.Error(err)
	}
}

// files counts the files below a directory.
func files(t testing.TB, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
