// Package ooxml reads Office Open XML files (ECMA-376): the cells of workbooks
// ([Book]), the text of documents ([Word]) and of slides ([Drawing]).
//
// A file is a zip of XML parts that refer to each other by relations. Files are
// untrusted. The unpacked size is limited, counted over all parts that are read; so
// are the depth of elements, the length of one text, the columns of a row and the
// number of texts that cells share. An exceeded limit is an error, and so is broken
// XML; the text before it was passed on. Document type definitions are not
// supported, so no entity can grow. Reading a part is a stream: it takes memory for
// what is open at one time, not for the whole part.
//
// The package only reads, and imports nothing heavy: a library that also writes
// workbooks (excelize) would add 3 ms to every start of the program.
package ooxml

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus/internal/ctxio"
)

// A File is an Office file. It is not safe for concurrent use.
type File struct {
	parts map[string]*zip.File // by their names, in small letters
	ctx   context.Context
	left  int64 // bytes that may still be unpacked
	max   int64
}

// Open opens a file of which at most limit bytes may be unpacked in all. Once
// ctx is done, reading fails.
func Open(ctx context.Context, data []byte, limit int64) (*File, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	f := &File{parts: make(map[string]*zip.File, len(z.File)), ctx: ctx, left: limit, max: limit}
	for _, p := range z.File {
		if name := partName(p.Name); f.parts[name] == nil {
			f.parts[name] = p
		}
	}
	return f, nil
}

// partName returns the form in which names of parts are compared: case does not matter (ECMA-376
// part 2, section 6.2.2.3), and some programs write backslashes.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean(strings.ReplaceAll(name, `\`, "/")), "/"))
}

// Has reports whether there is a part of that name.
func (f *File) Has(part string) bool { return f.parts[partName(part)] != nil }

// Part opens a part for reading. The caller closes it.
func (f *File) Part(name string) (io.ReadCloser, error) {
	p := f.parts[partName(name)]
	if p == nil {
		return nil, fmt.Errorf("%s is missing in it", name)
	}
	file, err := p.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &part{ctxio.NewReader(f.ctx, file), file, f}, nil
}

// A part counts what is unpacked of its file.
type part struct {
	io.Reader
	io.Closer
	f *File
}

func (p *part) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if p.f.left -= int64(n); p.f.left < 0 {
		return n, fmt.Errorf("it unpacks to more than %d MiB", p.f.max>>20)
	}
	return n, err
}

// A Relation is a reference from one part to another.
type Relation struct {
	ID     string
	Type   string // the last element of its URI, such as "worksheet"
	Part   string // the name of the other part
	Target string // as the file has it: of a link, its address
}

// Relations returns the references of a part; those of the file itself if
// part is "". A part without any has none.
func (f *File) Relations(part string) (all []Relation, err error) {
	dir, file := path.Split(part)
	err = f.elements(path.Join(dir, "_rels", file+".rels"), func(_ *decoder, e xml.StartElement) error {
		if e.Name.Local == "Relationship" {
			target := Attr(e, "Target")
			part := target
			if !strings.HasPrefix(part, "/") {
				part = path.Join("/", dir, part)
			}
			all = append(all, Relation{Attr(e, "Id"), path.Base(Attr(e, "Type")), strings.TrimPrefix(part, "/"), target})
		}
		return nil
	})
	return all, err
}

// elements calls visit at the start of each element of a part; visit may read
// on to its end. A part that is missing has no elements.
func (f *File) elements(name string, visit func(*decoder, xml.StartElement) error) error {
	part, err := f.Part(name)
	if err != nil {
		return nil
	}
	defer part.Close()
	d := newDecoder(part)
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := visit(d, e); err != nil {
				return err
			}
		}
	}
}

// Slides returns the names of the slides of a presentation, in order.
func (f *File) Slides() (names []string, err error) {
	const presentation = "ppt/presentation.xml"
	relations, err := f.Relations(presentation)
	if err != nil {
		return nil, err
	}
	parts := make(map[string]string)
	for _, r := range relations {
		parts[r.ID] = r.Part
	}
	err = f.elements(presentation, func(_ *decoder, e xml.StartElement) error {
		if e.Name.Local == "sldId" {
			for _, a := range e.Attr { // an id of its own, and that of a relation
				if p := parts[a.Value]; a.Name.Local == "id" && p != "" {
					names = append(names, p)
				}
			}
		}
		return nil
	})
	return names, err
}

// Attr returns the value of an attribute in any namespace, or "".
func Attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
