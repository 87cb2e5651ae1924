package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"
)

// Shout tells all who Hear, this process too, of texts without NULs of at most 7,900 bytes
// each, which is what the server takes. Nothing is kept: who does not hear at that moment does not get them. It waits for the
// server, and not for the disk.
func (db *DB) Shout(ctx context.Context, texts []string) error {
	_, err := db.pool.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, text) FROM unnest($2::text[]) AS t (text)", db.hints.channel+"_live", texts)
	return db.closedOr(err)
}

// Hear yields what others Shout, until ctx ends or the store is closed. It yields "" first,
// and whenever something may have been missed. It needs a connection of its own to the server
// itself, and not to a pgbouncer that pools transactions.
func (db *DB) Hear(ctx context.Context) iter.Seq[string] {
	return func(yield func(string) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(db.ctx, cancel)()
		for ctx.Err() == nil {
			if !db.hearOnce(ctx, yield) {
				return
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}
}

// hearOnce hears until the connection breaks. It reports false if yield did.
func (db *DB) hearOnce(ctx context.Context, yield func(string) bool) bool {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return true
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+db.hints.channel+"_live"); err != nil {
		return true
	}
	if !yield("") {
		return false
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		if !yield(n.Payload) {
			return false
		}
	}
}
