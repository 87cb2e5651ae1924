package store

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A page is how many events, or about how many bytes of them, are read at a
// time: a reader holds no transaction open while its caller thinks.
const (
	pageEvents = 128
	pageBytes  = 1 << 20
)

// mostSeq is the highest number that an event can have.
const mostSeq = 1<<32 - 1

// Events implements [openmanus.Journal].
func (db *DB) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return read(ctx, db, session, after, db.event)
}

// EventsJSON implements [journal.JSONReader]. It is several times faster than
// encoding what Events yields, because events are stored in nearly this form.
func (db *DB) EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[journal.EventJSON, error] {
	return read(ctx, db, session, after, db.eventJSON)
}

func (db *DB) event(ctx context.Context, r record) (openmanus.Event, error) {
	body, err := db.codec().Decode(ctx, r.Stored)
	return r.event(body), err
}

func (db *DB) eventJSON(ctx context.Context, r record) (journal.EventJSON, error) {
	data, err := db.codec().Line(ctx, r.seq, r.time(), r.Stored)
	return journal.EventJSON{Seq: r.seq, Type: r.Type, JSON: data}, err
}

// read yields the events that there are when it begins, as decode makes them.
func read[T any](ctx context.Context, db *DB, session string, after int64, decode func(context.Context, record) (T, error)) iter.Seq2[T, error] {
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
			if at, more, err = handOut(ctx, page, decode, yield); !more {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// handOut yields a page of events. It returns the number of the last one, and
// whether more are wanted.
func handOut[T any](ctx context.Context, page []record, decode func(context.Context, record) (T, error), yield func(T, error) bool) (last int64, more bool, err error) {
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

func deleted(session string) error {
	return fmt.Errorf("session %s was deleted: %w", session, openmanus.ErrNoSession)
}

// head returns what the database calls a session, and the number of its last
// event: 0, 0 if it does not exist.
func (db *DB) head(ctx context.Context, session string) (id, last int64, err error) {
	rows, err := db.query(ctx, "SELECT id, events FROM sessions WHERE name = ?", session)
	if err != nil {
		return 0, 0, err
	}
	if rows.Next() {
		err = rows.Scan(&id, &last)
	}
	return id, last, db.explain(errors.Join(err, rows.Err(), rows.Close()))
}

// page reads events of the session id from after at up to the last.
func (db *DB) page(ctx context.Context, id, at, last int64) (page []record, err error) {
	rows, err := db.query(ctx, "SELECT id & 0xffffffff, time, type, key, body FROM events WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",
		id<<32|min(at, mostSeq), id<<32|min(last, mostSeq), pageEvents)
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

// Follow implements [openmanus.Journal]. What this DB appends is seen at once,
// what others do within 50 ms or so. If the session is deleted it ends with an
// error that is [openmanus.ErrNoSession], and with [ErrClosed] if the store is
// closed.
func (db *DB) Follow(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return func(yield func(openmanus.Event, error) bool) {
		until := func(ev openmanus.Event, err error) bool { return ctx.Err() == nil && yield(ev, err) }
		f := db.feeds.join(session)
		defer db.feeds.leave(session)
		for at := max(after, 0); ; {
			next, more, err := db.step(ctx, f, session, at, until)
			switch {
			case ctx.Err() != nil || !more:
				return
			case err != nil:
				yield(openmanus.Event{}, err)
				return
			}
			at = next
		}
	}
}

// step yields what there is after an event, or waits until there may be more.
func (db *DB) step(ctx context.Context, f *feed, session string, at int64, yield func(openmanus.Event, error) bool) (next int64, more bool, err error) {
	recent, known, grown := db.feeds.since(f, at)
	if !known {
		// grown was asked for before the database is: nothing falls between.
		id, last, err := db.head(ctx, session)
		if err != nil {
			return at, true, err
		}
		if last > at {
			page, err := db.page(ctx, id, at, last)
			if err != nil {
				return at, true, err
			}
			if len(page) > 0 {
				db.feeds.noticed(f, page[len(page)-1].seq)
				return handOut(ctx, page, db.event, yield)
			}
			last = 0 // it was deleted in between
		}
		db.feeds.noticed(f, at)
		if f.gone.Load() && last == 0 {
			return at, true, deleted(session)
		}
	}
	for _, ev := range recent {
		if !yield(ev, nil) {
			return at, false, nil
		}
		at = ev.Seq
	}
	if len(recent) > 0 {
		return at, true, nil
	}
	select {
	case <-grown:
		return at, true, nil
	case <-ctx.Done():
		return at, false, nil
	case <-db.feeds.closed:
		return at, true, ErrClosed
	}
}
