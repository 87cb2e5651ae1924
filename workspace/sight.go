package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

// put gives the file temp, whose content has the hash next, the name name, under which the
// call knows it as shown. A file with that name is replaced only if the Sight of ctx
// allows it for what the file contains at that moment. After an error temp is there.
func put(ctx context.Context, parent *os.Root, temp, name, shown, next string) error {
	s := sight.Of(ctx)
	if s == nil {
		return parent.Rename(temp, name)
	}
	was, err := present(parent, name)
	if err == nil {
		err = s.May(shown, was, next)
	}
	if err != nil {
		return err
	}
	if _, err := parent.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		err = putNew(parent, temp, name)
		if err == nil {
			s.Wrote(shown, was, next)
		}
		return err
	}
	if err := swap(parent, temp, name); err != nil {
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		if now, err := present(parent, name); err != nil || now != was {
			return errors.Join(sight.ErrRaced, err)
		}
		if err := parent.Rename(temp, name); err != nil {
			return err
		}
		s.Wrote(shown, was, next)
		return nil
	}
	// The file that had the name is temp now.
	if out, err := present(parent, temp); err != nil || out != was {
		return errors.Join(sight.ErrRaced, err, swap(parent, temp, name))
	}
	s.Wrote(shown, was, next)
	return parent.Remove(temp)
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

// removeSeen removes a file if the Sight of ctx allows it for what the file contains at
// that moment.
func removeSeen(ctx context.Context, parent *os.Root, name, shown string) error {
	s := sight.Of(ctx)
	if s == nil {
		return parent.Remove(name)
	}
	was, err := present(parent, name)
	if err == nil {
		err = s.May(shown, was, "")
	}
	if err != nil {
		return err
	}
	gone := ".tmp-" + rand.Text() // what was put there meanwhile is not lost
	if err := parent.Rename(name, gone); err != nil {
		return err
	}
	if now, err := present(parent, gone); err != nil || now != was {
		if back := putNew(parent, gone, name); back != nil {
			return errors.Join(sight.ErrRaced, err, fmt.Errorf("it is kept as %s: %w", gone, back))
		}
		return errors.Join(sight.ErrRaced, err)
	}
	s.Wrote(shown, was, "")
	return parent.Remove(gone)
}
