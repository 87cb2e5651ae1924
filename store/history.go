package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// SnapshotSessions returns the sessions that recorded snapshots, those that did last at
// the end. It reads the types of all events, which may take seconds.
func (db *DB) SnapshotSessions(ctx context.Context) (all []journal.SnapshotSession, err error) {
	err = db.each(ctx, "snapshot_sessions", nil, func(rows *sql.Rows) error {
		var s journal.SnapshotSession
		var last int64
		err := rows.Scan(&s.ID, &last)
		s.Last = time.UnixMicro(last).UTC()
		all = append(all, s)
		return err
	})
	return all, err
}

// Snapshots returns the snapshots that a session recorded, in their order, each with
// its time, its trees and the packs that they need.
func (db *DB) Snapshots(ctx context.Context, session string) (all []journal.RecordedSnapshot, err error) {
	err = db.each(ctx, "snapshots", []any{session}, func(rows *sql.Rows) error {
		var seq, at int64
		var kind, key, body string
		if err := rows.Scan(&seq, &at, &kind, &key, &body); err != nil {
			return err
		}
		var b struct {
			Before, Tree string
			Packs        []openmanus.Ref
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			return err
		}
		r := journal.RecordedSnapshot{Time: time.UnixMicro(at).UTC(), Packs: b.Packs}
		for _, tree := range []string{b.Before, b.Tree} {
			if tree != "" {
				r.Trees = append(r.Trees, tree)
			}
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// each calls see with the rows of a query.
func (db *DB) each(ctx context.Context, query string, args []any, see func(*sql.Rows) error) (err error) {
	rows, err := db.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = db.explain(e)
		}
	}()
	for rows.Next() {
		if err := see(rows); err != nil {
			return db.explain(err)
		}
	}
	return db.explain(rows.Err())
}

// Refers reports whether a session keeps a blob: one of its events refers to it, and
// DropPacks has not been called otherwise.
func (db *DB) Refers(ctx context.Context, session string, ref openmanus.Ref) (is bool, err error) {
	err = db.each(ctx, "refers", []any{string(ref), session}, func(rows *sql.Rows) error { return rows.Scan(&is) })
	return is, err
}

// DropPacks forgets that a session refers to these blobs, and deletes those to which no
// other session does. The caller holds the lease of the session. It returns the bytes
// that became free.
func (db *DB) DropPacks(ctx context.Context, session string, refs []openmanus.Ref) (free int64, err error) {
	// Before anything goes: whoever remembers what the session kept looks again.
	if err := os.WriteFile(db.prunedMark(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), 0o600); err != nil {
		return 0, err
	}
	var texts []string
	sizes := make(map[openmanus.Ref]int64)
	for _, ref := range refs {
		texts = append(texts, string(ref))
		sizes[ref] = db.BlobSize(ref)
	}
	err = db.writer.do(ctx, db.writer.jobs, &job{do: func(q *queries) error {
		id, n, err := q.find(session)
		if err != nil || n == 0 {
			return err
		}
		for _, ref := range texts {
			if _, err := q.exec("drop_blob", ref, id); err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return 0, db.explain(err)
	}
	_, err = db.collect(ctx, texts)
	for ref, size := range sizes {
		if size > 0 && db.BlobSize(ref) == 0 {
			free += size
		}
	}
	return free, err
}

func (db *DB) prunedMark() string { return filepath.Join(db.blobs.dir, "pruned") }

// Pruned returns a number that changes with each DropPacks, by any process. A process that
// remembers which packs exist looks again when it has changed.
func (db *DB) Pruned() int64 {
	info, err := os.Stat(db.prunedMark())
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// BlobSize returns the bytes that a blob has in its file, or 0 if it does not exist.
func (db *DB) BlobSize(ref openmanus.Ref) int64 {
	path, err := db.blobs.path(ref)
	if err != nil {
		return 0
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Sizes returns the bytes of the files of the database, its write-ahead log included, and
// of all blobs. Files that are deleted meanwhile do not count.
func (db *DB) Sizes() (database, blobs int64, err error) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if info, err := os.Stat(db.path + suffix); err == nil {
			database += info.Size()
		}
	}
	err = filepath.WalkDir(db.blobs.dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == linksDir: // other names of the same files
			return fs.SkipDir
		case d.Type().IsRegular():
			if info, err := d.Info(); err == nil {
				blobs += info.Size()
			}
		}
		return nil
	})
	return database, blobs, err
}
