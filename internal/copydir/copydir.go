// Package copydir copies directories, lists what was changed in a copy, and
// merges the changes into a directory that may have changed in the meantime.
//
// It deals with regular files and their permissions, symbolic links, which it
// never follows, and directories. It leaves out sockets, pipes and devices.
// Names are relative to the directory and have slashes. All access goes through
// [os.Root]: no name and no link leads out of a directory. A merge writes and removes in
// directories that it has entered without following a link.
package copydir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// Options limit what is copied. The zero Options copy everything.
type Options struct {
	Bytes int64                  // the most bytes of a directory; 0: no limit
	Files int                    // the most files of a directory; 0: no limit
	Skip  func(name string) bool // whether to leave out a name and everything below it; nil: nothing

	// Open, if not nil, opens the directory to copy. A caller sets it where another program may
	// have put a link in place of that directory.
	Open func(dir string) (*os.Root, error)
}

// Copied describes a copy.
type Copied struct {
	Files int      `json:"files"`
	Bytes int64    `json:"bytes"`
	Left  []string `json:"left,omitempty"` // the first maxLeft names that were left out, and why
}

const maxLeft = 50

// TooLarge is the error for a directory that exceeds the limits.
type TooLarge struct {
	Dir   string
	Limit string
}

func (e *TooLarge) Error() string { return fmt.Sprintf("%s has more than %s", e.Dir, e.Limit) }

// Copy copies the directory src to dst. It removes what exists at dst, and
// creates dst when the copy is complete. Where the file system supports it, the
// copy shares its blocks with src until one of them changes. If src exceeds the
// limits, the error is a [*TooLarge]. Files that cannot be read are left out.
func Copy(ctx context.Context, dst, src string, o Options) (c Copied, err error) {
	from, err := opened(src, o.Open)
	if err != nil {
		return Copied{}, err
	}
	defer from.Close()
	if err := o.measure(ctx, src, from); err != nil {
		return Copied{}, err
	}
	if err := os.MkdirAll(filepath.Dir(dst), 0o700); err != nil {
		return Copied{}, err
	}
	part := dst + ".part"
	if err := errors.Join(removeAll(part), removeAll(dst)); err != nil {
		return Copied{}, err
	}
	if err := os.Mkdir(part, 0o700); err != nil {
		return Copied{}, err
	}
	if c, err = o.copyAll(ctx, part, src, from); err != nil {
		return Copied{}, errors.Join(err, removeAll(part))
	}
	return c, os.Rename(part, dst)
}

// measure returns an error if src exceeds the limits.
func (o Options) measure(ctx context.Context, src string, from *os.Root) error {
	var files int
	var bytes int64
	return o.walk(ctx, from.FS(), func(_ string, info fs.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return nil
		}
		files, bytes = files+1, bytes+info.Size()
		return o.Within(src, files, bytes)
	})
}

// Within returns a [*TooLarge] if a directory with so much exceeds the limits. Copy
// checks it both before copying, to fail early, and while copying, because the
// directory may grow.
func (o Options) Within(dir string, files int, bytes int64) error {
	switch {
	case o.Files > 0 && files > o.Files:
		return &TooLarge{dir, fmt.Sprintf("%d files", o.Files)}
	case o.Bytes > 0 && bytes > o.Bytes:
		return &TooLarge{dir, fmt.Sprintf("%d MiB", o.Bytes>>20)}
	}
	return nil
}

// walk calls see for each name below the root of fsys, in lexical order, without
// skipped ones. If a directory cannot be read, err is why and info is nil. An
// error of see ends the walk.
func (o Options) walk(ctx context.Context, fsys fs.FS, see func(name string, info fs.FileInfo, err error) error) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if name == "." {
			return err
		}
		if o.Skip != nil && o.Skip(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil { // a directory that cannot be read
			return see(name, nil, err)
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed in the meantime
		}
		return see(name, info, err)
	})
}

// copyAll copies the content of src, opened as from, into the empty directory dst.
func (o Options) copyAll(ctx context.Context, dst, src string, from *os.Root) (c Copied, err error) {
	to, err := os.OpenRoot(dst)
	if err != nil {
		return c, err
	}
	defer to.Close()
	dirs := []string{}
	modes := make(map[string]fs.FileInfo)
	leave := func(name string, why any) {
		if len(c.Left) < maxLeft {
			c.Left = append(c.Left, fmt.Sprintf("%s: %v", name, why))
		}
	}
	err = o.walk(ctx, from.FS(), func(name string, info fs.FileInfo, err error) error {
		switch {
		case err != nil:
			leave(name, cause(err))
			return nil
		case info.IsDir():
			dirs, modes[name] = append(dirs, name), info
			return to.Mkdir(name, 0o700)
		case info.Mode()&fs.ModeSymlink != 0:
			c.Files++
			return copyLink(to, from, name)
		case !info.Mode().IsRegular():
			leave(name, "not a regular file")
			return nil
		}
		n, err := copyFile(to, from, name, info)
		if errors.Is(err, errUnread) {
			leave(name, cause(err))
			return nil
		}
		c.Files, c.Bytes = c.Files+1, c.Bytes+n
		return errors.Join(err, o.Within(src, c.Files, c.Bytes))
	})
	for _, name := range slices.Backward(dirs) { // after their contents, which change the times
		if err == nil {
			err = errors.Join(to.Chmod(name, modes[name].Mode().Perm()), to.Chtimes(name, time.Time{}, modes[name].ModTime()))
		}
	}
	return c, err
}

// errUnread marks errors of reading a file, as opposed to writing its copy.
var errUnread = errors.New("it cannot be read")

// cause returns an error without the path that it names.
func cause(err error) error {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		return p.Err
	}
	return err
}

// copyLink copies a link with its target, which need not exist.
func copyLink(to, from *os.Root, name string) error {
	target, err := from.Readlink(name)
	if err != nil {
		return err
	}
	return to.Symlink(target, name)
}

// copyFile copies a regular file with its permissions and its time.
func copyFile(to, from *os.Root, name string, info fs.FileInfo) (n int64, err error) {
	r, _, err := regular.Open(from, name)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnread, err)
	}
	defer r.Close()
	w, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(w, r) // on Linux by copy_file_range, which shares blocks where it can
	err = errors.Join(err, w.Chmod(info.Mode().Perm()), w.Close())
	return n, errors.Join(err, to.Chtimes(name, time.Time{}, info.ModTime()))
}

// removeAll removes a directory, even if directories below it are read-only.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	// The next RemoveAll reports what Chmod cannot change.
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Remove removes a copy, if it exists, and what an interrupted [Copy] has left.
func Remove(dir string) error { return errors.Join(removeAll(dir+".part"), removeAll(dir)) }

// parents returns the directories that contain name, the outermost first.
func parents(name string) []string {
	var all []string
	for at := path.Dir(name); at != "." && at != "/"; at = path.Dir(at) {
		all = append(all, at)
	}
	slices.Reverse(all)
	return all
}

// below reports whether name is dir or below it.
func below(dir, name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }
