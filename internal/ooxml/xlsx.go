package ooxml

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Book is a workbook (SpreadsheetML, ECMA-376 part 1, section 18). It has the
// values of cells as they are stored, with all their digits, not as a number format shows
// them, but for what would be another thing without it: dates, times, durations, percent,
// and codes that begin with zeros. Formulas
// have the value that was last calculated; where none is stored, the cell is empty,
// or the formula if ShowFormulas is set. A Book is not safe for concurrent use.
type Book struct {
	Sheets       []string        // their names, in order, without sheets that are charts
	Hidden       map[string]bool // of Sheets, those that Excel does not show
	ShowFormulas bool            // see Book

	file    *File
	parts   map[string]string // by sheet
	strings []string          // shared by cells
	formats []format          // by style
	shared  map[string]string // the cells whose formula others of the sheet share
	epoch   time.Time         // of numbers of days
	links   map[string]string // of the sheet that was read last, by cell
}

// A Row is one that has cells.
type Row struct {
	N          int      // from 1
	Cells      []string // up to the last one that is stored; "" is empty
	Hidden     bool     // Excel does not show it
	Uncomputed int      // formulas in it without a stored value
	// HiddenColumns are the ranges of the sheet's columns, from 1, that Excel does not
	// show. All rows of a sheet share them.
	HiddenColumns [][2]int
}

// A format is what a style makes of a number.
type format struct {
	kind
	digits string // of filled: a 0 for each digit, and what stands between them
}

// A kind is one of formats.
type kind int

