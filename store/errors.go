package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	errForeign = errors.New("the database belongs to another program")
	errNewer   = errors.New("the database was written by a newer openmanus")
)

// explain adds to an error the path of the database and what to try.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal %s: %w%s", path, err, advice(err))
}

// advice returns what the user can do about an error, as the end of a sentence.
func advice(err error) string {
	switch {
	case errors.Is(err, errForeign):
		return "; move it away, or use another data directory"
	case errors.Is(err, errNewer):
		return "; use that version, or another data directory"
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return "; the file is damaged or not an SQLite database: restore a backup, or move the file away to start empty"
	case sqlite3.SQLITE_CORRUPT:
		return "; the database is damaged: copy the file, then restore a backup, or recover what can be read " +
			"with \"sqlite3 journal.db .recover\", or move the file away to start empty"
	case sqlite3.SQLITE_FULL:
		return "; the disk is full: free some space and try again"
	case sqlite3.SQLITE_BUSY:
		return "; another process has held the write lock for too long: look for one that hangs, and try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "; check that you may write to the directory and the files in it"
	case sqlite3.SQLITE_IOERR:
		return "; reading or writing the disk failed: the store writes nothing more until it is opened again"
	}
	return ""
}

// code returns the primary result code of SQLite in err's chain, or 0.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}
