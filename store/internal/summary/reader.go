package summary

import (
	"context"
	"fmt"
	"iter"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// PageEvents is how many events a page has at most. Between pages, readers hold neither a
// transaction nor a connection, whatever the caller does.
const PageEvents = 128

// A Reader reads the events of a store, a page at a time.
type Reader struct {
	Codec journal.Codec
	// Head returns the row id of a session and the number of its events. Both are 0 if there
	// is no such session.
	Head func(ctx context.Context, session string) (id, last int64, err error)
	// Page reads events of the session with the row id, from after at to last.
	Page func(ctx context.Context, id, at, last int64) ([]Record, error)
}

// Events yields the events that exist when the iteration starts.
func (r Reader) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return read(ctx, r, session, after, r.Event)
}

// EventsJSON yields the same events as JSON. It is several times faster than encoding what
// Events yields, because events are stored in nearly this form.
func (r Reader) EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[journal.EventJSON, error] {
	return read(ctx, r, session, after, func(ctx context.Context, e Record) (journal.EventJSON, error) {
		data, err := r.Codec.Line(ctx, e.Seq, e.Time(), e.Stored)
		return journal.EventJSON{Seq: e.Seq, Type: e.Type, JSON: data}, err
	})
}

// Event decodes a record.
func (r Reader) Event(ctx context.Context, e Record) (openmanus.Event, error) {
	body, err := r.Codec.Decode(ctx, e.Stored)
	return e.Event(body), err
}

// read yields what decode returns for the events that exist when the iteration starts.
func read[T any](
	ctx context.Context, r Reader, session string, after int64, decode func(context.Context, Record) (T, error),
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		id, last, err := r.Head(ctx, session)
		for at := max(after, 0); err == nil && at < last; {
			var page []Record
			page, err = r.Page(ctx, id, at, last)
			if err == nil && len(page) == 0 {
				err = fmt.Errorf("session %s was deleted: %w", session, openmanus.ErrNoSession)
			}
			for _, e := range page {
				v, failed := decode(ctx, e)
				if failed != nil {
					err = fmt.Errorf("event %d: %w", e.Seq, failed)
					break
				}
				if !yield(v, nil) {
					return
				}
				at = e.Seq
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

// After returns a page of the events after a number, and how many events the session has. It is
// what followers read by.
func (r Reader) After(ctx context.Context, session string, after int64) (evs []openmanus.Event, last int64, err error) {
	id, last, err := r.Head(ctx, session)
	if err != nil || last <= after {
		return nil, last, err
	}
	page, err := r.Page(ctx, id, after, last)
	if err != nil || len(page) == 0 {
		return nil, 0, err // deleted in between
	}
	for _, e := range page {
		ev, err := r.Event(ctx, e)
		if err != nil {
			return evs, last, fmt.Errorf("event %d: %w", e.Seq, err)
		}
		evs = append(evs, ev)
	}
	return evs, last, nil
}
