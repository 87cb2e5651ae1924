package postgres

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/summary"
)

// Events implements [openmanus.Journal].
func (db *DB) Events(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return db.reader(readPatience).Events(ctx, session, after)
}

// EventsJSON implements [journal.JSONReader]. It is faster than encoding the result of
// Events, because events are stored in nearly this form.
func (db *DB) EventsJSON(ctx context.Context, session string, after int64) iter.Seq2[journal.EventJSON, error] {
	return db.reader(readPatience).EventsJSON(ctx, session, after)
}

// readPatience is how long reading is tried again while the server cannot be reached: as long
// as it takes to start again.
const readPatience = 5 * time.Second

// again calls do until it does not fail because of the connection, for so long.
func (db *DB) again(ctx context.Context, patience time.Duration, do func() error) error {
	begun := time.Now()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := do()
		if err == nil || !passes(err) || ctx.Err() != nil || db.ctx.Err() != nil || time.Since(begun) > patience {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		case <-db.ctx.Done():
		}
	}
}

// reader returns what reads events, and tries again for so long.
func (db *DB) reader(patience time.Duration) summary.Reader {
	return summary.Reader{
		Codec: db.codec(),
		Head: func(ctx context.Context, session string) (id, last int64, err error) {
			err = db.again(ctx, patience, func() (err error) { id, last, err = db.head(ctx, session); return err })
			return id, last, db.closedOr(err)
		},
		Page: func(ctx context.Context, id, at, last int64) (page []summary.Record, err error) {
			err = db.again(ctx, patience, func() (err error) { page, err = db.page(ctx, id, at, last); return err })
			return page, db.closedOr(err)
		},
	}
}

// head returns the row id of a session and the number of its events. Both are 0 if there
// is no such session.
func (db *DB) head(ctx context.Context, session string) (id, last int64, err error) {
	err = db.pool.QueryRow(ctx, "SELECT id, events FROM sessions WHERE name = $1", text(session)).Scan(&id, &last)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, nil
	}
	return id, last, err
}

// page reads events of the session with the row id, from after at to last.
func (db *DB) page(ctx context.Context, id, at, last int64) ([]summary.Record, error) {
	rows, err := db.pool.Query(ctx, "SELECT "+eventColumns+` FROM events
		WHERE session = $1 AND seq > $2 AND seq <= $3 ORDER BY seq LIMIT $4`, id, at, last, summary.PageEvents)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanRecord)
}

// Follow implements [openmanus.Journal]. It yields events that this DB appends at once,
// and those of others within some milliseconds if the server passes notifications on. If
// the session is deleted, it ends with an [openmanus.ErrNoSession], and with [ErrClosed]
// when the store is closed. While the server cannot be reached, it waits.
func (db *DB) Follow(ctx context.Context, session string, after int64) iter.Seq2[openmanus.Event, error] {
	return db.feeds.Follow(ctx, session, after, db.reader(math.MaxInt64).After)
}

// lookEvery is how often the database is asked for events of other processes while
// nothing says that there are some.
const lookEvery = 250 * time.Millisecond

// watch wakes the followers of sessions to which others have appended, until the store is
// closed.
func (db *DB) watch() {
	hints := make(chan struct{}, 1)
	db.beside.Go(func() { db.listen(hints) })
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-hints:
		case <-db.feeds.First():
		case <-db.ctx.Done():
			return
		}
		if db.feeds.Any() {
			db.look()
		}
	}
}

// look compares the sessions that are followed with the database.
func (db *DB) look() {
	names := db.feeds.Names()
	rows, err := db.pool.Query(db.ctx, "SELECT name, events FROM sessions WHERE name = ANY($1)", names)
	heads := make(map[string]int64)
	if err == nil {
		var name string
		var n int64
		_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error { heads[name] = n; return nil })
	}
	if err == nil { // else it is tried again soon
		db.feeds.Update(names, heads)
	}
}

// listen puts a value into hints when others have appended, on a connection of its own.
func (db *DB) listen(hints chan<- struct{}) {
	for db.ctx.Err() == nil {
		if err := db.listenOnce(hints); err != nil {
			select {
			case <-time.After(time.Second): // until then, watch looks
			case <-db.ctx.Done():
			}
		}
	}
}

func (db *DB) listenOnce(hints chan<- struct{}) error {
	conn, err := pgx.ConnectConfig(db.ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(db.ctx))
	if _, err := conn.Exec(db.ctx, "LISTEN "+db.hints.channel); err != nil {
		return err
	}
	for {
		if _, err := conn.WaitForNotification(db.ctx); err != nil {
			return err
		}
		select {
		case hints <- struct{}{}:
		default:
		}
	}
}

// hints say to other processes that there are new events, not of which sessions: they
// compare the few that they follow.
type hints struct {
	channel string        // of the server's notifications
	due     chan struct{} // holds a value while something is to be said
}

// hint says to other processes that there are new events. It does not wait.
func (db *DB) hint() {
	select {
	case db.hints.due <- struct{}{}:
	default:
	}
}

// gathering is how long hints wait for others, since the server takes one lock for each
// transaction with a notification.
const gathering = 2 * time.Millisecond

// sendHints sends hints until the store is closed.
func (db *DB) sendHints() {
	for {
		select {
		case <-db.hints.due:
		case <-db.ctx.Done():
			return
		}
		// A failed hint is not retried, because followers also poll now and then. Nothing is
		// lost with a hint either, so its commit does not wait for the disk, and no append for
		// it.
		_, _ = db.pool.Exec(db.ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, '')", db.hints.channel)
		select {
		case <-time.After(gathering):
		case <-db.ctx.Done():
			return
		}
	}
}

// broken reports whether an error is one of the network.
func broken(err error) bool {
	var n net.Error
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
