package summary

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// maxBody is the most bytes of a body, without large strings, which are blobs.
const maxBody = 256 << 20

// An Entry is the events that one call appends to a session, in the encoding of stores.
type Entry struct {
	Session string
	Stored  []journal.Stored
	Events  []openmanus.Event // without their numbers and times
	Refs    []openmanus.Ref   // of the blobs that the events refer to
	Summary Summary
}

// Encode makes an entry.
func Encode(ctx context.Context, codec journal.Codec, session string, bodies []openmanus.Body) (e Entry, err error) {
	e.Session = session
	if e.Stored, e.Events, err = codec.Round(ctx, bodies...); err != nil {
		return e, err
	}
	for i, s := range e.Stored {
		if len(s.Body) > maxBody {
			return e, fmt.Errorf("append %s: the body has %d bytes; the limit is %d", s.Key, len(s.Body), maxBody)
		}
		if bytes.Contains(s.Body, []byte("sha256:")) {
			e.Refs = append(e.Refs, s.Refs()...)
		}
		e.Summary.Add(e.Events[i].Body)
	}
	return e, nil
}

// Keys returns the idempotency keys of the events.
func (e *Entry) Keys() []string {
	keys := make([]string, len(e.Stored))
	for i, s := range e.Stored {
		keys[i] = s.Key
	}
	return keys
}

// Whole returns the bodies of events that are to be restored. It returns an error if the id of
// the session is none, or if the events are not numbered from 1.
func Whole(session string, events []openmanus.Event) ([]openmanus.Body, error) {
	if err := CheckID(session); err != nil {
		return nil, err
	}
	bodies := make([]openmanus.Body, len(events))
	for i, ev := range events {
		if ev.Seq != int64(i)+1 {
			return nil, fmt.Errorf("restore session %s: event %d has sequence number %d", session, i+1, ev.Seq)
		}
		bodies[i] = ev.Body
	}
	return bodies, nil
}

// A Record is an event in the encoding of a database.
type Record struct {
	Seq    int64
	Micros int64
	journal.Stored
}

// Event returns the event with its decoded body.
func (r *Record) Event(b openmanus.Body) openmanus.Event {
	return openmanus.Event{Seq: r.Seq, Time: r.Time(), Body: b}
}

// Time returns when the event was stored, in UTC, with the precision of the database.
func (r *Record) Time() time.Time { return time.UnixMicro(r.Micros).UTC() }

// Against returns why the record keeps s, which has its key, from being appended:
// [openmanus.ErrExists] if it is the same, else [openmanus.ErrConflict].
func (r *Record) Against(s journal.Stored) error {
	if journal.Same(r.Stored, s) {
		return openmanus.ErrExists
	}
	return openmanus.ErrConflict
}

// Instead returns the event of the record, and why it keeps s from being appended.
func (r *Record) Instead(ctx context.Context, codec journal.Codec, s journal.Stored) ([]openmanus.Event, error) {
	body, err := codec.Decode(ctx, r.Stored)
	if err != nil {
		return nil, err
	}
	return []openmanus.Event{r.Event(body)}, r.Against(s)
}
