package ooxml

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

// A Book is a workbook (SpreadsheetML, ECMA-376 part 1, section 18). It has the
// values of cells as they are stored, not as a number format shows them; only
// dates, which are stored as numbers of days, are written as dates. Formulas
// have the value that was last calculated. A Book is not safe for concurrent
// use.
type Book struct {
	Sheets []string // their names, in order, without sheets that are charts

	file    *File
	parts   map[string]string // by sheet
	strings []string          // shared by cells
	dates   []bool            // by style: whether it shows a date
	epoch   time.Time         // of numbers of days
}

// A Row is one that has cells.
type Row struct {
	N     int      // from 1
	Cells []string // up to the last one that is stored; "" is empty
}

// maxStrings is how many texts cells may share. Each takes memory even if it is
// empty.
const maxStrings = 8 << 20

// The limits of Excel.
const (
	maxColumns = 16_384
	maxRows    = 1_048_576
	maxDays    = 2_958_465 // the year 9999
)

// OpenBook opens a workbook, of which at most limit bytes may be unpacked in
// all, and reads everything but its sheets.
func OpenBook(ctx context.Context, data []byte, limit int64) (*Book, error) {
	f, err := Open(ctx, data, limit)
	if err != nil {
		return nil, err
	}
	main, err := f.related("", "officeDocument")
	if err != nil {
		return nil, err
	}
	if len(main) == 0 {
		return nil, errors.New("it has no workbook in it")
	}
	b := &Book{file: f, parts: make(map[string]string), epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	return b, b.read(main[0].Part)
}

// related returns the relations of a part that have the given type.
func (f *File) related(part, typ string) (found []Relation, err error) {
	all, err := f.Relations(part)
	for _, r := range all {
		if r.Type == typ {
			found = append(found, r)
		}
	}
	return found, err
}

// read reads the workbook part and what the cells of all sheets refer to.
func (b *Book) read(workbook string) error {
	sheets, err := b.file.related(workbook, "worksheet")
	if err != nil {
		return err
	}
	byID := make(map[string]string)
	for _, r := range sheets {
		byID[r.ID] = r.Part
	}
	err = b.file.elements(workbook, func(_ *decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			if v := attr(e, "date1904"); v == "1" || v == "true" {
				b.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case "sheet":
			if p := byID[attr(e, "id")]; p != "" {
				b.Sheets = append(b.Sheets, attr(e, "name"))
				b.parts[attr(e, "name")] = p
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, p := range []struct {
		typ  string
		read func(part string) error
	}{{"sharedStrings", b.readStrings}, {"styles", b.readStyles}} {
		parts, err := b.file.related(workbook, p.typ)
		if err != nil {
			return err
		}
		if len(parts) > 0 {
			if err := p.read(parts[0].Part); err != nil {
				return err
			}
		}
	}
	return nil
}

// readStrings reads the table of strings. Cells refer to it by index, so that a
// text that occurs often is stored once.
func (b *Book) readStrings(part string) error {
	return b.file.elements(part, func(d *decoder, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		s, err := cellText(d)
		if b.strings = append(b.strings, s); len(b.strings) > maxStrings {
			return fmt.Errorf("it has more than %d different texts", maxStrings)
		}
		return err
	})
}

// readStyles finds out which styles of cells show dates: by the numbers of
// built-in formats (section 18.8.30), or by the code of a custom one.
func (b *Book) readStyles(part string) error {
	custom := make(map[string]bool)
	inCellFormats := false
	return b.file.elements(part, func(_ *decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			custom[attr(e, "numFmtId")] = isDateFormat(attr(e, "formatCode"))
		case "cellXfs", "cellStyleXfs", "cellStyles", "dxfs":
			inCellFormats = e.Name.Local == "cellXfs"
		case "xf":
			if inCellFormats {
				id := attr(e, "numFmtId")
				n, _ := strconv.Atoi(id) // 0, the general format, if it is no number
				b.dates = append(b.dates, custom[id] || n >= 14 && n <= 17 || n == 22 || n >= 27 && n <= 36)
			}
		}
		return nil
	})
}

// isDateFormat reports whether a number format shows a year.
func isDateFormat(code string) bool {
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

// errStop ends elements early.
var errStop = errors.New("stop")

// Rows yields the rows of a sheet that have cells. It ends after the first
// error.
func (b *Book) Rows(sheet string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := Row{}
		err := b.file.elements(b.parts[sheet], func(d *decoder, e xml.StartElement) error {
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
				return errStop
			}
			return nil
		})
		if err != nil && err != errStop {
			yield(Row{}, err)
		}
	}
}

// children calls visit with the child elements of the one whose start was just
// read, up to its end; visit reads to the end of the child.
func children(d *decoder, visit func(e xml.StartElement) error) error {
	for {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch e := t.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if err := visit(e); err != nil {
				return err
			}
		}
	}
}

// cells reads the cells of a row.
func (b *Book) cells(d *decoder) (all []string, err error) {
	err = children(d, func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return d.Skip()
		}
		at, err := columnIndex(attr(e, "r"), len(all))
		if err != nil {
			return err
		}
		v, err := b.cell(d, attr(e, "t"), attr(e, "s"))
		for len(all) <= at {
			all = append(all, "")
		}
		all[at] = v
		return err
	})
	return all, err
}

// columnIndex returns the index of a cell such as "AB12" in its row; that of a
// cell without a name is next.
func columnIndex(ref string, next int) (int, error) {
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

// cell reads the value of a cell of a type (section 18.18.11) and a style.
func (b *Book) cell(d *decoder, typ, style string) (value string, err error) {
	err = children(d, func(e xml.StartElement) (err error) {
		if e.Name.Local != "v" && e.Name.Local != "is" {
			return d.Skip()
		}
		value, err = cellText(d)
		return err
	})
	switch typ {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(b.strings) {
			return b.strings[i], nil
		}
		return "", err
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value], err
	case "", "n":
		if s, err := strconv.Atoi(style); err == nil && s >= 0 && s < len(b.dates) && b.dates[s] {
			return b.date(value), nil
		}
	}
	return value, err
}

// date writes a number of days as a date, to the second. What is no such number
// stays unchanged.
func (b *Book) date(value string) string {
	days, err := strconv.ParseFloat(value, 64)
	if err != nil || days < 0 || days > maxDays {
		return value
	}
	seconds := time.Duration(days*24*float64(time.Hour) + 0.5*float64(time.Second)).Truncate(time.Second)
	return b.epoch.Add(seconds).Format(time.DateTime)
}

// cellText reads the text inside the element whose start was just read,
// without phonetic hints and formatting.
func cellText(d *decoder) (string, error) {
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
