package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

type unixStat = syscall.Stat_t

// The bounds of what is remembered of a protected directory.
const (
	maxTreeFile    = 4 << 20
	maxTreeEntries = 2000
)

// A tree is a file, or a directory and what is below it, by names relative to
// it: "." is it itself.
type tree map[string]entry

type entry struct {
	mode fs.FileMode
	data string // content, or target of a symbolic link
	is   inode  // the zero one if it changed so lately that it may change again and look the same
}

// read reads what is at name; nil if nothing is.
func (g *guard) read(name string) tree {
	info, err := g.root.Lstat(name)
	if err != nil {
		return nil
	}
	t := make(tree)
	t.add(g.root, name, ".", info)
	return t
}

func (t tree) add(root *os.Root, base, rel string, info fs.FileInfo) {
	if len(t) >= maxTreeEntries {
		return
	}
	name := path.Join(base, rel)
	e := entry{mode: info.Mode(), is: inodeOf(info).settled()}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		e.data, _ = root.Readlink(name) // it has gone: then it differs
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
	entries, _ := f.ReadDir(maxTreeEntries) // what was read counts
	for _, d := range entries {
		if info, err := root.Lstat(path.Join(name, d.Name())); err == nil {
			t.add(root, base, path.Join(rel, d.Name()), info)
		}
	}
}

func readSmall(root *os.Root, name string) string {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, _ := io.ReadAll(io.LimitReader(f, maxTreeFile)) // what was read counts
	return string(data)
}

// unchanged reports whether what is at name is what t is.
func (t tree) unchanged(g *guard, name string) bool {
	if is := t["."].is; is != (inode{}) && is == g.stat(name) && !t["."].mode.IsDir() {
		return true
	}
	now := g.read(name)
	if len(now) != len(t) {
		return false
	}
	for rel, e := range t {
		if n, ok := now[rel]; !ok || n.mode.Type() != e.mode.Type() || n.mode.Perm() != e.mode.Perm() || n.data != e.data {
			return false
		}
	}
	return true
}

// write makes t at name, where nothing is.
func (t tree) write(root *os.Root, name string) error {
	var errs []error
	for _, rel := range slices.Sorted(keys(t)) {
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

// written is what t is after write.
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

func keys(t tree) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range t {
			if !yield(k) {
				return
			}
		}
	}
}
