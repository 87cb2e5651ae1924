package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
)

// A Condition is how the processes that share a store do.
type Condition struct {
	Clock     time.Duration // by how much the clock of the database is ahead of this one
	Serving   []string      // the names of processes that serve: see [DB.Serve]
	Driven    int           // sessions that are driven
	Forgotten int           // sessions that were under way, that nobody drives, and in which nothing happened for a minute
	Notified  time.Duration // from an append to the notification of it; negative: none came
}

// Condition examines the store for doctor: clocks, leases, forgotten sessions, and whether
// notifications arrive, for which it waits some seconds at most. It changes nothing.
func (db *DB) Condition(ctx context.Context) (c Condition, err error) {
	begun := time.Now()
	var micros int64
	if err := db.pool.QueryRow(ctx, "SELECT "+now).Scan(&micros); err != nil {
		return c, db.closedOr(err)
	}
	c.Clock = time.UnixMicro(micros).Sub(begun.Add(time.Since(begun) / 2))
	rows, err := db.pool.Query(ctx, "SELECT holder FROM leases WHERE starts_with(session, $1) AND expires >= "+now+" ORDER BY 1", server(""))
	if err == nil {
		c.Serving, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return c, db.closedOr(err)
	}
	err = db.pool.QueryRow(ctx, `SELECT
		(SELECT count(*) FROM leases JOIN sessions ON name = session WHERE expires >= `+now+`),
		(SELECT count(*) FROM sessions WHERE under_way AND parent = '' AND owner <> '' AND minute <= (`+now+` - 60000000) / 60000000 AND updated < `+now+` - 60000000
			AND NOT EXISTS (SELECT FROM leases WHERE session = name AND expires >= `+now+`))`).Scan(&c.Driven, &c.Forgotten)
	if err != nil {
		return c, db.closedOr(err)
	}
	c.Notified, err = db.notified(ctx)
	return c, db.closedOr(err)
}

// notified measures how long a notification takes.
func (db *DB) notified(ctx context.Context) (time.Duration, error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return 0, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+db.hints.channel); err != nil {
		return 0, err
	}
	begun := time.Now()
	if _, err := db.pool.Exec(ctx, "SELECT pg_notify($1, '')", db.hints.channel); err != nil {
		return 0, err
	}
	waiting, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := conn.WaitForNotification(waiting); err != nil {
		return -1, ctx.Err() // as behind a pgbouncer, which passes none on
	}
	return time.Since(begun), nil
}

// Orphans returns the names, of all in an object store, of objects that no blob has: those
// of processes that died between writing an object and its blob. Those that are listed as
// dead are not among them.
func (db *DB) Orphans(ctx context.Context, all iter.Seq2[string, error]) (orphans []string, err error) {
	look := func(names []string) error {
		rows, err := db.pool.Query(ctx, `SELECT name FROM unnest($1::text[]) AS n (name)
			WHERE NOT EXISTS (SELECT FROM blobs WHERE ref = 'sha256:' || left(name, 64) AND object = name)
			AND NOT EXISTS (SELECT FROM dead_objects WHERE object = name)`, names)
		if err != nil {
			return err
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		orphans = append(orphans, found...)
		return err
	}
	var some []string
	for name, err := range all {
		if err != nil {
			return orphans, err
		}
		if some = append(some, name); len(some) == 1000 {
			if err := look(some); err != nil {
				return orphans, db.closedOr(err)
			}
			some = some[:0]
		}
	}
	return orphans, db.closedOr(look(some))
}

// Readable reads some blobs that events refer to, and returns how many there are and an
// error for the first that cannot be read.
func (db *DB) Readable(ctx context.Context, some int) (n int, err error) {
	rows, err := db.pool.Query(ctx, "SELECT DISTINCT ref FROM event_blobs ORDER BY ref LIMIT $1", some)
	if err != nil {
		return 0, db.closedOr(err)
	}
	refs, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, ref := range refs {
		if err != nil {
			break
		}
		if err = db.read(ctx, ref); err == nil {
			n++
		}
	}
	return n, db.closedOr(err)
}

func (db *DB) read(ctx context.Context, ref string) error {
	r, err := db.Get(ctx, openmanus.Ref(ref))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("an event refers to blob %s, which is not there", strings.TrimPrefix(ref, "sha256:"))
	}
	if err != nil {
		return err
	}
	return r.Close()
}
