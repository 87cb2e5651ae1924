package store_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/openmanus-go/openmanus/store"
)

func TestDriven(t *testing.T) {
	db, err := store.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if db.Driven("s") {
		t.Error("driven before anyone took the lease")
	}
	lease, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // looking does not disturb the holder
		if !db.Driven("s") {
			t.Error("not driven while a lease is held")
		}
	}
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	if db.Driven("s") {
		t.Error("driven after the lease was released")
	}
}

// Whoever looks whether a session is driven keeps nobody from driving it, also where a
// process that was killed has left its file.
func TestLookingKeepsNobodyFromDriving(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, nil)
	lease, err := db.Lock(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(filepath.Join(dir, "locks"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	left := filepath.Join(dir, "locks", names[0].Name())
	if err := lease.Release(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cancel()
	for range 4 {
		other := open(t, dir, nil)
		looking.Go(func() {
			for ctx.Err() == nil {
				other.Driven("s")
			}
		})
	}
	for range 1000 {
		if err := os.WriteFile(left, []byte("1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		lease, err := db.Lock(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if !db.Driven("s") {
			t.Error("it is not driven while a lease is held")
		}
		if err := lease.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
