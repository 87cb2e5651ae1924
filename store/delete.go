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

// Delete deletes a session and the blobs that no other speaks of. It returns
// [openmanus.ErrDriven] while somebody drives it, and [openmanus.ErrNoSession]
// if there is none. Its children are sessions of their own and stay.
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
	if err := db.writer.do(ctx, db.writer.jobs, &job{do: remove, committed: func() { db.feeds.remove(session) }}); err != nil {
		return fmt.Errorf("delete session %s: %w", session, db.explain(err))
	}
	if !found {
		return fmt.Errorf("delete session %s: %w", session, openmanus.ErrNoSession)
	}
	if _, err := db.collect(ctx, refs); err != nil {
		return fmt.Errorf("session %s is deleted, but not all of its blobs: %w", session, err)
	}
	return db.sweepNowAndThen(ctx)
}

func (q *queries) delete(session string) (refs []string, found bool, err error) {
	id, n, err := q.find(session)
	if err != nil || n == 0 {
		return nil, false, err
	}
	if refs, err = texts(q.refsOf.Query(id)); err != nil {
		return nil, false, err
	}
	if _, err := q.deleteRefs.Exec(id); err != nil {
		return nil, false, err
	}
	if _, err := q.deleteSaid.Exec(id); err != nil {
		return nil, false, err
	}
	if _, err := q.deleteEvents.Exec(id); err != nil {
		return nil, false, err
	}
	_, err = q.del.Exec(id)
	return refs, true, err
}

// collect removes those of these blobs that no session speaks of, in a
// transaction that is alone: see blobs. It returns how many.
func (db *DB) collect(ctx context.Context, refs []string) (n int, err error) {
	if len(refs) == 0 {
		return 0, nil
	}
	var failed error
	err = db.writer.do(ctx, db.writer.alone, &job{do: func(q *queries) error {
		for _, ref := range refs {
			var spoken bool
			if err := q.spoken.QueryRow(ref).Scan(&spoken); err != nil {
				return err
			}
			if spoken {
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

// Sweep removes what crashes and refused appends left behind: blobs that no
// session speaks of, and second names that nobody can be using. It returns how
// many blobs. Delete does this once a day.
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
			if _, err := db.blobs.path(openmanus.Ref(ref)); err == nil { // others put no files here, but systems do
				refs = append(refs, ref)
			}
		}
		removed, err := db.collect(ctx, refs)
		if n += removed; err != nil {
			return n, err
		}
	}
	return n, db.blobs.sweepHeld()
}

// sweepHeld removes second names that are older than any append takes.
func (b *blobs) sweepHeld() error {
	dir := filepath.Join(b.dir, heldDir)
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if old, ok := age(f.Name()); ok && old > stale {
			err = errors.Join(err, removeIfThere(filepath.Join(dir, f.Name())))
		}
	}
	return err
}

// sweepNowAndThen sweeps if that was not done since yesterday.
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
		return fmt.Errorf("look for blobs that nobody needs: %w", err)
	}
	return os.WriteFile(mark, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600)
}
