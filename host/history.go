package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/internal/wholefile"
	"github.com/openmanus-go/openmanus/run"
	"github.com/openmanus-go/openmanus/workspace"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A follower is the [run.Follower] of a host. It takes a snapshot of the workspace
// before a call that may change files, and after it, with one tracker for each
// directory, whichever sessions work there.
//
// What differs before a call from what the session recorded last was changed by
// others: a person, another program, another session, or a command that was left
// running after its call. Differences after the call are attributed to the call, with
// two exceptions. If its tool edits the files that its arguments name, only these
// files count. And while calls of other sessions run in the same directory, no one
// can tell: then [openmanus.Snapped].With names those sessions.
//
// Where snapshots cannot be taken, the follower looks at times and sizes of files.
type follower struct {
	h *Host

	mu  sync.Mutex
	all map[string]*followed // by directory, without symbolic links
}

// A followed is a directory that a follower follows.
type followed struct {
	dir string

	start   sync.Once
	root    *os.Root
	store   Store
	tracker *snapshot.Tracker
	index   string // the file in which the tracker is kept; "": none

	mu       sync.Mutex
	why      string // why it is not followed; ""
	saved    bool   // the index was saved once
	running  map[*runningCall]bool
	sessions map[string]*history
}

// A history is what one session has recorded of the directory.
type history struct {
	*snapshot.History
	last   string // the text of the last tree
	pruned int64  // since it began: see followed.pruned
}

// A runningCall is a call under way that may change files.
type runningCall struct {
	session string
	with    []string // the other sessions of which calls ran meanwhile
}

// directory returns what is known of the workspace dir.
func (f *follower) directory(dir string) *followed {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	f.mu.Lock()
	if f.all == nil {
		f.all = make(map[string]*followed)
	}
	w := f.all[dir]
	if w == nil {
		w = &followed{dir: dir, running: make(map[*runningCall]bool), sessions: make(map[string]*history)}
		f.all[dir] = w
	}
	f.mu.Unlock()
	w.start.Do(func() {
		if err := f.open(w); err != nil {
			w.why = err.Error()
		}
	})
	return w
}

// The limits of what is kept of a workspace: the first snapshot reads all of it before
// the first call that may change files, and a person waits for that.
const (
	maxKeptFile  = 256 << 20 // bytes of a file
	maxKeptTotal = 4 << 30   // bytes of new content in a day
)

// historyDir is where the indices of trackers are, below the data directory.
const historyDir = "history"

// open opens the directory, and loads the index of an earlier process.
func (f *follower) open(w *followed) error {
	cfg := f.h.Config
	if !cfg.History.Enabled {
		return errNoHistory
	}
	root, err := openDir(cfg, w.dir)
	if err != nil {
		return fmt.Errorf("the workspace cannot be read: %w", err)
	}
	own := f.h.Own(cfg, w.dir)
	w.tracker, err = snapshot.NewTracker(root, f.h.Store, snapshot.Options{
		Skip: own, Built: isBuilt, MaxFile: maxKeptFile, MaxTotal: maxKeptTotal,
	})
	if err != nil {
		return errors.Join(err, root.Close())
	}
	w.root, w.store = root, f.h.Store
	if cfg.DataDir == "" {
		return nil
	}
	w.index = filepath.Join(cfg.DataDir, historyDir, fmt.Sprintf("%.16x.index", sha256.Sum256([]byte(w.dir))))
	data, err := os.ReadFile(w.index)
	if err == nil {
		err = w.tracker.Load(context.Background(), bytes.NewReader(data))
	}
	w.saved = err == nil // else everything is read once more
	return nil
}

// errNoHistory says why a workspace is not followed.
var errNoHistory = errors.New("[history] enabled is false")

// builtDirs are names of directories that hold what can be made again.
var builtDirs = []string{
	"node_modules", ".venv", "venv", "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".tox", "target", "build",
	"dist", ".gradle", ".next", ".nuxt", ".cache", ".parcel-cache", "bower_components", ".terraform", "DerivedData", ".dart_tool",
}

// isBuilt reports whether a name holds what can be made again: of large files in it
// only names and sizes are followed.
func isBuilt(name string, dir bool) bool { return dir && slices.Contains(builtDirs, path.Base(name)) }

