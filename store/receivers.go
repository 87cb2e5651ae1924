package store

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
	changed, err := db.changes(ctx, "put_receiver", r.Session, r.ID, r.Spec, r.At, summary.Micros(r.Until), summary.Micros(r.Failing), r.Done, r.Added.UnixMicro())
	if err == nil && !changed {
		err = fmt.Errorf("session %s: %w", r.Session, openmanus.ErrNoSession)
	}
	return err
}

// RemoveReceiver implements [journal.Receivers].
func (db *DB) RemoveReceiver(ctx context.Context, session, id string) error {
	_, err := db.changes(ctx, "remove_receiver", session, id)
	return err
}

// MoveReceiver implements [journal.Receivers].
func (db *DB) MoveReceiver(ctx context.Context, was, now journal.Receiver) (moved bool, err error) {
	return db.changes(ctx, "move_receiver", now.Session, now.ID, summary.Micros(was.Until), now.At, summary.Micros(now.Until), summary.Micros(now.Failing), now.Done)
}

// changes executes a query and reports whether it has changed a row.
func (db *DB) changes(ctx context.Context, query string, args ...any) (some bool, err error) {
	err = db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		r, err := q.exec(query, args...)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		some = n > 0
		return err
	}})
	return some, db.explain(err)
}

// Receivers implements [journal.Receivers]. It returns those of a session, or without one
// all that are not done, the oldest first.
func (db *DB) Receivers(ctx context.Context, session string) ([]journal.Receiver, error) {
	return all(ctx, db, summary.Receiver, "receivers", session)
}
