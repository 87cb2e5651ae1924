package document

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// An xls is a workbook of Excel 5 to 2003 (BIFF5 and BIFF8, [MS-XLS]): a stream of records, first
// those that all sheets share, up to an end, and then those of each sheet, whose place the first
// ones give. BIFF5, of Excel 5 and 95, has texts in a code page, where BIFF8 has UTF-16 or its lower
// bytes.
type xls struct {
	r       *reader
	data    []byte
	biff8   bool
	codes   int // the code page of texts of BIFF5
	strings []string
	formats map[int]string // codes of number formats
	styles  []int          // the format of each style
	epoch   time.Time
	cells   int
}

// An xlsSheet is a sheet by its record in the workbook.
type xlsSheet struct {
	name   string
	hidden bool
	offset int
}

// A biff reads records: a kind, a size, and so many bytes.
type biff struct {
	data []byte
	pos  int
}

// next returns the next record; ok is false at the end.
func (b *biff) next() (kind int, body []byte, ok bool) {
	if b.pos < 0 || b.pos+4 > len(b.data) {
		return 0, nil, false
	}
	kind = int(binary.LittleEndian.Uint16(b.data[b.pos:]))
	size := int(binary.LittleEndian.Uint16(b.data[b.pos+2:]))
	body = b.data[b.pos+4 : min(b.pos+4+size, len(b.data))]
	b.pos += 4 + size
	return kind, body, true
}

// Kinds of records ([MS-XLS] 2.3), and limits of what is read.
const (
	recFormula, recEOF, recDateMode, recContinue     = 0x06, 0x0A, 0x22, 0x3C
	recFilePass, recCodePage, recColInfo, recSheet   = 0x2F, 0x42, 0x7D, 0x85
	recMulRK, recRString, recXF, recSST, recLabelSST = 0xBD, 0xD6, 0xE0, 0xFC, 0xFD
	recNumber, recLabel, recBoolErr, recString       = 0x203, 0x204, 0x205, 0x207
	recRow, recRK, recFormat, recFormat5, recBOF     = 0x208, 0x27E, 0x41E, 0x1E, 0x809
	maxTexts, maxSheetCells                          = 4 << 20, 4 << 20
	lastRowOfXLS, lastColumnOfXLS                    = 65536, 256
)

// xls reads the sheets of a workbook as those of an XLSX are read. A sheet that is broken becomes
// a note, and the others are read.
func (r *reader) xls(data []byte) error {
	x := &xls{
		r: r, data: data, codes: 1252, formats: make(map[int]string),
		// Day 1 is the first of 1900, and a 29 February 1900 is counted that never was: so it
		// comes out right from March 1900 on.
		epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC),
	}
	sheets, err := x.globals()
	if err != nil {
		return err
	}
	names := make([]string, len(sheets))
	for i, s := range sheets {
		if names[i] = s.name; s.hidden {
			names[i] += " (hidden)"
		}
	}
	r.sheets("XLS", names)
	for i, s := range sheets {
		if !r.wants(i+1) || r.full() {
			continue
		}
		rows := x.rows(s.offset)
		err := r.sheet(i+1, s.name, s.hidden, func(yield func(ooxml.Row, error) bool) {
			for _, row := range rows {
				if len(row.Cells) > 0 && !yield(row, nil) {
					return
				}
			}
		}, nil)
		if err != nil {
			r.note("sheet %q: %v", s.name, err)
		}
	}
	if x.cells >= maxSheetCells {
		r.note("it has more than %d cells; the rest is left out", maxSheetCells)
	}
	return r.ctx.Err()
}