// Begin implements [run.Follower]. It takes a snapshot of the workspace. If that differs
// from the last recorded one, the difference is recorded first, as changes of others.
// Where snapshots are impossible, because the workspace is too large or cannot be read,
// the times and sizes of files say what changed.
func (f *follower) Begin(
	ctx context.Context, session string, s *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec, reading func(int),
) (openmanus.Body, func(context.Context) run.Followed) {
	byTimes := func() func(context.Context) run.Followed {
		end := f.h.changes(s, call, spec)
		return func(ctx context.Context) (r run.Followed) {
			r.Own, r.Meanwhile = end()
			for _, n := range writes(ctx) {
				r.Own = withWrite(r.Own, n)
			}
			return r
		}
	}
	c := s.Call(call.ID)
	if s.Config.Workspace == "" || c == nil {
		return nil, byTimes()
	}
	w := f.directory(s.Config.Workspace)
	rc := w.begin(session)
	progress := &progress{tell: reading, last: time.Now()}
	taken, why := w.take(ctx, session, s.Snapshot.Tree, progress.read)
	progress.end()
	if ctx.Err() != nil { // the call does not run
		w.end(rc)
		return nil, func(context.Context) (none run.Followed) { return none }
	}
	if why != "" {
		w.end(rc)
		unsaid := s.Snapshot.Error != why && (why != errNoHistory.Error() || s.Snapshot.Tree != "")
		if unsaid && !c.Snapped {
			return openmanus.Snapped{ID: openmanus.BeforeCall(c.ID, c.Attempts), Before: s.Snapshot.Tree, Error: why}, nil
		}
		return nil, byTimes()
	}
	w.save()
	if taken.Changed && !c.Snapped {
		w.end(rc)
		w.mark(session, "")
		return changedBetween(openmanus.BeforeCall(c.ID, c.Attempts), "", s.Snapshot.Tree, taken), nil
	}
	var names []string
	if spec.Hints.Edits {
		names = WrittenPaths(s.Config.Workspace, call.Input, spec.Arguments)
	}
	// Where others change files all the time, what differed just before the call counts
	// as its doing, too.
	before, recorded := taken.Tree, s.Snapshot.Tree
	if t, err := snapshot.ParseTree(recorded); taken.Changed && err == nil {
		before = t
	}
	w.mark(session, openmanus.BeforeCall(c.ID, c.Attempts))
	return nil, func(ctx context.Context) (r run.Followed) {
		defer w.end(rc)
		e := openmanus.Snapped{ID: openmanus.AfterCall(c.ID, c.Attempts), Call: c.ID, Before: recorded}
		after, why := w.take(ctx, session, recorded, nil)
		if why != "" {
			e.Error = why
			r.Snapped = e
			return r
		}
		if after.Changed {
			e.Names, e.With = names, w.others(rc)
			for _, n := range writes(ctx) {
				if len(names) > 0 && !slices.Contains(e.Names, n.Path) {
					e.Names = append(e.Names, n.Path)
				}
			}
			for i, n := range e.Names {
				e.Names[i] = asStored(n)
			}
			r.Snapped = snapped(e, after)
			r.Own, r.Meanwhile, r.Seen = f.h.filesOf(ctx, before, after.Tree, e, written(s, call, spec))
		}
		return r
	}
}

// withWrite returns changes with a file that a call has written, if it is not among them.
func withWrite(own []openmanus.FileChange, n sight.Write) []openmanus.FileChange {
	if len(own) >= maxChanges || slices.ContainsFunc(own, func(c openmanus.FileChange) bool { return c.Path == n.Path }) {
		return own
	}
	change := openmanus.FileModified
	if n.Created {
		change = openmanus.FileCreated
	}
	return append(own, openmanus.FileChange{Path: n.Path, Change: change})
}

// writes returns the files that the call of ctx has written through its tool.
func writes(ctx context.Context) []sight.Write {
	if s := sight.Of(ctx); s != nil {
		return s.Writes()
	}
	return nil
}

