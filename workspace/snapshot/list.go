package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A list is how the entries of a directory are stored: sorted by the bytes of the
// names. One of more than pageFrom entries is cut into pages, at names that do not
// depend on their neighbours, so that a change in it stores one page anew.
//
// It is listMagic, then the packs that are referred to, then the entries or the pages,
// which are lists with the entries, in order. Each of the three begins with their number.
// Numbers are varints as in [encoding/binary]; texts begin with their length.
//
//	pack:    name, or "" for the pack that the list is in
//	entry:   name, kind, flags, mode, size, and what the flags say: time in nanoseconds
//	         since 1970, target, user and group, attributes with their number, why the
//	         content is not kept, object
//	page:    object
//	object:  SHA-256, size, number of parts, and of each: pack, frame, from, size
//
// The sum of a list is that of its bytes without the packs and the parts, so that it is
// the same wherever the content is.
const listMagic = '\x02'

const pageFrom = 512

// endsPage reports whether a page ends before the entry with this name: before one
// in 256.
func endsPage(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%256 == 0
}

// kinds are the kinds of entries as lists number them.
var kinds = [...]Kind{File, Dir, Link, Device}

// The flags of an entry say what it has.
const (
	hasTime = 1 << iota
	hasTarget
	hasOwner
	hasAttrs
	hasLeft
	hasContent
	isSparse
)

// A listWriter writes a list.
type listWriter struct {
	out   []byte
	packs []openmanus.Ref
	known map[openmanus.Ref]int
}

func (w *listWriter) number(n int64) { w.out = binary.AppendUvarint(w.out, uint64(n)) }

func (w *listWriter) text(s string) {
	w.number(int64(len(s)))
	w.out = append(w.out, s...)
}

// object writes what an object is. Where it is, parts writes.
func (w *listWriter) object(o *Object) {
	w.out = append(w.out, o.Sum[:]...)
	w.number(o.Size)
}

func (w *listWriter) parts(o *Object) {
	w.number(int64(len(o.Parts)))
	for _, p := range o.Parts {
		n, ok := w.known[p.Pack]
		if !ok {
			n = len(w.packs)
			w.known[p.Pack] = n
			w.packs = append(w.packs, p.Pack)
		}
		w.number(int64(n))
		w.number(int64(p.Frame))
		w.number(int64(p.From))
		w.number(int64(p.Size))
	}
}

// entry writes an entry without the parts of its content.
func (w *listWriter) entry(e *Entry) {
	w.text(e.Name)
	flags := byte(0)
	for i, has := range [...]bool{
		!e.ModTime.IsZero(), e.Target != "", e.Owner != nil, len(e.Attrs) > 0, e.Left != "", e.Content != nil, e.Sparse,
	} {
		if has {
			flags |= 1 << i
		}
	}
	w.out = append(w.out, byte(slices.Index(kinds[:], e.Kind)), flags)
	w.number(int64(e.Mode))
	w.number(e.Size)
	if flags&hasTime != 0 {
		w.out = binary.AppendVarint(w.out, e.ModTime.UnixNano())
	}
	if flags&hasTarget != 0 {
		w.text(e.Target)
	}
	if flags&hasOwner != 0 {
		w.number(int64(e.Owner.UID))
		w.number(int64(e.Owner.GID))
	}
	if flags&hasAttrs != 0 {
		w.number(int64(len(e.Attrs)))
		for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
			w.text(name)
			w.text(string(e.Attrs[name]))
		}
	}
	if flags&hasLeft != 0 {
		w.text(e.Left)
	}
	if flags&hasContent != 0 {
		w.object(e.Content)
	}
}

// encodeList returns the entries, or the pages, as they are stored, and the sum
// that they have wherever their content is.
func encodeList(entries []*Entry, pages []*Object) ([]byte, Sum) {
	w := listWriter{known: make(map[openmanus.Ref]int), out: make([]byte, 0, 128*(len(entries)+len(pages)))}
	h := sha256.New()
	h.Write([]byte{listMagic})
	summed := func(write func()) {
		from := len(w.out)
		write()
		h.Write(w.out[from:])
	}
	summed(func() { w.number(int64(len(entries))) })
	for _, e := range entries {
		summed(func() { w.entry(e) })
		if e.Content != nil {
			w.parts(e.Content)
		}
	}
	summed(func() { w.number(int64(len(pages))) })
	for _, p := range pages {
		summed(func() { w.object(p) })
		w.parts(p)
	}
	head := listWriter{out: make([]byte, 0, len(w.out)+80*len(w.packs)+8)}
	head.out = append(head.out, listMagic)
	head.number(int64(len(w.packs)))
	for _, ref := range w.packs {
		head.text(string(ref))
	}
	return append(head.out, w.out...), Sum(h.Sum(nil))
}

var errList = errors.New("it is not the list of a directory in a snapshot, or a damaged one")

// A listReader reads what a listWriter wrote. After the first thing that is none of it,
// bad is set, and it returns zeros.
type listReader struct {
	rest  string
	packs []openmanus.Ref
	bad   bool
}

