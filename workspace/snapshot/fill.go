package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// FillOptions say how [Reader.Fill] makes a directory.
type FillOptions struct {
	// Skip, if not nil, returns why a name, relative to the directory and with
	// slashes, and everything below it is left out, or "".
	Skip func(name string) string

	// Beside, if not nil, is a directory that had the tree's content once and may
	// have changed. A file there whose size, time and permissions are those of the
	// tree is copied, since file systems copy faster than packs are unpacked and may
	// share the blocks. A copy of a file whose content was kept is checked; of
	// others, it is all that there is.
	Beside *os.Root

	// Foreign says that the tree was made by someone else: files get no owner, no
	// extended attributes, and of the permissions those to read, write and execute.
	Foreign bool
}

// Filled describes what [Reader.Fill] made.
type Filled struct {
	Files int   // regular files and links
	Bytes int64 // the sizes of the files
	// Left are the first names that were left out, with the reason, and LeftOut is
	// how many there are.
	Left    []Left
	LeftOut int
}

// Fill makes the content of a tree in the directory root, which is empty: files with
// permissions, times and what else the tree has of them, directories and links.
// Names whose content is not known any more are left out. Every other name that
// cannot be made, such as on a full disk, is an error, and the directory has a part
// of the content then. When Fill returns, the files are on the disk.
func (r *Reader) Fill(ctx context.Context, root *os.Root, t Tree, o FillOptions) (Filled, error) {
	f := filling{FillOptions: o, ctx: ctx, root: root}
	for c, err := range r.Diff(ctx, Tree{}, t) {
		if err == nil {
			err = f.add(c.Name, c.Now)
		}
		if err != nil {
			return f.out, err
		}
	}
	err := f.seed()
	if err == nil {
		err = f.restore(r)
	}
	for _, op := range slices.Backward(f.ops) { // after their contents, which change the times
		if err == nil && op.To.Kind == Dir {
			err = root.Chtimes(op.Name, time.Time{}, op.To.ModTime)
		}
	}
	return f.out, err
}

type filling struct {
	FillOptions
	ctx  context.Context
	root *os.Root
	ops  []Op
	out  Filled
	gone string // a directory that is left out: "" for none
}

// leave leaves out a name.
func (f *filling) leave(name, why string) {
	if f.out.LeftOut++; len(f.out.Left) < maxLeft {
		f.out.Left = append(f.out.Left, Left{name, why})
	}
}

// add adds a name to what is made. Names come in the order of a walk.
func (f *filling) add(name string, e *Entry) error {
	if f.gone != "" && strings.HasPrefix(name, f.gone+"/") {
		return nil
	}
	if f.Skip != nil {
		if why := f.Skip(name); why != "" {
			f.gone = name
			f.leave(name, why)
			return nil
		}
	}
	switch {
	case e.Kind == Device:
		f.leave(name, "a pipe, a socket or a device")
		return nil
	case e.Kind == File && e.Content == nil && !f.unchanged(name, e):
		f.leave(name, "the snapshot does not have its content ("+e.Left+"), and the file has changed since")
		return nil
	case e.Kind == Dir && e.Content == nil:
		f.leave(name, "the snapshot does not have what is in it ("+e.Left+")")
	}
	if e.Kind != Dir {
		f.out.Files++
		f.out.Bytes += e.Size
	}
	if f.Foreign {
		plain := *e
		plain.Mode, plain.Owner, plain.Attrs = e.Mode&fs.ModePerm, nil, nil
		e = &plain
	}
	op := Op{Name: name, To: e}
	if e.Kind == Dir {
		op.From = &Entry{Name: e.Name, Kind: Dir, Mode: 0o700} // it gets its own permissions at the end
		if err := errors.Join(f.root.Mkdir(name, 0o700), f.root.Chmod(name, 0o700)); err != nil {
			return err
		}
	}
	f.ops = append(f.ops, op)
	return nil
}

// unchanged reports whether the file in Beside looks like that of the tree.
func (f *filling) unchanged(name string, e *Entry) bool {
	if f.Beside == nil {
		return false
	}
	info, err := f.Beside.Lstat(name)
	return err == nil && info.Mode().IsRegular() && info.Size() == e.Size &&
		info.Mode()&modeBits == e.Mode && info.ModTime().Equal(e.ModTime)
}

// seed copies files from Beside. It does not copy what has more than content: those
// come from the packs. Copies with a content that is not the tree's are replaced
// later.
func (f *filling) seed() error {
	if f.Beside == nil {
		return nil
	}
	for i, op := range f.ops {
		e := op.To
		plain := e.Content == nil || e.Owner == nil && len(e.Attrs) == 0 && !e.Sparse
		if e.Kind != File || !plain || !f.unchanged(op.Name, e) {
			continue
		}
		if err := f.ctx.Err(); err != nil {
			return err
		}
		err := f.copy(op.Name, e)
		if errors.Is(err, errUnread) && e.Content == nil {
			f.leave(op.Name, "the snapshot does not have its content ("+e.Left+"), and the file cannot be read")
			f.ops[i].To = nil
		}
		if err != nil && !errors.Is(err, errUnread) {
			return err
		}
	}
	f.ops = slices.DeleteFunc(f.ops, func(op Op) bool { return op.To == nil })
	return nil
}

// errUnread marks errors of reading a file that stands beside.
var errUnread = errors.New("it cannot be read")

// copy copies one file with its permissions and its time.
func (f *filling) copy(name string, e *Entry) error {
	from, _, err := regular.Open(f.Beside, name)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnread, err)
	}
	defer from.Close()
	to, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from) // on Linux by copy_file_range, which shares blocks where it can
	err = errors.Join(err, to.Chmod(e.Mode), to.Close())
	return errors.Join(err, f.root.Chtimes(name, time.Time{}, e.ModTime))
}

// restore makes everything that is not there, and checks what is.
func (f *filling) restore(r *Reader) error {
	var ops []Op
	for _, op := range f.ops {
		if op.To.Kind != File || op.To.Content != nil {
			ops = append(ops, op)
		}
	}
	for again := false; ; again = true {
		done, err := r.Restore(f.ctx, f.root, ops)
		if err != nil {
			return err
		}
		ops = nil
		for _, o := range done {
			switch {
			case o.Done:
			case again || o.To.Kind != File || f.root.Remove(o.Name) != nil:
				return fmt.Errorf("%s: %s", o.Name, o.Why)
			default: // a copy of a file that had changed
				ops = append(ops, o.Op)
			}
		}
		if len(ops) == 0 {
			return nil
		}
	}
}
