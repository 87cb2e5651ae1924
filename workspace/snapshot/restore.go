package snapshot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// tempPrefix begins the names of files that a restore has not put into place yet.
// Snapshots leave them out.
const tempPrefix = ".openmanus-restore-"

// Outcome says what a restore did with one name.
type Outcome struct {
	Op
	// Done says that the name is as Op.To says.
	Done bool
	// Why says why it is not: something else changed it in the meantime, or the
	// system refused. Nothing was changed at the name then.
	Why string
}

// Restore does ops in the directory root: it looks at each name, and where it finds
// From, it makes To of it. A file is replaced by a rename after its content is on the
// disk, so that at any moment, and after a loss of power, it has either content. A name that is neither in the state From nor in the state To is
// left as it is. So Restore can be called again with the same ops when it was
// interrupted, and does what is missing. When it returns, what it did is on the disk.
//
// The error is that of ctx or of the blobs; a name that cannot be changed is an
// [Outcome]. The outcomes are those of the ops, in their order.
func (r *Reader) Restore(ctx context.Context, root *os.Root, ops []Op) ([]Outcome, error) {
	x := restore{r: r, ctx: ctx, out: make([]Outcome, len(ops)), twins: make(map[inode][]*Outcome)}
	x.root = disk{top: root, before: r.beforeWrite, open: make(map[string]*os.Root)}
	defer x.root.close()
	defer x.discard()
	for i, op := range ops {
		x.out[i].Op = op
	}
	x.sweep()
	x.unlock()
	// First removals, the deepest ones first; then additions, the highest ones
	// first.
	for i := range slices.Backward(x.out) {
		if o := &x.out[i]; o.To == nil || o.From != nil && o.From.Kind != o.To.Kind {
			if err := x.try(o, x.remove); err != nil {
				return nil, err
			}
		}
	}
	for i := range x.out {
		if o := &x.out[i]; o.To != nil && o.Why == "" {
			if err := x.try(o, x.make); err != nil {
				return nil, err
			}
		}
	}
	x.place()
	x.relink()
	x.lock()
	return x.out, x.syncDirs()
}

type restore struct {
	r    *Reader
	ctx  context.Context
	root disk
	out  []Outcome

	was    stamp    // of what state returned last; zero: nothing was there
	staged []staged // files that are written and not in place
	bytes  int64    // of them

	twins map[inode][]*Outcome // names that get another content, by the file that they had
}

// sweep removes the temporary files of a restore that was killed, where it can.
func (x *restore) sweep() {
	seen := make(map[string]bool)
	for _, o := range x.out {
		dir := path.Dir(o.Name)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		f, err := x.root.Open(dir)
		if err != nil {
			continue // it is made later, or is no directory any more
		}
		names, err := f.Readdirnames(-1)
		if err := errors.Join(err, f.Close()); err != nil {
			continue
		}
		for _, name := range names {
			if strings.HasPrefix(name, tempPrefix) {
				_ = x.root.Remove(path.Join(dir, name))
			}
		}
	}
}

// unlock makes directories writable in which something may change, the highest first.
func (x *restore) unlock() {
	for i := range x.out {
		o := &x.out[i]
		if !o.From.isDir() {
			continue
		}
		if info, err := x.root.Lstat(o.Name); err == nil && info.IsDir() && info.Mode()&0o700 != 0o700 &&
			o.mayHave(info.Mode()&modeBits) {
			_ = x.root.Chmod(o.Name, info.Mode()&modeBits|0o700) // if it fails, so does what follows
		}
	}
}

// lock gives directories their permissions, the deepest first. They come last, because
// they may forbid what was to be done.
func (x *restore) lock() {
	for i := range slices.Backward(x.out) {
		o := &x.out[i]
		want := o.To
		if !o.Done {
			want = o.From // what could not be removed is as it was
		}
		if !want.isDir() {
			continue
		}
		info, err := x.root.Lstat(o.Name)
		if err == nil && info.IsDir() && info.Mode()&modeBits != want.Mode && o.mayHave(info.Mode()&modeBits) {
			err = x.root.Chmod(o.Name, want.Mode)
		}
		if err != nil && o.Done {
			o.Done, o.Why = false, why(err)
		}
	}
}

// mayHave reports whether a restore may have given a directory this mode, or it had it
// before.
func (o *Op) mayHave(mode fs.FileMode) bool {
	for _, e := range []*Entry{o.From, o.To} {
		if e.isDir() && (mode == e.Mode || mode == e.Mode|0o700) {
			return true
		}
	}
	// The process's mask leaves bits out until the mode is set.
	return o.To.isDir() && !o.From.isDir() && mode&^(o.To.Mode|0o700) == 0
}

// try does a part of an op, unless the name has another state than it expects.
func (x *restore) try(o *Outcome, act func(*Outcome) error) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	now, err := x.state(o)
	if err == nil && now.isDir() && o.To.isDir() && o.mayHave(now.Mode) {
		o.Done = true // but for the permissions
		return nil
	}
	if err == nil && now.isDir() && o.From.isDir() && o.mayHave(now.Mode) {
		now.Mode = o.From.Mode
	}
	switch {
	case err != nil:
	case now.Same(o.To):
		o.Done = true
		return nil
	case now == nil && o.From != nil && o.To != nil && o.From.Kind != o.To.Kind: // removed to be replaced
		err = act(o)
	case !now.Same(o.From):
		o.Why = "something else has changed it"
		return nil
	default:
		err = act(o)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, errContent) || x.ctx.Err() != nil {
		return err
	}
	o.Done, o.Why = false, why(err)
	return nil
}

