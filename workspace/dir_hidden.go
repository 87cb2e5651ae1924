package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// An Access says how far the users of a [Dir] reach a file. Its answer for a
// directory holds for everything below.
type Access int

const (
	// Free is a file like any other.
	Free Access = iota

	// ByName is a file that a tool reads only if its call names it, so that a
	// person could be asked about it. It does not exist in [Unnamed].
	ByName

	// Hidden is a file that does not exist: it is not listed, cannot be read,
	// and nothing can be written in its place.
	Hidden
)

// A restricted file system has files that not every reader may see.
type restricted interface {
	fs.FS
	unnamed() fs.FS
	hides(name string) bool
}

// Unnamed returns the view of fsys for reading files that a call does not name:
// those that a search comes across, or to which another file refers. Files whose
// [Access] is [ByName] do not exist there. It returns fsys itself if that has
// none.
func Unnamed(fsys fs.FS) fs.FS {
	if r, ok := fsys.(restricted); ok {
		return r.unnamed()
	}
	return fsys
}

// Hides reports whether fsys hides a file or directory called name. It is for
// names of what is no file of its own, such as a file in an archive: NAME/FILE.
func Hides(fsys fs.FS, name string) bool {
	r, ok := fsys.(restricted)
	return ok && r.hides(name)
}

func (f dirFS) unnamed() fs.FS { return dirFS{f.d, true} }

// hides reports whether f hides name, which has no symbolic links.
func (f dirFS) hides(name string) bool {
	switch {
	case f.d.hiddenBy(name) != nil:
		return true
	case f.d.Access == nil:
		return false
	}
	a := f.d.Access(name)
	return a == Hidden || f.onlyFree && a == ByName
}

// A shownDir is an open directory without the entries that its file system
// hides.
type shownDir struct {
	fs.ReadDirFile
	fsys dirFS
	name string // without symbolic links
}

func (s shownDir) ReadDir(n int) ([]fs.DirEntry, error) {
	for {
		entries, err := s.ReadDirFile.ReadDir(n)
		end := len(entries) == 0 || err != nil || n <= 0
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			return s.fsys.hides(path.Join(s.name, e.Name()))
		})
		if end || len(entries) > 0 {
			return entries, err
		}
	}
}

var (
	errDenied = fmt.Errorf("a rule denies this path: %w", fs.ErrPermission)
	errOwn    = fmt.Errorf("sessions have no access to this directory: %w", fs.ErrPermission)
	errMoved  = errors.New("it changed its place meanwhile")
)

// enter opens the directory called dir, which has no symbolic links, one element
// after the other. If an element is a link, or became one meanwhile, that is an
// error: so the directory that enter returns really has this name, and a decision
// about the name holds for what is in it. The caller closes it.
func (d *Dir) enter(dir string) (*os.Root, error) {
	at, err := d.root.OpenRoot(".")
	if err != nil || dir == "." {
		return at, err
	}
	for elem := range strings.SplitSeq(dir, "/") {
		next, err := d.enterOne(at, elem)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// enterOne opens the directory elem of parent, unless it is a symbolic link or
// one that [Dir.Hide] hides.
func (d *Dir) enterOne(parent *os.Root, elem string) (*os.Root, error) {
	before, err := parent.Lstat(elem)
	if err != nil {
		return nil, err
	}
	dir, err := parent.OpenRoot(elem)
	if err != nil {
		return nil, err
	}
	after, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = errMoved
	}
	if err == nil && d.isHidden(after) {
		err = errOwn
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}
