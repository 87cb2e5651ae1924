package main

import (
	"context"
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

// connecting is how long the program waits for a database that does not answer.
const connecting = 20 * time.Second

// openSessions opens the store that is configured.
func openSessions(cfg *config.Config, secrets *journal.Secrets) (sessionStore, error) {
	if cfg.Store.URL == "" {
		return store.Open(cfg.DataDir, &store.Options{Secrets: secrets})
	}
	ctx, cancel := context.WithTimeout(context.Background(), connecting)
	defer cancel()
	return postgres.Open(ctx, cfg.Store.URL, &postgres.Options{Secrets: secrets})
}
