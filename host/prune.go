package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/surface"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A historyStore is a [Store] whose snapshots can be pruned, such as that of package
// store.
type historyStore interface {
	Store
	openmanus.Locker
	SnapshotSessions(ctx context.Context) ([]journal.SnapshotSession, error)
	Snapshots(ctx context.Context, session string) ([]journal.RecordedSnapshot, error)
	Refers(ctx context.Context, session string, ref openmanus.Ref) (bool, error)
	DropPacks(ctx context.Context, session string, refs []openmanus.Ref) (free int64, err error)
	BlobSize(ref openmanus.Ref) int64
	Pruned() int64
	Sizes() (database, blobs int64, err error)
}

// errNoPruning is the error for a store without snapshots on a disk.
var errNoPruning = errors.New("this store keeps no snapshots that could be deleted")

// Prune deletes what snapshots of workspaces keep beyond [config.History]: first what
// only states before MaxAge need, then, while all of it is more than MaxSize, everything
// of the session that recorded a snapshot longest ago. The newest session keeps its own.
// The journals do not change: going back farther says that the files are gone.
//
// It takes the lease of each session that it prunes, so that it leaves those alone that
// a process drives. If dry is set, it only says what it would do.
func (h *Host) Prune(ctx context.Context, dry bool) (p surface.Pruned, err error) {
	db, ok := h.Store.(historyStore)
	if !ok {
		return p, errNoPruning
	}
	p.Sessions = []surface.PrunedSession{}
	all, err := db.SnapshotSessions(ctx)
	if err != nil {
		return p, err
	}
	r := pruning{db: db, reader: snapshot.NewReader(db), dry: dry, users: make(map[openmanus.Ref]int)}
	if r.age = h.Config.History.MaxAge; r.age < 0 {
		r.age = 1<<63 - 1
	}
	r.sessions = make([]map[openmanus.Ref]bool, len(all))
	for i, s := range all {
		if r.sessions[i], err = r.kept(ctx, s.ID); err != nil {
			return p, err
		}
		for ref := range r.sessions[i] {
			if r.users[ref]++; r.users[ref] == 1 {
				p.Total += db.BlobSize(ref)
			}
		}
	}
	for i, s := range all {
		if len(r.sessions[i]) == 0 {
			continue
		}
		if err := r.session(ctx, &p, i, s, false); err != nil {
			return p, err
		}
	}
	for i, s := range all {
		if p.Total <= h.Config.History.MaxSize || i == len(all)-1 {
			break
		}
		if len(r.sessions[i]) == 0 {
			continue
		}
		if err := r.session(ctx, &p, i, s, true); err != nil {
			return p, err
		}
	}
	for i, s := range p.Sessions {
		if info, err := h.Store.Session(ctx, s.ID); err == nil {
			p.Sessions[i].Title = info.Title
		}
	}
	if !dry {
		h.removeOldIndices(r.age)
	}
	return p, nil
}

// A pruning is one call of [Host.Prune].
type pruning struct {
	db       historyStore
	reader   *snapshot.Reader
	dry      bool
	age      time.Duration
	sessions []map[openmanus.Ref]bool // the packs that each keeps
	users    map[openmanus.Ref]int    // how many sessions keep a pack
}

// kept returns the packs that a session keeps.
func (r *pruning) kept(ctx context.Context, id string) (map[openmanus.Ref]bool, error) {
	recorded, err := r.db.Snapshots(ctx, id)
	if err != nil {
		return nil, err
	}
	packs := make(map[openmanus.Ref]bool)
	for ref := range named(recorded) {
		is, err := r.db.Refers(ctx, id, ref)
		if err != nil {
			return nil, err
		}
		if is {
			packs[ref] = true
		}
	}
	return packs, nil
}

// named returns the packs that events name.
func named(recorded []journal.RecordedSnapshot) map[openmanus.Ref]bool {
	packs := make(map[openmanus.Ref]bool)
	for _, s := range recorded {
		for _, ref := range s.Packs {
			packs[ref] = true
		}
		for _, text := range s.Trees {
			if t, err := snapshot.ParseTree(text); err == nil {
				for _, part := range t.Root.Parts {
					packs[part.Pack] = true
				}
			}
		}
	}
	return packs
}

