package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openmanus-go/openmanus/journal"
)

// The writer is the one goroutine of a DB that writes. Whatever waits for it
// while it commits goes into the next transaction together, so that many
// sessions share one sync of the disk; who comes alone waits for nobody.
//
// It is also the one that notices what other processes append, and looks for
// that only while somebody follows.
type writer struct {
	conn  *sql.Conn
	q     *queries
	feeds *feeds
	jobs  chan *job
	alone chan *job // have a transaction of their own
	quit  chan struct{}
	ended chan struct{}
	once  sync.Once

	broken  error // why nothing more is written
	closed  error // why its statements could not be
	version int64 // of the data, when they were last looked at: it changes as others commit
}

// A job is something to do in a transaction.
type job struct {
	// do is called within the transaction, by the writer. Its error is the
	// database's and ends the transaction, with everything that is in it;
	// what the job alone fails at, it keeps for itself and changes nothing.
	do func(*queries) error

	// committed is called when the transaction is, if do changed something.
	committed func()

	done chan error // gets the fate of the transaction
}

// most is how many jobs share a transaction.
const most = 512

// glance is how often the writer looks for what other processes appended.
const glance = 40 * time.Millisecond

func startWriter(ctx context.Context, db *sql.DB, f *feeds) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	q, err := prepare(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &writer{
		conn: conn, q: q, feeds: f, jobs: make(chan *job), alone: make(chan *job),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// do has a job done and returns what became of its transaction. If ctx ends
// before the writer took it, it will not be done.
func (w *writer) do(ctx context.Context, jobs chan<- *job, j *job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.done = make(chan error, 1)
	select {
	case jobs <- j:
		return <-j.done
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ended:
		return ErrClosed
	}
}

// stop ends the writer after what it is doing.
func (w *writer) stop() error {
	w.once.Do(func() { close(w.quit) })
	<-w.ended
	return w.closed
}

func (w *writer) run() {
	defer close(w.ended)
	defer func() { w.closed = errors.Join(w.q.close(), w.conn.Close()) }()
	glances := time.NewTicker(glance)
	glances.Stop()
	for {
		select {
		case j := <-w.jobs:
			w.transact(w.gather(j))
		case j := <-w.alone:
			w.transact([]*job{j})
		case <-w.feeds.kick:
			glances.Reset(glance)
			w.look(true)
		case <-glances.C:
			if !w.feeds.any() {
				glances.Stop()
				continue
			}
			w.look(false)
		case <-w.quit:
			return
		}
	}
}

// gather returns j and the jobs that wait beside it.
func (w *writer) gather(j *job) []*job {
	batch := []*job{j}
	for len(batch) < most {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// transact does jobs in one transaction and tells each what came of it.
func (w *writer) transact(batch []*job) {
	err := w.broken
	if err == nil {
		err = w.try(batch)
	}
	for _, j := range batch {
		if err == nil && j.committed != nil {
			j.committed()
		}
		j.done <- err
	}
}

func (w *writer) try(batch []*job) error {
	ctx := context.Background() // what was begun is brought to its end
	if _, err := w.q.begin.ExecContext(ctx); err != nil {
		return w.failed(err)
	}
	w.q.now = journal.Now()
	for _, j := range batch {
		if err := j.do(w.q); err != nil {
			return errors.Join(w.failed(err), w.rollback())
		}
	}
	if _, err := w.q.commit.ExecContext(ctx); err != nil {
		return errors.Join(w.failed(err), w.rollback())
	}
	return nil
}

// failed notes an error after which the disk must not be believed: a later
// sync that succeeds would say nothing of what this one failed to write.
func (w *writer) failed(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		w.broken = fmt.Errorf("nothing is written any more, after this: %w", err)
	}
	return err
}

// rollback undoes the transaction. SQLite may have done that itself.
func (w *writer) rollback() error {
	_, err := w.conn.ExecContext(context.Background(), "ROLLBACK")
	if code(err) == sqlite3.SQLITE_ERROR { // no transaction is active
		return nil
	}
	if err != nil {
		w.broken = fmt.Errorf("nothing is written any more, after this: %w", err)
	}
	return err
}

// look wakes the followers of sessions to which other processes appended.
func (w *writer) look(always bool) {
	var version int64
	err := w.q.version.QueryRow().Scan(&version)
	if err == nil && (always || version != w.version) {
		var heads map[string]int64
		names := w.feeds.names()
		if heads, err = w.q.heads(names); err == nil {
			w.version = version
			w.feeds.look(names, heads)
		}
	}
	if err != nil {
		w.feeds.wakeAll() // they will read, and meet the error themselves
	}
}
