package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/openmanus-go/openmanus/store/internal/feed"
)

// A writer is the one goroutine of a [DB] that writes. Jobs that arrive while it
// commits share the next transaction, and with it one sync of the disk. A job
// that arrives while the writer is idle starts at once.
//
// The writer also polls for events of other processes while there are
// followers.
//
// An append is durable when its transaction is committed: the database has
// synchronous=FULL, so each commit syncs the write-ahead log. After a failed
// sync the kernel may have dropped the data and forgotten the error; a later
// sync would succeed without them. So the writer writes nothing more after an
// error of the disk, and a new [Open] reads what is really there.
type writer struct {
	conn      *sql.Conn
	q         *queries
	feeds     *feed.Feeds
	jobs      chan *job
	exclusive chan *job // each gets a transaction of its own
	piped     chan *job // jobs of pipes; buffered, so that their senders do not wait for the writer
	quit      chan struct{}
	ended     chan struct{}
	once      sync.Once

	broken  error // why the writer no longer writes; nil if it does
	closed  error // the result of closing
	version int64 // PRAGMA data_version at the last poll; it changes when another process commits
}

// A job is a part of a transaction.
type job struct {
	// do is called within the transaction, by the writer's goroutine. An
	// error rolls back the transaction with all of its jobs. If only this
	// job cannot be done, do changes nothing, keeps the reason for itself
	// and returns nil.
	do func(*queries) error

	// committed, if not nil, is called after the commit.
	committed func()

	// undone, if not nil, is called when the transaction fails.
	undone func()

	done chan error // receives the outcome of the transaction
}

// maxBatch is the most jobs that share a transaction.
const maxBatch = 512

// pollInterval is the time between polls for events of other processes.
const pollInterval = 40 * time.Millisecond

// startWriter starts the writer's goroutine, on a connection of its own. The
// caller must stop it.
func startWriter(ctx context.Context, db *sql.DB, f *feed.Feeds) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{
		conn: conn, q: &queries{statements: statements{db: conn}}, feeds: f, jobs: make(chan *job), exclusive: make(chan *job),
		piped: make(chan *job, maxBatch),
		quit:  make(chan struct{}), ended: make(chan struct{}),
	}
	go w.run()
	return w, nil
}

// do runs a job and returns the outcome of its transaction. If ctx ends before
// the writer has accepted the job, it does not run.
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

// stop ends the writer after its present transaction.
func (w *writer) stop() error {
	w.once.Do(func() { close(w.quit) })
	<-w.ended
	return w.closed
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.ended)
	defer func() { w.closed = errors.Join(w.q.close(), w.conn.Close()) }()
	poll := time.NewTicker(pollInterval)
	poll.Stop()
	for {
		select {
		case j := <-w.jobs:
			w.transact(w.gather(j))
		case j := <-w.piped:
			w.transact(w.gather(j))
		case j := <-w.exclusive:
			w.transact([]*job{j})
		case <-w.feeds.First():
			poll.Reset(pollInterval)
			w.poll(true)
		case <-poll.C:
			if !w.feeds.Any() {
				poll.Stop()
				continue
			}
			w.poll(false)
		case <-w.quit:
			return
		}
	}
}

// gather returns j and the jobs that are waiting.
func (w *writer) gather(j *job) []*job {
	batch := []*job{j}
	for len(batch) < maxBatch {
		select {
		case j := <-w.jobs:
			batch = append(batch, j)
		case j := <-w.piped:
			batch = append(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// transact runs jobs in one transaction and reports the outcome to each.
func (w *writer) transact(batch []*job) {
	err := w.broken
	if err == nil {
		err = w.commit(batch)
	}
	for _, j := range batch {
		if err == nil && j.committed != nil {
			j.committed()
		}
		if err != nil && j.undone != nil {
			j.undone()
		}
		j.done <- err
	}
}

// commit runs jobs in one transaction, and rolls it back after an error.
func (w *writer) commit(batch []*job) error {
	if err := w.q.begin(); err != nil {
		return errors.Join(w.failed(err), w.rollback())
	}
	for _, j := range batch {
		if err := j.do(w.q); err != nil {
			return errors.Join(w.failed(err), w.rollback())
		}
	}
	if _, err := w.q.exec("commit"); err != nil {
		return errors.Join(w.failed(err), w.rollback())
	}
	return nil
}

// failed returns err, and if it is an error of the disk, stops all further
// writing: after a failed sync, a later one that succeeds does not mean that
// the data of the first were written.
func (w *writer) failed(err error) error {
	switch code(err) {
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		w.broken = fmt.Errorf("the store no longer writes after this error: %w", err)
	}
	return err
}

// rollback rolls back the transaction, unless SQLite has done that itself.
func (w *writer) rollback() error {
	w.q.forget()
	_, err := w.conn.ExecContext(context.Background(), "ROLLBACK")
	if code(err) == sqlite3.SQLITE_ERROR { // no transaction is active
		return nil
	}
	if err != nil {
		w.broken = fmt.Errorf("the store no longer writes after this error: %w", err)
	}
	return err
}

// poll wakes the followers of sessions to which other processes have appended. It
// does so even if no process has committed since the last poll if always is set.
func (w *writer) poll(always bool) {
	var version int64
	err := w.q.row("data_version", nil, &version)
	if err == nil && (always || version != w.version) {
		var heads map[string]int64
		names := w.feeds.Names()
		if heads, err = w.q.headsOf(names); err == nil {
			w.version = version
			w.feeds.Update(names, heads)
		}
	}
	if err != nil {
		w.feeds.WakeAll() // they read, and get the error themselves
	}
}