const (
	plainNumber kind = iota
	dateFormat
	timeFormat // of a day, without its date
	hours      // a duration, h:mm:ss, which goes on after a day
	minutes    // a duration, m:ss
	seconds    // a duration
	percent
	filled // with zeros at the front
)

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
	b := &Book{file: f, parts: make(map[string]string), Hidden: make(map[string]bool), epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
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
			if v := Attr(e, "date1904"); v == "1" || v == "true" {
				b.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case "sheet":
			if p := byID[Attr(e, "id")]; p != "" {
				b.Sheets = append(b.Sheets, Attr(e, "name"))
				b.parts[Attr(e, "name")] = p
				state := Attr(e, "state")
				b.Hidden[Attr(e, "name")] = state == "hidden" || state == "veryHidden"
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

// readStyles finds out which styles of cells show dates and times: by the numbers of
// built-in formats (section 18.8.30), or by the code of a custom one.
func (b *Book) readStyles(part string) error {
	custom := make(map[string]format)
	inCellFormats := false
	return b.file.elements(part, func(_ *decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			custom[Attr(e, "numFmtId")] = formatOf(Attr(e, "formatCode"))
		case "cellXfs", "cellStyleXfs", "cellStyles", "dxfs":
			inCellFormats = e.Name.Local == "cellXfs"
		case "xf":
			if inCellFormats {
				id := Attr(e, "numFmtId")
				n, _ := strconv.Atoi(id) // 0, the general format, if it is no number
				f, isCustom := custom[id]
				if !isCustom {
					f.kind = builtIn(n)
				}
				b.formats = append(b.formats, f)
			}
		}
		return nil
	})
}

// builtIn returns what a built-in number format shows (section 18.8.30).
func builtIn(n int) kind {
	switch {
	case n == 9, n == 10:
		return percent
	case n == 46:
		return hours
	case n >= 14 && n <= 17, n == 22, n >= 27 && n <= 36:
		return dateFormat
	case n >= 18 && n <= 21, n == 45, n == 47:
		return timeFormat
	}
	return plainNumber
}

// FormatNumber writes a number that a cell stores as Book does, by the number of its
// format and the code of it, which is empty for a built-in one. epoch is the day 0.
func FormatNumber(value string, number int, code string, epoch time.Time) string {
	f := format{kind: builtIn(number)}
	if code != "" {
		f = formatOf(code)
	}
	b := Book{formats: []format{f}, epoch: epoch}
	text, _ := b.value(value, "n", "0", nil)
	return text
}

// formatOf returns what a number format shows: a date if it has a year, or a day and
// a month; else a time if it has hours and minutes, or minutes and seconds. Hours, minutes
// or seconds in brackets count on: they are a duration. Zeros and nothing else, but signs between
// them, are the digits of a code. Characters that are quoted, escaped or in brackets are no
// part of a date.
func formatOf(code string) format {
	has := make(map[rune]bool)
	quoted, escaped, blank, bracket := false, false, false, ""
	var digits strings.Builder
	code, _, _ = strings.Cut(code, ";") // the format of positive numbers
	for _, r := range strings.ToLower(code) {
		switch {
		case escaped, quoted && r != '"':
			escaped = false
			digits.WriteRune(r)
		case blank:
			blank = false
		case r == '\\':
			escaped = true
		case r == '_' || r == '*':
			blank = true
		case r == '"':
			quoted = !quoted
		case r == '[':
			bracket = "["
		case r == ']':
			if of, is := map[string]kind{"[h": hours, "[hh": hours, "[m": minutes, "[mm": minutes, "[s": seconds, "[ss": seconds}[bracket]; is {
				return format{kind: of}
			}
			bracket = ""
		case bracket != "":
			bracket += string(r)
		case strings.ContainsRune("0-/() ", r):
			digits.WriteRune(r)
			has[r] = true
		default:
			has[r], has['?'] = true, true // more than digits
		}
	}
	switch {
	case has['y'], has['d'] && has['m']:
		return format{kind: dateFormat}
	case has['m'] && (has['h'] || has['s']):
		return format{kind: timeFormat}
	case has['%']:
		return format{kind: percent}
	case !has['?'] && strings.Count(digits.String(), "0") > 1:
		return format{filled, digits.String()}
	}
	return format{}
}

// errStop ends elements early.
var errStop = errors.New("stop")

// Rows yields the rows of a sheet that have cells. It ends after the first
// error.
func (b *Book) Rows(sheet string) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		row := Row{}
		b.shared, b.links = make(map[string]string), make(map[string]string)
		var hidden [][2]int
		if !b.file.Has(b.parts[sheet]) {
			yield(Row{}, fmt.Errorf("its part %s is missing in the file", b.parts[sheet]))
			return
		}
		err := b.file.elements(b.parts[sheet], func(d *decoder, e xml.StartElement) error {
			if e.Name.Local == "hyperlink" && len(b.links) < maxRemarks {
				b.links[Attr(e, "ref")] = cmp.Or(Attr(e, "id"), "#"+Attr(e, "location"))
			}
			if e.Name.Local == "col" && isTrue(Attr(e, "hidden")) && len(hidden) < maxColumns {
				first, err1 := strconv.Atoi(Attr(e, "min"))
				last, err2 := strconv.Atoi(Attr(e, "max"))
				if err1 == nil && err2 == nil && first >= 1 && last >= first {
					hidden = append(hidden, [2]int{first, min(last, maxColumns)})
				}
			}
			if e.Name.Local != "row" {
				return nil
			}
			n, err := strconv.Atoi(Attr(e, "r"))
			if err != nil || n <= row.N {
				n = row.N + 1
			}
			if n > maxRows {
				return fmt.Errorf("there is no row %d", n)
			}
			row = Row{N: n, Hidden: isTrue(Attr(e, "hidden")), HiddenColumns: hidden}
			if err = b.cells(d, &row); err != nil {
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

func isTrue(v string) bool { return v == "1" || v == "true" }

// cells reads the cells of a row.
func (b *Book) cells(d *decoder, row *Row) error {
	var all []string
	err := children(d, func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return d.Skip()
		}
		at, err := columnIndex(Attr(e, "r"), len(all))
		if err != nil {
			return err
		}
		v, uncomputed, err := b.cell(d, Attr(e, "r"), Attr(e, "t"), Attr(e, "s"))
		if uncomputed {
			row.Uncomputed++
		}
		for len(all) <= at {
			all = append(all, "")
		}
		all[at] = v
		return err
	})
	row.Cells = all
	return err
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
	n = cmp.Or(n, next+1)
	if n > maxColumns {
		return 0, errors.New("a row has too many cells")
	}
	return n - 1, nil
}

// cell reads the value of a cell of a type (section 18.18.11) and a style. uncomputed
// says that it has a formula, but no value.
func (b *Book) cell(d *decoder, ref, typ, style string) (value string, uncomputed bool, err error) {
	formula, isFormula, isStored := "", false, false
	err = children(d, func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "v", "is":
			isStored = true
			value, err = cellText(d)
		case "f":
			isFormula = true
			if formula, err = cellText(d); Attr(e, "t") == "shared" {
				formula = b.sharedFormula(Attr(e, "si"), ref, formula)
			}
		default:
			err = d.Skip()
		}
		return err
	})
	if isFormula && value == "" && !(isStored && typ == "str") { // a computed text may be empty
		if !b.ShowFormulas {
			return "", true, err
		}
		return "=" + formula, true, err
	}
	value, err = b.value(value, typ, style, err)
	return value, false, err
}

// maxShared is how many formulas are kept that others share.
const maxShared = 10_000

// sharedFormula returns the formula of a cell that shares it with others. The first of
// them has its text; the others are that one moved.
func (b *Book) sharedFormula(id, ref, formula string) string {
	if formula != "" {
		if len(b.shared) < maxShared {
			b.shared[id] = ref
		}
		return formula
	}
	return "the formula of " + b.shared[id] + ", moved"
}

// value returns the text of a stored value. It passes on an error.
func (b *Book) value(value, typ, style string, err error) (string, error) {
	switch typ {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(b.strings) {
			return b.strings[i], nil
		}
		return "", err
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[value], err
	case "", "n":
		if s, broken := strconv.Atoi(style); broken == nil && s >= 0 && s < len(b.formats) {
			return b.formats[s].write(value, b), err
		}
		return shortest(value), err
	}
	return value, err
}

// write writes a number in the format. A number for which the format is not meant, such as a duration
// below zero, is written as it is stored.
func (f format) write(value string, b *Book) string {
	switch f.kind {
	case dateFormat:
		return b.date(value)
	case timeFormat:
		return strings.TrimPrefix(b.date(value), b.epoch.Format(time.DateOnly)+" ")
	case hours, minutes, seconds:
		days, err := strconv.ParseFloat(value, 64)
		if err != nil || days < 0 || days > maxDays {
			return value
		}
		s := int64(math.Round(days * 86_400))
		switch f.kind {
		case hours:
			return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
		case minutes:
			return fmt.Sprintf("%d:%02d", s/60, s%60)
		}
		return strconv.FormatInt(s, 10)
	case percent:
		return hundredfold(shortest(value)) + "%"
	case filled:
		return fill(f.digits, value)
	}
	return shortest(value)
}

// hundredfold moves the decimal point of a number two places on, so that no digit changes.
func hundredfold(value string) string {
	v, ok := new(big.Rat).SetString(value)
	if f, err := strconv.ParseFloat(value, 64); strings.ContainsAny(value, "eE") || !ok {
		if err != nil || math.IsInf(100*f, 0) {
			return value
		}
		return strconv.FormatFloat(100*f, 'f', -1, 64)
	}
	v.Mul(v, big.NewRat(100, 1))
	text := v.FloatString(20)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// fill writes the digits of a whole number into a format, zeros before them.
func fill(format, value string) string {
	if strings.Trim(value, "0123456789") != "" {
		return shortest(value)
	}
	places := strings.Count(format, "0")
	value = strings.Repeat("0", max(places-len(value), 0)) + value
	more := len(value) - places // digits for the first place
	var s strings.Builder
	for _, r := range format {
		if r != '0' {
			s.WriteRune(r)
			continue
		}
		s.WriteString(value[:more+1])
		value, more = value[more+1:], 0
	}
	return s.String()
}

// maxRemarks is how many comments and links of a sheet are kept.
const maxRemarks = 1000

// leftOut is the line after as many as are kept.
const leftOut = "(comments or links that follow are left out)"

// Remarks returns what is attached to cells of a sheet whose [Book.Rows] were read: comments, with
// who wrote them, and the targets of links, a line each, by cell; and the text of boxes that lie on
// it. There are at most 2000 comments and links.
func (b *Book) Remarks(sheet string) (lines []string, err error) {
	relations, err := b.file.Relations(b.parts[sheet])
	if err != nil {
		return nil, err
	}
	for _, r := range relations {
		switch {
		case r.Type == "comments":
			comments, err := b.comments(r.Part)
			if err != nil {
				return nil, err
			}
			lines = append(lines, comments...)
		case r.Type == "drawing":
			part, err := b.file.Part(r.Part)
			if err != nil {
				return nil, err
			}
			text, err := Drawing(part)
			part.Close()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Part, err)
			}
			if text != "" {
				lines = append(lines, "On the sheet, in boxes:\n"+strings.TrimSpace(text))
			}
		case r.Type == "hyperlink":
			for cell, id := range b.links {
				if id == r.ID {
					b.links[cell] = r.Target
				}
			}
		}
	}
	for _, cell := range slices.SortedFunc(maps.Keys(b.links), inOrder) {
		lines = append(lines, fmt.Sprintf("%s links to %s", cell, b.links[cell]))
	}
	if len(b.links) == maxRemarks {
		lines = append(lines, leftOut)
	}
	return lines, nil
}