// written returns a function that reports whether the session knows what a file contains
// that was changed while a call ran, because the call wrote it: a command, since other
// tools say what they write. A person may have changed files while it ran. So a new file
// counts, and one of which the session knew what was in it and that the command names.
func written(s *openmanus.State, call openmanus.Call, spec openmanus.ToolSpec) func(snapshot.Change) bool {
	return func(c snapshot.Change) bool {
		if spec.Hints.Edits || c.Now == nil || c.Now.Content == nil {
			return false
		}
		if c.Was == nil {
			return true
		}
		return c.Was.Content != nil && s.Seen(hexOf(c.Was.Content.Sum)) && strings.Contains(call.Input, path.Base(c.Name))
	}
}

func hexOf(s snapshot.Sum) string { return hex.EncodeToString(s[:]) }

// Added implements [run.Follower].
func (f *follower) Added(ctx context.Context, session string, s *openmanus.State, c *openmanus.CallState, names []string) openmanus.Body {
	return f.since(ctx, session, s, openmanus.Snapped{ID: openmanus.AfterCall(c.ID, c.Attempts), Call: c.ID, Names: names})
}

// Broken implements [run.Follower]. It compares the workspace with the last recorded
// snapshot; everything that differs counts as the call's doing, since nothing tells it
// from changes of others after the process died; but nothing does if the process died
// before the call began. It returns nil if nothing changed, or if the workspace was not
// followed.
func (f *follower) Broken(ctx context.Context, session string, s *openmanus.State, c *openmanus.CallState) openmanus.Body {
	e := openmanus.Snapped{ID: openmanus.AfterCall(c.ID, c.Attempts), Call: c.ID, Broken: true}
	if s.Snapshot.Tree != "" && f.directory(s.Config.Workspace).unbegun(session, openmanus.BeforeCall(c.ID, c.Attempts)) {
		return f.since(ctx, session, s, openmanus.Snapped{ID: "now/" + ids.New()})
	}
	if spec, ok := s.ToolSpec(c.Name); ok && spec.Hints.Edits {
		e.Names = WrittenPaths(s.Config.Workspace, c.Arguments(), spec.Arguments)
		e.Names = append(e.Names, otherNames(s.Config.Workspace, e.Names)...)
	}
	return f.since(ctx, session, s, e)
}

// maxLooked is at how many files otherNames looks.
const maxLooked = 100_000

// otherNames returns the names of files in the workspace beside these: what is written into
// a file with several names is in each.
func otherNames(dir string, names []string) (others []string) {
	var files []fs.FileInfo
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
		}
	}
	if len(files) == 0 {
		return nil
	}
	looked := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if looked++; looked > maxLooked {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() || slices.Contains(names, name) {
			return nil // what cannot be read has none that the call wrote
		}
		info, err := d.Info()
		if err == nil && slices.ContainsFunc(files, func(f fs.FileInfo) bool { return os.SameFile(f, info) }) {
			others = append(others, asStored(name))
		}
		return nil
	})
	return others
}

// since returns e with what changed since the last recorded snapshot, or nil if nothing did.
func (f *follower) since(ctx context.Context, session string, s *openmanus.State, e openmanus.Snapped) openmanus.Body {
	if s.Config.Workspace == "" || s.Snapshot.Tree == "" {
		return nil
	}
	w := f.directory(s.Config.Workspace)
	rc := w.begin(session)
	defer w.end(rc)
	taken, why := w.take(ctx, session, s.Snapshot.Tree, nil)
	if why != "" || !taken.Changed {
		return nil
	}
	e.Before, e.With = s.Snapshot.Tree, w.others(rc)
	return snapped(e, taken)
}

// A progress tells how many files were read, if that takes long.
type progress struct {
	tell func(files int)
	last time.Time
	told bool
}

// tellEvery is how often a progress tells.
const tellEvery = 250 * time.Millisecond

func (p *progress) read(files int) {
	if time.Since(p.last) >= tellEvery {
		p.last, p.told = time.Now(), true
		p.tell(files)
	}
}

// end tells that it is over, if anything was told.
func (p *progress) end() {
	if p.told {
		p.tell(0)
	}
}

// snapped returns e with what was taken.
func snapped(e openmanus.Snapped, taken snapshot.Taken) openmanus.Snapped {
	e.Tree, e.Packs, e.LeftOut = taken.Tree.String(), taken.Packs, taken.LeftOut
	for _, l := range taken.Left {
		e.Left = append(e.Left, openmanus.Left{Name: l.Name, Why: l.Why})
	}
	return e
}

