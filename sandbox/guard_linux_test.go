package sandbox

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// However fast a protected file is exchanged while it is being put back: what
// it is in the end is what it was in the beginning.
func TestGuardIsNotOutrun(t *testing.T) {
	dir := t.TempDir()
	file, next := filepath.Join(dir, ".bashrc"), filepath.Join(dir, "next")
	if err := os.WriteFile(file, []byte("safe\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	g, err := newGuard(&mountView{ws: dir}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	defer func() { os.RemoveAll(g.quarantineDir) }()
	for range 50 {
		var evil sync.WaitGroup
		stop := make(chan struct{})
		evil.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = os.WriteFile(next, []byte("EVIL\n"), 0o644) // whatever comes of it
					_ = os.Rename(next, file)
				}
			}
		})
		for range 20 {
			_ = g.restore(false) // it may be too slow while the file keeps changing
		}
		close(stop)
		evil.Wait()
		if err := g.restore(false); err != nil {
			t.Fatal(err)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != "safe\n" {
			t.Fatalf("it is %q, %v", data, err)
		}
	}
}
