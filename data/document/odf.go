package document

import (
	"encoding/xml"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// maxCells is how many cells of an OpenDocument workbook are read: a few bytes can
// stand for all cells of a sheet.
const maxCells = 1 << 20

// odf reads an OpenDocument file (ISO/IEC 26300, OpenDocument 1.2 and 1.3): a text, a workbook or a
// presentation. All of them have their content in content.xml, below office:body; an element of the
// kind says what it is. Files that need a password say so in the manifest. The content before a
// fault in the XML is still read.
func (r *reader) odf(f *ooxml.File) error {
	manifest, err := r.part(f, "META-INF/manifest.xml")
	if err == nil && strings.Contains(string(manifest), "encryption-data") {
		return errPassword("the document", "LibreOffice")
	}
	o := newODF(r)
	err = walk(f, "content.xml", o.start, o.end, o.text)
	if err == nil && o.kind == "" {
		return errors.New("it has no OpenDocument text, workbook or presentation in it")
	}
	if err != nil && len(o.sheets) == 0 && len(r.doc.Parts) == 0 && o.Out.Len() == 0 {
		return err
	}
	if err != nil {
		r.note("the document is read up to a fault: %v", err)
	}
	switch o.kind {
	case "spreadsheet":
		return o.book()
	case "presentation", "drawing":
		r.doc.Format, r.doc.Total = "ODP", o.slides
		r.doc.About = fmt.Sprintf("%d slide%s", o.slides, clip.Which(o.slides, "", "s"))
	default:
		o.Flush()
		r.doc.Format, r.doc.About = "ODT", fmt.Sprintf("%d page%s, as far as the file says", o.Page, clip.Which(o.Page, "", "s"))
		if len(o.notes) > 0 {
			r.add(o.Page, "notes", strings.Join(o.notes, "\n"))
		}
		if o.pictures > 0 {
			r.note("%d picture%s in it not shown: unpack the file (it is a zip; see Pictures)", o.pictures,
				clip.Which(o.pictures, "", "s"))
		}
	}
	return nil
}

// An odf is the state of reading content.xml. A text is read into pages, a presentation
// page by page into Out, and a workbook into sheets.
type odf struct {
	ooxml.Pages // of a text

	r        *reader
	kind     string // of the body: text, spreadsheet, presentation
	slides   int
	pictures int
	open     []string // the elements that are open, from the root
	level    int      // of a heading; 0 for a paragraph
	lists    int      // how many lists are open
	skipped  int      // the depth at which something began that is left out; 0 if nothing
	notes    []string // footnotes and comments, in the order of the file

	tables  int      // how many are open, in a text
	cells   []string // of the row that is open
	content []string // the paragraphs of the cell that is open
	rows    int      // of the table that is open

	sheets       []*odfSheet
	cell         odfCell
	total        int             // cells of all sheets; see maxCells
	style        string          // the automatic style that is being declared
	hiddenStyles map[string]bool // those with table:display="false"
}

// newODF returns the state at the beginning of a document, whose pages r gets.
func newODF(r *reader) *odf {
	o := &odf{r: r, hiddenStyles: make(map[string]bool)}
	o.Page, o.Add = 1, func(page int, text string) { r.add(page, fmt.Sprintf("page %d", page), text) }
	return o
}

// An odfSheet is a sheet of a workbook. Equal rows and cells that follow each other are written
// once with a number of repetitions (table:number-rows-repeated), also the million empty ones
// below the last, so that rows are numbered by counting.
type odfSheet struct {
	name    string
	hidden  bool
	rows    []ooxml.Row
	next    int // the number of the next row
	repeat  int // of the current one
	row     ooxml.Row
	columns int // that were declared
	hiddens [][2]int
}

// An odfCell is the cell that is being read. value is the one that the file computed with, such as
// 2024-03-01 or 0.5, where the text in the cell is as a locale shows it (1. März, 50 %).
type odfCell struct {
	repeat         int
	value, formula string
}

// inside reports whether an element with the local name is open. Namespaces are not compared: no
// two elements that matter here have the same local name.
func (o *odf) inside(name string) bool { return slices.Contains(o.open, name) }

// repeated returns a number of repetitions, from 1 up to most.
func repeated(e xml.StartElement, name string, most int) int {
	n, err := strconv.Atoi(ooxml.Attr(e, name))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, most)
}

