package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/internal/xattr"
)

// maxNames is how many files are looked at to find the other names of one.
const maxNames = 100_000

// errEnough ends a walk.
var errEnough = errors.New("enough")

// namesOf returns all names of a file, that of target first, if they are all in the
// workspace and may all be changed by the call of ctx. Otherwise it returns none.
func (d *Dir) namesOf(ctx context.Context, target string, file fs.FileInfo) []string {
	names, looked := []string{target}, 0
	err := fs.WalkDir(d.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if looked++; looked > maxNames || ctx.Err() != nil {
			return errEnough
		}
		if err != nil || name == target || !e.Type().IsRegular() {
			return nil // what cannot be read has none that may be changed
		}
		info, err := e.Info()
		if err != nil || !os.SameFile(file, info) || d.allowed(ctx, name, name) != nil {
			return nil
		}
		if names = append(names, name); len(names) == linkCount(file) {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) || len(names) != linkCount(file) {
		return nil
	}
	return names
}

// overwrite writes the new content into the old file. A copy of the old content is on the
// disk before.
func (s *staged) overwrite() (err error) {
	inode, info, err := openToWrite(s.parent, s.base)
	if err != nil {
		return err
	}
	if !os.SameFile(info, s.old) {
		return errors.Join(sight.ErrRaced, inode.Close())
	}
	if err := s.backUp(); err != nil {
		return errors.Join(err, inode.Close())
	}
	s.inode, s.done = inode, true
	if err := s.pour(s.temp); err != nil {
		return err
	}
	if now, err := s.parent.Lstat(s.base); err != nil || !os.SameFile(now, s.old) {
		return errors.Join(sight.ErrRaced, err)
	}
	temp := s.temp
	s.temp = ""
	return s.parent.Remove(temp)
}

// openToWrite opens a regular file for writing.
func openToWrite(parent *os.Root, name string) (*os.File, fs.FileInfo, error) {
	f, err := parent.OpenFile(name, os.O_WRONLY|regular.Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = regular.Err
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// backUp copies the old content beside it, if that is as it was.
func (s *staged) backUp() error {
	old, _, err := regular.Open(s.parent, s.base)
	if err != nil {
		return err
	}
	defer old.Close()
	backup := tempName()
	f, err := s.parent.OpenFile(backup, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	s.backup = backup
	_, err = io.Copy(f, old)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := s.unchanged(backup); err != nil {
		return err
	}
	return syncDir(s.parent)
}

// pour writes the content of a file beside the old one into that.
func (s *staged) pour(from string) error {
	src, _, err := regular.Open(s.parent, from)
	if err != nil {
		return err
	}
	defer src.Close()
	if _, err := s.inode.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(s.inode, src)
	if err == nil {
		err = s.inode.Truncate(n)
	}
	return errors.Join(err, s.inode.Sync())
}

// writeTemp writes data into a new file in the directory, with the mode, the owner and the
// extended attributes of like if that is not nil. It reports whether it could give it all
// of that.
func (s *staged) writeTemp(like fs.FileInfo, data io.Reader) (alike bool, err error) {
	mode := fs.FileMode(0o666)
	if like != nil {
		mode = 0o600
	}
	temp := tempName()
	f, err := s.parent.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return false, err
	}
	s.temp = temp
	_, err = io.Copy(f, data)
	alike = true
	if err == nil && like != nil {
		alike, err = s.makeAlike(f, like)
	}
	if err == nil {
		err = f.Sync()
	}
	return alike, errors.Join(err, f.Close())
}

// modeBits are the bits of a mode that a new content keeps.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// makeAlike gives f what like has beside its content, and reports whether it could.
func (s *staged) makeAlike(f *os.File, like fs.FileInfo) (alike bool, err error) {
	alike, err = keepOwner(f, like)
	if err == nil {
		err = s.keepAttrs(f)
	}
	if errors.Is(err, fs.ErrPermission) {
		alike, err = false, nil
	}
	mode := like.Mode() & modeBits
	if !alike {
		mode &= fs.ModePerm // the other bits were about its owner
	}
	return alike, errors.Join(err, f.Chmod(mode))
}

// keepAttrs gives f the extended attributes of the old file, or of the one that it is like.
func (s *staged) keepAttrs(f *os.File) error {
	dir, name := s.parent, s.base
	if s.old == nil {
		dir, name = s.d.root, s.like
	}
	old, _, err := regular.Open(dir, name)
	if err != nil {
		return err
	}
	defer old.Close()
	return xattr.Set(f, xattr.Of(old))
}
