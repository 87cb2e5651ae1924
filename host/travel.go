package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/workspace/snapshot"
)

// A Cluster is what a host needs to share its sessions with hosts on other machines. Its
// store is then one that knows of workspaces: package postgres has one.
//
// The files of a workspace are where its sessions run: on one host at a time, which has
// claimed the workspace. Changes that calls make are recorded with their results, so
// another host that claims the workspace later restores the last recorded state in its
// directory, and continues. Unrecorded changes, such as files of a call that never ended,
// stay behind. The directory has the same path on all hosts, and no other process writes
// in it.
type Cluster struct {
	Name string // of this host, among all; the Store calls it the same

	// Wake has a session driven by any host. It returns when that is certain.
	Wake func(ctx context.Context, session string) error
}

// A travelStore knows which host has which workspace, and what was recorded of it.
type travelStore interface {
	// Claim claims a workspace for this process. If another one has it, the error is
	// [openmanus.ErrDriven], and holder is its name. The lease is released when files are not
	// changed any more; the store remembers who had it last.
	Claim(ctx context.Context, workspace string) (lease openmanus.Lease, holder string, err error)
	// LastTree returns the tree that a session in a workspace recorded last, or "".
	LastTree(ctx context.Context, workspace string) (string, error)
}

// places are the workspaces that a host of a cluster has, or had last.
type places struct {
	mu   sync.Mutex
	busy map[string]*dirLock
	all  map[string]*claimed
	left map[string]string // what was recorded of those that this host has left, and where things of it run
	seen map[string]string // what Look has brought last
}

// A dirLock is for a directory whose files one goroutine at a time brings: the second one
// finds them.
type dirLock struct {
	sync.Mutex
	users int // guarded by places.mu
}

// lock locks a directory until unlock is called.
func (p *places) lock(dir string) (unlock func()) {
	p.mu.Lock()
	if p.busy == nil {
		p.busy = make(map[string]*dirLock)
	}
	l := p.busy[dir]
	if l == nil {
		l = new(dirLock)
		p.busy[dir] = l
	}
	l.users++
	p.mu.Unlock()
	l.Lock()
	return func() {
		l.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(p.busy, dir)
		}
	}
}

// A claimed is a workspace that this host has claimed.
type claimed struct {
	lease openmanus.Lease
	users int
}

// Enter is called before files of a session's workspace are changed, such as by driving it:
// it claims the workspace, and brings its files. If another host has it, the error is an
// [*act.ElsewhereError]. The caller calls the function that it returns when it changes the files no
// more. Without a Cluster Enter does nothing.
func (h *Host) Enter(ctx context.Context, session string) (leave func() error, err error) {
	nothing := func() error { return nil }
	if h.Cluster == nil {
		return nothing, nil
	}
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil || s.Config.Workspace == "" {
		return nothing, err
	}
	if err := h.claim(ctx, s.Config.Workspace); err != nil {
		return nil, err
	}
	return func() error { return h.leave(context.WithoutCancel(ctx), s.Config.Workspace) }, nil
}

// claim claims a workspace, and brings its files if others have had it since.
func (h *Host) claim(ctx context.Context, dir string) error {
	store, ok := h.Store.(travelStore)
	if !ok {
		return errors.New("workspaces do not travel with this store: use PostgreSQL ([store] url)")
	}
	p := &h.places
	defer p.lock(dir)()
	if p.enterAgain(dir) {
		return nil
	}
	lease, holder, err := store.Claim(ctx, dir)
	if errors.Is(err, openmanus.ErrDriven) && holder != "" {
		return &act.ElsewhereError{Workspace: dir, Host: holder}
	}
	if err != nil {
		return err
	}
	tree, err := store.LastTree(ctx, dir)
	p.mu.Lock()
	left, was := p.left[dir]
	delete(p.seen, dir)
	p.mu.Unlock()
	if err == nil && !(was && left == tree) { // else what runs here may have changed files that nobody recorded yet
		err = h.bring(ctx, dir, tree)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("bring the files of the workspace %s: %w", dir, err), lease.Release())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all, p.left = make(map[string]*claimed), make(map[string]string)
	}
	p.all[dir] = &claimed{lease, 1}
	return nil
}

// enterAgain adds a user of a workspace that this host has. It reports false if it does not
// have it, or not any more, because it could not reach the store for a while.
func (p *places) enterAgain(dir string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.all[dir]
	if at == nil {
		return false
	}
	select {
	case <-at.lease.Lost():
		delete(p.all, dir)
		delete(p.left, dir)
		return false
	default:
		at.users++
		return true
	}
}

// leave gives a workspace back with its last user.
func (h *Host) leave(ctx context.Context, dir string) error {
	p := &h.places
	p.mu.Lock()
	at := p.all[dir]
	last := at != nil && at.users == 1
	if at != nil {
		at.users--
	}
	p.mu.Unlock()
	if !last {
		return nil
	}
	defer p.lock(dir)() // another user may come in between
	tree, err := h.Store.(travelStore).LastTree(ctx, dir)
	p.mu.Lock()
	if at.users > 0 || p.all[dir] != at {
		p.mu.Unlock()
		return nil
	}
	delete(p.all, dir)
	delete(p.left, dir)
	held := h.held(dir)
	if err == nil && held {
		p.left[dir] = tree
	}
	p.mu.Unlock()
	if !held {
		err = errors.Join(err, h.follower.forget(dir))
	}
	return errors.Join(err, at.lease.Release())
}

// forget forgets that nothing but what runs here may have changed a workspace.
func (p *places) forget(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, dir)
}

