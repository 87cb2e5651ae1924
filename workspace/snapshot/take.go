package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/regular"
	"github.com/openmanus-go/openmanus/internal/xattr"
)

// Options say what a [Tracker] keeps. The zero Options keep everything up to the
// default limits.
type Options struct {
	// Skip, if not nil, reports whether a name, relative to the directory and
	// with slashes, and everything below it, is no part of the directory.
	Skip func(name string) bool

	// Built, if not nil, reports whether a name holds what can be made again,
	// such as dependencies and the output of builds. The limits MaxBuilt and
	// MaxBuiltTotal hold for it and everything below it.
	Built func(name string, dir bool) bool

	MaxFile       int64 // bytes of a file whose content is kept; 0: 1 GiB
	MaxTotal      int64 // bytes of new content that are kept in a day, before compression; 0: 16 GiB
	MaxBuilt      int64 // bytes of a file that can be made again; 0: 1 MiB
	MaxBuiltTotal int64 // bytes of new content of such files that are kept in a day; 0: 256 MiB
	MaxFiles      int   // names that are looked at; 0: 500,000
}

func (o Options) withDefaults() Options {
	o.MaxFile = cmp.Or(o.MaxFile, 1<<30)
	o.MaxTotal = cmp.Or(o.MaxTotal, 16<<30)
	o.MaxBuilt = cmp.Or(o.MaxBuilt, 1<<20)
	o.MaxBuiltTotal = cmp.Or(o.MaxBuiltTotal, 256<<20)
	o.MaxFiles = cmp.Or(o.MaxFiles, 500_000)
	return o
}

// ErrTooMany says that a directory has more names than [Options.MaxFiles].
var ErrTooMany = errors.New("too many files for a snapshot")

// A Tracker takes snapshots of one directory. It is safe for concurrent use; one
// snapshot is taken at a time.
type Tracker struct {
	root *os.Root
	o    Options

	mu    sync.Mutex
	pack  *packer
	top   *node // as of the last snapshot; nil: none was taken
	tree  Tree
	walks uint64 // snapshots that were begun
	// have is content that was stored, also of earlier trees: its packs may be
	// gone, see walk.hold.
	have  map[Sum]*Object
	lists map[Sum]*Object // the same of lists: a file may have the bytes of which the sum of a list is
	spent spent
	one   *History // of Take
}

// spent is how much content was stored since a time, for the limits of a day.
type spent struct {
	Since time.Time
	All   int64 // bytes, of all files
	Built int64 // and of those that can be made again
}

// renew begins a new day if the last one is over.
func (s *spent) renew(now time.Time) {
	if d := now.Sub(s.Since); d < 0 || d > 24*time.Hour {
		*s = spent{Since: now}
	}
}

// A node is a directory as of the last snapshot.
type node struct {
	Items  []*item // by name
	Object *Object
	Files  int
	Bytes  int64
	Names  int   // names in it, at any depth, also of what is skipped
	Left   int   // names of which the content is not kept
	Stamp  stamp // of the directory, from before its names were read
	Fresh  bool  // a name may have come or gone later without another stamp

	// The number of the walk that found the directory itself, or everything in it at any
	// depth, as it was: see walk.check.
	clean, whole uint64
}

// An item is an entry, and how to tell that it has not changed.
type item struct {
	Entry
	Stamp stamp
	Fresh bool  // it may have changed later without another stamp
	Dir   *node // of a directory
}

// NewTracker returns a tracker of the directory root, which it does not close.
func NewTracker(root *os.Root, blobs openmanus.Blobs, o Options) (*Tracker, error) {
	p, err := newPacker(blobs)
	if err != nil {
		return nil, err
	}
	return &Tracker{
		root: root, o: o.withDefaults(), pack: p,
		have: make(map[Sum]*Object), lists: make(map[Sum]*Object),
	}, nil
}

