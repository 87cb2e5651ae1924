package store_test

import (
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
