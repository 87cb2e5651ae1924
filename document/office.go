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
	"github.com/xuri/excelize/v2"
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
	w := word{page: 1, add: r.add}
	if err := w.read(body); err != nil {
		return fmt.Errorf("word/document.xml: %w", err)
	}
	w.flush()
	r.doc.Format, r.doc.About = "DOCX", fmt.Sprintf("%d page%s, as far as the file says", w.page, plural(w.page))
	for _, extra := range []struct{ name, label string }{{"word/footnotes.xml", "footnotes"}, {"word/endnotes.xml", "endnotes"}, {"word/comments.xml", "comments"}} {
		if files[extra.name] == nil {
			continue
		}
		data, err := r.part(files, extra.name)
		if err != nil {
			r.note("%v", err)
			continue
		}
		notes := word{page: w.page, add: func(n int, _, text string) { r.add(n, extra.label, text) }}
		if err := notes.read(data); err != nil {
			r.note("%s: %v", extra.name, err)
		}
		notes.flush()
	}
	if n := strings.Count(string(body), "<pic:pic"); n > 0 {
		r.note("%d picture%s in it not shown: unpack the file (it is a zip; word/media)", n, plural(n))
	}
	return nil
}

// A word reads WordprocessingML.
type word struct {
	page int
	add  func(n int, label, text string)

	out   strings.Builder
	para  strings.Builder
	style string
	list  bool
	cells []string
	cell  []string
	depth int // of tables
	rows  int
}

func (w *word) read(data []byte) error {
	d := xml.NewDecoder(bytes.NewReader(data))
	var inText, deleted bool
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = !deleted
			case "delText", "instrText":
				inText = false
			case "tab":
				w.para.WriteByte('\t')
			case "br":
				if attr(t, "type") == "page" {
					w.turn()
				} else {
					w.para.WriteByte('\n')
				}
			case "lastRenderedPageBreak":
				w.turn()
			case "pStyle":
				w.style = attr(t, "val")
			case "numPr":
				w.list = true
			case "tbl":
				w.depth++
				w.rows = 0
			case "tr":
				w.cells = nil
			case "tc":
				w.cell = nil
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "p":
				w.endParagraph()
			case "tc":
				w.cells = append(w.cells, strings.Join(w.cell, " "))
			case "tr":
				w.endRow()
			case "tbl":
				w.depth--
				w.out.WriteByte('\n')
			}
		case xml.CharData:
			if inText {
				w.para.Write(t)
			}
		}
	}
}

func attr(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// turn begins a page, in the middle of a paragraph or not.
func (w *word) turn() {
	if w.depth > 0 {
		return // a table stays with the page it began on
	}
	w.out.WriteString(w.para.String())
	w.para.Reset()
	w.flush()
	w.page++
}

func (w *word) flush() {
	if s := strings.TrimSpace(w.out.String()); s != "" {
		w.add(w.page, fmt.Sprintf("page %d", w.page), s)
	}
	w.out.Reset()
}

func (w *word) endParagraph() {
	text := strings.TrimSpace(w.para.String())
	w.para.Reset()
	style, list := strings.ToLower(w.style), w.list
	w.style, w.list = "", false
	if w.depth > 0 {
		if text != "" {
			w.cell = append(w.cell, text)
		}
		return
	}
	if text == "" {
		return
	}
	switch {
	case style == "title":
		text = "# " + text
	case strings.HasPrefix(style, "heading") && len(style) == 8 && style[7] >= '1' && style[7] <= '6':
		text = strings.Repeat("#", int(style[7]-'0')) + " " + text
	case list:
		w.out.WriteString("- " + text + "\n")
		return
	}
	w.out.WriteString(text + "\n\n")
}

func (w *word) endRow() {
	if len(w.cells) == 0 {
		return
	}
	w.out.WriteString("| " + strings.Join(w.cells, " | ") + " |\n")
	if w.rows++; w.rows == 1 && w.depth == 1 {
		w.out.WriteString(strings.Repeat("| --- ", len(w.cells)) + "|\n")
	}
	w.cells = nil
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
		text, err := drawn(data)
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
		text, err := drawn(data)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	return ""
}

// drawn reads the text of DrawingML: a line for each paragraph, a row of bars
// for each row of a table. The number of the slide in its corner is left out.
func drawn(data []byte) (string, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	var out, para strings.Builder
	var inText, field bool
	var cells []string
	inCell := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "t":
				inText = !field
			case "fld":
				field = attr(t, "type") == "slidenum"
			case "br":
				para.WriteByte('\n')
			case "tc":
				inCell = true
				cells = append(cells, "")
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "t":
				inText = false
			case "fld":
				field = false
			case "p":
				text := strings.TrimSpace(para.String())
				para.Reset()
				switch {
				case text == "":
				case inCell && len(cells) > 0:
					cells[len(cells)-1] = strings.TrimSpace(cells[len(cells)-1] + " " + text)
				default:
					out.WriteString(text + "\n")
				}
			case "tc":
				inCell = false
			case "tr":
				out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
				cells = nil
			}
		case xml.CharData:
			if inText {
				para.Write(t)
			}
		}
	}
}

// sheetRows is how many rows of a sheet are text; more are for a program.
const sheetRows = 2000

func (r *reader) xlsx() error {
	f, err := excelize.OpenReader(bytes.NewReader(r.data), excelize.Options{UnzipSizeLimit: 8 * unpacked, UnzipXMLSizeLimit: 8 * unpacked})
	if err != nil {
		return fmt.Errorf("it cannot be read as XLSX: %w", err)
	}
	defer f.Close()
	sheets := f.GetSheetList()
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

func (r *reader) sheet(f *excelize.File, n int, name string) error {
	rows, err := f.Rows(name)
	if err != nil {
		return err
	}
	defer rows.Close()
	var b strings.Builder
	k, last := 0, 0
	for rows.Next() {
		k++
		if k%512 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if k > sheetRows || b.Len() > r.o.MaxText {
			continue
		}
		cells, err := rows.Columns()
		if err != nil {
			return err
		}
		if len(cells) == 0 {
			continue
		}
		for j, c := range cells {
			cells[j] = strings.NewReplacer("\n", " ", "|", `\|`).Replace(c)
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
		return rows.Error()
	}
	r.add(n, fmt.Sprintf("sheet %d %q", n, name), b.String())
	return rows.Error()
}