// packs calls add with the packs that the directory needs.
func (n *node) packs(add func(openmanus.Ref)) {
	object := func(o *Object) {
		if o == nil {
			return
		}
		for _, p := range o.Parts {
			add(p.Pack)
		}
	}
	object(n.Object)
	for _, it := range n.Items {
		object(it.Content)
		if it.Dir != nil {
			it.Dir.packs(add)
		}
	}
}

// forget forgets the content that was to be in these packs, or in the next.
func (t *Tracker) forget(packs map[openmanus.Ref]bool) {
	unstored := func(_ Sum, o *Object) bool {
		return slices.ContainsFunc(o.Parts, func(p Part) bool { return p.Pack == "" || packs[p.Pack] })
	}
	maps.DeleteFunc(t.have, unstored)
	maps.DeleteFunc(t.lists, unstored)
}

// A walk is one Take.
type walk struct {
	t       *Tracker
	h       *History
	ctx     context.Context
	now     time.Time
	mount   uint64 // the device of the directory
	names   int
	files   int             // that were read
	told    func(files int) // may be nil
	left    []Left
	leftOut int

	held  map[openmanus.Ref]bool // packs that are kept for what refers to them now, or that are gone (false)
	packs []openmanus.Ref        // those that are, in order
	buf   []byte                 // what was read last
}

func (w *walk) device(root *os.Root) (uint64, error) {
	info, err := root.Lstat(".")
	if err != nil {
		return 0, err
	}
	return stampOf(info).Dev, nil
}

// dir returns what the directory contains. It returns old itself if that is the
// same.
func (w *walk) dir(root *os.Root, name string, old *node, built bool) (*node, error) {
	if w.isWhole(old) {
		w.leaveAll(name, old)
		return old, w.count(old.Names)
	}
	if w.isClean(old) {
		return w.cleanDir(root, name, old, built)
	}
	f, names, stamp, err := readNames(root)
	if err != nil {
		return nil, &fs.PathError{Op: "list", Path: name, Err: err}
	}
	defer f.Close()
	if err := w.count(len(names)); err != nil {
		return nil, err
	}
	n := &node{Names: len(names), Stamp: stamp, Fresh: w.isFresh(stamp)}
	var was []*item
	if old != nil {
		was = old.Items
	}
	same := old != nil
	at := 0 // in was
	for _, base := range names {
		full := path.Join(name, base)
		if strings.HasPrefix(base, tempPrefix) || w.t.o.Skip != nil && w.t.o.Skip(full) {
			continue
		}
		for at < len(was) && was[at].Name < base {
			at++
			same = false
		}
		var before *item
		if at < len(was) && was[at].Name == base {
			before = was[at]
			at++
		}
		it := before
		if !before.settled() || !before.isAt(int(f.Fd())) {
			if it, err = w.item(root, full, base, before, built); err != nil {
				return nil, err
			}
		}
		same = same && it == before
		w.add(n, full, it)
	}
	if same && at == len(was) {
		old.Stamp, old.Fresh, old.Names = n.Stamp, n.Fresh, n.Names
		return old, nil
	}
	return n, w.store(n)
}

// cleanDir is dir for a directory in which nothing but something below other directories
// has changed.
func (w *walk) cleanDir(root *os.Root, name string, old *node, built bool) (_ *node, err error) {
	n := &node{Names: old.Names, Stamp: old.Stamp}
	for _, before := range old.Items {
		if before.Dir != nil {
			n.Names -= before.Dir.Names
		}
	}
	if err := w.count(n.Names); err != nil {
		return nil, err
	}
	same := true
	for _, before := range old.Items {
		it, full := before, path.Join(name, before.Name)
		if before.Dir != nil {
			if it, err = w.item(root, full, before.Name, before, built); err != nil {
				return nil, err
			}
		}
		same = same && it == before
		w.add(n, full, it)
	}
	if same {
		return old, nil
	}
	return n, w.store(n)
}