// session prunes one session, unless there is nothing to delete or it is driven.
func (r *pruning) session(ctx context.Context, p *surface.Pruned, i int, s journal.SnapshotSession, whole bool) (err error) {
	if !whole && time.Since(s.Last) < r.age && len(r.sessions[i]) == 0 {
		return nil
	}
	if !r.dry {
		lease, err := r.db.Lock(ctx, s.ID)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if whole {
				p.Sessions = append(p.Sessions, surface.PrunedSession{ID: s.ID, Skipped: "it is running"})
			}
			return nil
		}
		defer func() { err = errors.Join(err, lease.Release()) }()
	}
	recorded, err := r.db.Snapshots(ctx, s.ID) // by now there may be more
	if err != nil {
		return err
	}
	out := surface.PrunedSession{ID: s.ID}
	needs := r.reader.NewNeeds()
	if !whole {
		if out.Since, err = r.needed(ctx, needs, recorded); err != nil {
			return err
		}
	}
	var drop []openmanus.Ref
	for ref := range named(recorded) {
		if !r.sessions[i][ref] || needs.Packs[ref] {
			continue
		}
		drop = append(drop, ref)
		if r.users[ref]--; r.users[ref] == 0 {
			out.Free += r.db.BlobSize(ref)
		}
		delete(r.sessions[i], ref)
	}
	if len(drop) == 0 {
		return nil
	}
	if !r.dry {
		if out.Free, err = r.db.DropPacks(ctx, s.ID, drop); err != nil {
			return fmt.Errorf("prune session %s: %w", s.ID, err)
		}
	}
	p.Sessions = append(p.Sessions, out)
	p.Free += out.Free
	p.Total -= out.Free
	return nil
}

// needed collects what a session needs to go back as far as it may, and returns the
// moment. The state just before the first event that stays is needed to undo it.
func (r *pruning) needed(ctx context.Context, n *snapshot.Needs, recorded []journal.RecordedSnapshot) (since time.Time, err error) {
	first := len(recorded)
	for first > 0 && time.Since(recorded[first-1].Time) < r.age {
		first--
	}
	if first == len(recorded) {
		return since, nil
	}
	since = recorded[first].Time
	for i := max(first-1, 0); i < len(recorded); i++ {
		trees := recorded[i].Trees
		if i < first && len(trees) > 0 {
			trees = trees[len(trees)-1:]
		}
		for _, text := range trees {
			t, err := snapshot.ParseTree(text)
			if err == nil {
				err = n.Add(ctx, t)
			}
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // what is gone stays gone
				return since, err
			}
		}
	}
	return since, nil
}

// removeOldIndices removes what is known of workspaces in which no one has worked for
// so long. It is a cache.
func (h *Host) removeOldIndices(age time.Duration) {
	files, err := filepath.Glob(filepath.Join(h.Config.DataDir, historyDir, "*.index*"))
	if err != nil || h.Config.DataDir == "" {
		return
	}
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(f)
		}
	}
}

// pruneEvery is how often a process that ends looks whether something is to be pruned.
const pruneEvery = 24 * time.Hour

// PruneNowAndThen prunes if no process has done so for a day. It takes ten seconds at
// most: what is left over is pruned the next day. Close calls it; a process that runs
// for long calls it now and then, when it has nothing else to do.
func (h *Host) PruneNowAndThen(ctx context.Context) {
	if _, ok := h.Store.(historyStore); !ok || h.Config.DataDir == "" || !h.Config.History.Enabled {
		return
	}
	mark := filepath.Join(h.Config.DataDir, historyDir, "pruned")
	info, err := os.Stat(mark)
	if err == nil && time.Since(info.ModTime()) < pruneEvery {
		return
	}
	if _, err := os.Stat(filepath.Dir(mark)); err != nil { // no snapshot was ever taken
		return
	}
	if os.WriteFile(mark, []byte(time.Now().UTC().Format(time.RFC3339)+"\n"), 0o600) != nil || errors.Is(err, fs.ErrNotExist) {
		return // nothing is old yet
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, _ = h.Prune(ctx, false)
}

// Storage says what the sessions take of the disk, in bytes.
type Storage struct {
	Database  int64 `json:"database"`  // the events
	Blobs     int64 `json:"blobs"`     // large contents, without snapshots
	Snapshots int64 `json:"snapshots"` // what is kept of workspaces
	Indices   int64 `json:"indices"`   // what is known of workspaces, which can be made anew
	MaxSize   int64 `json:"max_size"`  // what Snapshots may be
}

// Storage measures the disk space of the sessions: the database, blobs, snapshots of
// workspaces and their indices, in bytes. It reads every snapshot's size, which takes
// seconds in a large store. Stores that are not on this machine cannot be measured.
func (h *Host) Storage(ctx context.Context) (s Storage, err error) {
	db, ok := h.Store.(historyStore)
	if !ok {
		return s, errNoPruning
	}
	if s.Database, s.Blobs, err = db.Sizes(); err != nil {
		return s, err
	}
	p, err := h.Prune(ctx, true)
	if err != nil {
		return s, err
	}
	s.Snapshots, s.MaxSize = p.Total+p.Free, h.Config.History.MaxSize
	s.Blobs = max(s.Blobs-s.Snapshots, 0)
	files, err := filepath.Glob(filepath.Join(h.Config.DataDir, historyDir, "*.index"))
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			s.Indices += info.Size()
		}
	}
	return s, err
}
