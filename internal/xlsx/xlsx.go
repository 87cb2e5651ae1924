// Package xlsx reads the cells of Office Open XML workbooks: ECMA-376, part 1,
// section 18. It reads values as they are kept, not as a style shows them, but
// for dates, which are kept as numbers of days. It is small, since libraries
// that can write workbooks too take two milliseconds of every start of the
// program.
package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"
)

// A Book is a workbook. It is not safe for concurrent use.
type Book struct {
	Sheets []string // their names, in order

	zip      *zip.Reader
	limit    int64
	parts    map[string]string // by sheet
	strings  []string          // shared by cells
	dates    []bool            // by style: whether it shows a date
	since    time.Time         // what days are counted from
	unpacked int64
}

// A Row is one that has cells.
type Row struct {
	N     int      // from 1
	Cells []string // up to the last one that is there
}

// maxColumns and maxRows are Excel's.
const (
	maxColumns = 16_384
	maxRows    = 1_048_576
)

// Open reads what a workbook has besides its sheets. limit is how many bytes
// may be unpacked of it in all.
func Open(data []byte, limit int64) (*Book, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	b := &Book{zip: z, limit: limit, parts: make(map[string]string)}
	main, err := b.related("", "officeDocument")
	if err != nil {
		return nil, err
	}
	if len(main) == 0 {
		return nil, errors.New("it has no workbook in it")
	}
	return b, b.workbook(main[0].path)
}

// A relation is from one part to another.
type relation struct{ id, kind, path string }

// related returns the relations of a part, those whose type ends with kind.
func (b *Book) related(part, kind string) (all []relation, err error) {
	dir, file := path.Split(part)
	name := path.Join(dir, "_rels", file+".rels")
	err = b.elements(name, func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "Relationship" && strings.HasSuffix(attr(e, "Type"), "/"+kind) {
			target := attr(e, "Target")
			if !strings.HasPrefix(target, "/") {
				target = path.Join(dir, target)
			}
			all = append(all, relation{attr(e, "Id"), kind, strings.TrimPrefix(target, "/")})
		}
		return nil
	})
	return all, err
}

