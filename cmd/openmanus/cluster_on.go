//go:build cluster

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/run/durable"
	"github.com/openmanus-go/openmanus/store/postgres"
	"github.com/openmanus-go/openmanus/store/s3"
)

// openObjects opens the object store of the configuration.
func openObjects(ctx context.Context, b config.Blobs, cache string) (postgres.Objects, func(), error) {
	bucket, err := s3.Open(ctx, b.URL, &s3.Options{Key: b.Key, Cache: cache, CacheSize: b.Cache})
	if err != nil {
		return nil, nil, err
	}
	return bucket, bucket.Close, nil
}

// dialFleet connects to Temporal, within a time limit. Sessions go to the worker that
// holds their workspace, and are shared fairly among their owners.
func dialFleet(ctx context.Context, t config.Temporal, db sharedStore, log *slog.Logger) (fleet, error) {
	ctx, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	c, err := durable.Dial(ctx, durable.Options{
		Address: t.Address, Namespace: t.Namespace, Queue: t.Queue, TLS: t.TLS, APIKey: t.APIKey, Log: log,
	}, func(ctx context.Context, session string) (r durable.Route, err error) {
		info, err := db.Session(ctx, session)
		if err != nil {
			return r, err
		}
		r.Owner = info.Owner
		if info.Workspace != "" {
			r.Worker, err = db.Holder(ctx, info.Workspace)
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	return temporalFleet{c, log}, nil
}

// A temporalFleet is the workers at a task queue of Temporal.
type temporalFleet struct {
	*durable.Client
	log *slog.Logger
}

// Work implements [fleet].
func (f temporalFleet) Work(ctx context.Context, w workerOf) error {
	return (&durable.Worker{
		Name: w.name, Sessions: w.sessions, Room: w.room, Failed: w.failed,
		Drive: func(ctx context.Context, session string) error {
			err := w.drive(ctx, session)
			if there := (*act.ElsewhereError)(nil); errors.As(err, &there) {
				return &durable.ElsewhereError{Worker: there.Host}
			}
			if errors.Is(err, run.ErrNewer) { // a worker of the newer version can
				f.log.Warn("a session is left to newer workers", "session", session, "error", err)
				return fmt.Errorf("%w: %w", openmanus.ErrDriven, err)
			}
			return err
		},
	}).Work(ctx, f.Client)
}

// orphansOf returns the names of old objects that no session knows.
func orphansOf(ctx context.Context, b config.Blobs, db sharedStore) (names []string, err error) {
	err = withOrphans(ctx, b, db, func(_ *s3.Bucket, found []string) error { names = found; return nil })
	return names, err
}

// removeOrphans removes the objects that no blob refers to, and returns how many there
// were. If one cannot be removed, the earlier ones are gone already.
func removeOrphans(ctx context.Context, b config.Blobs, db sharedStore) (n int, err error) {
	err = withOrphans(ctx, b, db, func(bucket *s3.Bucket, found []string) error {
		for _, name := range found {
			if err := bucket.Remove(ctx, name); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	return n, err
}

// withOrphans calls do with the bucket, and the names of objects in it that are a day old and
// that no session knows.
func withOrphans(ctx context.Context, b config.Blobs, db sharedStore, do func(*s3.Bucket, []string) error) error {
	bucket, err := s3.Open(ctx, b.URL, &s3.Options{Key: b.Key})
	if err != nil {
		return err
	}
	defer bucket.Close()
	names, err := db.Orphans(ctx, bucket.Names(ctx, 24*time.Hour))
	if err != nil {
		return err
	}
	return do(bucket, names)
}
