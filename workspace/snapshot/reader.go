package snapshot

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/openmanus-go/openmanus"
)

// maxEntries bounds what is read of a tree that somebody sent, which can name the
// same directory in many places.
const maxEntries = 4 << 20

// maxDepth is how many directories are in one another at most. Snapshots leave out what
// is deeper.
const maxDepth = 256

// A Reader reads trees. It is safe for concurrent use, and remembers the packs that
// it read last.
type Reader struct {
	blobs openmanus.Blobs
	// beforeWrite, if not nil, is called before each change that Restore makes of the
	// file system, and may refuse it: a test ends the restore there.
	beforeWrite func() error
	volatile    bool // in tests, Restore does not wait for the disk

	mu    sync.Mutex
	dec   *zstd.Decoder
	packs map[openmanus.Ref]*packFile
	order []openmanus.Ref   // of packs, the oldest first
	lists map[Part][]*Entry // by the place: the same list may be in several, of which some are deleted
}

// cachedPacks and cachedLists are how much a Reader remembers.
const (
	cachedPacks = 8
	cachedLists = 256
)

// NewReader returns a reader of the trees that trackers stored in blobs.
func NewReader(blobs openmanus.Blobs) *Reader {
	return &Reader{blobs: blobs, packs: make(map[openmanus.Ref]*packFile), lists: make(map[Part][]*Entry)}
}

// read calls each with the pieces of o. They are valid during the call only.
func (r *Reader) read(ctx context.Context, o *Object, each func([]byte) error) error {
	if o == nil {
		return errNotKept
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dec == nil {
		var err error
		r.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxFrame))
		if err != nil {
			return fmt.Errorf("snapshot: %w", err)
		}
	}
	for _, part := range o.Parts {
		p, err := r.pack(ctx, part.Pack)
		if err != nil {
			return err
		}
		data, err := p.part(ctx, r.blobs, r.dec, part)
		if err != nil {
			return ofPack(part.Pack, err)
		}
		if err := each(data); err != nil {
			return err
		}
	}
	return nil
}

// ErrGone says that content was stored and has been deleted since. It is
// [fs.ErrNotExist] as well.
var ErrGone = errors.New("the files of that time were deleted to save space")

// errNotKept is the error for content that a snapshot left out.
var errNotKept = fmt.Errorf("its content was not kept: %w", fs.ErrNotExist)

// pack returns a pack. r.mu is held.
func (r *Reader) pack(ctx context.Context, ref openmanus.Ref) (*packFile, error) {
	if p := r.packs[ref]; p != nil {
		return p, nil
	}
	p, err := openPack(ctx, r.blobs, ref)
	if err != nil {
		return nil, ofPack(ref, err)
	}
	if len(r.order) == cachedPacks {
		delete(r.packs, r.order[0])
		r.order = r.order[1:]
	}
	r.packs[ref] = p
	r.order = append(r.order, ref)
	return p, nil
}

// ofPack says of which pack err is.
func ofPack(ref openmanus.Ref, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w (%w)", ErrGone, err)
	}
	return fmt.Errorf("read a snapshot: pack %s: %w", ref, err)
}

// maxList is how long a list may be. The longest name and target of a link, and 128
// KiB of attributes, for each entry of a page of average length, are 34 MB.
const maxList = 64 << 20

// bytes returns all of a list.
func (r *Reader) bytes(ctx context.Context, o *Object) (data []byte, err error) {
	if o != nil && o.Size > maxList {
		return nil, errList
	}
	err = r.read(ctx, o, func(b []byte) error {
		if len(data)+len(b) > maxList {
			return errList
		}
		data = append(data, b...)
		return nil
	})
	return data, err
}

// WriteTo writes the content of a file, and checks it. It writes everything or
// returns an error, which is [fs.ErrNotExist] if the content was not kept.
func (r *Reader) WriteTo(ctx context.Context, w io.Writer, file *Entry) error {
	h := sha256.New()
	err := r.read(ctx, file.Content, func(b []byte) error {
		h.Write(b)
		_, err := w.Write(b)
		return err
	})
	if err == nil && Sum(h.Sum(nil)) != file.Content.Sum {
		err = errPack
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	return nil
}

// List returns the entries of a directory of a tree, by name. They must not be
// changed.
func (r *Reader) List(ctx context.Context, dir *Object) ([]*Entry, error) {
	if dir == nil || len(dir.Parts) == 0 {
		return nil, errNotKept
	}
	r.mu.Lock()
	entries, ok := r.lists[dir.Parts[0]]
	r.mu.Unlock()
	if ok {
		return entries, nil
	}
	entries, err := r.list(ctx, dir, 2)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lists) == cachedLists {
		clear(r.lists)
	}
	r.lists[dir.Parts[0]] = entries
	return entries, nil
}

