package document

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

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
		has[f.Name] = true
	}
	switch {
	case has["word/document.xml"]:
		return r.office(r.docx)
	case has["ppt/presentation.xml"]:
		return r.office(r.pptx)
	case has["xl/workbook.xml"]:
		return r.xlsx()
	case has["content.xml"] && has["mimetype"]:
		return errors.New("OpenDocument files cannot be read here: convert it with a program " +
			"(libreoffice --headless --convert-to docx)")
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
	r.doc.Format, r.doc.About = "DOCX", fmt.Sprintf("%d page%s, as far as the file says", pages, plural(pages))
	for _, label := range []string{"footnotes", "endnotes", "comments"} {
		name := "word/" + label + ".xml"
		if !f.Has(name) {
			continue
		}
		if _, err := r.word(f, name, pages, func(n int, s string) { r.add(n, label, s) }); err != nil {
			r.note("%v", err)
		}
	}
	if n := text.Pictures; n > 0 {
		r.note("%d picture%s in it not shown: unpack the file (it is a zip; see word/media)", n, plural(n))
	}
	return nil
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
	r.doc.Format, r.doc.About = "PPTX", fmt.Sprintf("%d slide%s", len(slides), plural(len(slides)))
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
	n := len(f.Sheets)
	r.doc.Format, r.doc.About = "XLSX", fmt.Sprintf("%d sheet%s: %s", n, plural(n), strings.Join(f.Sheets, ", "))
	for i, sheet := range f.Sheets {
		if !r.wants(i+1) || r.full() {
			continue
		}
		if err := r.sheet(f, i+1, sheet); err != nil {
			r.note("sheet %q: %v", sheet, err)
		}
	}
	return r.ctx.Err()
}

// sheet reads a sheet as rows with bars. Where rows are empty, the number of
// the next one stands above it.
func (r *reader) sheet(f *ooxml.Book, n int, name string) error {
	var b strings.Builder
	last := 0
	for row, err := range f.Rows(name) {
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
		}
		last = row.N
	}
	if last > sheetRows {
		r.note("sheet %q: the first %d of its %s rows are here; %s",
			name, sheetRows, humanize.Comma(int64(last)), seeAll)
	}
	if b.Len() == 0 {
		r.note("sheet %q is empty", name)
		return nil
	}
	r.add(n, fmt.Sprintf("sheet %d %q", n, name), b.String())
	return nil
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
