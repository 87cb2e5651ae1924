package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// PutReceiver implements [journal.Receivers]. It replaces a receiver with the same id. A
// session that does not exist is an [openmanus.ErrNoSession].
func (db *DB) PutReceiver(ctx context.Context, r journal.Receiver) error {
	changed, err := db.changes(ctx, "put_receiver", r.Session, r.ID, r.Spec, r.At, micros(r.Until), micros(r.Failing), r.Done, r.Added.UnixMicro())
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
	return db.changes(ctx, "move_receiver", now.Session, now.ID, micros(was.Until), now.At, micros(now.Until), micros(now.Failing), now.Done)
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
func (db *DB) Receivers(ctx context.Context, session string) (all []journal.Receiver, err error) {
	rows, err := db.query(ctx, "receivers", session)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r journal.Receiver
		var until, failing, added int64
		if err := rows.Scan(&r.Session, &r.ID, &r.Spec, &r.At, &until, &failing, &r.Done, &added); err != nil {
			return nil, db.explain(err)
		}
		r.Until, r.Failing, r.Added = atMicros(until), atMicros(failing), atMicros(added)
		all = append(all, r)
	}
	return all, db.explain(rows.Err())
}

// micros returns a time as microseconds since 1970, the zero time as 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func atMicros(n int64) (t time.Time) {
	if n != 0 {
		t = time.UnixMicro(n).UTC()
	}
	return t
}
