// Package postgres keeps sessions in PostgreSQL, for programs on many machines: a
// [DB] is what package store is for one machine, with the same promises.
//
// An event is stored when Append returns without an error: the transaction is
// committed, and as durable as the server's synchronous_commit makes it. An append is
// one statement. It takes the row lock of its session, and so its events have numbers
// without gaps, in the order of their commits; the natural keys of events are unique.
//
// The lease of a session expires unless its holder renews it. Each has a token, which
// grows. While a DB holds a lease, all that it appends to the session carries the
// token, and is refused if another process has taken the session over since: a process
// that was stopped, and wakes, appends nothing.
//
// Followers read by sequence number. Notifications of the server, which come and go
// together over connections of their own, only say when to look; without them, as
// behind a pgbouncer that shares connections between transactions, DB looks every
// quarter of a second.
package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store/internal/feed"
)

// Options configure a [DB]. The zero Options are the defaults.
type Options struct {
	// Secrets are replaced by placeholders in events. Blobs that are stored
	// with [DB.Put] are not searched for them.
	Secrets *journal.Secrets

	// Lease is how long a lease is valid without being renewed, which happens three
	// times as often. So long a session of a process that died waits. 0 means 15 s.
	Lease time.Duration

	// Patience is how long an append is tried again while the server cannot be reached
	// or starts. 0 means a minute.
	Patience time.Duration

	// Name is what leases call this process. "": the name of its machine, and its number.
	Name string

	// Objects keep the content of blobs that are put from now on. Nil: the database does.
	Objects Objects
}

// A DB is an [openmanus.Journal] in a database, with its [openmanus.Blobs], its
// [openmanus.Locker] and its index, which lists and searches sessions. It is safe for
// concurrent use, by any number of processes on any number of machines.
//
// A session id is UTF-8 of 1 to 255 bytes without slashes and NULs.
type DB struct {
	opts   Options
	pool   *pgxpool.Pool
	feeds  *feed.Feeds
	leases leases
	hints  hints

	writers writers

	ctx    context.Context // of what runs beside the calls
	cancel context.CancelFunc
	beside sync.WaitGroup
	once   sync.Once
}

var (
	_ openmanus.Journal  = (*DB)(nil)
	_ openmanus.Blobs    = (*DB)(nil)
	_ openmanus.Locker   = (*DB)(nil)
	_ openmanus.Restorer = (*DB)(nil)
	_ journal.Index      = (*DB)(nil)
	_ journal.Searcher   = (*DB)(nil)
	_ journal.Meter      = (*DB)(nil)
	_ journal.Deleter    = (*DB)(nil)
	_ journal.IdleMarker = (*DB)(nil)
	_ journal.JSONReader = (*DB)(nil)
	_ journal.Devices    = (*DB)(nil)
	_ journal.Purse      = (*DB)(nil)
	_ journal.Tally      = (*DB)(nil)
)

// ErrClosed is returned by the methods of a [DB] after Close.
var ErrClosed = errors.New("the store is closed")

// Open connects to the database at url, such as "postgres://user:password@host/name",
// and makes its tables or migrates older ones. The parameters are those of libpq and of
// pgx, among them search_path, which names the schema, and pool_max_conns; appends have two
// connections more, and notifications one. It returns an
// error for a database that a newer version has migrated.
// A nil opts is the zero Options.
func Open(ctx context.Context, url string, opts *Options) (*DB, error) {
	if opts == nil {
		opts = new(Options)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the URL of the store: %w", err)
	}
	if !strings.Contains(url, "pool_max_conns") {
		cfg.MaxConns = max(cfg.MaxConns, 16) // an append holds one while it waits for the disk
	}
	direct, err := isDirect(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, explain(cfg, err)
	}
	if !direct && cfg.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		// statements without names, which work wherever each transaction has another connection
		cfg.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if err := migrate(ctx, cfg.ConnConfig); err != nil {
		return nil, explain(cfg, err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, explain(cfg, err)
	}
	writing, err := pgxpool.NewWithConfig(ctx, forWriters(cfg, direct))
	if err != nil {
		pool.Close()
		return nil, explain(cfg, err)
	}
	db := &DB{opts: *opts, pool: pool, feeds: feed.New(ErrClosed)}
	if db.opts.Lease <= 0 {
		db.opts.Lease = 15 * time.Second
	}
	if db.opts.Patience <= 0 {
		db.opts.Patience = time.Minute
	}
	db.ctx, db.cancel = context.WithCancel(context.WithoutCancel(ctx))
	db.writers.db, db.writers.pool, db.writers.busy = db, writing, make(chan struct{}, manyWriters)
	db.hints.due = make(chan struct{}, 1)
	if err := db.pool.QueryRow(ctx, "SELECT 'openmanus_' || md5(current_schema())").Scan(&db.hints.channel); err != nil {
		pool.Close()
		writing.Close()
		return nil, explain(cfg, err)
	}
	db.beside.Go(db.sendHints)
	db.beside.Go(db.watch)
	db.beside.Go(db.renew)
	return db, nil
}

// isDirect reports whether connections go to the server itself, and not to something that
// shares connections to it, such as a pgbouncer: that gives process numbers of its own.
func isDirect(ctx context.Context, cfg *pgx.ConnConfig) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var pid uint32
	err = conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
	return pid == conn.PgConn().PID(), err
}

// Close ends what is under way. Follow ends with [ErrClosed]. Leases that were not
// released expire. Further calls do nothing.
func (db *DB) Close() error {
	db.once.Do(func() {
		db.feeds.Close()
		db.cancel()
		db.beside.Wait()
		db.pool.Close()
		db.writers.pool.Close()
	})
	return nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// schemaVersion is the number of the last file in migrations.
const schemaVersion = 4

// migrate brings the tables to schemaVersion. One process does so at a time, under a lock
// of a transaction, which also holds where each transaction has another connection.
func migrate(ctx context.Context, cfg *pgx.ConnConfig) (err error) {
	db := stdlib.OpenDB(*cfg)
	defer func() { err = errors.Join(err, db.Close()) }()
	if at, err := version(ctx, db); err != nil || at == schemaVersion {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	const number = 4706834132 // of the lock, for all schemas
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", number); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// version returns the schema version of the database, or 0 if it has no tables.
func version(ctx context.Context, db *sql.DB) (at int64, err error) {
	var there bool
	if err := db.QueryRowContext(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied").Scan(&at)
	if err == nil && at > schemaVersion {
		err = fmt.Errorf("its schema version is %d and this openmanus supports %d: use that version, or another database", at, schemaVersion)
	}
	return at, err
}

// explain adds to an error which database it is about, without its password.
func explain(cfg *pgxpool.Config, err error) error {
	c := cfg.ConnConfig
	return fmt.Errorf("the store postgres://%s@%s:%d/%s: %w", c.User, c.Host, c.Port, c.Database, err)
}
