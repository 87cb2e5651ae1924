package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

var (
	errForeign = errors.New("it belongs to another program")
	errNewer   = errors.New("a newer openmanus made it")
)

// explain adds to an error of the database what it means and what to try.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("journal %s: %w%s", path, err, advice(err))
}

func advice(err error) string {
	switch {
	case errors.Is(err, errForeign):
		return "; move it away, or use another data directory"
	case errors.Is(err, errNewer):
		return "; use that version, or another data directory"
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return "; it is no SQLite database, or it is damaged: move it away to begin anew, or put a copy of yours in its place"
	case sqlite3.SQLITE_CORRUPT:
		return "; it is damaged: keep a copy of it, save what can be read with \"sqlite3 journal.db .recover\", or move it away to begin anew"
	case sqlite3.SQLITE_FULL:
		return "; there is no space left on its disk: make some and try again"
	case sqlite3.SQLITE_BUSY:
		return "; another process has been writing to it for too long: see what it does, and try again"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return "; see whether its directory and the files in it may be written by you"
	case sqlite3.SQLITE_IOERR:
		return "; its disk does not work as it should: nothing more is written until the store is opened again"
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
