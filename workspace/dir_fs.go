package workspace

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/meant"
	"github.com/openmanus-go/openmanus/internal/regular"
)

// FS implements [Files]. It reads regular files and directories. Reading a
// pipe, a socket or a device might block forever, and is an error. FS also
// implements [fs.ReadLinkFS], and has the files that [Dir].Access and [Dir.Hide] leave.
func (d *Dir) FS() fs.FS { return dirFS{d, false} }

// A dirFS is a view of the files of d.
type dirFS struct {
	d        *Dir
	onlyFree bool // see [Unnamed]
}

var (
	_ fs.StatFS     = dirFS{}
	_ fs.ReadFileFS = dirFS{}
	_ fs.ReadDirFS  = dirFS{}
	_ fs.ReadLinkFS = dirFS{}
)

func (f dirFS) Open(name string) (fs.File, error) {
	return try(f, "open", name, f.d.resolve, f.open)
}

func (f dirFS) Stat(name string) (fs.FileInfo, error) {
	return try(f, "stat", name, f.d.resolve, f.d.root.Stat)
}

func (f dirFS) Lstat(name string) (fs.FileInfo, error) {
	return try(f, "lstat", name, f.d.resolveParent, f.d.root.Lstat)
}

func (f dirFS) ReadLink(name string) (string, error) {
	return try(f, "readlink", name, f.d.resolveParent, f.d.root.Readlink)
}

func (f dirFS) ReadFile(name string) ([]byte, error) {
	file, err := f.Open(name)
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
	file, err := f.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	entries, err := file.(fs.ReadDirFile).ReadDir(-1)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if err != nil {
		return entries, pathError("readdir", name, err)
	}
	return entries, nil
}

// open opens a regular file or a directory. If some files are hidden, name has no
// symbolic links, and open follows none: a link that appears meanwhile cannot lead
// it to a hidden file.
func (f dirFS) open(name string) (fs.File, error) {
	if !f.d.selective() {
		file, _, err := regular.OpenOrDir(f.d.root, name)
		return file, err
	}
	dir, err := f.d.enter(path.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, info, err := openEntry(dir, path.Base(name))
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return shownDir{file, f, name}, nil
	}
	return file, nil
}

// openEntry opens an entry of dir, unless it is a symbolic link. It tries again
// if the entry was replaced meanwhile, as a program that saves a file does.
func openEntry(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	for range 10 {
		entry, err := dir.Lstat(name)
		if err != nil {
			return nil, nil, err
		}
		if entry.Mode()&fs.ModeSymlink != 0 {
			return nil, nil, errMoved
		}
		file, opened, err := regular.OpenOrDir(dir, name)
		if err != nil {
			return nil, nil, err
		}
		if os.SameFile(entry, opened) {
			return file, opened, nil
		}
		file.Close()
	}
	return nil, nil, errMoved
}

// try returns do(name). [os.Root] refuses absolute links even if they lead to a
// place inside; so if do fails, try calls it once more with the name resolved.
// If some files are hidden, do gets the resolved name only. Errors are about name.
func try[T any](
	f dirFS, op, name string, resolve func(string) (string, error), do func(string) (T, error),
) (T, error) {
	var zero T
	if !meant.Valid(name) {
		return zero, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	err := fs.ErrNotExist
	if !f.d.selective() {
		var v T
		if v, err = do(name); err == nil {
			return v, nil
		}
	}
	if f.d.open.Err() != nil {
		return zero, &fs.PathError{Op: op, Path: name, Err: f.d.errClosed()}
	}
	target, rerr := resolve(name)
	if rerr != nil {
		return zero, pathError(op, name, rerr)
	}
	if !f.hides(name) && !f.hides(target) && (target != name || f.d.selective()) {
		var v T
		if v, err = do(target); err == nil {
			return v, nil
		}
	}
	return zero, pathError(op, name, err)
}
