package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Append implements [openmanus.Journal]. If ctx ends before the statement is sent, nothing is
// stored; after that, Append waits for the outcome. While the server cannot be reached, it tries
// again: see [Options].Patience. Events that were stored before a connection broke are found by
// their keys, which is a success. If the session was taken over by another process, the error is
// [openmanus.ErrDriven]. Events that are appended to different sessions at the same time are stored
// together.
func (db *DB) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if err := summary.CheckID(session); err != nil {
		return nil, err
	}
	e, err := db.encode(ctx, session, bodies)
	if err != nil {
		return nil, err
	}
	if err := journal.CheckOpening(false, e.Keys()); err != nil {
		return nil, err
	}
	return db.store(ctx, e)
}

// Restore implements [openmanus.Restorer]. It keeps times to the microsecond. The events
// must be a whole session, numbered from 1. A session that exists is an
// [openmanus.ErrExists], and stays as it is.
func (db *DB) Restore(ctx context.Context, session string, events []openmanus.Event) error {
	bodies, err := summary.Whole(session, events)
	if err != nil {
		return err
	}
	e, err := db.encode(ctx, session, bodies)
	if err != nil {
		return err
	}
	if err := journal.CheckOpening(true, e.Keys()); err != nil {
		return fmt.Errorf("restore session %s: %w", session, err)
	}
	for _, ev := range events {
		e.times = append(e.times, ev.Time.UnixMicro())
	}
	if _, err = db.store(ctx, e); errors.Is(err, openmanus.ErrExists) {
		return fmt.Errorf("restore: session %s exists: %w", session, openmanus.ErrExists)
	}
	return err
}

// An entry is the events that one call appends to a session.
type entry struct {
	summary.Entry
	times []int64 // of the events that are restored; else nil
	fence int64   // the token of the lease that this DB holds, or 0
}

// encode makes an entry, without the numbers and times of its events.
func (db *DB) encode(ctx context.Context, session string, bodies []openmanus.Body) (*entry, error) {
	e, err := summary.Encode(ctx, journal.Codec{Blobs: db, Secrets: db.opts.Secrets}, session, bodies)
	return &entry{Entry: e}, err
}

// store stores an entry, or returns the event that has its key.
func (db *DB) store(ctx context.Context, e *entry) ([]openmanus.Event, error) {
	give := time.Now().Add(db.opts.Patience)
	unknown := false // a try may have been stored although it failed
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		if err := ctx.Err(); err != nil && !unknown {
			return nil, err
		}
		e.fence = db.leases.token(e.Session)
		events, err := db.try(ctx, e, unknown)
		if err == nil {
			db.feeds.Publish(e.Session, events, len(e.Refs) == 0)
			db.hint()
			return events, nil
		}
		if !passes(err) || db.ctx.Err() != nil || time.Now().After(give) {
			return events, db.closedOr(err)
		}
		unknown = unknown || !pgconn.SafeToRetry(err)
		select {
		case <-time.After(wait):
		case <-db.ctx.Done():
		}
	}
}

// try stores an entry once, and waits for the outcome although ctx may end once it is sent.
// unknown says that an earlier try may have stored it.
func (db *DB) try(ctx context.Context, e *entry, unknown bool) ([]openmanus.Event, error) {
	var err error
	if e.Stored[0].Key == "open" {
		err = db.open(ctx, e)
	} else {
		err = db.writers.write(ctx, e)
	}
	var failed *pgconn.PgError
	switch {
	case err == nil:
		return e.Events, nil
	case errors.As(err, &failed) && failed.Code == uniqueViolation, errors.Is(err, pgx.ErrNoRows):
		ctx, cancel := db.outcome(ctx)
		defer cancel()
		return db.existing(ctx, e, unknown)
	}
	return nil, err
}

