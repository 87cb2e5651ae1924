package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// zip reads a zip file: an Office document by its main part, or an archive.
func (r *reader) zip() error {
	z, err := zip.NewReader(bytes.NewReader(r.data), int64(len(r.data)))
	if err != nil {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	if len(z.File) > maxEntries {
		return fmt.Errorf("it contains %d files; at most %d are read", len(z.File), maxEntries)
	}
	has := make(map[string]bool, len(z.File))
	for _, f := range z.File {
		has[strings.ToLower(strings.ReplaceAll(f.Name, `\`, "/"))] = true
	}
	switch {
	case has["word/document.xml"]:
		return r.office(r.docx)
	case has["ppt/presentation.xml"]:
		return r.office(r.pptx)
	case has["xl/workbook.xml"]:
		return r.xlsx()
	case has["content.xml"] && has["mimetype"]:
		return r.office(r.odf)
	case has["xl/workbook.bin"]:
		return errors.New("a binary workbook (XLSB): save it as XLSX (libreoffice --headless --convert-to xlsx)")
	case has["index/document.iwa"], has["index.zip"] && has["quicklook/preview.pdf"]:
		return errors.New("a document of Apple's Pages, Numbers or Keynote: export it as PDF or as an Office file")
	case has["fixeddocumentsequence.fdseq"], has["fixeddocseq.fdseq"]:
		return errors.New("an XPS document: convert it to PDF (xpstopdf)")
	case has["meta-inf/container.xml"]:
		return r.office(r.epub)
	}
	return r.archive(z)
}

// office opens the document as an Office file for read. Only the parts that
// read opens are unpacked, so pictures in it do not count.
func (r *reader) office(read func(*ooxml.File) error) error {
	f, err := ooxml.Open(r.ctx, r.data, maxUnpacked)
	if err != nil {
		return err
	}
	return read(f)
}

// docx reads the text in order, then footnotes, endnotes and comments.
func (r *reader) docx(f *ooxml.File) error {
	const body = "word/document.xml"
	text, err := r.word(f, body, 1, func(n int, s string) { r.add(n, fmt.Sprintf("page %d", n), s) })
	if err != nil {
		return err
	}
	pages := text.LastPage
	r.doc.Format, r.doc.About = "DOCX", fmt.Sprintf("%d page%s, as far as the file says", pages, clip.Which(pages, "", "s"))
	for _, label := range []string{"footnotes", "endnotes", "comments"} {
		name := "word/" + label + ".xml"
		if !f.Has(name) {
			continue
		}
		if _, err := r.word(f, name, pages, func(n int, s string) { r.add(n, label, s) }); err != nil {
			r.note("%v", err)
		}
	}
	r.edges(f, pages)
	if n := text.Pictures; n > 0 {
		r.note("%d picture%s in it not shown: unpack the file (it is a zip; see word/media)", n, clip.Which(n, "", "s"))
	}
	return nil
}

// edges reads the headers and footers of a DOCX, each text once.
func (r *reader) edges(f *ooxml.File, page int) {
	relations, _ := f.Relations("word/document.xml")
	var all []string
	for _, rel := range relations {
		if rel.Type != "header" && rel.Type != "footer" || len(all) > 100 {
			continue
		}
		var b strings.Builder
		if _, err := r.word(f, rel.Part, page, func(_ int, s string) { b.WriteString(s + "\n") }); err != nil {
			r.note("%v", err)
		}
		if t := strings.TrimSpace(b.String()); t != "" && !slices.Contains(all, rel.Type+": "+t) {
			all = append(all, rel.Type+": "+t)
		}
	}
	if len(all) > 0 {
		r.add(page, "headers and footers", strings.Join(all, "\n"))
	}
}

// word reads a part of a DOCX. An error names the part.
func (r *reader) word(f *ooxml.File, name string, first int, add func(int, string)) (ooxml.Text, error) {
	part, err := f.Part(name)
	if err != nil {
		return ooxml.Text{}, err
	}
	defer part.Close()
	text, err := ooxml.Word(part, first, add)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return text, err
}

// pptx reads the slides in order, with the speaker's notes.
func (r *reader) pptx(f *ooxml.File) error {
	slides, err := f.Slides()
	if err != nil {
		return err
	}
	r.doc.Format, r.doc.About = "PPTX", fmt.Sprintf("%d slide%s", len(slides), clip.Which(len(slides), "", "s"))
	for i, name := range slides {
		n := i + 1
		if !r.wants(n) || r.full() {
			continue
		}
		text, err := drawing(f, name)
		if err != nil {
			r.note("slide %d: %v", n, err)
		}
		if notes := speakerNotes(f, name); notes != "" {
			text += "\nNotes:\n" + notes
		}
		if comments := slideComments(f, name); comments != "" {
			text += "\nComments:\n" + comments
		}
		switch {
		case strings.TrimSpace(text) != "":
			r.add(n, fmt.Sprintf("slide %d", n), text)
		case err == nil:
			r.note("slide %d has no text", n)
		}
	}
	return nil
}

// drawing reads the text of a slide, or of the notes to one. With an error it
// may return what it read before.
func drawing(f *ooxml.File, name string) (string, error) {
	part, err := f.Part(name)
	if err != nil {
		return "", err
	}
	defer part.Close()
	return ooxml.Drawing(part)
}

// speakerNotes returns the notes of a slide, or "" if there are none or they
// are broken.
func speakerNotes(f *ooxml.File, slide string) string {
	relations, _ := f.Relations(slide)
	for _, r := range relations {
		if strings.Contains(r.Part, "notesSlide") {
			if text, err := drawing(f, r.Part); err == nil {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

// slideComments returns what people said about a slide, or "".
func slideComments(f *ooxml.File, slide string) string {
	relations, _ := f.Relations(slide)
	var b strings.Builder
	for _, r := range relations {
		if r.Type != "comments" && r.Type != "comment" {
			continue
		}
		inText := false
		_ = walk(f, r.Part, func(e xml.StartElement) { inText = e.Name.Local == "text" || e.Name.Local == "t" },
			func(string) { inText = false },
			func(s []byte) {
				if inText {
					b.WriteString(strings.TrimSpace(string(s)) + "\n")
				}
			})
	}
	return strings.TrimSpace(b.String())
}

// sheetRows is how many rows of a sheet become text. For more there are tools
// that compute.
const sheetRows = 2000

// seeAll is what notes say about rows that are left out.
const seeAll = "data_visualization (profile) and Python read all of them"

// xlsx reads the sheets in order. One that is broken becomes a note, and the
// others are read.
func (r *reader) xlsx() error {
	f, err := ooxml.OpenBook(r.ctx, r.data, 8*maxUnpacked)
	if err != nil {
		return fmt.Errorf("it cannot be read as XLSX: %w", err)
	}
	f.ShowFormulas = true
	names := make([]string, len(f.Sheets))
	for i, name := range f.Sheets {
		if names[i] = name; f.Hidden[name] {
			names[i] += " (hidden)"
		}
	}
	r.sheets("XLSX", names)
	for i, name := range f.Sheets {
		if !r.wants(i+1) || r.full() {
			continue
		}
		if err := r.sheet(i+1, name, f.Hidden[name], f.Rows(name), f.Remarks); err != nil {
			r.note("sheet %q: %v", name, err)
		}
	}
	return r.ctx.Err()
}

// sheets says what a workbook is.
func (r *reader) sheets(format string, names []string) {
	n := len(names)
	r.doc.Format, r.doc.Total = format, n
	r.doc.About = fmt.Sprintf("%d sheet%s: %s", n, clip.Which(n, "", "s"), strings.Join(names, ", "))
}

// sheet reads a sheet as rows with bars. Where rows are empty, the number of
// the next one stands above it. Below them are the remarks on its cells, if remarks is not nil.
func (r *reader) sheet(n int, name string, hidden bool, rows iter.Seq2[ooxml.Row, error], remarks func(sheet string) ([]string, error)) error {
	var b strings.Builder
	last, formulas := 0, 0
	var hiddenRows []int
	var hiddenColumns [][2]int
	for row, err := range rows {
		if err != nil {
			return err
		}
		if row.N <= sheetRows && b.Len() <= r.o.MaxText {
			if row.N != last+1 {
				fmt.Fprintf(&b, "(row %d)\n", row.N)
			}
			for i, c := range row.Cells {
				row.Cells[i] = strings.TrimSuffix(c, " 00:00:00") // of a date without a time
			}
			b.WriteString(barRow(row.Cells))
			if row.Hidden {
				hiddenRows = append(hiddenRows, row.N)
			}
		}
		formulas += row.Uncomputed
		last, hiddenColumns = row.N, row.HiddenColumns
	}
	if last > sheetRows {
		r.note("sheet %q: the first %d of its %s rows are here; %s",
			name, sheetRows, humanize.Comma(int64(last)), seeAll)
	}
	if formulas > 0 {
		r.note("sheet %q: %d formula%s not computed: the file has no value for %s, so the formula is shown. "+
			"Compute it in Python, or let LibreOffice save the file anew", name, formulas, clip.Which(formulas, " is", "s are"), clip.Which(formulas, "it", "them"))
	}
	if len(hiddenRows) > 0 {
		r.note("sheet %q: row%s %s hidden in the file", name, clip.Which(len(hiddenRows), "", "s"), ranges(hiddenRows))
	}
	if len(hiddenColumns) > 0 {
		r.note("sheet %q: hidden in the file: column%s %s", name, clip.Which(len(hiddenColumns), "", "s"),
			columnRanges(hiddenColumns))
	}
	if remarks != nil {
		lines, err := remarks(name)
		if err != nil {
			r.note("sheet %q: its comments and links: %v", name, err)
		}
		if len(lines) > 0 {
			b.WriteString("\n" + strings.Join(lines, "\n") + "\n")
		}
	}
	if b.Len() == 0 {
		r.note("sheet %q is empty", name)
		return nil
	}
	label := fmt.Sprintf("sheet %d %q", n, name)
	if hidden {
		label += " (hidden)"
	}
	r.add(n, label, b.String())
	return nil
}

// columnRanges writes ranges of columns by their letters, such as C, F-H.
func columnRanges(all [][2]int) string {
	var parts []string
	for _, c := range all {
		part := columnName(c[0])
		if c[1] > c[0] {
			part += "-" + columnName(c[1])
		}
		if parts = append(parts, part); len(parts) == 20 {
			parts = append(parts, "…")
			break
		}
	}
	return strings.Join(parts, ", ")
}

// columnName returns the letters of a column, from 1.
func columnName(n int) string {
	name := ""
	for ; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return name
}

var cellText = strings.NewReplacer("\n", " ", "|", `\|`)

// barRow is a row of a Markdown table.
func barRow(cells []string) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString("| " + cellText.Replace(c) + " ")
	}
	return b.String() + "|\n"
}
