package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/openmanus-go/openmanus/internal/sight"
)

// Change implements [Changer].
func (d *Dir) Change(ctx context.Context, changes []Change) (err error) {
	var all []*staged
	defer func() {
		for i := len(all) - 1; i >= 0; i-- {
			if err != nil {
				err = errors.Join(err, all[i].undo())
			}
			err = errors.Join(err, all[i].close())
		}
	}()
	for _, c := range changes {
		s, err := d.stage(ctx, c)
		if s != nil {
			all = append(all, s)
		}
		if err != nil {
			return pathError("write", c.Name, err)
		}
	}
	for i, s := range all {
		if err := s.commit(ctx, changes[i]); err != nil {
			return pathError("write", changes[i].Name, err)
		}
	}
	for i, s := range all {
		if err := syncDir(s.parent); err != nil {
			return pathError("write", changes[i].Name, err)
		}
	}
	for i, s := range all {
		sight.Of(ctx).Wrote(changes[i].Name, s.was, sumOf(changes[i]))
	}
	return nil
}

// A staged change is one that is about to be made, or was made and can be undone.
type staged struct {
	d      *Dir
	parent *os.Root // the directory of the file
	name   string   // in there
	temp   string   // the new content; "": the file is to be removed, or temp was renamed
	backup string   // the old file; "": there is none yet
	old    bool     // there is an old file
	was    string   // the hash of its content, if the call has a Sight
	made   []string // directories that were made, the innermost first
	done   bool
}

// stage writes the new content of a file beside it. The caller closes the result,
// unless it is nil, whether there is an error or not.
func (d *Dir) stage(ctx context.Context, c Change) (*staged, error) {
	if err := d.usable(ctx, c.Name); err != nil {
		return nil, err
	}
	resolve := d.resolve
	if c.Data == nil {
		resolve = d.resolveParent
	}
	target, err := resolve(c.Name)
	if err == nil {
		err = d.allowed(ctx, c.Name, target)
	}
	if err != nil {
		return nil, err
	}
	var old fs.FileInfo
	if c.Data != nil {
		old, err = d.replaceable(target)
	} else if old, err = d.root.Lstat(target); err == nil && old.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		return nil, err
	}
	s := &staged{d: d, name: path.Base(target), old: old != nil}
	if s.made, err = d.makeParents(target); err != nil {
		return s, err
	}
	if s.parent, err = d.enter(path.Dir(target)); err != nil || c.Data == nil {
		return s, err
	}
	like := old
	if like == nil && c.Like != "" {
		if like, err = fs.Stat(d.FS(), c.Like); err != nil {
			return s, err
		}
	}
	s.temp, err = writeTemp(s.parent, like, bytes.NewReader(c.Data))
	return s, errors.Join(err, ctx.Err())
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
	return made, d.root.MkdirAll(path.Dir(target), 0o777)
}

// commit makes the change. A second name of the old file is left, by which it can be
// undone; where there are no hard links, the file is away for a moment. The Sight of ctx
// decides on what the file contains at that moment.
func (s *staged) commit(ctx context.Context, c Change) (err error) {
	seen := sight.Of(ctx)
	if seen != nil {
		if s.was, err = present(s.parent, s.name); err == nil {
			err = seen.May(c.Name, s.was, sumOf(c))
		}
		if err != nil {
			return err
		}
		if _, err := s.parent.Lstat(s.name); err == nil && !s.old {
			return sight.ErrRaced
		}
		if done, err := s.exchange(); done || err != nil {
			return err
		}
	}
	if s.old {
		backup := ".tmp-" + rand.Text()
		if err := s.parent.Link(s.name, backup); err != nil {
			if err := s.parent.Rename(s.name, backup); err != nil {
				return err
			}
		}
		s.backup = backup
	}
	s.done = true
	if s.temp != "" {
		if err := s.parent.Rename(s.temp, s.name); err != nil {
			return err
		}
		s.temp = ""
	} else if err := s.parent.Remove(s.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// exchange makes the change at one moment, by which the old file becomes the backup, if
// that is still as it was. It reports false where that cannot be done.
func (s *staged) exchange() (done bool, err error) {
	if !s.old {
		return false, nil
	}
	out, back := s.temp, func() error { return swap(s.parent, s.temp, s.name) }
	if s.temp != "" {
		err = swap(s.parent, s.temp, s.name)
	} else {
		out = ".tmp-" + rand.Text()
		back = func() error { return putNew(s.parent, out, s.name) }
		err = s.parent.Rename(s.name, out)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if now, err := present(s.parent, out); err != nil || now != s.was {
		return false, errors.Join(sight.ErrRaced, err, back())
	}
	s.backup, s.temp, s.done = out, "", true
	return true, nil
}

// sumOf returns the hash of the content that a change makes, "" if it removes the file.
func sumOf(c Change) string {
	if c.Data == nil {
		return ""
	}
	return sight.Sum(c.Data)
}

// undo brings back the old file, or removes the new one and its directories.
func (s *staged) undo() (err error) {
	switch {
	case s.backup != "":
		if err = s.parent.Rename(s.backup, s.name); err != nil {
			err = fmt.Errorf("its old content is in %s: %w", s.backup, err)
			s.backup = ""
		}
	case s.done && s.temp == "":
		if err = s.parent.Remove(s.name); errors.Is(err, fs.ErrNotExist) {
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
		if s.d.root.Remove(dir) != nil {
			break // someone else has put something there
		}
	}
	return err
}

// close removes what is left beside the file.
func (s *staged) close() (err error) {
	if s.parent == nil {
		return nil
	}
	if s.backup != "" { // renaming one name of a file over another leaves both
		if err = s.parent.Remove(s.backup); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, s.parent.Close())
}
