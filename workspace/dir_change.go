package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/sight"
)

// An edit is what happens to one file, whose content need not fit into memory.
type edit struct {
	name string
	data io.Reader // the new content; nil removes the file
	like string    // as in a [Change]
}

func (e edit) op() string {
	if e.data == nil {
		return "remove"
	}
	return "write"
}

// Change implements [Changer].
func (d *Dir) Change(ctx context.Context, changes []Change) error {
	edits := make([]edit, len(changes))
	for i, c := range changes {
		edits[i] = edit{name: c.Name, like: c.Like}
		if c.Data != nil {
			edits[i].data = bytes.NewReader(c.Data)
		}
	}
	return d.change(ctx, edits...)
}

// change is the one way by which files are written and removed: all of them, or none.
//
// A name is resolved once, and what is decided about it holds for the file that is changed.
// A new content gets the mode, the owner and the extended attributes of the old one, and
// takes its place at one moment. It is written into the old file where that has several
// names, all of them in the workspace, or an owner or attributes that this process cannot
// give: then the old content is on the disk under another name before, until the new one
// is there.
//
// The [sight.Sight] of ctx decides on what a file contains at that moment, and notes what
// was written by its real name.
func (d *Dir) change(ctx context.Context, edits ...edit) (err error) {
	sight.Of(ctx).Begins()
	var all []*staged
	defer func() {
		for i := len(all) - 1; i >= 0; i-- {
			if err != nil {
				err = errors.Join(err, all[i].undo())
			}
			err = errors.Join(err, all[i].close())
		}
	}()
	for _, e := range edits {
		s := &staged{d: d, edit: e}
		all = append(all, s)
		if err := s.stage(ctx); err != nil {
			return pathError(e.op(), e.name, err)
		}
	}
	for _, s := range all {
		if err := s.commit(ctx); err != nil {
			return pathError(s.op(), s.name, err)
		}
	}
	for _, s := range all {
		if err := syncDir(s.parent); err != nil {
			return pathError(s.op(), s.name, err)
		}
	}
	for _, s := range all {
		s.note(ctx)
	}
	return nil
}

// A staged edit is one that is about to be made, or was made and can be undone.
type staged struct {
	edit
	d       *Dir
	target  string      // the name without symbolic links
	parent  *os.Root    // the directory of the file
	base    string      // its name in there
	old     fs.FileInfo // the file that is there; nil: none
	was     string      // the hash of its content, if the call has a Sight
	next    string      // the hash of the new content; "": the file is removed
	names   []string    // all names of the old file, of which target is the first
	inPlace bool        // the new content is to be written into the old file
	temp    string      // the new content; "": the file is to be removed, or temp was renamed
	backup  string      // the old content; "": there is none yet
	inode   *os.File    // the old file, if it was written into
	made    []string    // directories that were made, the innermost first
	done    bool
}

// stage writes the new content of a file beside it.
func (s *staged) stage(ctx context.Context) (err error) {
	if err := s.find(ctx); err != nil {
		return err
	}
	if s.made, err = s.d.makeParents(s.target); err != nil {
		return err
	}
	// From here on everything happens in this directory, which has the name
	// that was decided on, even if the path that led to it changes meanwhile.
	s.base = path.Base(s.target)
	if s.parent, err = s.d.enter(path.Dir(s.target)); err != nil || s.data == nil {
		return err
	}
	like := s.old
	if like == nil && s.like != "" {
		if like, err = fs.Stat(s.d.FS(), s.like); err != nil {
			return err
		}
	}
	sum := sha256.New()
	alike, err := s.writeTemp(like, io.TeeReader(s.data, sum))
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	s.next = hex.EncodeToString(sum.Sum(nil))
	s.inPlace = s.old != nil && (!alike || len(s.names) > 1)
	return nil
}

// find finds the file, and the error with which it cannot be changed.
func (s *staged) find(ctx context.Context) (err error) {
	if err := s.d.usable(ctx, s.name); err != nil {
		return err
	}
	resolve := s.d.resolve
	if s.data == nil {
		resolve = s.d.resolveParent
	}
	if s.target, err = resolve(s.name); err == nil {
		err = s.d.allowed(ctx, s.name, s.target)
	}
	if err != nil {
		return err
	}
	if s.data == nil {
		if s.old, err = s.d.root.Lstat(s.target); err == nil && s.old.IsDir() {
			err = errors.New("it is a directory")
		}
		return err
	}
	if s.old, err = s.d.replaceable(s.target); err == nil && linkCount(s.old) > 1 {
		s.names = s.d.namesOf(ctx, s.target, s.old)
	}
	return err
}

// note notes what was done.
func (s *staged) note(ctx context.Context) {
	seen := sight.Of(ctx)
	seen.Wrote(s.target, s.was, s.next)
	if s.inPlace {
		for _, other := range s.names {
			seen.Wrote(other, s.was, s.next)
		}
	} else if s.data != nil && linkCount(s.old) > 1 {
		sight.Say(ctx, fmt.Sprintf("%s had another name that is not in the workspace or may not be changed (a hard link). "+
			"That one keeps the old content.", s.name))
	}
}