// add adds an item to what a directory has; nil is one that is gone.
func (w *walk) add(n *node, full string, it *item) {
	if it == nil {
		return
	}
	n.Items = append(n.Items, it)
	switch {
	case it.Dir != nil:
		n.Files += it.Dir.Files
		n.Bytes += it.Dir.Bytes
		n.Names += it.Dir.Names
		n.Left += it.Dir.Left
	case it.Kind == File:
		n.Files++
		n.Bytes += it.Size
	}
	if it.Left != "" {
		n.Left++
		w.leave(full, it.Left)
	}
}

// count counts names. The error is ErrTooMany or that of the context.
func (w *walk) count(names int) error {
	if w.names += names; w.names > w.t.o.MaxFiles {
		return fmt.Errorf("%w: there are more than %d", ErrTooMany, w.t.o.MaxFiles)
	}
	return w.ctx.Err()
}

func (w *walk) leave(name, why string) {
	if w.leftOut++; len(w.left) < maxLeft {
		w.left = append(w.left, Left{name, why})
	}
}

// readNames opens a directory, and returns the names in it in the order of their bytes,
// and its stamp from before that.
func readNames(root *os.Root) (*os.File, []string, stamp, error) {
	f, err := root.Open(".")
	if err != nil {
		return nil, nil, stamp{}, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, stamp{}, errors.Join(err, f.Close())
	}
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, stamp{}, errors.Join(err, f.Close())
	}
	slices.Sort(names)
	return f, names, dirStamp(info), nil
}

// dirStamp is stampOf for a directory, of which the size means nothing.
func dirStamp(info fs.FileInfo) stamp {
	st := stampOf(info)
	st.Size = 0
	return st
}

// isFresh reports whether what has this stamp may change after the walk looked at it
// without getting another one.
func (w *walk) isFresh(st stamp) bool {
	changed := st.changed()
	return changed.Add(settles(changed)).After(w.now)
}

// settled reports whether the stamp of an item tells whether it has changed.
func (it *item) settled() bool { return it != nil && it.Dir == nil && it.Kind != Dir && !it.Fresh }

// settles returns for how long after a change of a file another one may leave its
// times as they are: clocks of file systems are coarse, some count seconds.
func settles(changed time.Time) time.Duration {
	if changed.Nanosecond() == 0 {
		return 2 * time.Second
	}
	return 50 * time.Millisecond
}

// item returns the entry of a name: before itself, if it has not changed, or nil if
// there is no such name any more.
func (w *walk) item(root *os.Root, full, base string, before *item, built bool) (*item, error) {
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	if before != nil && w.isWhole(before.Dir) {
		w.leaveAll(full, before.Dir)
		return before, w.count(before.Dir.Names)
	}
	info, err := root.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return &item{Entry: Entry{Name: base, Kind: Device, Left: reason(err)}}, passing(err)
	}
	st := stampOf(info)
	built = built || w.t.o.Built != nil && w.t.o.Built(full, info.IsDir())
	if info.IsDir() {
		return w.subdir(root, full, base, info, before, built)
	}
	if before != nil && before.Stamp == st && !before.Fresh {
		return before, nil
	}
	it := &item{Stamp: st, Fresh: w.isFresh(st), Entry: Entry{
		Name: base, Mode: info.Mode() & modeBits, Owner: st.owner(),
	}}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		it.Kind, it.Mode = Link, 0
		if it.Target, err = root.Readlink(base); err != nil {
			return nil, ignoreGone(err)
		}
	case info.Mode().IsRegular():
		it.Kind, it.Size, it.ModTime, it.Sparse = File, info.Size(), info.ModTime(), sparse(info)
		if err := w.content(root, base, it, built); err != nil {
			return nil, ignoreGone(err)
		}
	default:
		it.Kind = Device
	}
	if before != nil && before.Entry.equal(&it.Entry) {
		before.Stamp, before.Fresh = it.Stamp, it.Fresh // what was stored is what there is
		return before, nil
	}
	return it, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errStore) {
		return nil
	}
	return err
}

