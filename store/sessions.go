package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Sessions implements [journal.Index]. It reads all rows before it yields the first, so
// that a slow caller holds no transaction.
func (db *DB) Sessions(ctx context.Context, opts journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return func(yield func(journal.SessionInfo, error) bool) {
		limit := opts.Limit
		if limit <= 0 {
			limit = -1
		}
		query := "sessions"
		if opts.UnderWay {
			query = "sessions_under_way"
		}
		all, err := db.infos(ctx, query, opts.Workspace, opts.Parent, kindsOf(opts), opts.Owner, limit,
			opts.Open, placeOf(opts), opts.After.ID)
		if err != nil {
			yield(journal.SessionInfo{}, err)
			return
		}
		for _, info := range all {
			if !yield(info, nil) {
				return
			}
		}
	}
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
	return db.explain(db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		_, err := q.exec("mark_idle", session, seq)
		return err
	}}))
}

// Session implements [journal.Index]. A session that does not exist is an
// [openmanus.ErrNoSession].
func (db *DB) Session(ctx context.Context, id string) (journal.SessionInfo, error) {
	all, err := db.infos(ctx, "session", id)
	if err != nil {
		return journal.SessionInfo{}, err
	}
	if len(all) == 0 {
		return journal.SessionInfo{}, fmt.Errorf("session %s: %w", id, openmanus.ErrNoSession)
	}
	return all[0], nil
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
func (db *DB) Used(ctx context.Context, opts journal.MeterOptions) (all []journal.Used, err error) {
	by := cmp.Or(opts.By, "model")
	if !slices.Contains([]string{"model", "flow", "session", "day"}, by) {
		return nil, fmt.Errorf("usage cannot be added up by %q: it is by model, flow, session or day", by)
	}
	var since int64
	if !opts.Since.IsZero() {
		since = opts.Since.Unix() / 86400
	}
	rows, err := db.query(ctx, "used_by_"+by, since, opts.Owner)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for rows.Next() {
		var u journal.Used
		err := rows.Scan(&u.Name, &u.Requests, &u.Usage.Input, &u.Usage.Output, &u.Usage.Cached, &u.Usage.CacheWrite,
			&u.Usage.Reasoning, &u.Usage.Estimated, &u.Unpriced, &u.Cost)
		if err != nil {
			return nil, db.explain(err)
		}
		all = append(all, u)
	}
	return all, db.explain(rows.Err())
}

// infos returns the sessions that a query selects.
func (db *DB) infos(ctx context.Context, query string, args ...any) (all []journal.SessionInfo, err error) {
	rows, err := db.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for rows.Next() {
		info, err := scanInfo(rows)
		if err != nil {
			return nil, db.explain(err)
		}
		all = append(all, info)
	}
	return all, db.explain(rows.Err())
}

// scanInfo reads the columns {info} of a row, and the columns after them into
// more.
func scanInfo(rows *sql.Rows, more ...any) (i journal.SessionInfo, err error) {
	var created, updated int64
	u := &i.Usage
	err = rows.Scan(append([]any{
		&i.ID, &i.Title, &created, &updated, &i.Events, &i.Last, &i.Flow, &i.Parent, &i.Owner, &i.Model, &i.Workspace,
		&u.Input, &u.Output, &u.Cached, &u.CacheWrite, &u.Reasoning, &i.Cost, &u.Estimated, &i.Unpriced,
	}, more...)...)
	i.Created, i.Updated = time.UnixMicro(created).UTC(), time.UnixMicro(updated).UTC()
	return i, err
}
