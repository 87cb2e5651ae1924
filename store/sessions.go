package store

import (
	"context"
	"database/sql"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Sessions implements [journal.Index]. It reads all rows before it yields the first, so
// that a slow caller holds no transaction.
func (db *DB) Sessions(ctx context.Context, opts journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return summary.Yield(func() ([]journal.SessionInfo, error) {
		query := "sessions"
		if opts.UnderWay {
			query = "sessions_under_way"
		}
		return db.infos(ctx, query, opts.Workspace, opts.Parent, kindsOf(opts), opts.Owner, limitOf(opts),
			opts.Open, placeOf(opts), opts.After.ID)
	})
}

// kindsOf returns the argument ?3 of the query "selected".
func kindsOf(opts journal.ListOptions) int {
	switch {
	case opts.Schedules:
		return 2
	case opts.Roots:
		return 1
	}
	return 0
}

// limitOf returns the most rows; negative: there is no such limit.
func limitOf(opts journal.ListOptions) int {
	if opts.Limit <= 0 {
		return -1
	}
	return opts.Limit
}

// placeOf returns the argument ?7 of the query "listed".
func placeOf(opts journal.ListOptions) int64 {
	if opts.After == (journal.Place{}) {
		return 0
	}
	return opts.After.Updated.UnixMicro()
}

// MarkIdle implements [journal.IdleMarker]. It does nothing if the session has more events
// than seq, since these may be something to do.
func (db *DB) MarkIdle(ctx context.Context, session string, seq int64) error {
	_, err := db.changes(ctx, "mark_idle", session, seq)
	return err
}

// Session implements [journal.Index]. A session that does not exist is an
// [openmanus.ErrNoSession].
func (db *DB) Session(ctx context.Context, id string) (journal.SessionInfo, error) {
	all, err := db.infos(ctx, "session", id)
	return summary.Only(id, all, err)
}

// Find returns the id of the session whose id is prefix, or else of the only
// one whose id starts with it. If there are several, the error lists some of
// them. If there is none, it is [openmanus.ErrNoSession].
func (db *DB) Find(ctx context.Context, prefix string) (string, error) {
	if prefix == "" {
		return "", fmt.Errorf("no session id given: %w", openmanus.ErrNoSession)
	}
	all, err := db.infos(ctx, "find", prefix, summary.MaxCandidates+1)
	if err != nil {
		return "", err
	}
	return summary.Named(prefix, all)
}

// Used implements [journal.Meter]. Days are in UTC; Since counts from the beginning of its
// day.
func (db *DB) Used(ctx context.Context, opts journal.MeterOptions) ([]journal.Used, error) {
	by, since, err := summary.UsedBy(opts)
	if err != nil {
		return nil, err
	}
	return all(ctx, db, summary.Used, "used_by_"+by, since, opts.Owner)
}

// infos returns the sessions that a query selects.
func (db *DB) infos(ctx context.Context, query string, args ...any) ([]journal.SessionInfo, error) {
	return all(ctx, db, func(row summary.Row) (journal.SessionInfo, error) { return summary.Info(row) }, query, args...)
}

// all returns what scan reads from the rows of a query.
func all[T any](ctx context.Context, db *DB, scan func(summary.Row) (T, error), query string, args ...any) (found []T, err error) {
	err = db.each(ctx, query, args, func(rows *sql.Rows) error {
		v, err := scan(rows)
		found = append(found, v)
		return err
	})
	return found, err
}
