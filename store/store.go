// Package store keeps sessions in SQLite: a [DB] is one database in a data
// directory, with blobs and lock files beside it.
//
//	journal.db   sessions and their events (with -wal and -shm while in use)
//	blobs/       large strings and complete outputs, named by their SHA-256
//	locks/       one file for each session that is being driven
//
// Any number of processes may use a data directory at once. An event is
// written and synced when Append returns without an error: neither kill -9
// nor, on a disk that honours fsync, a power cut loses it.
//
// One goroutine writes; see writer. Concurrent appends share its transactions,
// and so the sync of the disk. Readers have connections of their own and never
// wait for it. Followers get the events that this process appends from memory,
// and those of other processes by polling; see package feed. The encoding of events is
// in docs/events.md, the tables are in migrations/.
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
	"github.com/openmanus-go/openmanus/store/internal/feed"
)

// Options configure a [DB]. The zero Options are the defaults.
type Options struct {
	// Secrets are replaced by placeholders in events. Blobs that are stored
	// with [DB.Put] are not searched for them.
	Secrets *journal.Secrets
}

// A DB is an [openmanus.Journal] in a data directory, with its
// [openmanus.Blobs], its [openmanus.Locker] and its index, which lists and
// searches sessions. It is safe for concurrent use, by any number of processes
// on one machine.
//
// A session id is UTF-8 of 1 to 255 bytes without slashes and NULs.
type DB struct {
	path    string // of journal.db
	secrets *journal.Secrets
	read    *sql.DB
	reads   statements // of read
	write   *sql.DB
	writer  *writer
	feeds   *feed.Feeds
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
	_ journal.Index      = (*DB)(nil)
	_ journal.Searcher   = (*DB)(nil)
	_ journal.Deleter    = (*DB)(nil)
	_ journal.IdleMarker = (*DB)(nil)
	_ journal.JSONReader = (*DB)(nil)
	_ journal.Devices    = (*DB)(nil)
	_ journal.Receivers  = (*DB)(nil)
)

// ErrClosed is returned by the methods of a [DB] after Close.
var ErrClosed = errors.New("the store is closed")

// Open opens the store in dir. It creates the directory, with mode 0700, and
// the database if they do not exist, and migrates an older database.
//
// It returns an error for a directory that belongs to another user or that
// others may write to; for one on a network file system, where SQLite's locks
// do not work; and for a database of another program or of a newer version.
// A nil opts is the zero Options.
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
		path: filepath.Join(dir, "journal.db"), secrets: opts.Secrets, feeds: feed.New(ErrClosed),
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
	db.reads.db = db.read
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

// Close finishes the transaction that is being committed and closes the
// database. Follow ends with [ErrClosed]. Leases stay valid until they are
// released. Further calls return the result of the first.
func (db *DB) Close() error {
	db.closing.Do(func() {
		stopped := db.writer.stop()
		db.feeds.Close()
		// The last connection to close moves the log into the database. It
		// must be the writer's: the others are read-only.
		db.closed = errors.Join(stopped, db.read.Close(), db.write.Close(), db.blobs.close())
	})
	return db.closed
}
