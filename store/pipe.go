package store

import (
	"context"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// A pipe is an [openmanus.Pipe]. It numbers events itself, so that the caller can
// go on before they are stored. The writer takes the entries of a pipe in order,
// and refuses one if the entry before it was not stored, or if another writer has
// appended to the session.
type pipe struct {
	db      *DB
	session string
	after   int64  // the sequence number of the last event
	last    *entry // the last entry; nil: none
}

// Pipe implements [openmanus.Pipeliner].
func (db *DB) Pipe(session string, after int64) openmanus.Pipe {
	return &pipe{db: db, session: session, after: after}
}

// Append implements [openmanus.Pipe]. The numbers and times of the events are final when
// it returns, unless the writer refuses the entry. It waits only if very many entries are
// waiting for the writer. The caller must call the returned function, which waits for the
// commit.
func (p *pipe) Append(ctx context.Context, bodies ...openmanus.Body) ([]openmanus.Event, func() error, error) {
	if err := summary.CheckID(p.session); err != nil {
		return nil, nil, err
	}
	e, err := p.db.encode(ctx, p.session, bodies)
	if err != nil {
		return nil, nil, err
	}
	e.number(p.after, journal.Now())
	e.piped, e.before = true, p.last
	j := &job{
		do: e.add, committed: func() { p.db.publish(e) }, undone: func() { e.added = false },
		done: make(chan error, 1),
	}
	select {
	case p.db.writer.piped <- j:
	case <-p.db.writer.ended:
		e.links.release()
		return nil, nil, ErrClosed
	}
	p.after, p.last = e.Events[len(e.Events)-1].Seq, e
	return e.Events, func() error { return p.db.outcome(e, j) }, nil
}

// outcome waits until an entry is stored, or returns why it is not.
func (db *DB) outcome(e *entry, j *job) (err error) {
	defer e.links.release()
	select {
	case err = <-j.done:
	case <-db.writer.ended:
		select {
		case err = <-j.done: // the writer's last transaction
		default:
			return ErrClosed
		}
	}
	e.before = nil // otherwise each entry would keep all before it in memory
	switch {
	case err != nil:
		return db.explain(err)
	case e.refused != nil:
		return e.refused
	}
	return nil
}
