package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// maxBody is the most bytes of a body, its large strings aside.
const maxBody = 256 << 20

// checkName refuses what is no name of a session.
func checkName(session string) error {
	switch {
	case session == "":
		return errors.New("the session has no name")
	case len(session) > 255:
		return fmt.Errorf("the session's name is longer than 255 bytes: %.40q…", session)
	case strings.ContainsAny(session, "/\x00"), !utf8.ValidString(session):
		return fmt.Errorf("%q is no name for a session: it must be UTF-8 without a slash or NUL", session)
	}
	return nil
}

// Append implements [openmanus.Journal].
//
// When ctx ends before the commit began, nothing is stored and the error is
// the context's; after that the outcome is the true one. An error of the
// database, such as a full disk, is that of every append in the commit, and
// stored nothing.
func (db *DB) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if err := checkName(session); err != nil {
		return nil, err
	}
	e, err := db.encode(ctx, session, bodies)
	if err != nil {
		return nil, err
	}
	defer e.hand.release()
	if err := db.writer.do(ctx, db.writer.jobs, &job{do: e.add, committed: func() { db.publish(e) }}); err != nil {
		return nil, db.explain(err)
	}
	switch {
	case e.taken != nil:
		return db.exists(ctx, e)
	case e.refused != nil:
		return nil, e.refused
	}
	return e.events, nil
}

// exists returns the event whose key an entry wanted.
func (db *DB) exists(ctx context.Context, e *entry) ([]openmanus.Event, error) {
	body, err := db.codec().Decode(ctx, e.taken.Stored)
	if err != nil {
		return nil, err
	}
	return []openmanus.Event{e.taken.event(body)}, e.refused
}

func (db *DB) codec() journal.Codec { return journal.Codec{Blobs: db} }

// explain adds to an error of the database what to try.
func (db *DB) explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-db.feeds.closed:
		return ErrClosed
	default:
	}
	if code(err) == 0 {
		return err
	}
	return explain(db.path, err)
}

// An entry is what one call adds to a session.
type entry struct {
	session  string
	stored   []journal.Stored
	events   []openmanus.Event
	refs     []openmanus.Ref // the blobs that they speak of
	summary  summary
	hand     *hand
	restored bool // the events have their times

	// What came of it.
	added   bool
	refused error   // why nothing was added
	taken   *record // which event has the key, if that is why
}

// encode prepares an entry, all but the numbers and times of its events. The
// entry's hand is to be released.
func (db *DB) encode(ctx context.Context, session string, bodies []openmanus.Body) (*entry, error) {
	e := &entry{session: session, hand: &hand{blobs: db.blobs}}
	err := e.encode(ctx, journal.Codec{Blobs: e.hand, Secrets: db.secrets}, bodies)
	if err != nil {
		e.hand.release()
		return nil, err
	}
	return e, nil
}

func (e *entry) encode(ctx context.Context, codec journal.Codec, bodies []openmanus.Body) (err error) {
	if e.stored, e.events, err = codec.Round(ctx, bodies...); err != nil {
		return err
	}
	for i, s := range e.stored {
		if len(s.Body) > maxBody {
			return fmt.Errorf("append %s: the body has %d bytes, and %d are the most", s.Key, len(s.Body), maxBody)
		}
		e.refs = append(e.refs, refs(s)...)
		e.summary.add(e.events[i].Body)
	}
	return e.hand.grasp(e.refs)
}

// refs returns the blobs that a stored body speaks of.
func refs(s journal.Stored) []openmanus.Ref {
	if !bytes.Contains(s.Body, []byte("sha256:")) {
		return nil
	}
	return s.Refs()
}

// add is the entry's part in a transaction. Keys are free nearly always: that
// one is taken shows when it is inserted.
func (e *entry) add(q *queries) error {
	id, n, err := q.find(e.session)
	if err != nil {
		return err
	}
	if e.refused = e.check(n == 0); e.refused != nil {
		return e.lookUp(q, id)
	}
	there, err := e.secure()
	if err != nil {
		e.refused = err
		return nil
	}
	e.number(n, q.now)
	if n == 0 {
		if id, err = q.open(e.session, e.events[0].Time); err != nil {
			return err
		}
	}
	if all, err := e.insert(q, id); err != nil {
		return err
	} else if !all {
		return errors.Join(q.undo(id, n), e.lookUp(q, id))
	}
	for _, ref := range there {
		if _, err := q.addRef.Exec(string(ref), id); err != nil {
			return err
		}
	}
	last := len(e.events) - 1
	e.added = true
	return e.summary.store(q, id, e.events[last], e.stored[last].Type)
}