// globals reads what all sheets share, and the list of them: the code page, formats and styles of
// numbers, which say what is a date, the table of texts, and where days are counted from (1900, or
// 1904 on the Macintosh of old). FilePass says that all that follows is encrypted. Charts and macros
// are sheets of another kind and left out.
func (x *xls) globals() (sheets []xlsSheet, err error) {
	b := &biff{data: x.data}
	kind, body, ok := b.next()
	if !ok || kind&0xff != 0x09 || len(body) < 4 {
		return nil, errors.New("the workbook is broken")
	}
	if kind != recBOF {
		return nil, errors.New("a workbook of Excel 4 or before: save it anew " +
			"(libreoffice --headless --convert-to xlsx)")
	}
	le := binary.LittleEndian
	x.biff8 = le.Uint16(body) == 0x600
	for {
		kind, body, ok := b.next()
		if !ok || kind == recEOF {
			return sheets, nil
		}
		switch {
		case kind == recFilePass:
			return nil, errPassword("the workbook", "Excel or LibreOffice")
		case kind == recCodePage && len(body) >= 2:
			x.codes = int(le.Uint16(body))
		case kind == recDateMode && len(body) >= 2 && le.Uint16(body) == 1:
			x.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
		case (kind == recFormat || kind == recFormat5) && len(body) >= 3:
			x.formats[int(le.Uint16(body))] = x.text(body[2:], x.biff8)
		case kind == recXF && len(body) >= 4:
			x.styles = append(x.styles, int(le.Uint16(body[2:])))
		case kind == recSheet && len(body) >= 7:
			if body[5] == 0 { // a sheet with cells
				sheets = append(sheets, xlsSheet{x.text8(body[6:]), body[4]&3 != 0, int(le.Uint32(body))})
			}
		case kind == recSST:
			if len(body) >= 8 {
				x.sharedStrings(b, body)
			}
		}
	}
}

// text reads a text whose length, in characters, has two bytes if wide is set, else one.
func (x *xls) text(b []byte, wide bool) string {
	if !wide {
		return x.text8(b)
	}
	if len(b) < 2 {
		return ""
	}
	n := int(binary.LittleEndian.Uint16(b))
	return x.chars(b[2:], n)
}

// text8 reads a text whose length has one byte.
func (x *xls) text8(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return x.chars(b[1:], int(b[0]))
}

// chars reads n characters; in BIFF8 a byte before says how they are stored (XLUnicodeRichExtendedString,
// [MS-XLS] 2.5.293): bit 0 in two bytes each, bit 3 with runs of formats, bit 2 with phonetic text, whose
// sizes come before the characters and themselves after.
func (x *xls) chars(b []byte, n int) string {
	if !x.biff8 {
		return decode(x.codes, b[:min(n, len(b))])
	}
	if len(b) == 0 {
		return ""
	}
	flags, b := b[0], b[1:]
	if flags&8 != 0 && len(b) >= 2 {
		b = b[2:]
	}
	if flags&4 != 0 && len(b) >= 4 {
		b = b[4:]
	}
	if flags&1 != 0 {
		return utf16LE(b[:min(2*n, len(b))])
	}
	return latin1(b[:min(n, len(b))])
}

// latin1 reads characters of which the higher byte is 0.
func latin1(b []byte) string {
	runes := make([]rune, len(b))
	for i, c := range b {
		runes[i] = rune(c)
	}
	return string(runes)
}

// sharedStrings reads the table of texts. It goes on in continuing records, which
// may begin within a text, and then say anew how its characters are stored.
func (x *xls) sharedStrings(b *biff, body []byte) {
	s := &sst{b: b, body: body[8:]}
	for !s.over && len(x.strings) < maxTexts {
		head := s.take(3)
		if len(head) < 3 {
			return
		}
		n, flags := int(binary.LittleEndian.Uint16(head)), head[2]
		runs, extra := 0, 0
		if flags&8 != 0 {
			if v := s.take(2); len(v) == 2 {
				runs = int(binary.LittleEndian.Uint16(v))
			}
		}
		if flags&4 != 0 {
			if v := s.take(4); len(v) == 4 {
				extra = int(binary.LittleEndian.Uint32(v))
			}
		}
		x.strings = append(x.strings, s.chars(n, flags&1 != 0))
		s.take(4 * runs)
		s.take(extra)
	}
}

// An sst reads through records that continue each other.
type sst struct {
	b    *biff
	body []byte
	over bool
}

