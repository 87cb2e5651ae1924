package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/openmanus-go/openmanus/internal/xattr"
)

// A disk is the directory that a restore changes. Each of its methods that changes
// something calls before first, if that is not nil, and returns its error: so tests let
// a restore end, or a disk be full, at each change.
//
// It opens each directory once, from the top, and through no link: a walk from the top
// for each name costs more than what is done there.
type disk struct {
	top    *os.Root
	before func() error
	open   map[string]*os.Root // by name, without top
}

// maxOpen is how many directories stay open.
const maxOpen = 256

// errLink says that a part of a name's directory is no directory but a link, which may
// lead to files that are not meant.
var errLink = errors.New("a link is in the place of its directory")

// at returns the directory of a name, and the name in it.
func (d disk) at(name string) (*os.Root, string, error) {
	dir, err := d.dir(path.Dir(name))
	return dir, path.Base(name), err
}

func (d disk) dir(name string) (*os.Root, error) {
	if len(d.open) > maxOpen {
		d.close()
	}
	return d.walk(name)
}

func (d disk) walk(name string) (*os.Root, error) {
	if name == "." {
		return d.top, nil
	}
	if dir := d.open[name]; dir != nil {
		return dir, nil
	}
	up, err := d.walk(path.Dir(name))
	if err != nil {
		return nil, err
	}
	was, err := up.Lstat(path.Base(name))
	switch {
	case err != nil:
		return nil, err
	case was.Mode()&fs.ModeSymlink != 0:
		return nil, &fs.PathError{Op: "open", Path: name, Err: errLink}
	case !was.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	dir, err := up.OpenRoot(path.Base(name))
	if err != nil {
		return nil, err
	}
	if now, err := dir.Stat("."); err != nil || !os.SameFile(was, now) {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: errLink}, err, dir.Close())
	}
	d.open[name] = dir
	return dir, nil
}

// close closes all directories. They are opened again when they are needed.
func (d disk) close() {
	for _, dir := range d.open {
		dir.Close()
	}
	clear(d.open)
}

// change calls act with the directory of a name, and the name in it.
func (d disk) change(op, name string, act func(dir *os.Root, base string) error) error {
	if d.before != nil {
		if err := d.before(); err != nil {
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
	dir, base, err := d.at(name)
	if err != nil {
		return err
	}
	return act(dir, base)
}

// Open opens a directory.
func (d disk) Open(name string) (*os.File, error) {
	dir, err := d.dir(name)
	if err != nil {
		return nil, err
	}
	return dir.Open(".")
}

func (d disk) Lstat(name string) (fs.FileInfo, error) {
	dir, base, err := d.at(name)
	if err != nil {
		return nil, err
	}
	return dir.Lstat(base)
}

func (d disk) Readlink(name string) (string, error) {
	dir, base, err := d.at(name)
	if err != nil {
		return "", err
	}
	return dir.Readlink(base)
}

func (d disk) Remove(name string) error {
	return d.change("remove", name, func(dir *os.Root, base string) error {
		if gone := d.open[name]; gone != nil {
			gone.Close() // some systems remove no directory that is open
			delete(d.open, name)
		}
		return dir.Remove(base)
	})
}

func (d disk) Mkdir(name string, perm fs.FileMode) error {
	return d.change("mkdir", name, func(dir *os.Root, base string) error { return dir.Mkdir(base, perm) })
}

func (d disk) Chmod(name string, mode fs.FileMode) error {
	return d.change("chmod", name, func(dir *os.Root, base string) error { return dir.Chmod(base, mode) })
}

func (d disk) Chtimes(name string, atime, mtime time.Time) error {
	return d.change("chtimes", name, func(dir *os.Root, base string) error { return dir.Chtimes(base, atime, mtime) })
}

func (d disk) Symlink(target, name string) error {
	return d.change("symlink", name, func(dir *os.Root, base string) error { return dir.Symlink(target, base) })
}

// Link gives a file another name, in any directory.
func (d disk) Link(from, to string) error {
	return d.change("link", to, func(*os.Root, string) error { return d.top.Link(from, to) })
}

// Rename renames a file within its directory.
func (d disk) Rename(from, to string) error {
	return d.change("rename", from, func(dir *os.Root, base string) error { return dir.Rename(base, path.Base(to)) })
}

// create makes a new file, and opens it for writing.
func (d disk) create(name string) (f file, err error) {
	err = d.change("create", name, func(dir *os.Root, base string) (err error) {
		f = file{on: d, name: name}
		f.File, err = dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	return f, err
}

// A file is a new one of a disk.
type file struct {
	*os.File
	on   disk
	name string // in the directory
}

// Name returns the name of the file in the directory of its disk.
func (f file) Name() string { return f.name }

// change calls act, unless before returns an error.
func (f file) change(op string, act func() error) error {
	if f.on.before != nil {
		if err := f.on.before(); err != nil {
			return &fs.PathError{Op: op, Path: f.name, Err: err}
		}
	}
	return act()
}

func (f file) Write(data []byte) (n int, err error) {
	err = f.change("write", func() (err error) {
		n, err = f.File.Write(data)
		return err
	})
	return n, err
}

func (f file) Truncate(size int64) error {
	return f.change("truncate", func() error { return f.File.Truncate(size) })
}

func (f file) Chown(uid, gid int) error {
	return f.change("chown", func() error { return f.File.Chown(uid, gid) })
}

func (f file) Chmod(mode fs.FileMode) error {
	return f.change("chmod", func() error { return f.File.Chmod(mode) })
}

// setAttrs gives the file these extended attributes.
func (f file) setAttrs(attrs map[string][]byte) error {
	if len(attrs) == 0 {
		return nil
	}
	return f.change("set attributes", func() error { return xattr.Set(f.File, attrs) })
}