// start takes in the beginning of an element. text:s stands for as many spaces as text:c says, since
// those in the XML collapse; text:soft-page-break is where the program that saved the file broke the
// page; deletions that are tracked, forms and settings are left out.
func (o *odf) start(e xml.StartElement) {
	name := e.Name.Local
	o.open = append(o.open, name)
	if o.skipped > 0 {
		return
	}
	switch name {
	case "text", "spreadsheet", "presentation", "drawing":
		if len(o.open) > 1 && o.open[len(o.open)-2] == "body" {
			o.kind = name
		}
	case "tracked-changes", "forms", "settings":
		o.skipped = len(o.open)
	case "style":
		o.style = ooxml.Attr(e, "name")
	case "table-properties":
		if ooxml.Attr(e, "display") == "false" {
			o.hiddenStyles[o.style] = true
		}
	case "h":
		o.level = repeated(e, "outline-level", 6)
	case "list":
		o.lists++
	case "s":
		o.Para.WriteString(strings.Repeat(" ", repeated(e, "c", 200)))
	case "tab":
		o.Para.WriteByte('\t')
	case "line-break":
		o.Para.WriteByte('\n')
	case "soft-page-break":
		o.turn()
	case "image":
		o.pictures++
	case "page":
		if o.kind == "presentation" || o.kind == "drawing" {
			o.slides++
		}
	case "notes":
		o.Out.WriteString("\nNotes:\n")
	case "note", "annotation":
		// Their text is collected apart: what the paragraph has so far waits.
		o.Out.WriteString(o.Para.String())
		o.Para.Reset()
	default:
		o.startTable(name, e)
	}
}

// startTable begins a table of a text, or a sheet.
func (o *odf) startTable(name string, e xml.StartElement) {
	if o.kind != "spreadsheet" {
		switch name {
		case "table":
			o.tables++
			o.rows = 0
		case "table-row":
			o.cells = nil
		case "table-cell":
			o.content = nil
		}
		return
	}
	if name == "table" {
		hidden := o.hiddenStyles[ooxml.Attr(e, "style-name")]
		o.sheets = append(o.sheets, &odfSheet{name: ooxml.Attr(e, "name"), hidden: hidden, next: 1})
		return
	}
	if len(o.sheets) == 0 {
		return
	}
	s := o.sheets[len(o.sheets)-1]
	hidden := ooxml.Attr(e, "visibility") == "collapse" || ooxml.Attr(e, "visibility") == "filter"
	switch name {
	case "table-column":
		n := repeated(e, "number-columns-repeated", 16_384)
		if hidden && len(s.hiddens) < 1000 {
			s.hiddens = append(s.hiddens, [2]int{s.columns + 1, s.columns + n})
		}
		s.columns += n
	case "table-row":
		s.repeat = repeated(e, "number-rows-repeated", 1<<20)
		s.row = ooxml.Row{N: s.next, Hidden: hidden}
	case "table-cell", "covered-table-cell":
		o.content = nil
		o.cell = odfCell{repeat: repeated(e, "number-columns-repeated", 16_384), formula: ooxml.Attr(e, "formula")}
		for _, a := range []string{"value", "date-value", "time-value", "boolean-value"} {
			if v := ooxml.Attr(e, a); v != "" && ooxml.Attr(e, "value-type") != "string" {
				o.cell.value = v
			}
		}
	}
}

// end takes in the end of an element, which closes what start opened.
func (o *odf) end(name string) {
	depth := len(o.open)
	if depth > 0 {
		o.open = o.open[:depth-1]
	}
	if o.skipped > 0 {
		if depth == o.skipped {
			o.skipped = 0
		}
		return
	}
	switch name {
	case "p", "h":
		o.endParagraph(name == "h")
	case "list":
		if o.lists--; o.lists == 0 {
			o.Out.WriteByte('\n')
		}
	case "page":
		if o.kind == "presentation" || o.kind == "drawing" {
			o.r.add(o.slides, fmt.Sprintf("slide %d", o.slides), o.Out.String())
			o.Out.Reset()
		}
	case "table":
		if o.kind != "spreadsheet" {
			o.tables--
			o.Out.WriteByte('\n')
		}
	case "table-row":
		o.endRow()
	case "table-cell", "covered-table-cell":
		o.endCell()
	}
}

// endParagraph writes a paragraph, or puts it into the cell or the note that it is in.
func (o *odf) endParagraph(heading bool) {
	text := strings.TrimSpace(o.Para.String())
	o.Para.Reset()
	switch {
	case text == "":
	case o.inside("annotation"):
		o.notes = append(o.notes, "comment: "+text)
	case o.inside("note"):
		o.notes = append(o.notes, "note: "+text)
	case o.inside("table-cell"), o.inside("covered-table-cell"):
		o.content = append(o.content, text)
	case heading:
		o.Out.WriteString(strings.Repeat("#", max(o.level, 1)) + " " + text + "\n\n")
	case o.lists > 0:
		o.Out.WriteString("- " + text + "\n")
	case o.kind == "text":
		o.Out.WriteString(text + "\n\n")
	default:
		o.Out.WriteString(text + "\n")
	}
}

