package snapshot

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

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

func BenchmarkFirst(b *testing.B) {
	dir := manyFiles(b)
	for b.Loop() {
		db, err := store.Open(b.TempDir(), nil)
		if err != nil {
			b.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			b.Fatal(err)
		}
		t, err := NewTracker(root, db, Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Take(b.Context()); err != nil {
			b.Fatal(err)
		}
		root.Close()
		db.Close()
	}
}

func BenchmarkLater(b *testing.B) {
	dir := manyFiles(b)
	db, err := store.Open(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	t, err := NewTracker(root, db, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := t.Take(b.Context()); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for i := range 10 {
			n++
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%d/e0/file%d.txt", i, i*1000)), fmt.Appendf(nil, "change %d", n), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		taken, err := t.Take(b.Context())
		if err != nil || !taken.Changed {
			b.Fatal(taken, err)
		}
	}
}
