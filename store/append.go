package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Append implements [openmanus.Journal].
//
// If ctx ends before the commit starts, nothing is stored and the error is the
// context's. After that, Append waits for the commit and returns its outcome.
// If the database fails, for example because the disk is full, all appends of
// the transaction return the error and none is stored.
func (db *DB) Append(ctx context.Context, session string, bodies ...openmanus.Body) ([]openmanus.Event, error) {
	if err := summary.CheckID(session); err != nil {
		return nil, err
	}
	e, err := db.encode(ctx, session, bodies)
	if err != nil {
		return nil, err
	}
	defer e.links.release()
	if err := db.writer.do(ctx, db.writer.jobs, &job{do: e.add, committed: func() { db.publish(e) }}); err != nil {
		return nil, db.explain(err)
	}
	switch {
	case e.existing != nil:
		return e.existing.Instead(ctx, db.codec(), e.same)
	case e.refused != nil:
		return nil, e.refused
	}
	return e.Events, nil
}

// codec returns the codec of readers, which redacts nothing.
func (db *DB) codec() journal.Codec { return journal.Codec{Blobs: db} }

// explain adds to an error of the database what to try. It returns other errors
// as they are, and [ErrClosed] if the store is closed.
func (db *DB) explain(err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-db.feeds.Closed():
		return ErrClosed
	default:
	}
	if code(err) == 0 {
		return err
	}
	return explain(db.path, err)
}

// An entry is the events that one call appends to a session.
type entry struct {
	summary.Entry
	links    *blobLinks
	restored bool   // the events keep their numbers and times
	piped    bool   // the events have their numbers and times, from a pipe
	before   *entry // the entry before it in the pipe; nil: none, or it is stored

	// The outcome, which add sets.
	added    bool
	refused  error           // why nothing was added
	existing *summary.Record // the event that has the key of same, if that is why
	same     journal.Stored
}

// encode makes an entry, without the numbers and times of its events. The
// caller must release the entry's links.
func (db *DB) encode(ctx context.Context, session string, bodies []openmanus.Body) (*entry, error) {
	e := &entry{links: &blobLinks{blobs: db.blobs}}
	var err error
	if e.Entry, err = summary.Encode(ctx, journal.Codec{Blobs: e.links, Secrets: db.secrets}, session, bodies); err == nil {
		err = e.links.addAll(e.Refs)
	}
	if err != nil {
		e.links.release()
		return nil, err
	}
	return e, nil
}

// add adds the entry, or sets why it was refused. The writer calls it within a
// transaction. Nearly all keys are new, so add looks for an existing one only
// when an insert has failed.
func (e *entry) add(q *queries) error {
	id, n, err := q.find(e.Session)
	if err != nil {
		return err
	}
	if e.piped && (e.before != nil && !e.before.added || n != e.Events[0].Seq-1) {
		e.refused = openmanus.ErrMoved
		return nil
	}
	if e.refused = e.check(n == 0); e.refused != nil {
		return e.findExisting(q, id)
	}
	blobs, err := e.ensureBlobs()
	if err != nil {
		e.refused = err
		return nil
	}
	e.number(n, q.now)
	if n == 0 {
		if id, err = q.open(e.Session, e.Events[0].Time); err != nil {
			return err
		}
	}
	if all, err := e.insert(q, id); err != nil {
		return err
	} else if !all {
		return errors.Join(q.undo(id, n), e.findExisting(q, id))
	}
	for _, ref := range blobs {
		if _, err := q.exec("add_blob", string(ref), id); err != nil {
			return err
		}
	}
	last := len(e.Events) - 1
	e.added = true
	q.moved(e.Session, id, e.Events[last].Seq)
	if err := storeSummary(q, e.Summary, id, e.Events[last], e.Stored[last].Type); err != nil || e.restored {
		return err // what was restored was used elsewhere
	}
	return storeUsage(q, id, e.Events)
}

// check returns an error if the entry cannot follow the events of the session,
// or, if first is set, start one. It does not check keys of existing events.
func (e *entry) check(first bool) error {
	switch {
	case !e.restored:
		return journal.CheckOpening(first, e.Keys())
	case !first:
		return fmt.Errorf("restore: session %s exists: %w", e.Session, openmanus.ErrExists)
	}
	return nil // Restore has checked the keys
}

// insert inserts the events, up to the first one whose key exists.
func (e *entry) insert(q *queries, id int64) (all bool, err error) {
	for i, s := range e.Stored {
		ev := e.Events[i]
		r, err := q.exec("add_event", id, ev.Seq, ev.Time.UnixMicro(), s.Type, s.Key, string(s.Body))
		if err != nil {
			return false, err
		}
		if n, err := r.RowsAffected(); err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// findExisting looks for the first event that has a key of the entry, and if
// there is one sets it as the reason why the entry was refused.
func (e *entry) findExisting(q *queries, id int64) (err error) {
	if e.restored {
		return nil
	}
	for _, s := range e.Stored {
		if e.existing, err = q.byKey(id, s.Key); err != nil {
			return err
		}
		if e.existing == nil {
			continue
		}
		e.same, e.refused = s, e.existing.Against(s)
		return nil
	}
	if e.refused == nil {
		return fmt.Errorf("session %s: the database refused an event with a new key", e.Session)
	}
	return nil
}

// number sets the numbers and times of the events, unless they keep their own.
func (e *entry) number(n int64, now time.Time) {
	if e.restored || e.piped {
		return
	}
	for i := range e.Events {
		e.Events[i].Seq, e.Events[i].Time = n+int64(i)+1, now
	}
}

// ensureBlobs makes sure that the blobs that the events refer to exist, and
// returns them. It leaves out references to blobs that never existed.
func (e *entry) ensureBlobs() (there []openmanus.Ref, err error) {
	for _, ref := range e.Refs {
		is, err := e.links.restore(ref)
		if err != nil {
			return nil, fmt.Errorf("blob %s: %w", ref, err)
		}
		if is {
			there = append(there, ref)
		}
	}
	return there, nil
}

// publish passes the events on to followers. Events that refer to blobs, which
// may be large, are left for followers to read, so that slow followers do not
// keep them in memory.
func (db *DB) publish(e *entry) {
	if !e.added {
		return
	}
	db.feeds.Publish(e.Session, e.Events, len(e.Refs) == 0)
	db.blobs.removePins(e.Refs)
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
	defer e.links.release()
	if err := e.restore(events); err != nil {
		return fmt.Errorf("restore session %s: %w", session, err)
	}
	if err := db.writer.do(ctx, db.writer.jobs, &job{do: e.add, committed: func() { db.publish(e) }}); err != nil {
		return db.explain(err)
	}
	return e.refused
}

// restore sets the numbers and times of the entry's events to those of the
// given ones, and checks that they are a whole session.
func (e *entry) restore(events []openmanus.Event) error {
	e.restored = true
	for i, ev := range events {
		e.Events[i].Seq, e.Events[i].Time = ev.Seq, ev.Time.UTC().Truncate(time.Microsecond)
	}
	return journal.CheckOpening(true, e.Keys())
}