// changedBetween returns what is to be recorded of what was taken: what differs from the tree
// before is the doing of a call, which changed the files with these names if there are any, or
// of others if call is "".
func changedBetween(id, call, before string, taken snapshot.Taken, names ...string) openmanus.Body {
	return snapped(openmanus.Snapped{ID: id, Call: call, Before: before, Names: names}, taken)
}

// begin notes that a call of a session runs.
func (w *followed) begin(session string) *runningCall {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := &runningCall{session: session}
	for o := range w.running {
		if o.session == session {
			continue
		}
		c.meet(o.session)
		o.meet(session)
	}
	w.running[c] = true
	return c
}

func (c *runningCall) meet(session string) {
	if !slices.Contains(c.with, session) {
		c.with = append(c.with, session)
	}
}

// end notes that a call has ended.
func (w *followed) end(c *runningCall) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.running, c)
}

// others returns the other sessions of which calls ran while c did, by name.
func (w *followed) others(c *runningCall) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(slices.Values(c.with))
}

// take takes a snapshot for a session that recorded the tree last, or says why not. If
// reading is not nil, it is called after each file that is read.
func (w *followed) take(ctx context.Context, session, last string, reading func(files int)) (snapshot.Taken, string) {
	w.mu.Lock()
	if w.why != "" {
		defer w.mu.Unlock()
		return snapshot.Taken{}, w.why
	}
	h := w.sessions[session]
	if pruned := w.pruned(); h == nil || h.last != last || h.pruned != pruned {
		tree, _ := snapshot.ParseTree(last) // of a text that is none, everything is recorded again
		if !w.keeps(ctx, session, tree) {
			tree = snapshot.Tree{}
		}
		h = &history{History: w.tracker.After(tree), last: last, pruned: pruned}
		w.sessions[session] = h
	}
	w.mu.Unlock()
	taken, err := h.TakeTelling(ctx, reading)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		why := "no snapshot could be taken: " + err.Error()
		if errors.Is(err, snapshot.ErrTooMany) {
			w.why = why // it would take as long again
		}
		return taken, why
	}
	if taken.Changed {
		h.last = taken.Tree.String()
	}
	return taken, ""
}

// pruned returns a number that is another one after snapshots were deleted.
func (w *followed) pruned() int64 {
	if db, ok := w.store.(historyStore); ok {
		return db.Pruned()
	}
	return 0
}

// keeps reports whether a session still keeps a tree that it recorded.
func (w *followed) keeps(ctx context.Context, session string, t snapshot.Tree) bool {
	db, ok := w.store.(historyStore)
	if !ok || len(t.Root.Parts) == 0 {
		return true
	}
	is, err := db.Refers(ctx, session, t.Root.Parts[0].Pack)
	return is || err != nil
}

// marks returns the file that says which calls of a session have begun in the directory, or
// "". It is pruned as an index is.
func (w *followed) marks(session string) string {
	if w.index == "" {
		return ""
	}
	return fmt.Sprintf("%s.%.16x", w.index, sha256.Sum256([]byte(session)))
}

// mark notes that a call is about to run: the workspace contains what the session has
// recorded. If id is "", it notes that calls will be noted. A process that is killed between
// the event of a call and its beginning leaves no mark, and what differs then is the
// person's.
func (w *followed) mark(session, id string) {
	name, how := w.marks(session), os.O_CREATE|os.O_WRONLY|os.O_APPEND
	if name == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	calls := 0
	for c := range w.running {
		if c.session == session {
			calls++
		}
	}
	if id != "" && calls == 1 {
		how |= os.O_TRUNC
	}
	f, err := os.OpenFile(name, how, 0o600)
	if errors.Is(err, fs.ErrNotExist) && os.MkdirAll(filepath.Dir(name), 0o700) == nil {
		f, err = os.OpenFile(name, how, 0o600)
	}
	if err == nil {
		_, err = f.WriteString(id + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		_ = os.Remove(name) // nothing is known then
	}
}

// unbegun reports whether it is known that a call of the session has not begun.
func (w *followed) unbegun(session, id string) bool {
	data, err := os.ReadFile(w.marks(session))
	return err == nil && !slices.Contains(strings.Split(string(data), "\n"), id)
}

// save keeps the index after the first snapshot, so that a process that is killed
// leaves one.
func (w *followed) save() {
	w.mu.Lock()
	first := !w.saved && w.index != ""
	w.saved = true
	w.mu.Unlock()
	if first {
		_ = w.saveIndex() // the index is a cache
	}
}

// saveIndex keeps the index of the tracker for later processes.
func (w *followed) saveIndex() error { return wholefile.Fill(w.index, 0o600, w.tracker.Save) }

// close saves the index, and closes the directory.
func (w *followed) close() error {
	w.start.Do(func() {}) // it was opened by then, or is not any more
	if w.root == nil {
		return nil
	}
	if w.index != "" && !w.tracker.Tree().IsZero() {
		_ = w.saveIndex() // the index is a cache
	}
	return w.root.Close()
}

// forget closes a directory that no session uses any more, if it is followed.
func (f *follower) forget(dir string) error {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	f.mu.Lock()
	w := f.all[dir]
	delete(f.all, dir)
	f.mu.Unlock()
	if w == nil {
		return nil
	}
	return w.close()
}

// close closes all directories.
func (f *follower) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for _, w := range f.all {
		errs = append(errs, w.close())
	}
	clear(f.all)
	return errors.Join(errs...)
}

