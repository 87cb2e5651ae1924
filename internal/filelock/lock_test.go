package filelock

import (
	"path/filepath"
	"sync"
	"testing"
)

// Those who hold the lock come one after the other.
func TestLock(t *testing.T) {
	path, n := filepath.Join(t.TempDir(), "x.lock"), 0
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			unlock, err := Lock(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			was := n
			n = was + 1
		})
	}
	if all.Wait(); n != 20 {
		t.Errorf("%d of 20 counted", n)
	}
	if _, err := Lock(filepath.Join(path, "below")); err == nil {
		t.Error("a path that is none is locked")
	}
}
