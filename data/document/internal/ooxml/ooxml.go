// Package ooxml reads the text out of the XML of Office files. It imports
// nothing heavy, so that it is quick to fuzz.
package ooxml

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
)

// Word reads WordprocessingML and calls add with the text of each page, from
// the number first on. Headings, lists and tables come as Markdown. It returns
// the number of the last page, also with an error, and what was read until
// then.
func Word(data []byte, first int, add func(page int, text string)) (last int, err error) {
	w := word{page: first, add: add}
	err = w.read(data)
	w.flush()
	return w.page, err
}

// A word reads WordprocessingML.
type word struct {
	page int
	add  func(page int, text string)

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
		w.add(w.page, s)
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

// Drawing reads the text of DrawingML: a line for each paragraph, a row of bars
// for each row of a table. The number of the slide in its corner is left out.
func Drawing(data []byte) (string, error) {
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