// passing returns an error that says nothing of a file, but that this process or machine has
// no room to open it now: what is in the file is not known then, and there is no snapshot.
// For other errors it returns nil.
func passing(err error) error {
	for _, short := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
		if errors.Is(err, short) {
			return err
		}
	}
	return nil
}

// reason returns the part of an error of a file that does not repeat its name.
func reason(err error) string {
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = p.Err
	}
	return "it cannot be read: " + err.Error()
}

// subdir returns the entry of a directory.
func (w *walk) subdir(
	root *os.Root, full, base string, info fs.FileInfo, before *item, built bool,
) (*item, error) {
	st := dirStamp(info)
	it := &item{Stamp: st, Entry: Entry{
		Name: base, Kind: Dir, Mode: info.Mode() & modeBits, ModTime: info.ModTime(), Owner: st.owner(),
	}}
	if st.Dev != w.mount {
		it.Left = "it is another file system"
		return it, nil
	}
	if strings.Count(full, "/") >= maxDepth {
		it.Left = fmt.Sprintf("there are more than %d directories above it", maxDepth)
		return it, nil
	}
	sub, err := root.OpenRoot(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		it.Left = reason(err)
		return it, passing(err)
	}
	defer sub.Close()
	var old *node
	if before != nil {
		old = before.Dir
	}
	if before == nil || before.Stamp != st {
		it.Attrs = xattr.OfDir(sub)
	} else {
		it.Attrs = before.Attrs
	}
	it.Dir, err = w.dir(sub, full, old, built)
	if p := (*fs.PathError)(nil); errors.As(err, &p) && p.Path == full {
		if errors.Is(err, fs.ErrNotExist) { // it was removed in the meantime
			return nil, nil
		}
		it.Left = reason(err)
		return it, passing(err)
	}
	if err != nil {
		return nil, err
	}
	it.Content = it.Dir.Object
	if before != nil && before.Stamp == st && it.Dir == old {
		return before, nil
	}
	return it, nil
}

// equal reports whether both entries are the same in everything.
func (e *Entry) equal(o *Entry) bool {
	same := e.Kind == o.Kind && e.Mode == o.Mode && e.Size == o.Size && e.Target == o.Target &&
		e.Sparse == o.Sparse && e.Left == o.Left && e.ModTime.Equal(o.ModTime) &&
		reflect.DeepEqual(e.Owner, o.Owner) && maps.EqualFunc(e.Attrs, o.Attrs, bytes.Equal)
	if e.Content == nil || o.Content == nil {
		return same && e.Content == o.Content
	}
	return same && e.Content.Sum == o.Content.Sum
}