// makeParents makes the directories above a file, and returns those that it made, the
// innermost first.
func (d *Dir) makeParents(target string) (made []string, err error) {
	for dir := path.Dir(target); dir != "."; dir = path.Dir(dir) {
		if _, err := d.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	for i, dir := range slices.Backward(made) {
		if err := regular.MkdirBelow(d.root, dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return made[i+1:], err
		}
	}
	return made, nil
}

// commit makes the change, if the Sight of ctx allows it. The old content is left under
// another name, by which the change can be undone.
func (s *staged) commit(ctx context.Context) (err error) {
	if seen := sight.Of(ctx); seen != nil {
		if s.was, err = present(s.parent, s.base); err == nil {
			err = seen.May(s.name, s.was, s.next)
		}
		if err != nil {
			if content, bad := regular.Read(s.parent, s.base, 1<<20); bad == nil && s.was == sight.Sum(content) {
				err = seen.Given(err, s.target, content)
			}
			return err
		}
		if _, err := s.parent.Lstat(s.base); err == nil && s.old == nil {
			return sight.ErrRaced
		}
	}
	switch {
	case s.inPlace:
		return s.overwrite()
	case s.old == nil && sight.Of(ctx) != nil:
		if err = putNew(s.parent, s.temp, s.base); err == nil {
			s.temp, s.done = "", true
		}
		return err
	}
	if done, err := s.exchange(); done || err != nil {
		return err
	}
	return s.replace()
}

// exchange makes the change at one moment, by which the old file becomes the backup, if
// that is still as it was. It reports false where that cannot be done.
func (s *staged) exchange() (done bool, err error) {
	if s.old == nil {
		return false, nil
	}
	out, back := s.temp, func() error { return swap(s.parent, s.temp, s.base) }
	if s.temp != "" {
		err = swap(s.parent, s.temp, s.base)
	} else {
		out = tempName() // what was put there meanwhile is not lost
		back = func() error { return putNew(s.parent, out, s.base) }
		err = s.parent.Rename(s.base, out)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := s.unchanged(out); err != nil {
		if back := back(); back != nil {
			return false, errors.Join(err, fmt.Errorf("it is kept as %s: %w", out, back))
		}
		return false, err
	}
	s.backup, s.temp, s.done = out, "", true
	return true, nil
}

// unchanged returns an error if the file called name is not as it was when the Sight
// allowed the change.
func (s *staged) unchanged(name string) error {
	if s.was == "" {
		return nil
	}
	now, err := present(s.parent, name)
	if err != nil || now != s.was {
		return errors.Join(sight.ErrRaced, err)
	}
	return nil
}

// replace makes the change where names cannot be exchanged. A second name of the old file
// is left; where there are no hard links, the file is away for a moment.
func (s *staged) replace() error {
	if s.old != nil {
		if err := s.unchanged(s.base); err != nil {
			return err
		}
		backup := tempName()
		if err := s.parent.Link(s.base, backup); err != nil {
			if err := s.parent.Rename(s.base, backup); err != nil {
				return err
			}
		}
		s.backup = backup
	}
	s.done = true
	if s.temp != "" {
		if err := s.parent.Rename(s.temp, s.base); err != nil {
			return err
		}
		s.temp = ""
	} else if err := s.parent.Remove(s.base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// undo brings back the old file, or removes the new one and its directories.
func (s *staged) undo() (err error) {
	switch {
	case s.parent == nil:
	case s.inode != nil:
		if err = s.pour(s.backup); err != nil {
			err = fmt.Errorf("its old content is in %s: %w", s.backup, err)
			s.backup = ""
		}
	case s.backup != "" && s.done:
		if err = s.parent.Rename(s.backup, s.base); err != nil {
			err = fmt.Errorf("its old content is in %s: %w", s.backup, err)
			s.backup = ""
		}
	case s.done && s.temp == "":
		if err = s.parent.Remove(s.base); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		err = fmt.Errorf("%s was not put back: %w", s.name, err)
	}
	if s.temp != "" {
		err = errors.Join(err, s.parent.Remove(s.temp))
		s.temp = ""
	}
	for _, dir := range s.made {
		if regular.RmdirBelow(s.d.root, dir) != nil {
			break // someone else has put something there
		}
	}
	return err
}

// close removes what is left beside the file.
func (s *staged) close() (err error) {
	if s.inode != nil {
		err = s.inode.Close()
	}
	for _, left := range []string{s.backup, s.temp} { // renaming one name of a file over another leaves both
		if left == "" {
			continue
		}
		if gone := s.parent.Remove(left); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	if s.parent != nil {
		err = errors.Join(err, s.parent.Close())
	}
	return err
}

// tempPrefix is how the names of files begin that are there for a moment.
const tempPrefix = ".tmp-"

// tempName returns a name for such a file.
func tempName() string { return tempPrefix + rand.Text() }

// Temporary reports whether a file with this name is one that is there for a moment while
// files of a [Dir] are changed, beside them, and that stays if the process is killed.
func Temporary(base string) bool {
	random, is := strings.CutPrefix(base, tempPrefix)
	return is && len(random) == 26 && strings.Trim(random, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}
