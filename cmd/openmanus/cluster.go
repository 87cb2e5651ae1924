package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/served"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/server"
)

// storeFlags are the flags of commands that begin sessions: where these are kept.
type storeFlags struct {
	Store string `help:"What has the sessions, a PostgreSQL or sqlite:///DIR: [store] url." placeholder:"URL"`
	Blobs string `help:"The bucket that has large values and files: [blobs] url." placeholder:"URL"`
}

// clusterFlags are the flags of commands that work with other machines.
type clusterFlags struct {
	storeFlags
	Temporal string `help:"The Temporal that spreads sessions over workers: [temporal] address." placeholder:"HOST:PORT"`
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
	room     func(ctx context.Context) error
	drive    func(ctx context.Context, session string) error
	failed   func(ctx context.Context, session string, err error) error
}

// joinFleet connects to the fleet of the configuration. It returns nil if there is none,
// and an error if the configuration lacks a part that a fleet needs.
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

// openFleet opens the program as one that others call name, with the fleet of the
// configuration. Without one, the fleet is nil.
func (t *terminal) openFleet(
	ctx context.Context, g *globals, flags map[string]string, name string, log *slog.Logger,
) (a *app, all fleet, err error) {
	a, err = t.openWith(g, flags, name, func(o *host.Options, db sessionStore) (err error) {
		if all, err = joinFleet(ctx, o.Config, db, log); err == nil && all != nil {
			o.Cluster = &host.Cluster{Name: name, Wake: all.Wake}
		}
		return err
	})
	return a, all, err
}

// serving returns the options that servers and workers have in common, and the configuration
// that they show. end ends the traces. An error is one of the configuration.
func (a *app) serving(t *terminal, g *globals, flags map[string]string, log *slog.Logger) (o server.Options, sh served.Host, end func(), err error) {
	if sh, err = a.settingsOf(t, g, flags); err != nil {
		return o, sh, nil, err
	}
	o = server.Options{
		Store: a.db, Local: a.Local, Host: sh, Version: a.Version,
		Idle: a.Config.Serve.Idle, IdleSessions: a.Config.Serve.IdleSessions, Log: log,
	}
	if o.Users, err = sh.Users(); err == nil {
		o.Push, err = sh.Push()
	}
	if err == nil {
		o.Webhooks, err = sh.Webhooks()
	}
	if err == nil {
		o.Runtime, end, err = a.Traced()
	}
	return o, sh, end, asUsage(err)
}
