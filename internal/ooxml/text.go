package ooxml

import (
	"encoding/xml"
	"io"
	"strings"
)

// A handler receives the tokens of a part in order.
type handler interface {
	start(e xml.StartElement)
	end(name string)
	text(s []byte)
}

// tokens passes all tokens of r to h, but for content that stands there a second time for
// programs that do not know the first (ECMA-376 part 3, section 7.5). Its error is the first
// that r or the syntax has; what came before was passed on.
func tokens(r io.Reader, h handler) error {
	d := newDecoder(r)
	for {
		tok, err := d.Token()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if t.Name.Local != "Fallback" {
				h.start(t)
			} else if err := d.Skip(); err != nil {
				return err
			}
		case xml.EndElement:
			h.end(t.Name.Local)
		case xml.CharData:
			h.text(t)
		}
	}
}

// Walk passes the tokens of an XML part on, within the bounds of this package: the
// start of each element, the local name of each that ends, and texts, which are valid
// until the function returns. end and text may be nil.
func Walk(r io.Reader, start func(xml.StartElement), end func(name string), text func([]byte)) error {
	return tokens(r, walker{start, end, text})
}

// A walker is the handler of [Walk].
type walker struct {
	onStart func(xml.StartElement)
	onEnd   func(string)
	onText  func([]byte)
}

func (w walker) start(e xml.StartElement) { w.onStart(e) }

func (w walker) end(name string) {
	if w.onEnd != nil {
		w.onEnd(name)
	}
}

func (w walker) text(s []byte) {
	if w.onText != nil {
		w.onText(s)
	}
}

// A Text is what Word found in a part.
type Text struct {
	LastPage int // the number of the last page
	Pictures int // how many it left out
}

// Word reads a part of WordprocessingML (ECMA-376 part 1, section 17) and calls
// add with the text of each page that has any, counting from first. Pages end
// where the part says that they ended when it was last saved; a table stays on
// the page on which it begins. Headings, lists and tables become Markdown;
// deleted text is left out. After an error add has had the text before it.
func Word(r io.Reader, first int, add func(page int, text string)) (Text, error) {
	w := &word{Pages: Pages{Page: first, Add: add}}
	err := tokens(r, w)
	w.Flush()
	return Text{w.Page, w.pictures}, err
}

// Pages collects the text of a document whose file says where pages end.
type Pages struct {
	Page int                         // the number of the present one
	Add  func(page int, text string) // is given the text of each page that has any

	Out  strings.Builder // the text of the page so far
	Para strings.Builder // the paragraph that is being read, which is not in Out yet
}

// Turn begins a page, in the middle of a paragraph or not: what the paragraph has so far
// stays on the page before.
func (p *Pages) Turn() {
	p.Out.WriteString(p.Para.String())
	p.Para.Reset()
	p.Flush()
	p.Page++
}

// Flush passes on the text of the page, if there is any.
func (p *Pages) Flush() {
	if text := strings.TrimSpace(p.Out.String()); text != "" {
		p.Add(p.Page, text)
	}
	p.Out.Reset()
}

// A word is the state of [Word].
type word struct {
	Pages
	pictures int

	paragraph
	around  []paragraph // those in which the text boxes stand that are being read
	inText  bool
	depth   int      // of nested tables
	rows    int      // of the current table
	cells   []string // of the current row
	content []string // the paragraphs of the current cell
}

// A paragraph is what is known of one before it ends.
type paragraph struct {
	style string
	list  bool
}

func (w *word) start(e xml.StartElement) {
	switch e.Name.Local {
	case "t":
		w.inText = true
	case "delText", "instrText":
		w.inText = false
	case "tab":
		w.Para.WriteByte('\t')
	case "br":
		if Attr(e, "type") == "page" {
			w.turnPage()
		} else {
			w.Para.WriteByte('\n')
		}
	case "lastRenderedPageBreak":
		w.turnPage()
	case "pStyle":
		w.style = Attr(e, "val")
	case "numPr":
		w.list = true
	case "pic":
		w.pictures++
	case "txbxContent": // a text box, inside a paragraph: it stands between its parts
		w.around = append(w.around, w.paragraph)
		w.endParagraph()
	case "tbl":
		w.depth++
		w.rows = 0
	case "tr":
		w.cells = nil
	case "tc":
		w.content = nil
	}
}