// more goes on to the next record.
func (s *sst) more() bool {
	at := s.b.pos
	kind, body, ok := s.b.next()
	if !ok || kind != recContinue {
		s.b.pos, s.over = at, true
		return false
	}
	s.body = body
	return true
}

// take returns the next n bytes; fewer at the end.
func (s *sst) take(n int) []byte {
	var out []byte
	for n > 0 {
		if len(s.body) == 0 && !s.more() {
			break
		}
		k := min(n, len(s.body))
		if len(out) < 8 { // only the first are looked at
			out = append(out, s.body[:min(k, 8)]...)
		}
		s.body, n = s.body[k:], n-k
	}
	return out
}

// chars returns the next n characters.
func (s *sst) chars(n int, wide bool) string {
	var out strings.Builder
	for n > 0 {
		if len(s.body) == 0 {
			if !s.more() || len(s.body) == 0 {
				break
			}
			wide = s.body[0]&1 != 0
			s.body = s.body[1:]
			continue
		}
		size := 1
		if wide {
			size = 2
		}
		k := min(n, len(s.body)/size)
		if k == 0 {
			s.body = nil
			continue
		}
		if wide {
			out.WriteString(utf16LE(s.body[:2*k]))
		} else {
			out.WriteString(latin1(s.body[:k]))
		}
		s.body, n = s.body[k*size:], n-k
	}
	return out.String()
}

// An xlsRows collects the cells of a sheet from its records ([MS-XLS] 2.1.7.20.5, the
// rule WORKSHEETCONTENT).
type xlsRows struct {
	x       *xls
	rows    []ooxml.Row // by their number, without gaps
	columns [][2]int    // that are hidden, from and to, counted from 1
	hidden  map[int]bool
	text    [2]int // the cell of a formula whose text is in the next record; -1: none
}

// rows reads the cells of the sheet that begins at an offset. A nested substream, such
// as a chart, has its own beginning and end, and no visible cells.
func (x *xls) rows(offset int) []ooxml.Row {
	s := &xlsRows{x: x, hidden: make(map[int]bool), text: [2]int{-1, 0}}
	b := &biff{data: x.data, pos: offset}
	b.next() // the beginning of the sheet
	for deep := 0; ; {
		kind, body, ok := b.next()
		if !ok || kind == recEOF && deep == 0 || x.r.ctx.Err() != nil {
			break
		}
		switch {
		case kind == recBOF:
			deep++
		case kind == recEOF:
			deep--
		case deep > 0:
		case kind == recString:
			s.formulaText(body)
		case len(body) >= 6:
			s.record(kind, body)
		}
	}
	for i := range s.rows {
		s.rows[i].Hidden, s.rows[i].HiddenColumns = s.hidden[i], s.columns
	}
	return s.rows
}

// put sets the text of a cell; rows and columns count from 0. Cells beyond what Excel has
// come from broken files and are left out, as are those beyond maxSheetCells.
func (s *xlsRows) put(row, column int, text string) {
	if row >= lastRowOfXLS || column >= lastColumnOfXLS || s.x.cells >= maxSheetCells {
		return
	}
	for len(s.rows) <= row {
		s.rows = append(s.rows, ooxml.Row{N: len(s.rows) + 1})
	}
	cells := &s.rows[row].Cells
	for len(*cells) <= column {
		*cells = append(*cells, "")
		s.x.cells++
	}
	(*cells)[column] = text
}

