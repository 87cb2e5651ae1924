package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/server"
	"github.com/openmanus-go/openmanus/store"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// A sessionStore is what the program needs of a store.
type sessionStore interface {
	server.Store
	Find(ctx context.Context, prefix string) (string, error)
	Driven(session string) bool
	Close() error
}

// connecting is how long the program waits for a database or an object store that does not
// answer.
const connecting = 20 * time.Second

// openSessions opens the store that is configured. name is what others call this process; ""
// is for one that others need not name.
func openSessions(cfg *config.Config, secrets *journal.Secrets, name string) (sessionStore, error) {
	if !cfg.Store.Shared() {
		if cfg.Blobs.URL != "" {
			return nil, errors.New("[blobs] url is for sessions that machines share: set [store] url to a PostgreSQL too")
		}
		dir, err := cfg.Store.Dir(cfg.DataDir)
		if err != nil {
			return nil, err
		}
		return store.Open(dir, &store.Options{Secrets: secrets})
	}
	ctx, cancel := context.WithTimeout(context.Background(), connecting)
	defer cancel()
	o := &postgres.Options{Secrets: secrets, Name: name}
	closeObjects := func() {}
	if cfg.Blobs.URL != "" {
		var err error
		if o.Objects, closeObjects, err = openObjects(ctx, cfg.Blobs, cacheOf(cfg.DataDir)); err != nil {
			return nil, err
		}
	}
	db, err := postgres.Open(ctx, cfg.Store.URL, o)
	if err != nil {
		closeObjects()
		return nil, err
	}
	return sharedStore{db, closeObjects}, nil
}

// cacheOf returns the directory of what is kept of an object store, or "" for a program
// without a data directory.
func cacheOf(data string) string {
	if data == "" {
		return ""
	}
	return filepath.Join(data, "objects")
}

// A sharedStore is a store that machines share.
type sharedStore struct {
	*postgres.DB
	closeObjects func()
}

// Close closes the database, and what it has beside it.
func (s sharedStore) Close() error {
	defer s.closeObjects()
	return s.DB.Close()
}