// why returns an error without the name of the file, which the reader has.
func why(err error) string {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return err.Error()
}

// state returns what there is at a name now, with as much of it as the op needs.
func (x *restore) state(o *Outcome) (*Entry, error) {
	x.was = stamp{}
	info, err := x.root.Lstat(o.Name)
	if notThere(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	x.was = stampOf(info)
	e := &Entry{Name: path.Base(o.Name), Mode: info.Mode() & modeBits, ModTime: info.ModTime()}
	switch {
	case info.IsDir():
		e.Kind = Dir
	case info.Mode()&fs.ModeSymlink != 0:
		e.Kind, e.Mode = Link, 0
		e.Target, err = x.root.Readlink(o.Name)
	case info.Mode().IsRegular():
		e.Kind, e.Size = File, info.Size()
		if sizeIs(o.From, e.Size) || sizeIs(o.To, e.Size) {
			e.Content, err = x.sum(o.Name)
			if errors.Is(err, fs.ErrPermission) { // its size and time must do
				e.Content, err = nil, nil
			}
		} else {
			e.Content = &Object{} // another one
		}
	default:
		e.Kind = Device
	}
	return e, err
}

func sizeIs(e *Entry, size int64) bool {
	return e != nil && e.Kind == File && e.Size == size && e.Content != nil
}

// notThere reports whether err says that there is nothing at a name: also where a
// file is now what was the name's directory.
func notThere(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

// sum returns the content of a file now, without its place.
func (x *restore) sum(name string) (*Object, error) {
	dir, base, err := x.root.at(name)
	if err != nil {
		return nil, err
	}
	f, _, err := regular.Open(dir, base)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return &Object{Sum: Sum(h.Sum(nil)), Size: n}, err
}

// remove removes what is at a name, or only the directory if that is empty.
func (x *restore) remove(o *Outcome) error {
	err := x.root.Remove(o.Name)
	if isNotEmpty(err) {
		return errors.New("something else has put files into it")
	}
	if err != nil && !notThere(err) {
		return err
	}
	o.Done = o.To == nil
	return nil
}

// make makes what is to be at a name. A file is staged: place puts it there.
func (x *restore) make(o *Outcome) (err error) {
	switch to := o.To; {
	case to.Kind == Dir:
		if err = x.root.Mkdir(o.Name, 0o700); err == nil {
			err = x.root.Chmod(o.Name, to.Mode|0o700) // which may have bits that Mkdir does not take
		}
	case o.From.hasContentOf(to):
		// It has its content, and may have more names and be open.
		if err = x.root.Chmod(o.Name, to.Mode); err == nil {
			err = x.root.Chtimes(o.Name, time.Time{}, to.ModTime)
		}
	case to.Kind == Link:
		temp := tempName(o.Name)
		if err = x.root.Symlink(to.Target, temp); err == nil {
			err = x.root.Rename(temp, o.Name)
		}
		if err != nil {
			err = x.removeTemp(temp, err)
		}
	default:
		return x.stage(o)
	}
	o.Done = err == nil
	return err
}

// tempName returns a new name beside name.
func tempName(name string) string { return path.Join(path.Dir(name), tempPrefix+rand.Text()) }

// removeTemp removes a temporary file that could not be put into place because of err.
func (x *restore) removeTemp(temp string, err error) error {
	if gone := x.root.Remove(temp); gone != nil && !notThere(gone) {
		return errors.Join(err, gone)
	}
	return err
}

// errContent is in the chain of an error of the blobs.
var errContent = errors.New("read the snapshot")

// write writes what e says into a new file.
func (x *restore) write(f file, e *Entry) error {
	w := &holes{f: f, on: e.Sparse}
	if err := x.r.WriteTo(x.ctx, w, e); err != nil {
		if w.err != nil {
			return w.err
		}
		return fmt.Errorf("%w: %w", errContent, err)
	}
	if e.Sparse {
		if err := f.Truncate(e.Size); err != nil {
			return err
		}
	}
	mode := e.Mode
	if e.Owner != nil {
		switch err := f.Chown(e.Owner.UID, e.Owner.GID); {
		case errors.Is(err, fs.ErrPermission):
			mode &^= fs.ModeSetuid | fs.ModeSetgid // which were about its owner
		case err != nil:
			return err
		}
	}
	err := f.setAttrs(e.Attrs)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !unsupported(err) {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return x.root.Chtimes(f.Name(), time.Time{}, e.ModTime)
}

// holes writes a file, and leaves out blocks of zeros if it is on.
type holes struct {
	f   file
	on  bool
	err error // of the file
}

const block = 4096

var zeros [block]byte

func (h *holes) Write(data []byte) (int, error) {
	for at := 0; at < len(data); {
		n := min(block, len(data)-at)
		if h.on && string(data[at:at+n]) == string(zeros[:n]) {
			_, h.err = h.f.Seek(int64(n), io.SeekCurrent)
		} else {
			if !h.on {
				n = len(data) - at
			}
			_, h.err = h.f.Write(data[at : at+n])
		}
		if h.err != nil {
			return at, h.err
		}
		at += n
	}
	return len(data), nil
}
