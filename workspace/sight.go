package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/openmanus-go/openmanus/internal/sight"
)

// MayReplace returns the error with which WriteFile of f would refuse to replace a file
// with data because the session of the call has not seen what the file contains, if that
// is so: see package sight. nil data is content that is not known yet.
func MayReplace(ctx context.Context, f Files, name string, data []byte) error {
	s := sight.Of(ctx)
	if s == nil {
		return nil
	}
	next := "?"
	if data != nil {
		next = sight.Sum(data)
	}
	present, err := presentIn(f.FS(), name)
	if err == nil {
		err = s.May(name, present, next)
	}
	if err != nil {
		if content, bad := fs.ReadFile(f.FS(), name); bad == nil {
			err = s.Given(err, name, content)
		}
	}
	return pathError("write", name, err)
}

// presentIn returns the hash of what a file contains, or "" if there is no such file.
// Directories and devices have none: they are not replaced anyway.
func presentIn(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", err
	}
	return sight.SumOf(f)
}

// present is presentIn for a directory of a Dir. A symbolic link has the content of none.
func present(parent *os.Root, name string) (string, error) {
	info, err := parent.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	f, err := parent.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return sight.SumOf(f)
}

// putNew gives temp a name that no file has.
func putNew(parent *os.Root, temp, name string) error {
	err := parent.Link(temp, name)
	switch {
	case err == nil:
		return parent.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return sight.ErrRaced
	}
	return parent.Rename(temp, name) // where there are no hard links
}