func (w *word) end(name string) {
	switch name {
	case "t":
		w.inText = false
	case "p":
		w.endParagraph()
	case "txbxContent":
		if last := len(w.around) - 1; last >= 0 {
			w.paragraph, w.around = w.around[last], w.around[:last]
		}
	case "tc":
		if len(w.cells) < maxColumns {
			w.cells = append(w.cells, strings.Join(w.content, " "))
		}
	case "tr":
		w.endRow()
	case "tbl":
		w.depth--
		w.Out.WriteByte('\n')
	}
}

func (w *word) text(s []byte) {
	if w.inText {
		w.Para.Write(s)
	}
}

// turnPage begins a page, unless in a table.
func (w *word) turnPage() {
	if w.depth == 0 {
		w.Turn()
	}
}

// endParagraph writes the paragraph as its style demands, or adds it to the
// cell of a table that it is in.
func (w *word) endParagraph() {
	text := strings.TrimSpace(w.Para.String())
	w.Para.Reset()
	style, list := strings.ToLower(w.style), w.list
	w.paragraph = paragraph{}
	switch {
	case text == "":
	case w.depth > 0:
		w.content = append(w.content, text)
	case style == "title":
		w.Out.WriteString("# " + text + "\n\n")
	case len(style) == 8 && strings.HasPrefix(style, "heading") && style[7] >= '1' && style[7] <= '6':
		w.Out.WriteString(strings.Repeat("#", int(style[7]-'0')) + " " + text + "\n\n")
	case list:
		w.Out.WriteString("- " + text + "\n")
	default:
		w.Out.WriteString(text + "\n\n")
	}
}

// endRow writes a row; the first of a table is its head.
func (w *word) endRow() {
	if len(w.cells) == 0 {
		return
	}
	w.Out.WriteString("| " + strings.Join(w.cells, " | ") + " |\n")
	if w.rows++; w.rows == 1 && w.depth == 1 {
		w.Out.WriteString(strings.Repeat("| --- ", len(w.cells)) + "|\n")
	}
	w.cells = nil
}

// Drawing reads a part of DrawingML (ECMA-376 part 1, section 21), such as a
// slide: a line for each paragraph, and one with bars for each row of a table.
// It leaves out the slide's number. With an error comes the text before it.
func Drawing(r io.Reader) (string, error) {
	d := &drawing{}
	err := tokens(r, d)
	return d.out.String(), err
}

// A drawing is the state of [Drawing].
type drawing struct {
	out, para strings.Builder
	inText    bool
	number    bool // inside the field of the slide's number
	inCell    bool
	cells     []string // of the current row
}

func (d *drawing) start(e xml.StartElement) {
	switch e.Name.Local {
	case "t":
		d.inText = !d.number
	case "fld":
		d.number = Attr(e, "type") == "slidenum"
	case "br":
		d.para.WriteByte('\n')
	case "tc":
		d.inCell = true
		d.cells = append(d.cells, "")
	}
}

func (d *drawing) end(name string) {
	switch name {
	case "t":
		d.inText = false
	case "fld":
		d.number = false
	case "p":
		d.endParagraph()
	case "tc":
		d.inCell = false
	case "tr":
		d.out.WriteString("| " + strings.Join(d.cells, " | ") + " |\n")
		d.cells = nil
	}
}

func (d *drawing) text(s []byte) {
	if d.inText {
		d.para.Write(s)
	}
}

// endParagraph writes the paragraph as a line, or adds it to its cell.
func (d *drawing) endParagraph() {
	text := strings.TrimSpace(d.para.String())
	d.para.Reset()
	switch last := len(d.cells) - 1; {
	case text == "":
	case d.inCell && last >= 0:
		d.cells[last] = strings.TrimSpace(d.cells[last] + " " + text)
	default:
		d.out.WriteString(text + "\n")
	}
}
