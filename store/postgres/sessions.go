package postgres

import (
	"context"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// info is what scanInfo reads. The title falls back to the first words of the user.
const info = `name, coalesce(nullif(title, ''), words), created, updated, events, last, flow, parent, owner, model, workspace,
	input, output, cached, written, reasoning, cost, estimated, unpriced`

// selected is the condition of [journal.ListOptions].
const selected = `(@workspace = '' OR workspace = @workspace) AND (@parent = '' OR parent = @parent)
	AND (NOT @roots OR parent = '') AND (@owner = '' OR owner = @owner) AND (NOT @under_way OR under_way)
	AND @schedules = (flow = '@schedule')`

// listed is selected, and the conditions that hold for lists alone. A session may run if it
// is under way, and may wait unless its last event is of a type after which no call waits.
const listed = selected + ` AND (NOT @open OR under_way OR last NOT IN ('opened', 'model_said', 'model_failed', 'ended', 'stopped', 'interrupted')) AND (@after::bigint = 0 OR minute <= @after / 60000000 AND
	(updated < @after OR updated = @after AND id < coalesce((SELECT id FROM sessions WHERE name = @after_name), 9223372036854775807)))`

func arguments(opts journal.ListOptions) pgx.NamedArgs {
	a := pgx.NamedArgs{
		"workspace": text(opts.Workspace), "parent": text(opts.Parent), "roots": opts.Roots, "owner": text(opts.Owner),
		"under_way": opts.UnderWay, "schedules": opts.Schedules, "limit": nil,
		"open": opts.Open, "after": int64(0), "after_name": text(opts.After.ID),
	}
	if opts.After != (journal.Place{}) {
		a["after"] = opts.After.Updated.UnixMicro()
	}
	if opts.Limit > 0 {
		a["limit"] = opts.Limit
	}
	return a
}

// Sessions implements [journal.Index]. It reads all rows before it yields the first, so
// that a slow caller holds no connection.
func (db *DB) Sessions(ctx context.Context, opts journal.ListOptions) iter.Seq2[journal.SessionInfo, error] {
	return summary.Yield(func() ([]journal.SessionInfo, error) {
		return db.infos(ctx, "SELECT "+info+" FROM sessions WHERE "+listed+" ORDER BY minute DESC, updated DESC, id DESC LIMIT @limit", arguments(opts))
	})
}

// Session implements [journal.Index]. A session that does not exist is an
// [openmanus.ErrNoSession].
func (db *DB) Session(ctx context.Context, id string) (journal.SessionInfo, error) {
	all, err := db.infos(ctx, "SELECT "+info+" FROM sessions WHERE name = $1", text(id))
	return summary.Only(id, all, err)
}

// Find returns the id of the session whose id is prefix, or else of the only one whose id
// starts with it. If there are several, the error lists some of them. If there is none,
// it is [openmanus.ErrNoSession].
func (db *DB) Find(ctx context.Context, prefix string) (string, error) {
	if prefix == "" {
		return "", fmt.Errorf("no session id given: %w", openmanus.ErrNoSession)
	}
	all, err := db.infos(ctx, "SELECT "+info+` FROM sessions WHERE starts_with(name, $1)
		ORDER BY name <> $1, updated DESC, id DESC LIMIT $2`, text(prefix), summary.MaxCandidates+1)
	if err != nil {
		return "", err
	}
	return summary.Named(prefix, all)
}

// MarkIdle implements [journal.IdleMarker]. It does nothing if the session has more events
// than seq, since these may be something to do.
func (db *DB) MarkIdle(ctx context.Context, session string, seq int64) error {
	_, err := db.pool.Exec(ctx, "UPDATE sessions SET under_way = false WHERE name = $1 AND events = $2", text(session), seq)
	return db.closedOr(err)
}

// infos returns the sessions that a query selects.
func (db *DB) infos(ctx context.Context, query string, args ...any) ([]journal.SessionInfo, error) {
	var found []journal.SessionInfo
	err := db.again(ctx, readPatience, func() (err error) {
		found, err = all(ctx, db, func(row summary.Row) (journal.SessionInfo, error) { return summary.Info(row) }, query, args...)
		return err
	})
	return found, err
}

// all returns what scan reads from the rows of a query.
func all[T any](ctx context.Context, db *DB, scan func(summary.Row) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, db.closedOr(err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (T, error) { return scan(row) })
	return found, db.closedOr(err)
}

// Used implements [journal.Meter]. Days are in UTC; Since counts from the beginning of its
// day.
func (db *DB) Used(ctx context.Context, opts journal.MeterOptions) ([]journal.Used, error) {
	by, since, err := summary.UsedBy(opts)
	if err != nil {
		return nil, err
	}
	column := map[string]string{
		"model": "usage.model", "flow": "flow", "session": "name",
		"day": "to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD')",
	}[by]
	return all(ctx, db, summary.Used, "SELECT "+column+` AS by, sum(requests)::bigint, sum(usage.input)::bigint, sum(usage.output)::bigint,
		sum(usage.cached)::bigint, sum(usage.written)::bigint, sum(usage.reasoning)::bigint, sum(usage.estimated)::bigint,
		sum(usage.unpriced)::bigint, sum(usage.cost)::bigint
		FROM usage JOIN sessions ON sessions.id = usage.session
		WHERE day >= $1 AND ($2 = '' OR owner = $2)
		GROUP BY 1 ORDER BY sum(usage.cost) DESC, sum(usage.input + usage.output) DESC, 1`, since, text(opts.Owner))
}

// AddDevice implements [journal.Devices].
func (db *DB) AddDevice(ctx context.Context, owner string, d journal.Device) error {
	_, err := db.pool.Exec(ctx, `INSERT INTO devices (owner, endpoint, key, auth, name, language, added)
		VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (owner, endpoint) DO UPDATE SET key = excluded.key, auth = excluded.auth, name = excluded.name,
			language = excluded.language, added = excluded.added`,
		text(owner), text(d.Endpoint), text(d.Key), text(d.Auth), text(d.Name), text(d.Language), d.Added.UnixMicro())
	return db.closedOr(err)
}

// RemoveDevice implements [journal.Devices].
func (db *DB) RemoveDevice(ctx context.Context, owner, endpoint string) error {
	_, err := db.pool.Exec(ctx, "DELETE FROM devices WHERE owner = $1 AND endpoint = $2", text(owner), text(endpoint))
	return db.closedOr(err)
}

// Devices implements [journal.Devices].
func (db *DB) Devices(ctx context.Context, owner string) ([]journal.Device, error) {
	return all(ctx, db, summary.Device, `SELECT endpoint, key, auth, name, language, added FROM devices
		WHERE owner = $1 ORDER BY added DESC, endpoint`, text(owner))
}
