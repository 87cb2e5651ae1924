package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// Readers read a page at a time: at most this many events, or about this many
// bytes. Between pages they hold no transaction, whatever the caller does.
const (
	pageEvents = 128
	pageBytes  = 1 << 20
)

// maxSeq is the highest sequence number; see queries.texts.
const maxSeq = 1<<32 - 1

// Events implements [openmanus.Journal].
func (db *DB) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return read(ctx, db, session, after, db.event)
}

// EventsJSON implements [journal.JSONReader]. It is several times faster than
// encoding what Events yields, because events are stored in nearly this form.
func (db *DB) EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[journal.EventJSON, error] {
	return read(ctx, db, session, after, db.eventJSON)
}

// A decoder converts a record to what a reader yields.
type decoder[T any] func(context.Context, record) (T, error)

// event is the decoder of Events and Follow.
func (db *DB) event(ctx context.Context, r record) (openmanus.Event, error) {
	body, err := db.codec().Decode(ctx, r.Stored)
	return r.event(body), err
}

// eventJSON is the decoder of EventsJSON.
func (db *DB) eventJSON(ctx context.Context, r record) (journal.EventJSON, error) {
	data, err := db.codec().Line(ctx, r.seq, r.time(), r.Stored)
	return journal.EventJSON{Seq: r.seq, Type: r.Type, JSON: data}, err
}

// read yields the events that exist when the iteration starts, as decode returns
// them.
func read[T any](ctx context.Context, db *DB, session string, after int64, decode decoder[T]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		id, last, err := db.head(ctx, session)
		for at := max(after, 0); err == nil && at < last; {
			var page []record
			if page, err = db.page(ctx, id, at, last); err != nil {
				break
			}
			if len(page) == 0 {
				err = deleted(session)
				break
			}
			var more bool
			if at, more, err = yieldPage(ctx, page, decode, yield); !more {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// yieldPage yields a page of events. It returns the sequence number of the last
// one, and whether the caller wants more.
func yieldPage[T any](
	ctx context.Context, page []record, decode decoder[T], yield func(T, error) bool,
) (last int64, more bool, err error) {
	for _, r := range page {
		v, err := decode(ctx, r)
		if err != nil {
			return last, true, fmt.Errorf("event %d: %w", r.seq, err)
		}
		if !yield(v, nil) {
			return r.seq, false, nil
		}
		last = r.seq
	}
	return last, true, nil
}

// deleted returns the error for a session that was deleted during a read.
func deleted(session string) error {
	return fmt.Errorf("session %s was deleted: %w", session, openmanus.ErrNoSession)
}

// head returns the row id of a session and the number of its events. Both are 0
// if there is no such session.
func (db *DB) head(ctx context.Context, session string) (id, last int64, err error) {
	rows, err := db.query(ctx, "head", session)
	if err != nil {
		return 0, 0, err
	}
	if rows.Next() {
		err = rows.Scan(&id, &last)
	}
	return id, last, db.explain(errors.Join(err, rows.Err(), rows.Close()))
}

// page reads events of the session with the row id, from after at to last.
func (db *DB) page(ctx context.Context, id, at, last int64) (page []record, err error) {
	rows, err := db.query(ctx, "page", id<<32|min(at, maxSeq), id<<32|min(last, maxSeq), pageEvents)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for size := 0; size < pageBytes && rows.Next(); {
		var r record
		if err := rows.Scan(r.fields()...); err != nil {
			return nil, db.explain(err)
		}
		page = append(page, r)
		size += len(r.Body)
	}
	return page, db.explain(rows.Err())
}

// Follow implements [openmanus.Journal]. It yields events that this DB appends
// at once, and those of other processes, or of another DB, within about 50 ms.
// If the session is deleted, it ends with an [openmanus.ErrNoSession], and with
// [ErrClosed] when the store is closed.
func (db *DB) Follow(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return db.feeds.Follow(ctx, session, after, db.pageAfter)
}

// pageAfter is the [feed.Read] of the store.
func (db *DB) pageAfter(ctx context.Context, session string, after int64) (evs []openmanus.Event, last int64, err error) {
	id, last, err := db.head(ctx, session)
	if err != nil || last <= after {
		return nil, last, err
	}
	page, err := db.page(ctx, id, after, last)
	if err != nil || len(page) == 0 {
		return nil, 0, err // deleted in between
	}
	_, _, err = yieldPage(ctx, page, db.event, func(ev openmanus.Event, _ error) bool {
		evs = append(evs, ev)
		return true
	})
	return evs, last, err
}