// record reads a record of at least six bytes. Those of cells begin with row, column and
// style (the structure Cell, [MS-XLS] 2.5.13).
func (s *xlsRows) record(kind int, d []byte) {
	le := binary.LittleEndian
	row, column, style := int(le.Uint16(d)), int(le.Uint16(d[2:])), int(le.Uint16(d[4:]))
	switch {
	case kind == recMulRK: // several cells: style and number of each, and at the end the last column
		for i := 4; i+6 <= len(d)-2; i += 6 {
			s.put(row, column+(i-4)/6, s.x.number(rk(le.Uint32(d[i+2:])), int(le.Uint16(d[i:]))))
		}
	case kind == recLabel, kind == recRString:
		s.put(row, column, s.label(d))
	case kind == recBoolErr && len(d) >= 8:
		s.put(row, column, boolErr(d[6], d[7] != 0))
	case len(d) < 10:
	case kind == recColInfo: // the first and the last column of some; bit 0 of the options: they are hidden
		if d[8]&1 != 0 && len(s.columns) < 1000 {
			s.columns = append(s.columns, [2]int{row + 1, column + 1})
		}
	case kind == recRK:
		s.put(row, column, s.x.number(rk(le.Uint32(d[6:])), style))
	case kind == recLabelSST:
		if i := le.Uint32(d[6:]); int64(i) < int64(len(s.x.strings)) {
			s.put(row, column, s.x.strings[i])
		}
	case len(d) < 14:
	case kind == recRow: // fDyZero: the row has no height
		if d[12]&0x20 != 0 {
			s.hidden[row] = true
		}
	case kind == recNumber:
		s.put(row, column, s.x.number(math.Float64frombits(le.Uint64(d[6:])), style))
	case kind == recFormula:
		s.formula(row, column, style, d)
	}
}

// label returns the text of a record that has it within. In BIFF5 its length has two
// bytes, as elsewhere only in BIFF8.
func (s *xlsRows) label(d []byte) string {
	if s.x.biff8 || len(d) < 8 {
		return s.x.text(d[6:], s.x.biff8)
	}
	return decode(s.x.codes, d[8:min(8+int(binary.LittleEndian.Uint16(d[6:])), len(d))])
}

// formula puts the value that a formula had when the file was saved: a number, unless its
// last two bytes are 0xFFFF; then the first says what it is (FormulaValue, [MS-XLS]
// 2.5.133).
func (s *xlsRows) formula(row, column, style int, d []byte) {
	if le := binary.LittleEndian; le.Uint16(d[12:]) != 0xffff {
		s.put(row, column, s.x.number(math.Float64frombits(le.Uint64(d[6:])), style))
		return
	}
	switch d[6] {
	case 0:
		s.text = [2]int{row, column}
	case 1, 2: // a truth value, an error
		s.put(row, column, boolErr(d[8], d[6] == 2))
	}
}

// formulaText puts the text of the formula before (String, [MS-XLS] 2.4.268).
func (s *xlsRows) formulaText(d []byte) {
	if s.text[0] < 0 {
		return
	}
	text := s.x.text(d, true)
	if !s.x.biff8 && len(d) >= 2 {
		text = decode(s.x.codes, d[2:min(2+int(binary.LittleEndian.Uint16(d)), len(d))])
	}
	s.put(s.text[0], s.text[1], text)
	s.text[0] = -1
}

// rk decodes a number of 30 bits ([MS-XLS] 2.5.217): the upper half of a float64, or, with bit 1, an
// integer; with bit 0 it is divided by 100.
func rk(v uint32) float64 {
	n := math.Float64frombits(uint64(v&^3) << 32)
	if v&2 != 0 {
		n = float64(int32(v) >> 2)
	}
	if v&1 != 0 {
		n /= 100
	}
	return n
}

// boolErr writes a truth value or an error ([MS-XLS] 2.5.10).
func boolErr(v byte, isError bool) string {
	if !isError {
		return map[bool]string{true: "TRUE", false: "FALSE"}[v != 0]
	}
	text := map[byte]string{
		0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!", 42: "#N/A",
	}[v]
	if text == "" {
		return "#ERROR"
	}
	return text
}

// stored writes a number as a workbook of today stores it.
func stored(n float64) string { return strings.TrimSuffix(data.FormatFloat(n, 64), ".0") }

// number writes a number as its style shows it: as a date, a time or a number. A style that is not
// there, in a broken file, is the general one.
func (x *xls) number(n float64, style int) string {
	format := 0
	if style < len(x.styles) {
		format = x.styles[style]
	}
	return ooxml.FormatNumber(stored(n), format, x.formats[format], x.epoch)
}
