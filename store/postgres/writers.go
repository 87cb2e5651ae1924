package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// writers store entries of different sessions together when they come at the same time: one
// statement and one commit then serve many. One that comes alone does not wait for others.
type writers struct {
	db   *DB
	pool *pgxpool.Pool
	busy chan struct{} // has a value for each statement that is under way

	mu    sync.Mutex
	queue []*waiting
}

// manyWriters is how many statements store entries at a time: while one waits for the disk,
// the next ones gather.
const manyWriters = 2

// A waiting is an entry that waits to be stored.
type waiting struct {
	*entry
	stored chan error // gets the outcome
}

// forWriters returns the configuration of their connections. A server to which they go
// directly plans their statements once, and not for each: how many entries they store makes
// no difference.
func forWriters(cfg *pgxpool.Config, direct bool) *pgxpool.Config {
	cfg = cfg.Copy()
	cfg.MinConns, cfg.MaxConns = 0, manyWriters
	if direct {
		cfg.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	}
	return cfg
}

// The limits of one statement.
const (
	mostEntries = 64
	mostBytes   = 1 << 20 // after which no entry is added
)

// write stores an entry. If ctx ends while the entry waits, nothing is stored. The error is
// [pgx.ErrNoRows] if the session does not exist or another process has taken it over.
//
// A waiting caller stores the pending appends when its turn comes, for itself and
// for others.
func (w *writers) write(ctx context.Context, e *entry) error {
	mine := &waiting{e, make(chan error, 1)}
	w.mu.Lock()
	w.queue = append(w.queue, mine)
	w.mu.Unlock()
	given := ctx.Done()
	for {
		select {
		case err := <-mine.stored:
			return err
		case <-given:
			if w.remove(mine) {
				return ctx.Err()
			}
			given = nil // it is on its way
		case w.busy <- struct{}{}:
			w.store(w.take())
			<-w.busy
		}
	}
}

// remove takes an entry out of the queue, and reports whether it was there.
func (w *writers) remove(e *waiting) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.queue)
	w.queue = slices.DeleteFunc(w.queue, func(other *waiting) bool { return other == e })
	return len(w.queue) < before
}

// take takes the oldest entries out of the queue, one of each session.
func (w *writers) take() (all []*waiting) {
	w.mu.Lock()
	defer w.mu.Unlock()
	bytes, sessions := 0, make(map[string]bool)
	w.queue = slices.DeleteFunc(w.queue, func(e *waiting) bool {
		if sessions[e.Session] || len(all) == mostEntries || bytes > mostBytes {
			return false
		}
		sessions[e.Session] = true
		all, bytes = append(all, e), bytes+e.bytes()
		return true
	})
	return all
}

func (e *entry) bytes() (n int) {
	for _, s := range e.Stored {
		n += len(s.Body)
	}
	return n
}

// store stores entries of different sessions with one statement. If the server refuses it
// because of one of them, each has one of its own.
func (w *writers) store(all []*waiting) {
	if len(all) == 0 {
		return // another one has taken them
	}
	// all processes lock sessions in the same order
	slices.SortFunc(all, func(a, b *waiting) int { return cmp.Compare(a.Session, b.Session) })
	entries := make([]*entry, len(all))
	for i, e := range all {
		entries[i] = e.entry
	}
	there, err := w.db.add(entries)
	var refused *pgconn.PgError
	if len(all) > 1 && errors.As(err, &refused) {
		for _, e := range all {
			w.store([]*waiting{e})
		}
		return
	}
	for i, e := range all {
		switch {
		case err != nil:
			e.stored <- err
		case !there[i]:
			e.stored <- pgx.ErrNoRows
		default:
			e.stored <- nil
		}
	}
}

// add adds entries to different sessions, and numbers their events. It reports of which ones
// the session exists and was not taken over.
func (db *DB) add(all []*entry) (there []bool, err error) {
	ctx, cancel := db.outcome(context.Background())
	defer cancel()
	q := addEvents(all)
	rows, err := db.writers.pool.Query(ctx, q.sql(), q.args...)
	if err != nil {
		return nil, err
	}
	there = make([]bool, len(all))
	var at, before, updated int64
	_, err = pgx.ForEachRow(rows, []any{&at, &before, &updated}, func() error {
		there[at-1] = true
		all[at-1].number(before, updated)
		return nil
	})
	return there, err
}
