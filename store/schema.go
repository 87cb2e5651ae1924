package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// applicationID marks a database as one of this package: "OMJL".
const applicationID = 0x4f4d4a4c

// schemaVersion is the number of the last file in migrations.
const schemaVersion = 7

//go:embed migrations/*.sql
var migrations embed.FS

// busyTimeout is how long a writer waits for another process's transaction, which
// normally takes milliseconds.
const busyTimeout = 10 * time.Second

// writerSettings are those of the writer's connection alone: 16 MiB of pages in memory, so
// that a transaction of many sessions is written once, when it commits; and as many in
// the write-ahead log before they go to the database, so that a page that many
// transactions change goes there less often.
const writerSettings = "&_pragma=cache_size(-16384)&_pragma=wal_autocheckpoint(4096)"

// connections returns the pool of the writer, which has one connection, and the
// pool of the readers.
func connections(path string) (write, read *sql.DB) {
	base := fmt.Sprintf("file:%s?_busy_timeout=%d&_foreign_keys=1&_synchronous=FULL&_dqs=0&_error_rc=1"+
		"&_pragma=journal_size_limit(67108864)", escape(path), busyTimeout.Milliseconds())
	if runtime.GOOS == "darwin" { // fsync alone leaves data in the disk's cache
		base += "&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)"
	}
	write, read = openDB(base+writerSettings), openDB(base+"&_query_only=1")
	write.SetMaxOpenConns(1)
	read.SetMaxOpenConns(8)
	read.SetMaxIdleConns(8) // opening one takes longer than most queries
	return write, read
}

// openDB returns a pool, which connects when it is used.
func openDB(dsn string) *sql.DB {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		panic("store: " + err.Error()) // the driver is not registered
	}
	return db
}

// escape returns path as part of a file: URI.
func escape(path string) string {
	path = filepath.ToSlash(path)
	if runtime.GOOS == "windows" && !strings.HasPrefix(path, "/") {
		path = "/" + path // file:/C:/…
	}
	return (&url.URL{Path: path}).EscapedPath()
}

// migrate brings the database to schemaVersion. For an up-to-date database this
// takes two queries. Otherwise goose runs the migrations, under a file lock: it
// has no lock of its own for SQLite.
func migrate(ctx context.Context, db *sql.DB, dir string) error {
	switch version, err := version(ctx, db); {
	case err != nil:
		return err
	case version == schemaVersion:
		return journalMode(ctx, db)
	}
	unlock, err := waitLock(ctx, filepath.Join(dir, "migrate.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := journalMode(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// version returns the schema version of the database, or 0 if it is empty.
func version(ctx context.Context, db *sql.DB) (int64, error) {
	var id, tables, version int64
	const look = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
	if err := db.QueryRowContext(ctx, look).Scan(&id, &tables); err != nil {
		return 0, err
	}
	switch {
	case tables == 0:
		return 0, nil
	case id != applicationID:
		return 0, errForeign
	}
	err := db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if err == nil && version > schemaVersion {
		err = fmt.Errorf("its schema version is %d and this openmanus supports %d: %w", version, schemaVersion, errNewer)
	}
	return version, err
}

// journalMode switches the database to a write-ahead log, if it is not yet.
func journalMode(ctx context.Context, db *sql.DB) error {
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("SQLite cannot use a write-ahead log here (journal mode %s): use a data directory on a local disk", mode)
	}
	return nil
}