// filesOf returns the files that differ between two trees, as e attributes them: at
// most so many as the record of a call names. seen has those of own that are written.
func (h *Host) filesOf(
	ctx context.Context, before, after snapshot.Tree, e openmanus.Snapped, written func(snapshot.Change) bool,
) (own, meanwhile []openmanus.FileChange, seen []openmanus.SeenFile) {
	for c, err := range h.reader.Diff(ctx, before, after) {
		if err != nil {
			return nil, nil, nil // nothing is said rather than something wrong
		}
		change, ok := fileChange(c)
		switch {
		case !ok || hiddenFile(c.Name):
		case len(e.Names) > 0 && Named(e.Names, c.Name), len(e.Names) == 0 && len(e.With) == 0:
			own = append(own, change)
			if written(c) {
				seen = append(seen, openmanus.SeenFile{Path: c.Name, Sum: hexOf(c.Now.Content.Sum)})
			}
		default:
			meanwhile = append(meanwhile, change)
		}
	}
	return own[:min(len(own), maxChanges)], meanwhile[:min(len(meanwhile), maxChanges)], seen[:min(len(seen), maxChanges)]
}

// fileChange returns what a change of a tree is to people. It is none to them if only
// directories changed.
func fileChange(c snapshot.Change) (openmanus.FileChange, bool) {
	file := func(e *snapshot.Entry) bool { return e != nil && e.Kind != snapshot.Dir }
	switch was, now := file(c.Was), file(c.Now); {
	case was && now:
		return openmanus.FileChange{Path: c.Name, Change: openmanus.FileModified}, true
	case was:
		return openmanus.FileChange{Path: c.Name, Change: openmanus.FileDeleted}, true
	case now:
		return openmanus.FileChange{Path: c.Name, Change: openmanus.FileCreated}, true
	}
	return openmanus.FileChange{}, false
}

// hiddenDirs are directories whose files are not listed among what calls changed:
// those of version control and package managers.
var hiddenDirs = []string{".git", "node_modules", "__pycache__", ".venv"}

func hiddenFile(name string) bool {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if slices.Contains(hiddenDirs, dir) {
			return true
		}
	}
	return false
}

// asStored returns a name as events have it: their texts are UTF-8.
func asStored(name string) string {
	var b strings.Builder
	for _, r := range name { // each byte that is none becomes the replacement character
		b.WriteRune(r)
	}
	return b.String()
}

// Named reports whether the arguments of a call that are names cover a name, as far as an event can have it: it is one
// of them, below one, a directory that leads to one, one with an extension that the
// tool adds, or one that the writer of the workspace left beside one when its process was
// killed.
func Named(names []string, name string) bool {
	name = asStored(name)
	return slices.ContainsFunc(names, func(n string) bool {
		return n == name || n == "." || path.Dir(n) == path.Dir(name) && workspace.Temporary(path.Base(name)) || strings.HasPrefix(name, n+"/") || strings.HasPrefix(n, name+"/") ||
			strings.HasPrefix(name, n+".") && !strings.Contains(cmp.Or(name[len(n):], "/"), "/")
	})
}