// content stores the content of a file.
func (w *walk) content(root *os.Root, base string, it *item, built bool) error {
	t := w.t
	limit, rest := t.o.MaxFile, t.o.MaxTotal-t.spent.All
	if built {
		limit, rest = min(limit, t.o.MaxBuilt), min(rest, t.o.MaxBuiltTotal-t.spent.Built)
	}
	switch {
	case it.Size > limit:
		it.Left = fmt.Sprintf("it has %d bytes, more than the limit of %d", it.Size, limit)
		return nil
	case it.Size > rest:
		it.Left, it.Fresh = "the limit of what is kept in a day is reached", true // another day it is not
		return nil
	}
	f, err := root.OpenFile(base, os.O_RDONLY|regular.Nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		it.Left, it.Fresh = reason(err), true
		return passing(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		it.Left, it.Fresh = "it was replaced while it was read", true
		return nil
	}
	it.Attrs = xattr.Of(f)
	o, stored, err := w.read(f, limit)
	if w.files++; w.told != nil {
		w.told(w.files)
	}
	if err != nil {
		if w.ctx.Err() != nil || errors.Is(err, errStore) {
			return err
		}
		it.Left, it.Fresh = reason(err), true
		return passing(err)
	}
	t.spent.All += stored
	if built {
		t.spent.Built += stored
	}
	it.Fresh = it.Fresh || stampOf(info) != it.Stamp || o.Size != it.Size
	it.Content, it.Size = o, o.Size
	return nil
}

// errStore is in the chain of an error of the blobs, not of the file.
var errStore = errors.New("snapshot")

// fill reads as much of f into w.buf as a piece has, as io.ReadFull does. Most files are small, and most walks read none.
func (w *walk) fill(f *os.File) (n int, err error) {
	if w.buf == nil {
		w.buf = make([]byte, 64<<10)
	}
	if n, err = io.ReadFull(f, w.buf); err != nil || n == chunkSize {
		return n, err
	}
	w.buf = append(make([]byte, 0, chunkSize), w.buf...)[:chunkSize]
	more, err := io.ReadFull(f, w.buf[n:])
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n + more, err
}

// read stores what f has. It returns how many bytes of it were not stored before.
func (w *walk) read(f *os.File, limit int64) (_ *Object, stored int64, err error) {
	t := w.t
	n, err := w.fill(f)
	ended := func() bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
	if ended() {
		o, isNew, err := w.piece(w.buf[:n])
		if isNew {
			stored = int64(n)
		}
		return o, stored, err
	}
	// A large file: its content is that of its pieces.
	o := &Object{}
	var h hash.Hash = sha256.New()
	for n > 0 && (err == nil || ended()) {
		if err := w.ctx.Err(); err != nil {
			return nil, 0, err
		}
		h.Write(w.buf[:n])
		piece, isNew, perr := w.piece(w.buf[:n])
		if perr != nil {
			return nil, 0, perr
		}
		if isNew {
			stored += int64(n)
		}
		o.Parts = append(o.Parts, piece.Parts...)
		t.pack.refers(o)
		if o.Size += int64(n); err != nil {
			break
		}
		if o.Size > limit {
			return nil, 0, fmt.Errorf("it grows beyond the limit of %d bytes", limit)
		}
		n, err = w.fill(f)
	}
	if err != nil && !ended() {
		return nil, 0, err
	}
	o.Sum = Sum(h.Sum(nil))
	t.have[o.Sum] = o
	return o, stored, nil
}

// piece stores data, unless it is stored.
func (w *walk) piece(data []byte) (*Object, bool, error) {
	sum := sumOf(data)
	if o, err := w.stored(w.t.have, sum); o != nil || err != nil {
		return o, false, err
	}
	if err := w.t.pack.room(w.ctx); err != nil {
		return nil, false, fmt.Errorf("%w: %w", errStore, err)
	}
	o := &Object{Sum: sum, Size: int64(len(data))}
	w.t.pack.add(o, data, ofFiles)
	w.t.have[sum] = o
	return o, true, nil
}

// store stores the list of a directory.
func (w *walk) store(n *node) error {
	entries := make([]*Entry, len(n.Items))
	for i, it := range n.Items {
		entries[i] = &it.Entry
	}
	var pages []*Object
	if len(entries) > pageFrom {
		from := 0
		for i := range entries {
			if i+1 == len(entries) || endsPage(entries[i+1].Name) {
				o, err := w.storeList(entries[from:i+1], nil)
				if err != nil {
					return err
				}
				pages = append(pages, o)
				from = i + 1
			}
		}
		entries = nil
	}
	o, err := w.storeList(entries, pages)
	n.Object = o
	return err
}

// storeList stores a list, unless it is stored.
func (w *walk) storeList(entries []*Entry, pages []*Object) (*Object, error) {
	if err := w.t.pack.room(w.ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	data, sum := encodeList(entries, pages)
	if o, err := w.stored(w.t.lists, sum); o != nil || err != nil {
		return o, err
	}
	o := &Object{Sum: sum, Size: int64(len(data))}
	for chunk := range slices.Chunk(data, maxFrame) {
		w.t.pack.add(o, chunk, ofLists)
	}
	w.t.lists[sum] = o
	return o, nil
}

// Tree returns the tree of the last Take, or the zero Tree.
func (t *Tracker) Tree() Tree {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tree
}
