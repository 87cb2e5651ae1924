package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
)

// grace is how long a blob stays that no event refers to: whoever put it appends the
// event in that time.
const grace = time.Hour

// Put implements [openmanus.Blobs].
func (db *DB) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref := openmanus.RefOf(data)
	if data == nil {
		data = []byte{}
	}
	_, err := db.pool.Exec(ctx, `INSERT INTO blobs (ref, put, data) VALUES ($1, `+now+`, $2)
		ON CONFLICT (ref) DO UPDATE SET put = excluded.put WHERE blobs.put < excluded.put - $3`,
		string(ref), data, (grace / 2).Microseconds())
	if err != nil {
		return "", db.closedOr(fmt.Errorf("put blob %s: %w", ref, err))
	}
	return ref, nil
}

// Get implements [openmanus.Blobs]. Content that is not what was put is an error.
func (db *DB) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	var data []byte
	err := db.pool.QueryRow(ctx, "SELECT data FROM blobs WHERE ref = $1", text(string(ref))).Scan(&data)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, fmt.Errorf("blob %s: %w", ref, fs.ErrNotExist)
	case err != nil:
		return nil, db.closedOr(fmt.Errorf("get blob %s: %w", ref, err))
	case openmanus.RefOf(data) != ref:
		return nil, fmt.Errorf("blob %s is damaged: its content has another hash", ref)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// Sweep removes blobs to which no session refers and that were put more than an hour
// ago, and returns how many.
func (db *DB) Sweep(ctx context.Context) (n int, err error) {
	tag, err := db.pool.Exec(ctx, "DELETE FROM blobs WHERE "+unused, grace.Microseconds())
	return int(tag.RowsAffected()), db.closedOr(err)
}

// unused is of blobs that can be deleted.
const unused = "put < " + now + " - $1 AND NOT EXISTS (SELECT 1 FROM event_blobs WHERE event_blobs.ref = blobs.ref)"

// Delete implements [journal.Deleter]. Blobs that no session refers to any more are
// deleted an hour after they were put, by the next Delete or Sweep.
func (db *DB) Delete(ctx context.Context, session string) (err error) {
	lease, err := db.Lock(ctx, session)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	tag, err := db.pool.Exec(ctx, "DELETE FROM sessions WHERE name = $1", session)
	if err != nil {
		return db.closedOr(fmt.Errorf("delete session %s: %w", session, err))
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("delete session %s: %w", session, openmanus.ErrNoSession)
	}
	db.feeds.Remove(session)
	db.hint()
	if _, err := db.Sweep(ctx); err != nil {
		return fmt.Errorf("session %s was deleted, but not all of its blobs: %w", session, err)
	}
	return nil
}
