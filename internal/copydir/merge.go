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

	"github.com/openmanus-go/openmanus/internal/regular"
)

// A Merge applies the changes between two directories to a third one.
//
// It never overwrites what has changed in To since Base was copied from it: if
// the same file has changed in From in another way, that is a conflict, and To
// keeps its own. Merging is idempotent, even if an earlier merge was
// interrupted.
//
// For each file or link that differs between Base and From, the merge compares
// what To has:
//
//	To has                  the change is
//	the same as From        in Changes: nothing to do
//	the same as Base        applied, and in Changes
//	anything else           in Conflicts: To stays as it is
//
// A file is written to a temporary name beside its place and renamed, so no
// reader sees a part of it. Immediately before the rename, the merge checks that
// the file in To is still the one that it compared; a program that changes the
// file between this check and the rename can lose its change. Deletions come
// before other changes, since a new file may have the name of a deleted
// directory. Directories themselves are created and removed last, without
// conflicts: one that is not empty stays.
type Merge struct {
	Base string // a copy of To as it was
	From string // a copy of Base with changes
	To   string

	// Open, if not nil, opens To. A caller sets it where another program may have put a link in
	// its place.
	Open func(dir string) (*os.Root, error)

	Skip  func(name string) bool   // names to ignore; nil: none
	Leave func(name string) string // why a change must not be applied, or ""; nil: apply all

	// Beside, if it is not "", is added to the name of a file or link of From that
	// conflicts, which To gets under that name: both are there then.
	Beside string
}

// Merged is the result of a [Merge]: each change between Base and From is in one
// of the lists.
type Merged struct {
	Changes   []Change  `json:"changes"`             // To has them
	Conflicts []Refusal `json:"conflicts,omitempty"` // To has other changes
	Left      []Refusal `json:"left,omitempty"`      // Leave excludes them
}

// A Refusal is a change that was not applied.
type Refusal struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Look returns what Do would return, and changes nothing.
func (m Merge) Look(ctx context.Context) (*Merged, error) { return m.merge(ctx, true) }

// Do merges. If it fails or ctx ends, some changes may have been applied, each of
// them completely.
func (m Merge) Do(ctx context.Context) (*Merged, error) { return m.merge(ctx, false) }

// A merging has the state of a merge.
type merging struct {
	Merge
	base, from, to *tree
	look           bool // change nothing
	out            Merged
}

// merge reads the three trees and applies the changes, or only compares if look
// is set.
func (m Merge) merge(ctx context.Context, look bool) (*Merged, error) {
	g := &merging{Merge: m, look: look, out: Merged{Changes: []Change{}}}
	for _, t := range []struct {
		at   **tree
		dir  string
		open func(string) (*os.Root, error)
	}{{&g.base, m.Base, nil}, {&g.from, m.From, nil}, {&g.to, m.To, m.Open}} {
		read, err := read(ctx, t.dir, t.open, m.Skip)
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
	// Deletions first: a new file may have the name of a deleted directory.
	slices.SortStableFunc(list, func(a, b Change) int { return rank(a) - rank(b) })
	for _, c := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := g.add(ctx, c); err != nil {
			return nil, err
		}
	}
	g.dirs()
	slices.SortFunc(g.out.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return &g.out, nil
}

// rank orders deletions before other changes.
func rank(c Change) int {
	if c.Change == Deleted {
		return 0
	}
	return 1
}

// add applies one change, or records why it does not.
func (g *merging) add(ctx context.Context, c Change) error {
	if g.Leave != nil {
		if why := g.Leave(c.Path); why != "" {
			g.out.Left = append(g.out.Left, Refusal{c.Path, why})
			return nil
		}
	}
	if there, err := same(g.to, g.from, c.Path); there || err != nil {
		g.out.Changes = append(g.out.Changes, c) // an earlier merge applied it, or somebody made the same change
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
		if g.Beside != "" && c.Change != Deleted {
			why, err = g.keepBeside(ctx, c, why)
		}
		g.out.Conflicts = append(g.out.Conflicts, Refusal{c.Path, why})
		return err
	}
	if c.Change == Deleted {
		delete(g.to.items, c.Path)
	}
	g.out.Changes = append(g.out.Changes, c)
	return nil
}

// keepBeside puts a file of From that conflicts beside that of To, and returns the
// reason for the conflict with the name. An existing file of that name stays.
func (g *merging) keepBeside(ctx context.Context, c Change, why string) (string, error) {
	name := c.Path + g.Beside
	if g.look {
		return why + "; the other version would be in " + name, nil
	}
	said := why + "; the other version is in " + name
	if _, err := g.to.root.Lstat(name); err == nil {
		return said, nil // an earlier merge put it there
	}
	dir, err := regular.Below(g.to.root, path.Dir(c.Path))
	if err != nil {
		return why, nil // its directory is none any more: the copy has it
	}
	defer dir.Close()
	temp := ".openmanus-" + rand.Text()
	if err = g.prepare(ctx, dir, temp, c.Path); err == nil {
		err = dir.Rename(temp, path.Base(name))
	}
	if err == nil {
		g.out.Changes = append(g.out.Changes, Change{name, Created, c.Bytes})
		return said, nil
	}
	_ = dir.Remove(temp) // if it was created
	return why, ctx.Err()
}

// conflict returns why a change cannot be applied, or "".
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
		return "another file was created meanwhile", nil
	case !unchanged:
		return "it was changed meanwhile", nil
	case now.isDir() && g.occupied(c.Path):
		return "a directory of that name contains files", nil
	}
	for _, dir := range parents(c.Path) {
		if at, there := g.to.items[dir]; there && !at.isDir() {
			return dir + " is no longer a directory", nil
		}
	}
	return "", nil
}