// list reads a list whose pages have at most depth-1 levels.
func (r *Reader) list(ctx context.Context, dir *Object, depth int) ([]*Entry, error) {
	if len(dir.Parts) == 0 {
		return nil, errNotKept
	}
	data, err := r.bytes(ctx, dir)
	if err != nil {
		return nil, err
	}
	entries, pages, err := decodeList(data, dir.Parts[0].Pack)
	if err != nil {
		return nil, err
	}
	if len(pages) > 0 && depth == 1 {
		return nil, errList
	}
	for _, p := range pages {
		more, err := r.list(ctx, p, depth-1)
		if err != nil {
			return nil, err
		}
		if n := len(entries); n > 0 && len(more) > 0 && more[0].Name <= entries[n-1].Name {
			return nil, errList
		}
		entries = append(entries, more...)
	}
	return entries, nil
}

// Lookup returns the entry with a name, or an error that is [fs.ErrNotExist]. Names
// are as in [io/fs], but may have any bytes. That of the directory itself is ".".
func (r *Reader) Lookup(ctx context.Context, t Tree, name string) (*Entry, error) {
	if !validName(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	at := &Entry{Name: ".", Kind: Dir, Content: &t.Root}
	if name == "." {
		return at, nil
	}
	for base := range strings.SplitSeq(name, "/") {
		if at.Kind != Dir || at.Content == nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		entries, err := r.List(ctx, at.Content)
		if err != nil {
			return nil, err
		}
		i, ok := slices.BinarySearchFunc(entries, base, func(e *Entry, name string) int {
			return strings.Compare(e.Name, name)
		})
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		at = entries[i]
	}
	return at, nil
}

// validName reports whether name is one of [Reader.Lookup].
func validName(name string) bool {
	if name == "." {
		return true
	}
	for base := range strings.SplitSeq(name, "/") {
		if !(&Entry{Name: base, Kind: Dir}).valid() {
			return false
		}
	}
	return true
}

// A Change is a name at which two trees differ.
type Change struct {
	Name string // relative to the directory, with slashes
	Was  *Entry // nil: it did not exist
	Now  *Entry // nil: it does not exist any more
}

// Diff yields the changes from tree a to tree b: of files, links and directories, a
// directory before what is in it. A directory that only has other entries is no change.
// Nothing is known of a directory that could not be read for one of the trees: the
// content in the other one is no change. The zero Tree has nothing. Diff ends after the
// first error.
func (r *Reader) Diff(ctx context.Context, a, b Tree) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		d := differ{r: r, ctx: ctx, yield: func(c Change) bool { return yield(c, nil) }}
		if err := d.dir("", rootOf(a), rootOf(b)); err != nil && !errors.Is(err, errStop) {
			yield(Change{}, err)
		}
	}
}

func rootOf(t Tree) *Object {
	if t.IsZero() {
		return nil
	}
	return &t.Root
}

type differ struct {
	r     *Reader
	ctx   context.Context
	yield func(Change) bool
	seen  int
}

var errStop = errors.New("stop")

// dir compares two directories; nil is one that does not exist, or whose entries
// are not known.
func (d *differ) dir(name string, a, b *Object) error {
	if a != nil && b != nil && a.Sum == b.Sum {
		return nil
	}
	if (a != nil || b != nil) && strings.Count(name, "/") >= maxDepth {
		return fmt.Errorf("%w: more than %d directories in one another", errList, maxDepth)
	}
	was, err := d.list(a)
	if err != nil {
		return err
	}
	now, err := d.list(b)
	if err != nil {
		return err
	}
	for len(was) > 0 || len(now) > 0 {
		var x, y *Entry
		if len(now) == 0 || len(was) > 0 && was[0].Name <= now[0].Name {
			x = was[0]
		}
		if len(was) == 0 || len(now) > 0 && now[0].Name <= was[0].Name {
			y = now[0]
		}
		if x != nil {
			was = was[1:]
		}
		if y != nil {
			now = now[1:]
		}
		if err := d.entry(name, x, y); err != nil {
			return err
		}
	}
	return nil
}

func (d *differ) list(o *Object) ([]*Entry, error) {
	if o == nil {
		return nil, nil
	}
	entries, err := d.r.List(d.ctx, o)
	if d.seen += len(entries); d.seen > maxEntries {
		return nil, fmt.Errorf("%w: more than %d names", errList, maxEntries)
	}
	return entries, err
}

func (d *differ) entry(dir string, x, y *Entry) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	some := x
	if some == nil {
		some = y
	}
	name := path.Join(dir, some.Name)
	if !x.Same(y) && !d.yield(Change{name, x, y}) {
		return errStop
	}
	if x.isDir() && y.isDir() && (x.Content == nil || y.Content == nil) {
		return nil
	}
	return d.dir(name, x.dir(), y.dir())
}

func (e *Entry) isDir() bool { return e != nil && e.Kind == Dir }

// dir returns the list of a directory, or nil.
func (e *Entry) dir() *Object {
	if !e.isDir() {
		return nil
	}
	return e.Content
}
