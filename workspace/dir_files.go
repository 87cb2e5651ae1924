package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxLinks is how many symbolic links a name may lead through.
const maxLinks = 40

var errNotRegular = errors.New("it is not a regular file (a pipe, a socket or a device)")

// WriteFile implements [Files]. The content is on the disk when it returns. A
// file that may not be written is not replaced either. The new file has the
// permissions of the old one, and its owner if we may give it away; it does not
// have its set-user-ID and set-group-ID bits and its extended attributes.
func (d *Dir) WriteFile(ctx context.Context, name string, data []byte) error {
	if err := d.usable(ctx, "write", name); err != nil {
		return err
	}
	target, err := d.resolve(name)
	if err != nil {
		return pathError("write", name, err)
	}
	if err := d.guarded(target); err != nil {
		return pathError("write", name, err)
	}
	old, err := d.replaceable(target)
	if err != nil {
		return pathError("write", name, err)
	}
	if err := d.root.MkdirAll(path.Dir(target), 0o777); err != nil {
		return pathError("write", name, err)
	}
	// What follows happens in this very directory, whatever becomes of the
	// path that led to it.
	parent, err := d.root.OpenRoot(path.Dir(target))
	if err != nil {
		return pathError("write", name, err)
	}
	defer parent.Close()
	if err := replace(ctx, parent, path.Base(target), old, data); err != nil {
		return pathError("write", name, err)
	}
	return nil
}

// Remove implements [Files]. It removes a symbolic link, not its target, and
// no directory.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := d.usable(ctx, "remove", name); err != nil {
		return err
	}
	target, err := d.resolveParent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	info, err := d.root.Lstat(target)
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err == nil {
		err = d.guarded(target)
	}
	if err == nil {
		err = d.root.Remove(target)
	}
	if err != nil {
		return pathError("remove", name, err)
	}
	return nil
}

// usable checks what every change of a file needs.
func (d *Dir) usable(ctx context.Context, op, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.open.Err() != nil {
		return &fs.PathError{Op: op, Path: name, Err: d.errClosed()}
	}
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if _, err := filepath.Localize(name); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

func (d *Dir) guarded(name string) error {
	if d.Guard == nil {
		return nil
	}
	return d.Guard(name)
}

// replaceable returns what is at target, nil if nothing is, and an error if it
// must not be replaced.
func (d *Dir) replaceable(target string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := d.root.OpenFile(target, os.O_WRONLY|openNonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err == nil {
		f.Close()
	}
	return info, nil
}

// replace writes data into a new file in parent, with the mode and owner of
// old, and renames it to name.
func replace(ctx context.Context, parent *os.Root, name string, old fs.FileInfo, data []byte) (err error) {
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600
	}
	temp := ".tmp-" + rand.Text()
	f, err := parent.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, parent.Remove(temp))
		}
	}()
	if err := fill(f, old, data); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := parent.Rename(temp, name); err != nil {
		return err
	}
	return syncDir(parent)
}

// fill writes data to the disk and closes f.
func fill(f *os.File, old fs.FileInfo, data []byte) error {
	_, err := f.Write(data)
	if err == nil && old != nil {
		err = errors.Join(keepOwner(f, old), f.Chmod(old.Mode().Perm()))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// resolve returns name without symbolic links, as far as it exists. An
// absolute link is followed if it leads to a place below the root.
//
// The answer may be out of date at once; that it stays inside is the business
// of d.root, to which it is given.
func (d *Dir) resolve(name string) (string, error) {
	at, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if !fs.ValidPath(next) {
			return "", d.errOutside()
		}
		info, err := d.root.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			at = path.Join(append([]string{next}, rest...)...)
			break
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many symbolic links")
		}
		target, err := d.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			at = "."
			if target, err = filepath.Rel(d.path, target); err != nil {
				return "", d.errOutside()
			}
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	if !fs.ValidPath(at) {
		return "", d.errOutside()
	}
	return at, nil
}

// resolveParent is resolve for who wants the symbolic link itself.
func (d *Dir) resolveParent(name string) (string, error) {
	dir, err := d.resolve(path.Dir(name))
	return path.Join(dir, path.Base(name)), err
}

func (d *Dir) errOutside() error {
	return fmt.Errorf("it leads out of the workspace %s", d.path)
}

// pathError says once which file err is about.
func pathError(op, name string, err error) error {
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