// occupied reports whether a directory of To contains anything but directories.
func (g *merging) occupied(dir string) bool {
	for name, it := range g.to.items {
		if name != dir && below(dir, name) && !it.isDir() {
			return true
		}
	}
	return false
}

// apply applies one change. It returns a conflict if To has just changed.
func (g *merging) apply(ctx context.Context, c Change) (string, error) {
	now, there := g.to.items[c.Path]
	if c.Change != Deleted && there && now.isDir() {
		if err := g.removeDirs(c.Path); err != nil {
			return err.Error(), nil
		}
		delete(g.to.items, c.Path)
	}
	if c.Change != Deleted {
		if err := g.makeParents(c.Path); errors.Is(err, regular.ErrMoved) {
			return movedNow, nil
		} else if err != nil {
			return "", err
		}
	}
	// From here on the merge works in the directory that has the name which was decided on:
	// a command may put a link in its place at any moment.
	dir, err := regular.Below(g.to.root, path.Dir(c.Path))
	if err != nil {
		return movedNow, nil
	}
	defer dir.Close()
	if c.Change == Deleted {
		if !g.still(dir, c.Path) {
			return "it was changed just now", nil
		}
		return "", dir.Remove(path.Base(c.Path))
	}
	temp := ".openmanus-" + rand.Text()
	if err := g.prepare(ctx, dir, temp, c.Path); err != nil {
		_ = dir.Remove(temp) // if it was created
		if errors.Is(err, errUnread) {
			return err.Error(), nil
		}
		return "", err
	}
	if !g.still(dir, c.Path) {
		return "it was changed just now", dir.Remove(temp)
	}
	return "", dir.Rename(temp, path.Base(c.Path))
}

// movedNow is why a change is not applied whose directory is another one by now.
const movedNow = "its directory was moved or replaced just now"

// still reports whether To still has at name what was read. dir is its directory.
func (g *merging) still(dir *os.Root, name string) bool {
	was, there := g.to.items[name]
	now, err := dir.Lstat(path.Base(name))
	if err != nil {
		return !there && errors.Is(err, fs.ErrNotExist)
	}
	return there && os.SameFile(was.info, now) && was.info.Size() == now.Size() &&
		was.info.ModTime().Equal(now.ModTime()) && was.info.Mode() == now.Mode()
}

// prepare copies the file or link at name in From to temp in a directory of To.
func (g *merging) prepare(ctx context.Context, to *os.Root, temp, name string) error {
	it := g.from.items[name]
	if it.isLink() {
		return to.Symlink(it.link, temp)
	}
	r, _, err := regular.Open(g.from.root, name)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, cause(err))
	}
	defer r.Close()
	w, err := to.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, readerUntil{ctx, r})
	if old, there := g.to.items[name]; there && err == nil {
		if uid, gid, ok := owner(old.info); ok {
			_ = w.Chown(uid, gid) // keep the owner, if we may
		}
	}
	return errors.Join(err, w.Chmod(it.info.Mode().Perm()), w.Sync(), w.Close())
}

// readerUntil is a reader that fails when ctx ends.
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

// makeParents creates the directories that contain name, with the modes that they
// have in From.
func (g *merging) makeParents(name string) error {
	for _, dir := range parents(name) {
		if _, there := g.to.items[dir]; there {
			continue
		}
		mode := fs.FileMode(0o755)
		if it, ok := g.from.items[dir]; ok {
			mode = it.info.Mode().Perm() | 0o700
		}
		if err := regular.MkdirBelow(g.to.root, dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
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

// removeDirs removes a directory that contains only directories.
func (g *merging) removeDirs(dir string) error {
	var all []string
	for name, it := range g.to.items {
		if below(dir, name) && it.isDir() {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	for _, name := range slices.Backward(all) {
		if err := regular.RmdirBelow(g.to.root, name); err != nil {
			return cause(err)
		}
		delete(g.to.items, name)
	}
	return nil
}

// dirs creates the directories that are new in From, and removes those that were
// removed there and are empty in To.
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
		_ = regular.RmdirBelow(g.to.root, name) // fails if it is not empty
	}
	for name, it := range g.from.items {
		if _, there := g.base.items[name]; it.isDir() && !there && g.to.items[name].info == nil && !g.left(name) {
			if g.makeParents(name) == nil {
				_ = regular.MkdirBelow(g.to.root, name, it.info.Mode().Perm()|0o700) // it may exist
			}
		}
	}
}

// left reports whether changes of name must not be applied.
func (g *merging) left(name string) bool { return g.Leave != nil && g.Leave(name) != "" }
