package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// unixStat is what [fs.FileInfo.Sys] returns.
type unixStat = syscall.Stat_t

// The bounds of what is remembered of a protected directory: bytes of a file,
// and entries of a tree. A command that makes more loses the rest when it is
// restored.
const (
	maxTreeFile    = 4 << 20
	maxTreeEntries = 2000
)

// A tree is a copy of a file, or of a directory with everything below it, by
// paths relative to it; "." is the file or the directory itself. nil stands for
// nothing.
type tree map[string]entry

// An entry is one file, directory or link of a tree.
type entry struct {
	mode fs.FileMode
	data string // the content, or the target of a symbolic link
	is   inode  // zero if it changed too recently to trust
}

// read copies what is at name, and returns nil if there is nothing.
func (g *guard) read(name string) tree {
	info, err := g.root.Lstat(name)
	if err != nil {
		return nil
	}
	t := make(tree)
	t.add(g.root, name, ".", info)
	return t
}

// add adds what is at rel below base to the tree, and if it is a directory what
// is in it.
func (t tree) add(root *os.Root, base, rel string, info fs.FileInfo) {
	if len(t) >= maxTreeEntries {
		return
	}
	name := path.Join(base, rel)
	e := entry{mode: info.Mode(), is: inodeOf(info).settled()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.data, _ = root.Readlink(name) // if it was removed meanwhile, it differs
	case info.Mode().IsRegular():
		e.data = readSmall(root, name)
	}
	t[rel] = e
	if !info.IsDir() {
		return
	}
	f, err := root.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxTreeEntries) // a part is better than nothing
	for _, d := range entries {
		if info, err := root.Lstat(path.Join(name, d.Name())); err == nil {
			t.add(root, base, path.Join(rel, d.Name()), info)
		}
	}
}

// readSmall returns the beginning of a regular file, and "" if it cannot be
// read. It does not follow a link and does not wait for a pipe.
func readSmall(root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxTreeFile)) // a part is better than nothing
	return string(data)
}

// unchanged reports whether what is at name equals t. A file whose inode is the
// same and settled is not read again.
func (t tree) unchanged(g *guard, name string) bool {
	if is := t["."].is; is != (inode{}) && is == g.stat(name) && !t["."].mode.IsDir() {
		return true
	}
	now := g.read(name)
	if len(now) != len(t) {
		return false
	}
	for rel, e := range t {
		if n, ok := now[rel]; !ok || n.mode.Type() != e.mode.Type() || n.mode.Perm() != e.mode.Perm() ||
			n.data != e.data {
			return false
		}
	}
	return true
}

// write makes t at name, where there must be nothing.
func (t tree) write(root *os.Root, name string) error {
	var errs []error
	for _, rel := range sorted(t) {
		e, at := t[rel], path.Join(name, rel)
		switch {
		case e.mode.IsDir():
			errs = append(errs, root.Mkdir(at, 0o700), root.Chmod(at, e.mode.Perm()|0o700))
		case e.mode&fs.ModeSymlink != 0:
			errs = append(errs, root.Symlink(e.data, at))
		case e.mode.IsRegular():
			errs = append(errs, root.WriteFile(at, []byte(e.data), 0o600), root.Chmod(at, e.mode.Perm()))
		}
	}
	return errors.Join(errs...)
}

// written returns t as it is after write: its inodes are new, and its
// directories can be written.
func (t tree) written() tree {
	now := make(tree, len(t))
	for rel, e := range t {
		if e.mode.IsDir() {
			e.mode |= 0o700
		}
		e.is = inode{}
		now[rel] = e
	}
	return now
}
