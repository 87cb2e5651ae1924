package snapshot

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
)

// A list is how the entries of a directory are stored: as JSON, sorted by the bytes
// of the names. One of more than pageFrom entries is cut into pages, at names that
// do not depend on their neighbours, so that a change in it stores one page anew.
type list struct {
	Packs   []openmanus.Ref `json:"packs,omitempty"` // those that are referred to; "" is the pack that the list is in
	Entries []listEntry     `json:"entries,omitempty"`
	Pages   []listObject    `json:"pages,omitempty"` // lists with the entries, in order
}

const pageFrom = 512

// endsPage reports whether a page ends before the entry with this name: before one
// in 256.
func endsPage(name string) bool {
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%256 == 0
}

type listEntry struct {
	Name    string            `json:"n,omitempty"`
	Bytes   []byte            `json:"b,omitempty"` // the name, if it is not UTF-8
	Kind    Kind              `json:"k"`
	Mode    fs.FileMode       `json:"m"`
	Time    int64             `json:"t,omitempty"` // nanoseconds since 1970
	Size    int64             `json:"s,omitempty"`
	Target  []byte            `json:"to,omitempty"`
	Content *listObject       `json:"c,omitempty"`
	Sparse  bool              `json:"sparse,omitempty"`
	Owner   *Owner            `json:"owner,omitempty"`
	Attrs   map[string][]byte `json:"x,omitempty"`
	Left    string            `json:"left,omitempty"`
}

// A listObject is an [Object] with the indices of packs for their names.
type listObject struct {
	Sum   []byte   `json:"h"`
	Size  int64    `json:"s"`
	Parts [][4]int `json:"p,omitempty"` // pack, frame, from, size
}

// encodeList returns the entries, or the pages, as they are stored, and the sum
// that they have wherever their content is.
func encodeList(entries []*Entry, pages []*Object) ([]byte, Sum) {
	var l list
	known := make(map[openmanus.Ref]int)
	object := func(o *Object) *listObject {
		if o == nil {
			return nil
		}
		w := &listObject{Sum: o.Sum[:], Size: o.Size, Parts: make([][4]int, len(o.Parts))}
		for i, p := range o.Parts {
			n, ok := known[p.Pack]
			if !ok {
				n = len(l.Packs)
				known[p.Pack] = n
				l.Packs = append(l.Packs, p.Pack)
			}
			w.Parts[i] = [4]int{n, p.Frame, p.From, p.Size}
		}
		return w
	}
	for _, e := range entries {
		w := listEntry{
			Name: e.Name, Kind: e.Kind, Mode: e.Mode, Size: e.Size, Target: []byte(e.Target),
			Content: object(e.Content), Sparse: e.Sparse, Owner: e.Owner, Attrs: e.Attrs, Left: e.Left,
		}
		if !e.ModTime.IsZero() {
			w.Time = e.ModTime.UnixNano()
		}
		if !utf8.ValidString(e.Name) {
			w.Name, w.Bytes = "", []byte(e.Name)
		}
		l.Entries = append(l.Entries, w)
	}
	for _, p := range pages {
		l.Pages = append(l.Pages, *object(p))
	}
	data, err := json.Marshal(l)
	if err != nil {
		panic(err) // of no value of these types
	}
	// The sum is that of the list without the places.
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, e := range l.Entries {
		if e.Content != nil {
			c := *e.Content
			c.Parts = nil
			e.Content = &c
		}
		if err := enc.Encode(e); err != nil {
			panic(err)
		}
	}
	for _, p := range l.Pages {
		h.Write(p.Sum)
	}
	return data, Sum(h.Sum(nil))
}

var errList = errors.New("it is not the list of a directory in a snapshot, or a damaged one")

// decodeList reads what encodeList returned from the pack self. It trusts nothing:
// a list may come from a file that somebody sent.
func decodeList(data []byte, self openmanus.Ref) (entries []*Entry, pages []*Object, err error) {
	var l list
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errList, err)
	}
	if len(l.Pages) > 0 && len(l.Entries) > 0 {
		return nil, nil, errList
	}
	object := func(w *listObject) (*Object, error) {
		if w == nil {
			return nil, nil
		}
		if len(w.Sum) != sha256.Size || w.Size < 0 {
			return nil, errList
		}
		o := &Object{Sum: Sum(w.Sum), Size: w.Size}
		size := int64(0)
		for _, p := range w.Parts {
			if p[0] < 0 || p[0] >= len(l.Packs) || p[3] <= 0 || p[3] > maxFrame {
				return nil, errList
			}
			ref := l.Packs[p[0]]
			if ref == "" {
				ref = self
			}
			o.Parts = append(o.Parts, Part{ref, p[1], p[2], p[3]})
			size += int64(p[3])
		}
		if size != o.Size {
			return nil, errList
		}
		return o, nil
	}
	last := ""
	for _, w := range l.Entries {
		e := &Entry{
			Name: w.Name, Kind: w.Kind, Mode: w.Mode, Size: w.Size, Target: string(w.Target),
			Sparse: w.Sparse, Owner: w.Owner, Attrs: w.Attrs, Left: w.Left,
		}
		if w.Time != 0 {
			e.ModTime = time.Unix(0, w.Time)
		}
		if w.Bytes != nil {
			e.Name = string(w.Bytes)
		}
		if e.Content, err = object(w.Content); err != nil {
			return nil, nil, err
		}
		if !e.valid() || e.Name <= last {
			return nil, nil, errList
		}
		last = e.Name
		entries = append(entries, e)
	}
	for _, w := range l.Pages {
		p, err := object(&w)
		if err != nil {
			return nil, nil, err
		}
		pages = append(pages, p)
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