// Look makes the directory of a workspace on this machine what was recorded of it last, to
// be read. Without a Cluster it does nothing.
func (h *Host) Look(ctx context.Context, dir string) error {
	if h.Cluster == nil || dir == "" {
		return nil
	}
	store, ok := h.Store.(travelStore)
	p := &h.places
	defer p.lock(dir)()
	p.mu.Lock()
	_, here := p.left[dir]
	here = here || p.all[dir] != nil
	seen := p.seen[dir]
	p.mu.Unlock()
	if !ok || here {
		return nil
	}
	tree, err := store.LastTree(ctx, dir)
	if err == nil && tree != seen {
		err = errors.Join(h.bring(ctx, dir, tree), h.follower.forget(dir)) // it is read, not followed
	}
	if err != nil {
		return fmt.Errorf("bring the files of the workspace %s: %w", dir, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = make(map[string]string)
	}
	p.seen[dir] = tree
	return nil
}

// Change has do change files in the workspace of a session, and records what it contains
// then. If another host has it, the error is an [*act.ElsewhereError]. Without a Cluster it only
// calls do.
func (h *Host) Change(ctx context.Context, session string, do func() error) (err error) {
	if h.Cluster == nil {
		return do()
	}
	leave, err := h.Enter(ctx, session)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	if err := do(); err != nil {
		return err
	}
	s, err := openmanus.Load(ctx, h.Store, session)
	if err != nil {
		return err
	}
	taken, why := h.follower.directory(s.Config.Workspace).take(ctx, session, s.Snapshot.Tree, nil)
	if why != "" {
		return errors.New(why)
	}
	if taken.Changed {
		_, err = h.Store.Append(ctx, session, changedBetween("changed/"+ids.New(), "", s.Snapshot.Tree, taken))
	}
	return err
}

// bring makes the directory dir what the tree says, which others may have recorded. "" is
// of a workspace of which nothing was recorded.
func (h *Host) bring(ctx context.Context, dir, tree string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil || tree == "" {
		return err
	}
	to, err := snapshot.ParseTree(tree)
	if err != nil {
		return err
	}
	w := h.follower.directory(dir)
	if w.root == nil {
		return errors.New(cmp.Or(w.why, fs.ErrClosed.Error()))
	}
	if err := w.tracker.Know(ctx, h.reader, to); err != nil { // then nothing of it is stored again
		return err
	}
	for range 3 { // what a process that was killed has left running may still write
		now, err := w.tracker.After(to).Take(ctx)
		if err != nil || !now.Changed {
			return err
		}
		var ops []snapshot.Op
		for c, err := range h.reader.Diff(ctx, now.Tree, to) {
			if err != nil {
				return gone(err)
			}
			if c.Now == nil || c.Now.Kind != snapshot.File || c.Now.Content != nil {
				ops = append(ops, snapshot.Op{Name: c.Name, From: c.Was, To: c.Now})
			}
		}
		if _, err := h.reader.Restore(ctx, w.root, ops); err != nil {
			return gone(err)
		}
		if err := h.restoreTimes(ctx, w.root, to); err != nil || len(ops) == 0 {
			return err
		}
	}
	return nil // the next snapshot says what is different
}

// restoreTimes gives directories the times of a tree, after their contents, which change them.
func (h *Host) restoreTimes(ctx context.Context, root *os.Root, t snapshot.Tree) error {
	for c, err := range h.reader.Diff(ctx, snapshot.Tree{}, t) {
		if err != nil {
			return gone(err)
		}
		if c.Now.Kind == snapshot.Dir {
			_ = root.Chtimes(c.Name, time.Time{}, c.Now.ModTime) // one that is not there is in the next snapshot
		}
	}
	return nil
}

// childElsewhere is the [run.Local].Elsewhere: a child that works in a copy of the
// workspace may be driven by any host, to which its files travel.
func (h *Host) childElsewhere(ctx context.Context, parent, child string) (bool, error) {
	s, err := openmanus.Load(ctx, h.Store, child)
	if err != nil || s.Outcome.Status != "" || s.Config.CopyOf == "" {
		return false, err
	}
	b := h.besidesOf(parent, child)
	if s.Config.Workspace != b.work() {
		return false, nil
	}
	if s.Snapshot.Tree == "" {
		// the host that opened the session may have died before it handed it over
		if err := h.copyBeside(ctx, b, s.Config.CopyOf); err != nil {
			return false, err
		}
		taken, why := h.follower.directory(b.work()).take(ctx, child, "", nil)
		if why != "" {
			h.warnOnce(fmt.Sprintf("%s: it does not go to another machine: %s", child, why))
			return false, nil
		}
		_, err := h.Store.Append(ctx, child, changedBetween(handedOver, "", "", taken))
		if err != nil && !errors.Is(err, openmanus.ErrExists) {
			return false, err
		}
	}
	return true, h.Cluster.Wake(ctx, child)
}

// handedOver is the ID of the [openmanus.Snapped] with which a child session goes to
// another host: the workspace as it was when it began.
const handedOver = "handed"

// bringBack brings the copy in which the child session worked, as it was and as it is, from
// whichever host has them.
func (h *Host) bringBack(ctx context.Context, b besides, child string) error {
	if h.Cluster == nil {
		return nil
	}
	first, s := "", new(openmanus.State)
	for ev, err := range h.Store.Events(ctx, child, 0) {
		if err != nil {
			return err
		}
		if s.Apply(ev); ev.Body.Key() == "snap/"+handedOver {
			first = s.Snapshot.Tree
		}
	}
	if first == "" { // it was driven here
		return nil
	}
	var err error
	if !isThere(b.before()) {
		err = h.bring(ctx, b.before(), first)
	}
	if err == nil {
		err = h.bring(ctx, b.work(), s.Snapshot.Tree)
	}
	return errors.Join(err, h.follower.forget(b.before()), h.follower.forget(b.work()))
}
