package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/run"
)

// clusterFlags are the flags of commands that work with other machines.
type clusterFlags struct {
	Store    string `help:"The PostgreSQL that has the sessions: [store] url." placeholder:"URL"`
	Blobs    string `help:"The bucket that has large values and files: [blobs] url." placeholder:"URL"`
	Temporal string `help:"The Temporal that spreads sessions over workers: [temporal] address." placeholder:"HOST:PORT"`
}

// add adds those that are set to the flags of the configuration.
func (c clusterFlags) add(flags map[string]string) {
	for name, v := range map[string]string{"store": c.Store, "blobs": c.Blobs, "temporal": c.Temporal} {
		if v != "" {
			flags[name] = v
		}
	}
}

// A fleet is the workers that drive the sessions of a store. Its Wake returns when it is
// certain that one of them will.
type fleet interface {
	run.Runtime
	// Ensure has a session driven unless that is arranged already.
	Ensure(ctx context.Context, session string) error
	// Work has this process work for the fleet until ctx ends.
	Work(ctx context.Context, w workerOf) error
	Close()
}

// A workerOf is what a process does for a fleet.
type workerOf struct {
	name     string
	sessions int
	drive    func(ctx context.Context, session string) error
	failed   func(ctx context.Context, session string, err error) error
}

// joinFleet connects to the fleet of the configuration. It returns nil if there is none.
func joinFleet(ctx context.Context, cfg *config.Config, db sessionStore, log *slog.Logger) (fleet, error) {
	if cfg.Temporal.Address == "" {
		return nil, nil
	}
	shared, ok := db.(sharedStore)
	switch {
	case !ok:
		return nil, errors.New("[temporal] address needs a store that machines share: set [store] url to a PostgreSQL")
	case !cfg.History.Enabled:
		return nil, errors.New("[temporal] address needs [history] enabled: by it the files of sessions go from worker to worker")
	}
	return dialFleet(ctx, cfg.Temporal, shared, log)
}
