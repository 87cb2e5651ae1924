package workspace

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// FS implements [Files]. It reads regular files and directories. Reading a
// pipe, a socket or a device might block forever, and is an error. FS also
// implements [fs.ReadLinkFS].
func (d *Dir) FS() fs.FS { return dirFS{d} }

type dirFS struct{ d *Dir }

var (
	_ fs.StatFS     = dirFS{}
	_ fs.ReadFileFS = dirFS{}
	_ fs.ReadDirFS  = dirFS{}
	_ fs.ReadLinkFS = dirFS{}
)

func (f dirFS) Open(name string) (fs.File, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func (f dirFS) Stat(name string) (fs.FileInfo, error) {
	return try(f.d, "stat", name, f.d.resolve, f.d.root.Stat)
}

func (f dirFS) Lstat(name string) (fs.FileInfo, error) {
	return try(f.d, "lstat", name, f.d.resolveParent, f.d.root.Lstat)
}

func (f dirFS) ReadLink(name string) (string, error) {
	return try(f.d, "readlink", name, f.d.resolveParent, f.d.root.Readlink)
}

func (f dirFS) ReadFile(name string) ([]byte, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, pathError("read", name, err)
	}
	return data, nil
}

func (f dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	file, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if err != nil {
		return entries, pathError("readdir", name, err)
	}
	return entries, nil
}

// open opens a regular file or a directory.
func (f dirFS) open(name string) (*os.File, error) {
	return try(f.d, "open", name, f.d.resolve, func(name string) (*os.File, error) {
		file, _, err := regular.OpenOrDir(f.d.root, name)
		return file, err
	})
}

// try returns do(name). [os.Root] refuses absolute links even if they lead to a
// place inside; so if do fails, try calls it once more with the name resolved.
// Errors are about name.
func try[T any](
	d *Dir, op, name string, resolve func(string) (string, error), do func(string) (T, error),
) (T, error) {
	var zero T
	if _, err := filepath.Localize(name); err != nil {
		return zero, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	v, err := do(name)
	if err == nil {
		return v, nil
	}
	if d.open.Err() != nil {
		return zero, &fs.PathError{Op: op, Path: name, Err: d.errClosed()}
	}
	target, rerr := resolve(name)
	if rerr != nil {
		return zero, pathError(op, name, rerr)
	}
	if target != name {
		v, err = do(target)
	}
	if err != nil {
		return zero, pathError(op, name, err)
	}
	return v, nil
}
