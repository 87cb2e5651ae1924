package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
)

// A page is how many events, or about how many bytes of them, are read at a
// time: a reader holds no transaction open while its caller thinks.
const (
	pageEvents = 128
	pageBytes  = 1 << 20
)

// Events implements [openmanus.Journal].
func (db *DB) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return read(ctx, db, session, after, db.event)
}

// A Line is an event in the encoding of [openmanus.Event.MarshalJSON].
type Line struct {
	Seq  int64
	Type string
	JSON []byte
}

// Lines yields what Events does, encoded. It is several times faster than
// encoding what Events yields, since that is nearly how events are stored.
func (db *DB) Lines(ctx context.Context, session string, after int64) iter.Seq2[Line, error] {
	return read(ctx, db, session, after, db.line)
}

func (db *DB) event(ctx context.Context, r record) (openmanus.Event, error) {
	body, err := db.codec().Decode(ctx, r.Stored)
	return r.event(body), err
}

func (db *DB) line(ctx context.Context, r record) (Line, error) {
	data, err := db.codec().Line(ctx, r.seq, r.time(), r.Stored)
	return Line{r.seq, r.Type, data}, err
}

// read yields the events that there are when it begins, as decode makes them.
func read[T any](ctx context.Context, db *DB, session string, after int64, decode func(context.Context, record) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		last, err := db.last(ctx, session)
		for at := max(after, 0); err == nil && at < last; {
			var page []record
			if page, err = db.page(ctx, session, at, last); err != nil {
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

// last returns the number of a session's last event, 0 if it does not exist.
func (db *DB) last(ctx context.Context, session string) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	// What is over in microseconds is not worth the goroutine that would
	// watch ctx for it.
	err = db.read.QueryRowContext(context.WithoutCancel(ctx), "SELECT coalesce(max(events), 0) FROM sessions WHERE name = ?", session).Scan(&n)
	return n, db.explain(err)
}

// page reads events of a session from after at up to the last.
func (db *DB) page(ctx context.Context, session string, at, last int64) (page []record, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	rows, err := db.read.QueryContext(context.WithoutCancel(ctx), `WITH s AS (SELECT id << 32 AS first FROM sessions WHERE name = ?1)
		SELECT events.id & 0xffffffff, time, type, key, body FROM s JOIN events ON events.id > s.first + min(?2, 0xffffffff) AND events.id <= s.first + min(?3, 0xffffffff)
		ORDER BY events.id LIMIT ?4`, session, at, last, pageEvents)
	if err != nil {
		return nil, db.explain(err)
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
		page, err := db.page(ctx, session, at, 1<<62)
		if err != nil {
			return at, true, err
		}
		if len(page) > 0 {
			db.feeds.noticed(f, page[len(page)-1].seq)
			return handOut(ctx, page, db.event, yield)
		}
		db.feeds.noticed(f, at)
		if f.gone.Load() {
			if last, err := db.last(ctx, session); err != nil || last == 0 {
				return at, true, cmp.Or(err, deleted(session))
			}
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
