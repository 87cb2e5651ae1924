//go:build !cluster

package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// errOneMachine says what is missing for what several machines do.
var errOneMachine = errors.New("this program is for one machine, or for several with a PostgreSQL: with [blobs] or [temporal] use openmanus-cluster, which make cluster-build makes")

// openObjects opens the object store of the configuration.
func openObjects(context.Context, config.Blobs, string) (postgres.Objects, func(), error) {
	return nil, nil, errOneMachine
}

// dialFleet connects to Temporal.
func dialFleet(context.Context, config.Temporal, sharedStore, *slog.Logger) (fleet, error) {
	return nil, errOneMachine
}

// orphansOf returns the names of old objects that no session knows.
func orphansOf(context.Context, config.Blobs, sharedStore) ([]string, error) {
	return nil, errOneMachine
}

// removeOrphans removes them, and returns how many there were.
func removeOrphans(context.Context, config.Blobs, sharedStore) (int, error) {
	return 0, errOneMachine
}
