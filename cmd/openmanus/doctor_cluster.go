package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/doctor"
	"github.com/openmanus-go/openmanus/store/postgres"
)

// clocks is by how much the clock of a machine may differ from that of the database: what is
// shown as times of events is off by so much.
const clocks = time.Second

// checkCluster checks what the machines of a cluster share.
func (c *doctorCmd) checkCluster(ctx context.Context, t *terminal, g *globals, flags map[string]string) error {
	cfg, err := t.load(g, flags)
	if err != nil {
		return err
	}
	if !cfg.Store.Shared() {
		return usage(errors.New("there is no cluster: set [store] url to a PostgreSQL that machines share"))
	}
	db, err := openSessions(cfg, t.host().Secrets(cfg, nil), "")
	if err != nil {
		return c.report(t, g, []doctor.Finding{{Name: "store", State: doctor.Missing, Detail: err.Error()}})
	}
	defer db.Close()
	shared := db.(sharedStore)
	found := []doctor.Finding{{Name: "store", State: doctor.OK, Detail: "the database answers, and its tables are those of this version"}}
	cond, err := shared.Condition(ctx)
	if err != nil {
		return err
	}
	found = append(found, conditionOf(cond)...)
	found = append(found, blobsOf(ctx, cfg, shared))
	if cfg.Temporal.Address != "" {
		found = append(found, temporalOf(ctx, cfg, shared, cond))
	}
	return c.report(t, g, found)
}

// conditionOf says how the processes do that share a store.
func conditionOf(c postgres.Condition) []doctor.Finding {
	clock := doctor.Finding{Name: "clock", State: doctor.OK, Detail: fmt.Sprintf("%v from that of the database", c.Clock.Abs().Round(time.Millisecond))}
	if c.Clock.Abs() > clocks {
		clock.State, clock.Remedy = doctor.Warn, "let both machines keep time, such as by chrony"
	}
	lag := doctor.Finding{Name: "lag", State: doctor.OK, Detail: fmt.Sprintf("a notification takes %v", c.Notified.Round(10*time.Microsecond))}
	if c.Notified < 0 {
		lag.State, lag.Detail = doctor.Warn, "no notifications come through: what other machines append is seen a quarter of a second later"
		lag.Remedy = "connect to the server itself, or let its pgbouncer pool by session"
	}
	leases := doctor.Finding{Name: "leases", State: doctor.OK, Detail: clip.Count(c.Driven, "session") + " driven now"}
	if c.Forgotten > 0 {
		leases.State = doctor.Warn
		leases.Detail += fmt.Sprintf("; %s under way that no process drives, and nothing happened for a minute", clip.Count(c.Forgotten, "session"))
		leases.Remedy = "are servers and workers running? The log of a worker says what fails"
	}
	return []doctor.Finding{clock, lag, leases}
}

// blobsOf says whether blobs can be read, and what is left over of them.
func blobsOf(ctx context.Context, cfg *config.Config, db sharedStore) doctor.Finding {
	f := doctor.Finding{Name: "blobs", State: doctor.OK, Detail: "in the database"}
	const some = 50
	n, err := db.Readable(ctx, some)
	if err != nil {
		f.State, f.Detail = doctor.Missing, err.Error()
		return f
	}
	if cfg.Blobs.URL == "" {
		return f
	}
	orphans, err := orphansOf(ctx, cfg.Blobs, db)
	switch {
	case err != nil:
		f.State, f.Detail = doctor.Missing, err.Error()
	case len(orphans) > 0:
		f.State, f.Detail = doctor.Warn, fmt.Sprintf("the bucket has %s of which no session knows, such as %s", clip.Count(len(orphans), "old object"), orphans[0])
		f.Remedy = "processes that died left them; openmanus sessions prune removes them"
	default:
		f.Detail = fmt.Sprintf("the bucket answers; %s read, no old object that no session knows", clip.Count(n, "blob"))
	}
	return f
}

// temporalOf says whether Temporal answers and workers take sessions.
func temporalOf(ctx context.Context, cfg *config.Config, db sharedStore, c postgres.Condition) doctor.Finding {
	f := doctor.Finding{Name: "workers", State: doctor.OK}
	all, err := joinFleet(ctx, cfg, db, slog.New(slog.DiscardHandler))
	if err != nil {
		f.State, f.Detail = doctor.Missing, err.Error()
		return f
	}
	all.Close()
	f.Detail = clip.Count(len(c.Serving), "worker") + ": " + strings.Join(c.Serving, ", ")
	if len(c.Serving) == 0 {
		f.State, f.Detail, f.Remedy = doctor.Missing, "Temporal answers, and no worker runs", "openmanus worker"
	}
	return f
}