// endCell adds the cell to its row. A formula without a value, as programs write that cannot
// compute, is shown as such: "of:=[.A1]+[.B1:.B9]" becomes =A1+B1:B9 (OpenFormula, the second part of
// the standard).
func (o *odf) endCell() {
	text := strings.Join(o.content, " ")
	o.content = nil
	if o.kind != "spreadsheet" {
		if len(o.cells) < 16_384 {
			o.cells = append(o.cells, text)
		}
		return
	}
	if len(o.sheets) == 0 {
		return
	}
	s := o.sheets[len(o.sheets)-1]
	if o.cell.value != "" {
		text = strings.Replace(o.cell.value, "T", " ", 1)
	}
	if text == "" && o.cell.formula != "" {
		_, formula, found := strings.Cut(o.cell.formula, "=")
		if !found {
			formula = o.cell.formula
		}
		text = "=" + strings.NewReplacer("[.", "", ":.", ":", "]", "").Replace(formula)
		s.row.Uncomputed++
	}
	for i := 0; i < o.cell.repeat && o.total < maxCells && len(s.row.Cells) < 16_384; i++ {
		s.row.Cells = append(s.row.Cells, text)
		o.total++
	}
}

// endRow adds the row to its table or sheet. Empty cells at its end are left out, and so are empty
// rows. One of the rows beyond sheetRows, which are not shown, is kept to count formulas.
func (o *odf) endRow() {
	if o.kind != "spreadsheet" {
		if len(o.cells) > 0 {
			o.Out.WriteString(barRow(o.cells))
			if o.rows++; o.rows == 1 && o.tables == 1 {
				o.Out.WriteString(strings.Repeat("| --- ", len(o.cells)) + "|\n")
			}
		}
		o.cells = nil
		return
	}
	if len(o.sheets) == 0 {
		return
	}
	s := o.sheets[len(o.sheets)-1]
	for n := len(s.row.Cells); n > 0 && s.row.Cells[n-1] == ""; n-- {
		s.row.Cells = s.row.Cells[:n-1]
		o.total--
	}
	if len(s.row.Cells) > 0 {
		for i := 0; i < s.repeat && (s.next+i <= sheetRows+1 || i == 0); i++ {
			row := s.row
			if row.N = s.next + i; row.N > sheetRows { // only counted
				row.Cells = nil
				if n := len(s.rows); n > 0 && s.rows[n-1].N > sheetRows {
					row.Uncomputed += s.rows[n-1].Uncomputed
					s.rows = s.rows[:n-1]
				}
			}
			s.rows = append(s.rows, row)
			o.total += len(row.Cells)
		}
	}
	s.next += s.repeat
	s.row = ooxml.Row{}
}

// text takes in characters. Only those in paragraphs and headings are text of the document.
func (o *odf) text(s []byte) {
	if o.skipped > 0 || len(o.open) == 0 {
		return
	}
	switch o.open[len(o.open)-1] {
	case "creator", "date", "date-string", "creator-initials", // of comments
		"page-number", "page-count": // fields, whose text is as of the last time the file was saved
		return
	}
	if o.kind == "" {
		return
	}
	if o.inside("p") || o.inside("h") {
		// Line breaks and runs of spaces in the file are one space.
		text := strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(string(s))
		o.Para.WriteString(text)
	}
}

// turn ends a page of a text, unless in a table, which stays on the page on which it
// begins, or in a note.
func (o *odf) turn() {
	if o.kind == "text" && o.tables == 0 && !o.inside("note") {
		o.Turn()
	}
}

// book adds the sheets of a workbook as those of an XLSX are added, hidden ones with a mark.
func (o *odf) book() error {
	names := make([]string, len(o.sheets))
	for i, s := range o.sheets {
		if names[i] = s.name; s.hidden {
			names[i] += " (hidden)"
		}
	}
	o.r.sheets("ODS", names)
	if o.total >= maxCells {
		o.r.note("it has more than %d cells; the rest is left out", maxCells)
	}
	for i, s := range o.sheets {
		if !o.r.wants(i+1) || o.r.full() {
			continue
		}
		if err := o.r.sheet(i+1, s.name, s.hidden, s.all(), nil); err != nil {
			o.r.note("sheet %q: %v", s.name, err)
		}
	}
	return o.r.ctx.Err()
}

// all yields the rows.
func (s *odfSheet) all() func(yield func(ooxml.Row, error) bool) {
	return func(yield func(ooxml.Row, error) bool) {
		for _, row := range s.rows {
			if row.HiddenColumns = s.hiddens; !yield(row, nil) {
				return
			}
		}
	}
}