// open opens a session with an entry.
func (db *DB) open(ctx context.Context, e *entry) error {
	ctx, cancel := db.outcome(ctx)
	defer cancel()
	var before, updated int64
	q := openSession(e)
	err := db.pool.QueryRow(ctx, q.sql(), q.args...).Scan(new(int64), &before, &updated)
	if err == nil {
		e.number(before, updated)
	}
	return err
}

// outcome returns a context for what is not given up when that of the caller ends: a while
// later it ends, and with Close.
func (db *DB) outcome(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.opts.Patience+time.Second)
	stop := context.AfterFunc(db.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

const uniqueViolation = "23505"

// number sets the numbers and times of the events.
func (e *entry) number(before, micros int64) {
	for i := range e.Events {
		e.Events[i].Seq, e.Events[i].Time = before+int64(i)+1, time.UnixMicro(micros).UTC()
		if e.times != nil {
			e.Events[i].Time = time.UnixMicro(e.times[i]).UTC()
		}
	}
}

// existing says why nothing was stored: an event has the key of one of the entry's, the
// session does not exist, or another process has taken it over.
func (db *DB) existing(ctx context.Context, e *entry, unknown bool) ([]openmanus.Event, error) {
	found, err := db.byKeys(ctx, e)
	if err != nil {
		return nil, err
	}
	if unknown && e.times == nil && e.are(found) {
		for i, r := range found {
			e.Events[i].Seq, e.Events[i].Time = r.Seq, r.Time()
		}
		return e.Events, nil
	}
	for i, r := range found {
		if r == nil {
			continue
		}
		return r.Instead(ctx, db.codec(), e.Stored[i])
	}
	var fence int64
	err = db.pool.QueryRow(ctx, "SELECT fence FROM sessions WHERE name = $1", e.Session).Scan(&fence)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, journal.CheckOpening(true, e.Keys())
	case err != nil:
		return nil, err
	case e.fence != 0 && fence != e.fence:
		return nil, fmt.Errorf("session %s was taken over: %w", e.Session, openmanus.ErrDriven)
	}
	return nil, fmt.Errorf("session %s: the database refused an event with a new key", e.Session)
}

// are reports whether records are the whole entry, stored at once.
func (e *entry) are(found []*summary.Record) bool {
	for i, r := range found {
		if r == nil || !journal.Same(r.Stored, e.Stored[i]) || r.Seq != found[0].Seq+int64(i) {
			return false
		}
	}
	return true
}

// byKeys returns the stored events that have the keys of the entry, nil where none has.
func (db *DB) byKeys(ctx context.Context, e *entry) ([]*summary.Record, error) {
	digests, at := make([][]byte, len(e.Stored)), make(map[string]int, len(e.Stored))
	for i, s := range e.Stored {
		digests[i], at[s.Key] = digest(s.Key), i
	}
	rows, err := db.pool.Query(ctx, "SELECT "+eventColumns+` FROM events
		WHERE session = (SELECT id FROM sessions WHERE name = $1) AND digest = ANY($2)`, e.Session, digests)
	if err != nil {
		return nil, err
	}
	found := make([]*summary.Record, len(e.Stored))
	all, err := pgx.CollectRows(rows, scanRecord)
	for _, r := range all {
		found[at[r.Key]] = &r
	}
	return found, err
}

func digest(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// passes reports whether what failed may succeed a little later.
func passes(err error) bool {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		switch failed.Code[:2] {
		case "08", "53", "57", "40": // connection, resources (not a full disk), shutdown or start, serialization
			return failed.Code != "53100" && failed.Code != "57014"
		}
		return false
	}
	for _, ours := range []error{
		openmanus.ErrExists, openmanus.ErrDriven, openmanus.ErrNoSession, context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, ours) {
			return false
		}
	}
	var refused *pgconn.ConnectError
	return errors.As(err, &refused) || pgconn.SafeToRetry(err) || broken(err)
}

// closedOr returns ErrClosed if the store is closed, and err otherwise.
func (db *DB) closedOr(err error) error {
	if err != nil && db.ctx.Err() != nil {
		return ErrClosed
	}
	return err
}
