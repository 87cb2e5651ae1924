// Package store keeps journals in SQLite: one database in a data directory,
// with the blobs and the locks beside it.
//
//	journal.db   sessions and their events (with -wal and -shm while in use)
//	blobs/       large strings and whole outputs, named by their SHA-256
//	locks/       one file per session that is being driven
//
// [DB] is a journal for many processes at once. What Append returned without
// an error was written and synced: neither kill -9 nor, on a disk that honours
// fsync, a power cut loses it. See docs/events.md for the format.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// Options are settings of a [DB]. The zero Options are good ones.
type Options struct {
	// Secrets are replaced by placeholders in what is appended. They are not
	// looked for in what is given to [DB.Put].
	Secrets *journal.Secrets
}

// A DB is an [openmanus.Journal] in a data directory, with
// [openmanus.Blobs], an [openmanus.Locker] and an [openmanus.Restorer]. It is
// safe for concurrent use, also by any number of processes on one machine.
//
// The name of a session is UTF-8 of 1 to 255 bytes without a slash or NUL.
type DB struct {
	path    string // of the database
	secrets *journal.Secrets
	read    *sql.DB
	reads   reads // of read
	write   *sql.DB
	writer  *writer
	feeds   *feeds
	blobs   *blobs
	locks   string // directory

	closing sync.Once
	closed  error
}

var (
	_ openmanus.Journal  = (*DB)(nil)
	_ openmanus.Blobs    = (*DB)(nil)
	_ openmanus.Locker   = (*DB)(nil)
	_ openmanus.Restorer = (*DB)(nil)
)

// ErrClosed is returned by the methods of a [DB] that was closed.
var ErrClosed = errors.New("the store is closed")

// Open opens the store in dir and makes what is missing: the directory with
// mode 0700, everything in it for its owner alone. It refuses a directory that
// others may write to or that belongs to somebody else, one on a network file
// system, where the locks of SQLite do not hold, a database that is not ours,
// and one that a newer version made. A nil opts is the zero Options.
func Open(dir string, opts *Options) (*DB, error) {
	if opts == nil {
		opts = new(Options)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := prepareDir(dir); err != nil {
		return nil, err
	}
	db := &DB{
		path: filepath.Join(dir, "journal.db"), secrets: opts.Secrets, feeds: newFeeds(),
		blobs: newBlobs(filepath.Join(dir, "blobs")), locks: filepath.Join(dir, "locks"),
	}
	if err := db.connect(dir); err != nil {
		return nil, err
	}
	return db, nil
}

// connect opens the database and starts the writer.
func (db *DB) connect(dir string) (err error) {
	if err := makeFile(db.path); err != nil {
		return err
	}
	db.write, db.read = connections(db.path)
	defer func() {
		if err != nil {
			err = errors.Join(explain(db.path, err), db.write.Close(), db.read.Close())
		}
	}()
	ctx := context.Background()
	if err := migrate(ctx, db.write, dir); err != nil {
		return err
	}
	db.writer, err = startWriter(ctx, db.write, db.feeds)
	return err
}

// Close ends the store: what is being committed is finished, followers end
// with [ErrClosed]. Leases stay until they are released.
func (db *DB) Close() error {
	db.closing.Do(func() {
		stopped := db.writer.stop()
		db.feeds.close()
		// The last one to leave puts the log into the database, which is not
		// for those who only read.
		db.closed = errors.Join(stopped, db.read.Close(), db.write.Close(), db.blobs.close())
	})
	return db.closed
}
