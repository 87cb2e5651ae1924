package main

import (
	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store"
)

// open returns a journal in memory or, if dir is named, in a database there
// that syncs every commit.
func open(dir string) (openmanus.Journal, func() error, error) {
	if dir == "" {
		return new(journal.Memory), func() error { return nil }, nil
	}
	db, err := store.Open(dir, nil)
	if err != nil {
		return nil, nil, err
	}
	return db, db.Close, nil
}
