package store

import (
	"context"
	"errors"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// pageBytes is about how many bytes a page of events has at most.
const pageBytes = 1 << 20

// maxSeq is the highest sequence number; see queries.texts.
const maxSeq = 1<<32 - 1

// Events implements [openmanus.Journal].
func (db *DB) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return db.reader().Events(ctx, session, after)
}

// EventsJSON implements [journal.JSONReader]. It is several times faster than
// encoding what Events yields, because events are stored in nearly this form.
func (db *DB) EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[journal.EventJSON, error] {
	return db.reader().EventsJSON(ctx, session, after)
}

func (db *DB) reader() summary.Reader {
	return summary.Reader{Codec: db.codec(), Head: db.head, Page: db.page}
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
func (db *DB) page(ctx context.Context, id, at, last int64) (page []summary.Record, err error) {
	rows, err := db.query(ctx, "page", id<<32|min(at, maxSeq), id<<32|min(last, maxSeq), summary.PageEvents)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for size := 0; size < pageBytes && rows.Next(); {
		var r summary.Record
		if err := rows.Scan(fields(&r)...); err != nil {
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
	return db.feeds.Follow(ctx, session, after, db.reader().After)
}
