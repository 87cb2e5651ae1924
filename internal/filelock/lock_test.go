package filelock

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Those who hold the lock come one after the other. They count in a file: the lock is
// between processes, and orders no memory.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	lock, counter := filepath.Join(dir, "x.lock"), filepath.Join(dir, "x")
	if err := os.WriteFile(counter, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := Lock(lock)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			was, err := os.ReadFile(counter)
			if err != nil {
				t.Error(err)
				return
			}
			n, err := strconv.Atoi(string(was))
			if err != nil {
				t.Error(err)
				return
			}
			if err := os.WriteFile(counter, []byte(strconv.Itoa(n+1)), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, err := os.ReadFile(counter); err != nil || string(n) != "20" {
		t.Errorf("%s of 20 counted, %v", n, err)
	}
	if _, err := Lock(filepath.Join(lock, "below")); err == nil {
		t.Error("a path that is none is locked")
	}
}
