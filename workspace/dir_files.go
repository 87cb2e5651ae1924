package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/openmanus-go/openmanus/internal/meant"
	"github.com/openmanus-go/openmanus/internal/protected"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// maxLinks is how many symbolic links a name may lead through, as on Linux.
const maxLinks = 40

// WriteFile implements [Files]. It does not replace a file for which this
// process has no write permission.
func (d *Dir) WriteFile(ctx context.Context, name string, data []byte) error {
	return d.WriteFrom(ctx, name, bytes.NewReader(data))
}

// WriteFrom implements [StreamWriter].
func (d *Dir) WriteFrom(ctx context.Context, name string, data io.Reader) error {
	return d.change(ctx, edit{name: name, data: data})
}

// Remove implements [Files]. It removes a symbolic link itself, not its target.
func (d *Dir) Remove(ctx context.Context, name string) error {
	return d.change(ctx, edit{name: name})
}

// usable returns an error if no file called name can be changed, whatever is
// on the disk.
func (d *Dir) usable(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.open.Err() != nil {
		return d.errClosed()
	}
	if !meant.Valid(name) || name == "." {
		return fs.ErrInvalid
	}
	return d.denied(name)
}

// denied returns an error if name is hidden.
func (d *Dir) denied(name string) error {
	if d.Access != nil && d.Access(name) == Hidden {
		return errDenied
	}
	return d.hiddenBy(name)
}

// allowed returns an error if the file called name must not be changed, whose name without
// symbolic links is target: if it is hidden, if the Guard says so, or if it is not what the
// call that ctx belongs to was allowed to change.
func (d *Dir) allowed(ctx context.Context, name, target string) error {
	if err := d.denied(target); err != nil {
		return err
	}
	if d.Guard != nil {
		if err := d.Guard(target); err != nil {
			return err
		}
	}
	return protected.Refuse(ctx, name, target)
}

// replaceable returns the file at target, nil if there is none, or an error if
// it must not be replaced.
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
		return nil, regular.Err
	}
	f, err := d.root.OpenFile(target, os.O_WRONLY|regular.Nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err == nil {
		f.Close()
	}
	return info, nil
}

// resolve returns name with symbolic links replaced, as far as the path exists.
// It follows an absolute link that leads to a place below the root, which
// [os.Root] refuses.
//
// The result may be outdated at once. That does no harm: it is passed to
// d.root, which keeps it inside.
func (d *Dir) resolve(name string) (string, error) {
	at, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 0 {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if !meant.Valid(next) {
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
	if !meant.Valid(at) {
		return "", d.errOutside()
	}
	return at, nil
}

// resolveParent is resolve for operations on a symbolic link itself.
func (d *Dir) resolveParent(name string) (string, error) {
	dir, err := d.resolve(path.Dir(name))
	return path.Join(dir, path.Base(name)), err
}

func (d *Dir) errOutside() error {
	return fmt.Errorf("it leads out of the workspace %s", d.path)
}

// pathError returns err as a [*fs.PathError] about name. It replaces one that is
// about another spelling of name. The end of a context is about no file.
func pathError(op, name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if p, ok := err.(*fs.PathError); ok {
		err = p.Err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