// check finds out whether the entry may be the next of a session, or the
// first, but for the keys that others have.
func (e *entry) check(first bool) error {
	switch {
	case !e.restored:
		return journal.CheckOpening(first, e.keys())
	case !first:
		return fmt.Errorf("restore: there is a session %s: %w", e.session, openmanus.ErrExists)
	}
	return nil // Restore looked at the keys
}

func (e *entry) keys() []string {
	keys := make([]string, len(e.stored))
	for i, s := range e.stored {
		keys[i] = s.Key
	}
	return keys
}

// insert adds the events to a session, up to the first whose key is taken.
func (e *entry) insert(q *queries, id int64) (all bool, err error) {
	for i, s := range e.stored {
		r, err := q.addEvent.Exec(id, e.events[i].Seq, e.events[i].Time.UnixMicro(), s.Type, s.Key, string(s.Body))
		if err != nil {
			return false, err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// lookUp finds the first event whose key the entry wants, which says why it
// cannot be added, if there is one.
func (e *entry) lookUp(q *queries, id int64) (err error) {
	if e.restored {
		return nil
	}
	for _, s := range e.stored {
		if e.taken, err = q.taken(id, s.Key); err != nil {
			return err
		}
		if e.taken == nil {
			continue
		}
		e.refused = openmanus.ErrConflict
		if journal.Same(e.taken.Stored, s) {
			e.refused = openmanus.ErrExists
		}
		return nil
	}
	if e.refused == nil {
		return fmt.Errorf("session %s: the database refused an event whose key is free", e.session)
	}
	return nil
}

// number gives the events their numbers and times, unless they have them.
func (e *entry) number(n int64, now time.Time) {
	if e.restored {
		return
	}
	for i := range e.events {
		e.events[i].Seq, e.events[i].Time = n+int64(i)+1, now
	}
}

// secure sees to it that the blobs that the events speak of are there, and
// returns them.
func (e *entry) secure() (there []openmanus.Ref, err error) {
	for _, ref := range e.refs {
		is, err := e.hand.ensure(ref)
		if err != nil {
			return nil, fmt.Errorf("blob %s: %w", ref, err)
		}
		if is {
			there = append(there, ref)
		}
	}
	return there, nil
}

// publish hands what was added to those who follow. Events that speak of blobs
// they read from the database, so that few bytes are kept for slow readers.
func (db *DB) publish(e *entry) {
	if !e.added {
		return
	}
	db.feeds.publish(e.session, e.events, len(e.refs) == 0)
	db.blobs.unpin(e.refs)
}

// Restore implements [openmanus.Restorer]. Times are kept to the microsecond.
func (db *DB) Restore(ctx context.Context, session string, events []openmanus.Event) error {
	if err := checkName(session); err != nil {
		return err
	}
	bodies := make([]openmanus.Body, len(events))
	for i, ev := range events {
		if ev.Seq != int64(i)+1 {
			return fmt.Errorf("restore session %s: event %d has the number %d", session, i+1, ev.Seq)
		}
		bodies[i] = ev.Body
	}
	e, err := db.encode(ctx, session, bodies)
	if err != nil {
		return err
	}
	defer e.hand.release()
	if err := e.restore(events); err != nil {
		return fmt.Errorf("restore session %s: %w", session, err)
	}
	if err := db.writer.do(ctx, db.writer.jobs, &job{do: e.add, committed: func() { db.publish(e) }}); err != nil {
		return db.explain(err)
	}
	return e.refused
}

// restore gives an entry the times of these events, and looks whether they are
// a session.
func (e *entry) restore(events []openmanus.Event) error {
	e.restored = true
	keys := make([]string, len(e.stored))
	for i, ev := range events {
		keys[i] = e.stored[i].Key
		e.events[i].Seq, e.events[i].Time = ev.Seq, ev.Time.UTC().Truncate(time.Microsecond)
	}
	return journal.CheckOpening(true, keys)
}
