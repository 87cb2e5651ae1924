package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// A hiddenDir is a directory that no method of [Files] reaches.
type hiddenDir struct {
	name string      // relative to the root, without symbolic links
	info fs.FileInfo // which directory it is; nil: it did not exist when Hide was called
}

// Hide keeps [Files] out of the directories, which have absolute paths: for
// readers they do not exist, and nothing can be written in their place. A
// directory that is not in the workspace is ignored.
//
// A directory is known by its identity, so a link to it is hidden too, and so is
// the directory after it or one above it was renamed. It is also known by its
// path, so one that does not exist cannot be made.
//
// Hide is called before the workspace is used. Commands are the business of the
// [Cage].
func (d *Dir) Hide(dirs ...string) {
	for _, dir := range dirs {
		rel, err := filepath.Rel(d.path, realPath(dir))
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		h := hiddenDir{name: filepath.ToSlash(rel)}
		if info, err := d.root.Stat(h.name); err == nil {
			h.info = info
		}
		d.hidden = append(d.hidden, h)
	}
}

// realPath returns the path without symbolic links, as far as it exists.
func realPath(name string) string {
	name = filepath.Clean(name)
	real, err := filepath.EvalSymlinks(name)
	if up := filepath.Dir(name); errors.Is(err, fs.ErrNotExist) && up != name {
		return filepath.Join(realPath(up), filepath.Base(name))
	}
	if err != nil {
		return name
	}
	return real
}

// hiddenBy returns an error if name, which has no symbolic links, is hidden by
// [Dir.Hide] or in a directory that is.
func (d *Dir) hiddenBy(name string) error {
	if len(d.hidden) == 0 {
		return nil
	}
	for dir := name; dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(d.hidden, func(h hiddenDir) bool { return h.name == dir }) {
			return errOwn
		}
		if info, err := d.root.Lstat(dir); err == nil && d.isHidden(info) {
			return errOwn
		}
	}
	return nil
}

// isHidden reports whether info is of a directory that [Dir.Hide] hides.
func (d *Dir) isHidden(info fs.FileInfo) bool {
	return slices.ContainsFunc(d.hidden, func(h hiddenDir) bool { return h.info != nil && os.SameFile(h.info, info) })
}

// selective reports whether some files are hidden, so that names must be resolved
// before they are opened.
func (d *Dir) selective() bool { return d.Access != nil || len(d.hidden) > 0 }
