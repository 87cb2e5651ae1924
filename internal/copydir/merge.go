package copydir

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// A Merge brings the changes between two directories into a third.
//
// What has changed in To since Base was copied from it is somebody's work and
// stays as it is: where both changed the same file in different ways, that is
// a conflict. To merge twice is the same as once, also if the first time was
// cut short.
type Merge struct {
	Base string // To as it was
	From string // a copy of Base in which something was changed
	To   string

	Skip  func(name string) bool   // what is not looked at; nil: nothing
	Leave func(name string) string // why a change is not to be brought in, or ""; nil: none
}

// Merged says what came of a [Merge].
type Merged struct {
	Changes   []Change  `json:"changes"`             // that are in To
	Conflicts []Refusal `json:"conflicts,omitempty"` // that are not, because To has others
	Left      []Refusal `json:"left,omitempty"`      // that are not, because of Leave
}

// A Refusal is a change that was not brought in.
type Refusal struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Look returns what Do would come to, and changes nothing.
func (m Merge) Look(ctx context.Context) (*Merged, error) { return m.merge(ctx, true) }

// Do merges. What it has brought in when it fails or ctx ends is whole files.
func (m Merge) Do(ctx context.Context) (*Merged, error) { return m.merge(ctx, false) }

// A merging is a merge under way.
type merging struct {
	Merge
	base, from, to *tree
	look           bool
	out            Merged
}

func (m Merge) merge(ctx context.Context, look bool) (*Merged, error) {
	g := &merging{Merge: m, look: look, out: Merged{Changes: []Change{}}}
	for _, t := range []struct {
		at  **tree
		dir string
	}{{&g.base, m.Base}, {&g.from, m.From}, {&g.to, m.To}} {
		read, err := read(ctx, t.dir, m.Skip)
		if err != nil {
			return nil, err
		}
		defer read.root.Close()
		*t.at = read
	}
	list, err := changes(ctx, g.base, g.from)
	if err != nil {
		return nil, err
	}
	// What goes, goes first: a file may be where a directory was.
	slices.SortStableFunc(list, func(a, b Change) int { return rank(a) - rank(b) })
	for _, c := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := g.bring(ctx, c); err != nil {
			return nil, err
		}
	}
	g.dirs()
	slices.SortFunc(g.out.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return &g.out, nil
}

func rank(c Change) int {
	if c.Change == Deleted {
		return 0
	}
	return 1
}

// bring brings one change in, or notes why it does not.
func (g *merging) bring(ctx context.Context, c Change) error {
	if g.Leave != nil {
		if why := g.Leave(c.Path); why != "" {
			g.out.Left = append(g.out.Left, Refusal{c.Path, why})
			return nil
		}
	}
	if there, err := same(g.to, g.from, c.Path); there || err != nil {
		g.out.Changes = append(g.out.Changes, c) // by an earlier try, or by somebody
		return err
	}
	why, err := g.conflict(c)
	if err == nil && why == "" && !g.look {
		why, err = g.apply(ctx, c)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.Path, err)
	}
	if why != "" {
		g.out.Conflicts = append(g.out.Conflicts, Refusal{c.Path, why})
		return nil
	}
	if c.Change == Deleted {
		delete(g.to.items, c.Path)
	}
	g.out.Changes = append(g.out.Changes, c)
	return nil
}

// conflict says what stands against a change, or "".
func (g *merging) conflict(c Change) (string, error) {
	unchanged, err := same(g.to, g.base, c.Path)
	if err != nil {
		return "", err
	}
	now, there := g.to.items[c.Path]
	switch {
	case !unchanged && !there:
		return "it was deleted meanwhile", nil
	case !unchanged && g.base.items[c.Path].info == nil:
		return "another one was made meanwhile", nil
	case !unchanged:
		return "it was changed meanwhile", nil
	case now.isDir() && g.occupied(c.Path):
		return "there is a directory of that name, with files in it", nil
	}
	for _, dir := range parents(c.Path) {
		if at, there := g.to.items[dir]; there && !at.isDir() {
			return dir + " is no directory any more", nil
		}
	}
	return "", nil
}

// occupied reports whether there is something in a directory of To that does
// not go.
func (g *merging) occupied(dir string) bool {
	for name, it := range g.to.items {
		if name != dir && below(dir, name) && !it.isDir() {
			return true
		}
	}
	return false
}

