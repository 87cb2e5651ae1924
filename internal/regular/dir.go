package regular

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrMoved says that a path leads through a symbolic link, and did not when it was written
// down.
var ErrMoved = errors.New("it has been replaced by a symbolic link, or a directory above it has")

// OpenDir opens the directory at path, an absolute path without symbolic links. If there is
// one on the way by now, or while the directory is opened, the error is [ErrMoved]. So what
// was decided about the path holds for what was opened.
func OpenDir(path string) (*os.Root, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	opened, err := root.Stat(".")
	if err == nil {
		var there os.FileInfo
		if there, err = statExact(path); err == nil && !os.SameFile(opened, there) {
			err = ErrMoved
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), root.Close())
	}
	return root, nil
}

// statByName is statExact where the kernel cannot follow a path without links: a link that
// is there for a moment between the two looks may escape it.
func statByName(path string) (os.FileInfo, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	if real != filepath.Clean(path) {
		return nil, ErrMoved
	}
	return os.Lstat(path)
}
