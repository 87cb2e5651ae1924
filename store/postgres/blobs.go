package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// Objects keep the content of blobs outside of the database. An object is written once,
// and its name, which begins with the SHA-256 of its content in hexadecimal, is never
// used again. Implementations are safe for concurrent use, and try again for a while what
// may succeed later. Package s3 has one.
type Objects interface {
	// Put writes an object that is not empty. When it returns nil, every process can read it.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns the content of an object, or an error if it is not what was put.
	Get(ctx context.Context, name string) ([]byte, error)
	// Remove removes an object. One that is not there is no error.
	Remove(ctx context.Context, name string) error
}

// A blob exists when it has a row, which is written after its object: so no event names
// one that cannot be read. Putting content that is there already only renews the row. An
// object that no session needs is listed as dead in the transaction that removes its
// row, and removed after that; a later blob of the same content has another object.

// grace is how long a blob stays that no event refers to: whoever put it appends the
// event in that time.
const grace = time.Hour

// Put implements [openmanus.Blobs]. With an object store, the content goes there unless it
// is empty. A blob that exists is kept from Sweep for another while.
func (db *DB) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref := openmanus.RefOf(data)
	if data == nil {
		data = []byte{}
	}
	var err error
	if db.opts.Objects != nil && len(data) > 0 {
		err = db.putObject(ctx, ref, data)
	} else {
		_, err = db.pool.Exec(ctx, `INSERT INTO blobs (ref, put, data) VALUES ($1, `+now+`, $2)
			ON CONFLICT (ref) DO UPDATE SET put = excluded.put WHERE blobs.put < excluded.put - $3`,
			string(ref), data, (grace / 2).Microseconds())
	}
	if err != nil {
		return "", db.closedOr(fmt.Errorf("put blob %s: %w", ref, err))
	}
	return ref, nil
}

// putObject puts a blob whose content is an object.
func (db *DB) putObject(ctx context.Context, ref openmanus.Ref, data []byte) error {
	if err := db.Hold(ctx, ref); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, sum, _ := strings.Cut(string(ref), ":")
	name := sum + "-" + ids.New()
	if err := db.opts.Objects.Put(ctx, name, data); err != nil {
		return err
	}
	var kept string
	err := db.pool.QueryRow(ctx, `INSERT INTO blobs (ref, put, object) VALUES ($1, `+now+`, $2)
		ON CONFLICT (ref) DO UPDATE SET put = excluded.put RETURNING coalesce(object, '')`, string(ref), name).Scan(&kept)
	if err == nil && kept != name { // another process put the same at the same time
		err = db.opts.Objects.Remove(ctx, name)
	}
	return err
}

// Hold keeps a blob as Put does, for an event that is about to refer to it. The error is
// [fs.ErrNotExist] if there is no such blob.
func (db *DB) Hold(ctx context.Context, ref openmanus.Ref) error {
	var there bool // and for half of the grace at least
	err := db.pool.QueryRow(ctx, `WITH renewed AS (
			UPDATE blobs SET put = `+now+` WHERE ref = $1 AND put < `+now+` - $2 RETURNING ref
		)
		SELECT EXISTS (SELECT FROM renewed) OR EXISTS (SELECT FROM blobs WHERE ref = $1 AND put >= `+now+` - $2)`,
		text(string(ref)), (grace / 2).Microseconds()).Scan(&there)
	switch {
	case err != nil:
		return db.closedOr(fmt.Errorf("keep blob %s: %w", ref, err))
	case !there:
		return fmt.Errorf("keep blob %s: %w", ref, fs.ErrNotExist)
	}
	return nil
}

// Has returns an error that is [fs.ErrNotExist] if there is no such blob.
func (db *DB) Has(ctx context.Context, ref openmanus.Ref) error {
	var is bool
	err := db.pool.QueryRow(ctx, "SELECT EXISTS (SELECT FROM blobs WHERE ref = $1)", text(string(ref))).Scan(&is)
	if err == nil && !is {
		err = fmt.Errorf("blob %s: %w", ref, fs.ErrNotExist)
	}
	return db.closedOr(err)
}

// Get implements [openmanus.Blobs]. It verifies the hash: content that differs from what
// was put is an error. A blob in an object store that this program does not know is an
// error that names the setting.
func (db *DB) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	var data []byte
	var object *string
	err := db.pool.QueryRow(ctx, "SELECT data, object FROM blobs WHERE ref = $1", text(string(ref))).Scan(&data, &object)
	if err == nil && object != nil {
		if db.opts.Objects == nil {
			return nil, fmt.Errorf("get blob %s: it is in an object store, and this program knows none: set [blobs] url", ref)
		}
		data, err = db.opts.Objects.Get(ctx, *object)
	}
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

// Unused returns how many blobs Sweep would remove now: those that no event has referred
// to for a while.
func (db *DB) Unused(ctx context.Context) (n int, err error) {
	err = db.pool.QueryRow(ctx, "SELECT count(*) FROM blobs WHERE "+unused, grace.Microseconds()).Scan(&n)
	return n, db.closedOr(err)
}

// Sweep removes blobs to which no session refers and that were put more than an hour
// ago, and returns how many. It retries the next time what it could not remove from an
// object store.
func (db *DB) Sweep(ctx context.Context) (n int, err error) {
	err = db.pool.QueryRow(ctx, `WITH gone AS (
			DELETE FROM blobs WHERE `+unused+` RETURNING object
		), dead AS (
			INSERT INTO dead_objects SELECT object FROM gone WHERE object IS NOT NULL
		)
		SELECT count(*) FROM gone`, grace.Microseconds()).Scan(&n)
	if err == nil && db.opts.Objects != nil {
		err = db.removeDead(ctx)
	}
	if err == nil { // of workspaces that nobody has used for a day
		_, err = db.pool.Exec(ctx, "DELETE FROM leases WHERE taken < "+now+" - $1 AND expires < "+now, (24 * time.Hour).Microseconds())
	}
	if err == nil {
		_, err = db.pool.Exec(ctx, "DELETE FROM purses WHERE at < "+now+" - $1", (30 * 24 * time.Hour).Microseconds())
	}
	return n, db.closedOr(err)
}

// removeDead removes the objects that no blob has any more.
func (db *DB) removeDead(ctx context.Context) error {
	rows, err := db.pool.Query(ctx, "SELECT object FROM dead_objects")
	if err != nil {
		return err
	}
	dead, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range dead {
		if err == nil {
			err = db.opts.Objects.Remove(ctx, name)
		}
		if err == nil {
			_, err = db.pool.Exec(ctx, "DELETE FROM dead_objects WHERE object = $1", name)
		}
	}
	return err
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
