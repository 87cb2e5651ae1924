package postgres

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// PutReceiver implements [journal.Receivers]. It replaces a receiver with the same id. A
// session that does not exist is an [openmanus.ErrNoSession].
func (db *DB) PutReceiver(ctx context.Context, r journal.Receiver) error {
	changed, err := db.changes(ctx, `INSERT INTO receivers (session, name, spec, at, until, failing, done, added)
		SELECT id, $2, $3, $4, $5, $6, $7, $8 FROM sessions WHERE name = $1
		ON CONFLICT (session, name) DO UPDATE SET spec = excluded.spec, at = excluded.at, until = excluded.until,
			failing = excluded.failing, done = excluded.done, added = excluded.added`,
		text(r.Session), text(r.ID), r.Spec, text(r.At), summary.Micros(r.Until), summary.Micros(r.Failing), r.Done, r.Added.UnixMicro())
	if err == nil && !changed {
		err = fmt.Errorf("session %s: %w", r.Session, openmanus.ErrNoSession)
	}
	return err
}

// RemoveReceiver implements [journal.Receivers].
func (db *DB) RemoveReceiver(ctx context.Context, session, id string) error {
	_, err := db.changes(ctx, "DELETE FROM receivers WHERE session = (SELECT id FROM sessions WHERE name = $1) AND name = $2", text(session), text(id))
	return err
}

// MoveReceiver implements [journal.Receivers]. It moves nothing if another process has
// moved or claimed the receiver since was was read.
func (db *DB) MoveReceiver(ctx context.Context, was, now journal.Receiver) (moved bool, err error) {
	return db.changes(ctx, `UPDATE receivers SET at = $4, until = $5, failing = $6, done = $7
		WHERE session = (SELECT id FROM sessions WHERE name = $1) AND name = $2 AND until = $3`,
		text(now.Session), text(now.ID), summary.Micros(was.Until), text(now.At), summary.Micros(now.Until), summary.Micros(now.Failing), now.Done)
}

// changes executes a statement and reports whether it has changed a row.
func (db *DB) changes(ctx context.Context, statement string, args ...any) (some bool, err error) {
	tag, err := db.pool.Exec(ctx, statement, args...)
	return tag.RowsAffected() > 0, db.closedOr(err)
}

// Receivers implements [journal.Receivers]. It returns those of a session, or without one
// all that are not done, the oldest first.
func (db *DB) Receivers(ctx context.Context, session string) ([]journal.Receiver, error) {
	return all(ctx, db, summary.Receiver, `SELECT sessions.name, receivers.name, spec, at, until, failing, done, added
		FROM receivers JOIN sessions ON sessions.id = receivers.session
		WHERE sessions.name = $1 OR $1 = '' AND NOT done ORDER BY added, receivers.name`, text(session))
}
