package snapshot

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A list is how the entries of a directory were stored before listMagic. Such lists are
// read, and no longer written.
type list struct {
	Packs   []openmanus.Ref `json:"packs,omitempty"` // those that are referred to; "" is the pack that the list is in
	Entries []listEntry     `json:"entries,omitempty"`
	Pages   []listObject    `json:"pages,omitempty"` // lists with the entries, in order
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

// decodeJSONList is decodeList for such a list.
func decodeJSONList(data []byte, self openmanus.Ref) (entries []*Entry, pages []*Object, err error) {
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
			ref = cmp.Or(ref, self)
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
