package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Delete implements [journal.Deleter]. It also deletes the blobs to which no
// other session refers, at once, and about once a day it calls [DB.Sweep].
func (db *DB) Delete(ctx context.Context, session string) (err error) {
	lease, err := db.Lock(ctx, session)
	if err != nil {
		return fmt.Errorf("delete: %w", err)
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	var refs []string
	var found bool
	remove := func(q *queries) (err error) {
		refs, found, err = q.delete(session)
		return err
	}
	j := &job{do: remove, committed: func() { db.feeds.Remove(session) }}
	if err := db.writer.do(ctx, db.writer.jobs, j); err != nil {
		return fmt.Errorf("delete session %s: %w", session, db.explain(err))
	}
	if !found {
		return fmt.Errorf("delete session %s: %w", session, openmanus.ErrNoSession)
	}
	if _, err := db.collect(ctx, refs); err != nil {
		return fmt.Errorf("session %s was deleted, but not all of its blobs: %w", session, err)
	}
	return db.sweepNowAndThen(ctx)
}

// delete deletes the rows of a session. It returns the blobs that the session
// referred to, and whether there was such a session.
func (q *queries) delete(session string) (refs []string, found bool, err error) {
	id, n, err := q.find(session)
	if err != nil || n == 0 {
		return nil, false, err
	}
	if refs, err = texts(q.query("blobs", id)); err != nil {
		return nil, false, err
	}
	delete(q.heads, session)
	for _, query := range []string{"delete_blobs", "delete_said", "delete_usage", "delete_events", "delete_session"} {
		if _, err := q.exec(query, id); err != nil {
			return nil, false, err
		}
	}
	return refs, true, nil
}

// collect removes those of the blobs to which no session refers, and returns
// how many. Its transaction has no other job; see blobs.
func (db *DB) collect(ctx context.Context, refs []string) (n int, err error) {
	if len(refs) == 0 {
		return 0, nil
	}
	var failed error
	err = db.writer.do(ctx, db.writer.exclusive, &job{do: func(q *queries) error {
		for _, ref := range refs {
			var referenced bool
			if err := q.row("referenced", []any{ref}, &referenced); err != nil {
				return err
			}
			if referenced {
				continue
			}
			if err := db.blobs.remove(openmanus.Ref(ref)); err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			n++
		}
		return nil
	}})
	return n, errors.Join(db.explain(err), failed)
}

// Sweep removes what crashes and refused appends have left behind: blobs to
// which no session refers, and hard links that no append can be using. It
// returns the number of blobs.
func (db *DB) Sweep(ctx context.Context) (n int, err error) {
	shards, err := os.ReadDir(db.blobs.dir)
	if err != nil {
		return 0, err
	}
	for _, shard := range shards {
		if len(shard.Name()) != 2 {
			continue
		}
		files, err := os.ReadDir(filepath.Join(db.blobs.dir, shard.Name()))
		if err != nil {
			return n, err
		}
		var refs []string
		for _, f := range files {
			ref := "sha256:" + shard.Name() + f.Name()
			if _, err := db.blobs.path(openmanus.Ref(ref)); err == nil { // the file system may have files of its own here
				refs = append(refs, ref)
			}
		}
		removed, err := db.collect(ctx, refs)
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, db.blobs.sweepLinks()
}

// sweepLinks removes hard links that are older than any append takes.
func (b *blobs) sweepLinks() error {
	dir := filepath.Join(b.dir, linksDir)
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if old, ok := age(f.Name()); ok && old > staleAge {
			err = errors.Join(err, removeIfThere(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// sweepNowAndThen calls Sweep if the last time was more than a day ago.
func (db *DB) sweepNowAndThen(ctx context.Context) error {
	mark := filepath.Join(db.blobs.dir, "swept")
	info, err := os.Stat(mark)
	if err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := db.Sweep(ctx); err != nil {
		return fmt.Errorf("remove unreferenced blobs: %w", err)
	}
	return os.WriteFile(mark, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
}
