package regular

import (
	"io/fs"
	"os"
	"path"
	"strings"
)

// Below opens the directory of root with a slash-separated name, one element after the
// other. If one is a symbolic link, or becomes one meanwhile, the error is [ErrMoved]. So the
// directory really has this name, and what was decided about the name holds for what is
// done in it. The caller closes it.
func Below(root *os.Root, name string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	if err != nil || name == "." {
		return at, err
	}
	for elem := range strings.SplitSeq(name, "/") {
		next, err := one(at, elem)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// one opens the directory elem of parent.
func one(parent *os.Root, elem string) (*os.Root, error) {
	was, err := parent.Lstat(elem)
	if err != nil {
		return nil, err
	}
	if was.Mode()&fs.ModeSymlink != 0 {
		return nil, &fs.PathError{Op: "open", Path: elem, Err: ErrMoved}
	}
	dir, err := parent.OpenRoot(elem)
	if err != nil {
		return nil, err
	}
	now, err := dir.Stat(".")
	if err == nil && !os.SameFile(was, now) {
		err = &fs.PathError{Op: "open", Path: elem, Err: ErrMoved}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// MkdirBelow makes the directory of root with a slash-separated name, in the directory that
// really has the name above.
func MkdirBelow(root *os.Root, name string, mode fs.FileMode) error {
	dir, err := Below(root, path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Mkdir(path.Base(name), mode)
}

// RmdirBelow removes the empty directory of root with a slash-separated name, and nothing
// that has come in its place or in that of a directory above.
func RmdirBelow(root *os.Root, name string) error {
	dir, err := Below(root, path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	info, err := dir.Lstat(path.Base(name))
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "remove", Path: name, Err: ErrMoved}
	}
	if err != nil {
		return err
	}
	return dir.Remove(path.Base(name))
}
