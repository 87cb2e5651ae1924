package store_test

import (
	"os"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/store"
)

func TestMain(m *testing.M) {
	if role := os.Getenv("STORE_TEST_ROLE"); role != "" {
		play(role)
		return
	}
	testbed.Main(m)
}

func TestDBIsAJournal(t *testing.T) {
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		return open(t, o.Dir, &store.Options{Secrets: o.Secrets})
	})
}

// open opens a store for a test.
func open(t testing.TB, dir string, opts *store.Options) *store.DB {
	t.Helper()
	db, err := store.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}