// inOrder compares names of cells: A9, B9, A10.
func inOrder(a, b string) int {
	row := func(cell string) int {
		n, _ := strconv.Atoi(strings.TrimLeft(strings.Split(cell, ":")[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
		return n
	}
	return cmp.Or(row(a)-row(b), len(a)-len(b), strings.Compare(a, b))
}

// comments reads the comments of a sheet (section 18.7).
func (b *Book) comments(part string) (lines []string, err error) {
	var authors []string
	err = b.file.elements(part, func(d *decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "author":
			name, err := cellText(d)
			authors = append(authors, strings.TrimSpace(name))
			return err
		case "comment":
			by := ""
			if i, err := strconv.Atoi(Attr(e, "authorId")); err == nil && i >= 0 && i < len(authors) && authors[i] != "" {
				by = " by " + authors[i]
			}
			text, err := cellText(d)
			switch text = strings.Join(strings.Fields(text), " "); {
			case text == "" || len(lines) > maxRemarks:
			case len(lines) == maxRemarks:
				lines = append(lines, leftOut)
			default:
				lines = append(lines, fmt.Sprintf("%s has a comment%s: %s", Attr(e, "ref"), by, text))
			}
			return err
		}
		return nil
	})
	return lines, err
}

// shortest returns a number that is stored with 17 digits, as Excel stores 1.1, with those
// that tell it from its neighbours. Whole numbers, and all that is shorter, stay as they are.
func shortest(value string) string {
	if len(value) <= 16 || !strings.Contains(value, ".") {
		return value
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	format := byte('f')
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		format = 'g'
	}
	if short := strconv.FormatFloat(v, format, -1, 64); len(short) < len(value) {
		return short
	}
	return value
}

// date writes a number of days as a date, to the second. Any other value stays
// unchanged.
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