// number reads a number that is at most limit.
func (r *listReader) number(limit int64) int64 {
	n, size := uint64(0), 0
	for ; ; size++ {
		if r.bad || size == len(r.rest) || size == binary.MaxVarintLen64 {
			r.bad = true
			return 0
		}
		b := r.rest[size]
		n |= uint64(b&0x7f) << (7 * size)
		if b < 0x80 {
			break
		}
	}
	r.rest = r.rest[size+1:]
	if limit < 0 || n > uint64(limit) {
		r.bad = true
		return 0
	}
	return int64(n)
}

func (r *listReader) int() int { return int(r.number(math.MaxInt)) }

// count reads how many things follow, each of which has at least so many bytes.
func (r *listReader) count(least int) int { return int(r.number(int64(len(r.rest) / least))) }

func (r *listReader) bytes(n int) string {
	if r.bad || n > len(r.rest) {
		r.bad = true
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *listReader) text() string { return r.bytes(r.count(1)) }

func (r *listReader) byte() byte {
	if s := r.bytes(1); s != "" {
		return s[0]
	}
	return 0
}

// time reads a signed varint.
func (r *listReader) time() time.Time {
	var b [binary.MaxVarintLen64]byte
	n, size := binary.Varint(b[:copy(b[:], r.rest)])
	if size <= 0 {
		r.bad = true
		return time.Time{}
	}
	r.bytes(size)
	return time.Unix(0, n)
}

// object reads an object with its parts.
func (r *listReader) object() *Object {
	o := new(Object)
	copy(o.Sum[:], r.bytes(len(o.Sum)))
	o.Size = r.number(math.MaxInt64)
	n := r.count(4)
	if n > 0 {
		o.Parts = make([]Part, 0, min(n, 16)) // nothing is trusted, not even n
	}
	size := int64(0)
	for range n {
		pack := r.number(int64(len(r.packs) - 1))
		p := Part{Frame: r.int(), From: r.int(), Size: int(r.number(maxFrame))}
		if r.bad || p.Size == 0 {
			r.bad = true
			return o
		}
		p.Pack = r.packs[pack]
		o.Parts = append(o.Parts, p)
		size += int64(p.Size)
	}
	r.bad = r.bad || size != o.Size
	return o
}

func (r *listReader) entry(e *Entry) {
	e.Name = r.text()
	kind, flags := int(r.byte()), r.byte()
	if kind >= len(kinds) {
		r.bad = true
		return
	}
	e.Kind, e.Mode, e.Size = kinds[kind], fs.FileMode(r.number(int64(modeBits))), r.number(math.MaxInt64)
	e.Sparse = flags&isSparse != 0
	if flags&hasTime != 0 {
		e.ModTime = r.time()
	}
	if flags&hasTarget != 0 {
		e.Target = r.text()
	}
	if flags&hasOwner != 0 {
		e.Owner = &Owner{UID: r.int(), GID: r.int()}
	}
	if flags&hasAttrs != 0 {
		e.Attrs = make(map[string][]byte)
		for range r.count(2) {
			name := r.text()
			e.Attrs[name] = []byte(r.text())
		}
	}
	if flags&hasLeft != 0 {
		e.Left = r.text()
	}
	if flags&hasContent != 0 {
		e.Content = r.object()
	}
}

// decodeList reads what encodeList returned from the pack self. It trusts nothing:
// a list may come from a file that somebody sent.
func decodeList(data []byte, self openmanus.Ref) (entries []*Entry, pages []*Object, err error) {
	if len(data) == 0 || data[0] != listMagic {
		return decodeJSONList(data, self)
	}
	r := listReader{rest: string(data[1:])}
	for range r.count(1) {
		ref := openmanus.Ref(r.text())
		ref = cmp.Or(ref, self)
		r.packs = append(r.packs, ref)
	}
	var some []Entry // room for the next, many of which are allocated at once
	last := ""
	for left := r.count(6); left > 0; left-- {
		if len(some) == 0 {
			some = make([]Entry, min(left, 128))
		}
		e := &some[0]
		some = some[1:]
		if r.entry(e); r.bad || !e.valid() || e.Name <= last {
			return nil, nil, errList
		}
		last = e.Name
		entries = append(entries, e)
	}
	for range r.count(len(Sum{})) {
		pages = append(pages, r.object())
	}
	if r.bad || r.rest != "" || len(pages) > 0 && len(entries) > 0 {
		return nil, nil, errList
	}
	return entries, pages, nil
}

// modeBits are those that an entry's mode may have.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

func (e *Entry) valid() bool {
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") ||
		e.Mode&^modeBits != 0 || e.Size < 0 {
		return false
	}
	switch e.Kind {
	case File:
		return e.Content == nil || e.Content.Size == e.Size
	case Dir:
		return true
	case Link:
		return e.Content == nil && e.Target != "" && !strings.ContainsRune(e.Target, 0)
	case Device:
		return e.Content == nil
	}
	return false
}
