package copydir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// The values of [Change].Change.
const (
	Created  = "created"
	Modified = "modified"
	Deleted  = "deleted"
)

// A Change is a file or link that differs between two directories.
type Change struct {
	Path   string `json:"path"`
	Change string `json:"change"` // Created, Modified or Deleted
	Bytes  int64  `json:"bytes"`  // the new size
}

// A tree is the content of a directory when it was read.
type tree struct {
	root  *os.Root
	items map[string]item
}

// An item is a file, a link or a directory.
type item struct {
	info fs.FileInfo
	link string // the target of a link
}

// The zero item stands for a name that does not exist.

func (i item) isDir() bool  { return i.info != nil && i.info.IsDir() }
func (i item) isLink() bool { return i.info != nil && i.info.Mode()&fs.ModeSymlink != 0 }

// opened opens a directory in the way that is given, if one is.
func opened(dir string, open func(string) (*os.Root, error)) (*os.Root, error) {
	if open == nil {
		return os.OpenRoot(dir)
	}
	return open(dir)
}

// read returns the tree of dir. The caller must close its root.
func read(ctx context.Context, dir string, open func(string) (*os.Root, error), skip func(string) bool) (*tree, error) {
	root, err := opened(dir, open)
	if err != nil {
		return nil, err
	}
	t := &tree{root: root, items: make(map[string]item)}
	err = Options{Skip: skip}.walk(ctx, root.FS(), func(name string, info fs.FileInfo, err error) error {
		if err != nil || info == nil {
			return nil // unreadable files were not copied
		}
		it := item{info: info}
		if it.isLink() {
			if it.link, err = root.Readlink(name); err != nil {
				return nil
			}
		}
		t.items[name] = it
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return t, nil
}

// same reports whether both trees have the same at name. The times of files do not
// count.
func same(a, b *tree, name string) (bool, error) {
	x, there := a.items[name]
	y, too := b.items[name]
	if !there || !too {
		return there == too, nil
	}
	switch {
	case x.isDir() && y.isDir():
		return true, nil
	case x.info.Mode() != y.info.Mode() || x.link != y.link:
		return false, nil
	case x.isLink() || !x.info.Mode().IsRegular():
		return true, nil
	case x.info.Size() != y.info.Size():
		return false, nil
	}
	return sameContent(a.root, b.root, name)
}

// sameContent compares files. A file that cannot be read differs from all others.
func sameContent(a, b *os.Root, name string) (bool, error) {
	f, _, err := regular.Open(a, name)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	g, _, err := regular.Open(b, name)
	if err != nil {
		return false, nil
	}
	defer g.Close()
	return equal(bufio.NewReaderSize(f, 64<<10), bufio.NewReaderSize(g, 64<<10))
}

// equal reports whether two readers have the same content.
func equal(a, b *bufio.Reader) (bool, error) {
	for {
		x, err1 := a.Peek(32 << 10)
		y, err2 := b.Peek(32 << 10)
		if !bytes.Equal(x, y) {
			return false, nil
		}
		if err1 != nil || err2 != nil {
			err := errors.Join(notEOF(err1), notEOF(err2))
			return err == nil, err
		}
		a.Discard(len(x))
		b.Discard(len(y))
	}
}

// notEOF returns err, or nil for the end of a file.
func notEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Changes returns the files and links that differ between base and dir, by name.
func Changes(ctx context.Context, base, dir string, skip func(name string) bool) ([]Change, error) {
	a, err := read(ctx, base, nil, skip)
	if err != nil {
		return nil, err
	}
	defer a.root.Close()
	b, err := read(ctx, dir, nil, skip)
	if err != nil {
		return nil, err
	}
	defer b.root.Close()
	return changes(ctx, a, b)
}

// changes returns the changes from a to b, by name.
func changes(ctx context.Context, a, b *tree) ([]Change, error) {
	names := make(map[string]bool)
	for name := range maps.Keys(a.items) {
		names[name] = true
	}
	for name := range maps.Keys(b.items) {
		names[name] = true
	}
	list := []Change{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if ok, err := same(a, b, name); ok || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		list = append(list, changeOf(a.items[name], b.items[name], name)...)
	}
	return list, nil
}

// changeOf returns the change of one name. Directories count as absent.
func changeOf(was, now item, name string) []Change {
	file := func(i item) bool { return i.info != nil && !i.isDir() }
	switch {
	case file(was) && file(now):
		return []Change{{name, Modified, now.info.Size()}}
	case file(now):
		return []Change{{name, Created, now.info.Size()}}
	case file(was):
		return []Change{{name, Deleted, 0}}
	}
	return nil
}