// apply makes one change in To, unless somebody is faster: then it says so.
func (g *merging) apply(ctx context.Context, c Change) (string, error) {
	root := g.to.root
	now, there := g.to.items[c.Path]
	if c.Change == Deleted {
		if !g.still(c.Path) {
			return "it was changed just now", nil
		}
		return "", root.Remove(c.Path)
	}
	if there && now.isDir() {
		if err := g.removeDirs(c.Path); err != nil {
			return err.Error(), nil
		}
		delete(g.to.items, c.Path)
	}
	if err := g.makeParents(c.Path); err != nil {
		return "", err
	}
	temp := path.Join(path.Dir(c.Path), ".openmanus-"+rand.Text())
	if err := g.prepare(ctx, temp, c.Path); err != nil {
		_ = root.Remove(temp) // it may not have been made
		if errors.Is(err, errUnread) {
			return err.Error(), nil
		}
		return "", err
	}
	if !g.still(c.Path) {
		return "it was changed just now", root.Remove(temp)
	}
	return "", root.Rename(temp, c.Path)
}

// still reports whether what is at name in To is what was read.
func (g *merging) still(name string) bool {
	was, there := g.to.items[name]
	now, err := g.to.root.Lstat(name)
	if err != nil {
		return !there && errors.Is(err, fs.ErrNotExist)
	}
	return there && os.SameFile(was.info, now) && was.info.Size() == now.Size() && was.info.ModTime().Equal(now.ModTime()) && was.info.Mode() == now.Mode()
}

// prepare writes what is at name in From to temp in To.
func (g *merging) prepare(ctx context.Context, temp, name string) error {
	it := g.from.items[name]
	if it.isLink() {
		return g.to.root.Symlink(it.link, temp)
	}
	r, err := openFile(g.from.root, name)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, cause(err))
	}
	defer r.Close()
	w, err := g.to.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, readerUntil{ctx, r})
	if old, there := g.to.items[name]; there && err == nil {
		if uid, gid, ok := owner(old.info); ok {
			_ = w.Chown(uid, gid) // it stays the owner's if we may give it away
		}
	}
	return errors.Join(err, w.Chmod(it.info.Mode().Perm()), w.Sync(), w.Close())
}

// readerUntil reads until ctx ends.
type readerUntil struct {
	ctx context.Context
	r   io.Reader
}

func (r readerUntil) Read(data []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(data)
}

// makeParents makes the directories that name is in, as they are in From.
func (g *merging) makeParents(name string) error {
	for _, dir := range parents(name) {
		if _, there := g.to.items[dir]; there {
			continue
		}
		mode := fs.FileMode(0o755)
		if it, ok := g.from.items[dir]; ok {
			mode = it.info.Mode().Perm() | 0o700
		}
		if err := g.to.root.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := g.to.root.Lstat(dir)
		if err != nil {
			return err
		}
		g.to.items[dir] = item{info: info}
	}
	return nil
}

// removeDirs removes a directory that has no files in it.
func (g *merging) removeDirs(dir string) error {
	var all []string
	for name, it := range g.to.items {
		if below(dir, name) && it.isDir() {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	for _, name := range slices.Backward(all) {
		if err := g.to.root.Remove(name); err != nil {
			return cause(err)
		}
		delete(g.to.items, name)
	}
	return nil
}

// dirs makes the directories that are new in From, and removes those that are
// gone there, if nothing is left in them.
func (g *merging) dirs() {
	if g.look {
		return
	}
	var gone []string
	for name, it := range g.base.items {
		if _, there := g.from.items[name]; it.isDir() && !there && g.to.items[name].isDir() && !g.left(name) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range slices.Backward(gone) {
		_ = g.to.root.Remove(name) // somebody's files may be in it
	}
	for name, it := range g.from.items {
		if _, there := g.base.items[name]; it.isDir() && !there && g.to.items[name].info == nil && !g.left(name) {
			if g.makeParents(name) == nil {
				_ = g.to.root.Mkdir(name, it.info.Mode().Perm()|0o700) // it may be there
			}
		}
	}
}

func (g *merging) left(name string) bool { return g.Leave != nil && g.Leave(name) != "" }
