package document

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/openmanus-go/openmanus/data/document/internal/ooxml"
	"github.com/openmanus-go/openmanus/internal/xlsx"
)

// zip finds out what a zip file is: a document, or an archive.
func (r *reader) zip() error {
	z, err := zip.NewReader(bytes.NewReader(r.data), int64(len(r.data)))
	if err != nil {
		return fmt.Errorf("the file cannot be unpacked: %w", err)
	}
	if len(z.File) > maxEntries {
		return fmt.Errorf("it has %d files in it; at most %d are looked at", len(z.File), maxEntries)
	}
	files := make(map[string]*zip.File, len(z.File))
	for _, f := range z.File {
		files[f.Name] = f
	}
	switch {
	case files["word/document.xml"] != nil:
		return r.docx(files)
	case files["ppt/presentation.xml"] != nil:
		return r.pptx(files)
	case files["xl/workbook.xml"] != nil:
		return r.xlsx()
	case files["content.xml"] != nil && files["mimetype"] != nil:
		return errors.New("OpenDocument files cannot be read here: convert it with a program (libreoffice --headless --convert-to docx)")
	}
	return r.archive(z)
}

// part unpacks one file of a document.
func (r *reader) part(files map[string]*zip.File, name string) ([]byte, error) {
	f := files[name]
	if f == nil {
		return nil, fmt.Errorf("%s is missing in it", name)
	}
	src, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer src.Close()
	data, err := limited(r.ctx, src, unpacked)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// docx reads the text in its order, with headings, lists and tables as
// Markdown. Pages are those that the program which saved it had seen.
func (r *reader) docx(files map[string]*zip.File) error {
	body, err := r.part(files, "word/document.xml")
	if err != nil {
		return err
	}
	pages, err := ooxml.Word(body, 1, func(n int, text string) { r.add(n, fmt.Sprintf("page %d", n), text) })
	if err != nil {
		return fmt.Errorf("word/document.xml: %w", err)
	}
	r.doc.Format, r.doc.About = "DOCX", fmt.Sprintf("%d page%s, as far as the file says", pages, plural(pages))
	for _, extra := range []struct{ name, label string }{{"word/footnotes.xml", "footnotes"}, {"word/endnotes.xml", "endnotes"}, {"word/comments.xml", "comments"}} {
		if files[extra.name] == nil {
			continue
		}
		data, err := r.part(files, extra.name)
		if err != nil {
			r.note("%v", err)
			continue
		}
		if _, err := ooxml.Word(data, pages, func(n int, text string) { r.add(n, extra.label, text) }); err != nil {
			r.note("%s: %v", extra.name, err)
		}
	}
	if n := strings.Count(string(body), "<pic:pic"); n > 0 {
		r.note("%d picture%s in it not shown: unpack the file (it is a zip; word/media)", n, plural(n))
	}
	return nil
}

// pptx reads the slides in their order, with the speaker's notes.
func (r *reader) pptx(files map[string]*zip.File) error {
	slides, err := r.slides(files)
	if err != nil {
		return err
	}
	r.doc.Format, r.doc.About = "PPTX", fmt.Sprintf("%d slide%s", len(slides), plural(len(slides)))
	for i, name := range slides {
		n := i + 1
		if !r.wants(n) || r.full() {
			continue
		}
		data, err := r.part(files, name)
		if err != nil {
			r.note("slide %d: %v", n, err)
			continue
		}
		text, err := ooxml.Drawing(data)
		if err != nil {
			r.note("slide %d: %v", n, err)
		}
		if notes := r.notes(files, name); notes != "" {
			text += "\nNotes:\n" + notes
		}
		if strings.TrimSpace(text) == "" {
			r.note("slide %d has no text", n)
			continue
		}
		r.add(n, fmt.Sprintf("slide %d", n), text)
	}
	return nil
}

// relations are what the file beside a part says of the parts it uses.
func (r *reader) relations(files map[string]*zip.File, name string) (map[string]string, error) {
	data, err := r.part(files, path.Join(path.Dir(name), "_rels", path.Base(name)+".rels"))
	if err != nil {
		return nil, err
	}
	var raw struct {
		Relationship []struct {
			ID     string `xml:"Id,attr"`
			Target string `xml:"Target,attr"`
		} `xml:"Relationship"`
	}
	if err := xml.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	to := make(map[string]string)
	for _, rel := range raw.Relationship {
		to[rel.ID] = strings.TrimPrefix(path.Join("/", path.Dir(name), rel.Target), "/")
		if strings.HasPrefix(rel.Target, "/") {
			to[rel.ID] = strings.TrimPrefix(rel.Target, "/")
		}
	}
	return to, nil
}

func (r *reader) slides(files map[string]*zip.File) ([]string, error) {
	data, err := r.part(files, "ppt/presentation.xml")
	if err != nil {
		return nil, err
	}
	to, err := r.relations(files, "ppt/presentation.xml")
	if err != nil {
		return nil, err
	}
	var names []string
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, fmt.Errorf("ppt/presentation.xml: %w", err)
		}
		if t, ok := tok.(xml.StartElement); ok && t.Name.Local == "sldId" {
			for _, a := range t.Attr {
				if a.Name.Local == "id" && to[a.Value] != "" {
					names = append(names, to[a.Value])
				}
			}
		}
	}
}

func (r *reader) notes(files map[string]*zip.File, slide string) string {
	to, err := r.relations(files, slide)
	if err != nil {
		return ""
	}
	for _, name := range to {
		if !strings.Contains(name, "notesSlide") {
			continue
		}
		data, err := r.part(files, name)
		if err != nil {
			return ""
		}
		text, err := ooxml.Drawing(data)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	return ""
}

// sheetRows is how many rows of a sheet are text; more are for a program.
const sheetRows = 2000

func (r *reader) xlsx() error {
	f, err := xlsx.Open(r.data, 8*unpacked)
	if err != nil {
		return fmt.Errorf("it cannot be read as XLSX: %w", err)
	}
	sheets := f.Sheets
	r.doc.Format, r.doc.About = "XLSX", fmt.Sprintf("%d sheet%s: %s", len(sheets), plural(len(sheets)), strings.Join(sheets, ", "))
	for i, sheet := range sheets {
		if !r.wants(i+1) || r.full() {
			continue
		}
		if err := r.sheet(f, i+1, sheet); err != nil {
			r.note("sheet %q: %v", sheet, err)
		}
	}
	return r.ctx.Err()
}

func (r *reader) sheet(f *xlsx.Book, n int, name string) error {
	var b strings.Builder
	k, last := 0, 0
	clean := strings.NewReplacer("\n", " ", "|", `\|`)
	for row, err := range f.Rows(name) {
		if err != nil {
			return err
		}
		if k = row.N; k%512 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if k > sheetRows || b.Len() > r.o.MaxText {
			continue
		}
		cells := row.Cells
		for j, c := range cells {
			cells[j] = clean.Replace(strings.TrimSuffix(c, " 00:00:00")) // of a date without a time
		}
		if last != k-1 {
			fmt.Fprintf(&b, "(row %d)\n", k)
		}
		last = k
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	if k > sheetRows {
		r.note("sheet %q: %d of its %s rows are here; data_visualization (profile) and Python see all of them", name, sheetRows, humanize.Comma(int64(k)))
	}
	if b.Len() == 0 {
		r.note("sheet %q is empty", name)
		return nil
	}
	r.add(n, fmt.Sprintf("sheet %d %q", n, name), b.String())
	return nil
}