func (b *Book) workbook(part string) error {
	sheets, err := b.related(part, "worksheet")
	if err != nil {
		return err
	}
	byID := make(map[string]string)
	for _, r := range sheets {
		byID[r.id] = r.path
	}
	b.since = time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	err = b.elements(part, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			if v := attr(e, "date1904"); v == "1" || v == "true" {
				b.since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case "sheet":
			if p := byID[attr(e, "id")]; p != "" { // a sheet that is a chart has no cells
				b.Sheets = append(b.Sheets, attr(e, "name"))
				b.parts[attr(e, "name")] = p
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for kind, read := range map[string]func(string) error{"sharedStrings": b.sharedStrings, "styles": b.styles} {
		parts, err := b.related(part, kind)
		if err != nil {
			return err
		}
		if len(parts) > 0 {
			if err := read(parts[0].path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Book) sharedStrings(part string) error {
	return b.elements(part, func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		s, err := text(d)
		b.strings = append(b.strings, s)
		return err
	})
}

// styles finds out which formats of cells show dates.
func (b *Book) styles(part string) error {
	custom := make(map[string]bool)
	formats := false // within cellXfs
	return b.elements(part, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			custom[attr(e, "numFmtId")] = dateFormat(attr(e, "formatCode"))
		case "cellXfs", "cellStyleXfs", "cellStyles", "dxfs":
			formats = e.Name.Local == "cellXfs"
		case "xf":
			if formats {
				id := attr(e, "numFmtId")
				n, _ := strconv.Atoi(id) // one that is none is no date
				b.dates = append(b.dates, custom[id] || n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 36)
			}
		}
		return nil
	})
}

// dateFormat reports whether a number format shows a year.
func dateFormat(code string) bool {
	quoted := false
	for _, r := range strings.ToLower(code) {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && r == 'y':
			return true
		}
	}
	return false
}

// Rows yields the rows of a sheet that have cells. It ends after the first
// error.
func (b *Book) Rows(sheet string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := Row{}
		stopped := errors.New("stopped")
		err := b.elements(b.parts[sheet], func(d *xml.Decoder, e xml.StartElement) error {
			if e.Name.Local != "row" {
				return nil
			}
			n, err := strconv.Atoi(attr(e, "r"))
			if err != nil || n <= row.N {
				n = row.N + 1
			}
			if n > maxRows {
				return fmt.Errorf("there is no row %d", n)
			}
			row = Row{N: n}
			if row.Cells, err = b.cells(d); err != nil {
				return err
			}
			if len(row.Cells) > 0 && !yield(row, nil) {
				return stopped
			}
			return nil
		})
		if err != nil && err != stopped {
			yield(Row{}, err)
		}
	}
}

// cells reads the cells of a row, to its end.
func (b *Book) cells(d *xml.Decoder) (all []string, err error) {
	for {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch e := t.(type) {
		case xml.EndElement:
			return all, nil
		case xml.StartElement:
			if e.Name.Local != "c" {
				if err := d.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			at, err := column(attr(e, "r"), len(all))
			if err != nil {
				return nil, err
			}
			v, err := b.cell(d, attr(e, "t"), attr(e, "s"))
			if err != nil {
				return nil, err
			}
			for len(all) <= at {
				all = append(all, "")
			}
			all[at] = v
		}
	}
}

// column is the place of a cell such as "AB12" in its row, from 0; that of one
// without a name is next.
func column(ref string, next int) (int, error) {
	n := 0
	for _, r := range ref {
		if r < 'A' || r > 'Z' {
			break
		}
		if n = n*26 + int(r-'A') + 1; n > maxColumns {
			return 0, fmt.Errorf("there is no cell %.10s", ref)
		}
	}
	if n == 0 {
		n = next + 1
	}
	if n > maxColumns {
		return 0, errors.New("a row has too many cells")
	}
	return n - 1, nil
}

// cell reads the value of a cell of a kind and style.
func (b *Book) cell(d *xml.Decoder, kind, style string) (value string, err error) {
	for {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch e := t.(type) {
		case xml.EndElement:
			return b.meant(value, kind, style), nil
		case xml.StartElement:
			switch e.Name.Local {
			case "v", "is":
				if value, err = text(d); err != nil {
					return "", err
				}
			default:
				if err := d.Skip(); err != nil {
					return "", err
				}
			}
		}
	}
}

func (b *Book) meant(value, kind, style string) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(b.strings) {
			return b.strings[i]
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value]
	case "", "n":
		if s, err := strconv.Atoi(style); err == nil && s >= 0 && s < len(b.dates) && b.dates[s] {
			return b.date(value)
		}
	}
	return value
}

// mostDays is the year 9999.
const mostDays = 2_958_465

// date is a number of days as a date; one that cannot be stays as it is.
func (b *Book) date(value string) string {
	days, err := strconv.ParseFloat(value, 64)
	if err != nil || days < 0 || days > mostDays {
		return value
	}
	return b.since.Add(time.Duration(days*24*float64(time.Hour) + 0.5*float64(time.Second))).Truncate(time.Second).Format(time.DateTime)
}

// text reads the text of an element, to its end: all that stands in t, but not
// how it is pronounced.
func text(d *xml.Decoder) (string, error) {
	var s strings.Builder
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch e := t.(type) {
		case xml.StartElement:
			if e.Name.Local == "rPh" || e.Name.Local == "rPr" {
				if err := d.Skip(); err != nil {
					return "", err
				}
				continue
			}
			depth++
		case xml.EndElement:
			depth--
		case xml.CharData:
			s.Write(e)
		}
	}
	return s.String(), nil
}

// elements calls f with the beginning of each element of a part; f may read on
// to its end. A part that is not there has none.
func (b *Book) elements(part string, f func(*xml.Decoder, xml.StartElement) error) error {
	file, err := b.zip.Open(path.Clean(part))
	if err != nil {
		return nil
	}
	defer file.Close()
	d := xml.NewDecoder(&limited{file, b})
	for {
		t, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", part, err)
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := f(d, e); err != nil {
				return err
			}
		}
	}
}

// limited counts what is unpacked.
type limited struct {
	r io.Reader
	b *Book
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.b.unpacked += int64(n); l.b.unpacked > l.b.limit {
		return n, fmt.Errorf("it unpacks to more than %d bytes", l.b.limit)
	}
	return n, err
}

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
