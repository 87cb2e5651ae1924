//go:build unix

package snapshot

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/store"
)

// manyFiles makes a tree of 20,000 files with 40 MB of text, of 100 in a directory.
func manyFiles(tb testing.TB) string {
	dir := tb.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 2000)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", r.Uint32()>>(r.Uint32()%24))
	}
	for i := range 20_000 {
		sub := filepath.Join(dir, fmt.Sprintf("d%d/e%d", i/1000, i/100%10))
		if i%100 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				tb.Fatal(err)
			}
		}
		var b []byte
		for len(b) < 2000 {
			b = append(append(b, words[r.IntN(len(words))]...), " \n"[r.IntN(2)])
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%d.txt", i)), b, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// Benchmark measures the first snapshot of 20,000 files, later ones after ten of them
// changed, and one hundred files put back. Beside the time is that of the processors,
// which other programs disturb less.
func Benchmark(b *testing.B) {
	dir := manyFiles(b)
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	tracker := func(b *testing.B) (*Tracker, *store.DB) {
		db, err := store.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		t, err := NewTracker(root, db, Options{})
		if err != nil {
			b.Fatal(err)
		}
		return t, db
	}
	take := func(b *testing.B, t *Tracker) Tree {
		taken, err := t.Take(b.Context())
		if err != nil || !taken.Changed {
			b.Fatal(taken, err)
		}
		return taken.Tree
	}
	b.Run("first", func(b *testing.B) {
		defer processors(b)()
		for b.Loop() {
			t, db := tracker(b)
			take(b, t)
			db.Close()
		}
	})
	b.Run("later", func(b *testing.B) {
		t, db := tracker(b)
		defer db.Close()
		take(b, t)
		defer processors(b)()
		for n := 0; b.Loop(); {
			for i := range 10 {
				n++
				if err := root.WriteFile(fmt.Sprintf("d%d/e0/file%d.txt", i, i*1000), fmt.Appendf(nil, "change %d", n), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			take(b, t)
		}
	})
	b.Run("restore", func(b *testing.B) {
		t, db := tracker(b)
		defer db.Close()
		before := take(b, t)
		change := func(n int) {
			for i := range 100 {
				name := fmt.Sprintf("d%d/e%d/file%d.txt", i/5, i%5*2, i/5*1000+i%5*200+1)
				if err := root.WriteFile(name, fmt.Appendf(nil, "change %d", n), 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
		defer processors(b)()
		for n := 0; b.Loop(); n++ {
			b.StopTimer()
			change(n)
			after := take(b, t)
			b.StartTimer()
			r := NewReader(db)
			plan, err := r.Undo(b.Context(), after, []Step{{Before: before, After: after}})
			if err != nil || len(plan.Ops) != 100 {
				b.Fatal(len(plan.Ops), err)
			}
			if _, err := r.Restore(b.Context(), root, plan.Ops); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// processors returns a function that reports the time of the processors since then.
func processors(b *testing.B) func() {
	start := processorTime(b)
	return func() {
		b.ReportMetric(float64((processorTime(b)-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
	}
}

func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
