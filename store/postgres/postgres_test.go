//go:build unix

package postgres_test

import (
	"crypto/md5"
	"fmt"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/pgtest"
	"github.com/openmanus-go/openmanus/journal/journaltest"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// open opens a store in a schema of its own for each name.
func open(t testing.TB, s *pgtest.Server, name string, opts *postgres.Options) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), s.URL(fmt.Sprintf("s%x", md5.Sum([]byte(name)))), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func TestJournal(t *testing.T) {
	server := pgtest.Start(t)
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		return open(t, server, o.Dir, &postgres.Options{Secrets: o.Secrets})
	})
}

// The same behind a pgbouncer, in which each transaction may have another connection.
func TestJournalPooled(t *testing.T) {
	database := pgtest.Start(t).Pooled()
	journaltest.Run(t, func(t testing.TB, o journaltest.Options) openmanus.Journal {
		name := fmt.Sprintf("d%x", md5.Sum([]byte(o.Dir)))
		db, err := postgres.Open(t.Context(), database(name), &postgres.Options{Secrets: o.Secrets})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	})
}
