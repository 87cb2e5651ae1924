package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	readability "github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/openmanus-go/openmanus/internal/charset"
	"github.com/openmanus-go/openmanus/internal/htmlmd"
)

// A Page is what was read at an address, in the form in which a model reads it.
type Page struct {
	URL       string // after redirects
	Canonical string `json:",omitempty"` // the address that the page gives for itself
	Title     string
	Author    string `json:",omitempty"`
	Date      string `json:",omitempty"` // of publication, as the page says it
	Note      string `json:",omitempty"` // what is not sure of its text: its character set is a guess
	Markdown  string // of its main part
	Text      string // all of its text: quotations are checked against it
	Links     []Link
	Image     []byte // if it is one
	Body      *Body

	drawn bool // it has hardly any text, and scripts that may draw one
}

// A Link is a link of a page.
type Link struct{ Text, URL string }

// Read fetches an address and makes a [Page] of the answer.
func (r *Reader) Read(ctx context.Context, address string) (*Page, error) {
	b, err := r.get(ctx, address)
	if err != nil {
		return nil, err
	}
	return r.Page(ctx, b)
}

// Page makes a page of what an address answered. The same bytes make the same page,
// at any time and on any machine: quotations are checked against a page that is
// made again from the bytes that were kept.
func (r *Reader) Page(ctx context.Context, b *Body) (*Page, error) {
	p := &Page{URL: b.URL, Body: b}
	switch t := b.Type; {
	case t == "text/html", t == "application/xhtml+xml":
		data, note := decodeText(b)
		p.Note = note
		return p, p.readHTML(data)
	case strings.HasPrefix(t, "image/"):
		p.Image, p.Markdown = b.Data, fmt.Sprintf("(an image, %s, %d bytes)", t, len(b.Data))
		return p, nil
	case t == "application/json", strings.HasSuffix(t, "+json"):
		p.Text = indentJSON(b.Data)
		p.Markdown = "```json\n" + p.Text + "\n```"
		return p, nil
	case t == "text/csv":
		data, note := decodeText(b)
		p.Note, p.Text, p.Markdown = note, string(data), csvTable(data)
		return p, nil
	case strings.HasPrefix(t, "text/"), t == "application/xml", strings.HasSuffix(t, "+xml"),
		t == "application/javascript":
		data, note := decodeText(b)
		p.Note, p.Text, p.Markdown = note, string(data), string(data)
		return p, nil
	case r.Convert == nil:
		return nil, fmt.Errorf("%s is a %s of %d bytes, which cannot be read as text", b.URL, t, len(b.Data))
	}
	name := "document"
	if u, err := url.Parse(b.URL); err == nil && len(u.Path) > 1 {
		name = path.Base(u.Path)
	}
	text, err := r.Convert(ctx, name, b.Data)
	if err != nil {
		return nil, fmt.Errorf("%s (%s): %w", b.URL, b.Type, err)
	}
	p.Title, p.Text, p.Markdown = name, text, text
	return p, nil
}

// decodeText returns a text in UTF-8, whatever its character set was: by its Content-Type, its
// byte order mark, what it declares, or a guess. note says what is not sure of it.
func decodeText(b *Body) (text []byte, note string) {
	t, _ := charset.Decode(b.Data, "", charset.OfPage(b.Data, b.ContentType)) // nobody tells a set
	return t.UTF8, t.Note()
}

// indentJSON indents JSON, and returns what is not JSON unchanged.
func indentJSON(data []byte) string {
	var out bytes.Buffer
	if json.Indent(&out, data, "", "  ") != nil {
		return string(data)
	}
	return out.String()
}

// maxDepth is how deeply the elements of a page may be nested: what reads them
// recurses.
const maxDepth = 500

// minText is how many bytes of text a page has at least that does not depend on its scripts.
const minText = 200

// readHTML reads an HTML page. Its main part is the one that the page marks as
// such, or that readability finds, or all of it.
func (p *Page) readHTML(data []byte) error {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.URL, err)
	}
	if deeper(doc, maxDepth) {
		return fmt.Errorf("%s cannot be read: %w", p.URL, errTooDeep)
	}
	at, err := url.Parse(p.URL)
	if err != nil {
		return err
	}
	s := surveyOf(doc)
	p.Text = s.text.String()
	p.describe(s, at)
	text := strings.Join(strings.Fields(p.Text), " ")
	p.drawn = s.scripts && len(strings.TrimSpace(strings.TrimPrefix(text, first(s.title)))) < minText
	main := doc
	if len(s.mains) == 1 && enough(s.mains[0], p.Text) {
		main = s.mains[0]
	} else if a, err := readability.FromDocument(clone(doc), at); err == nil && a.Node != nil &&
		enough(setAtoms(a.Node), p.Text) {
		main = a.Node
		p.Author, p.Title = first(p.Author, a.Byline), first(p.Title, a.Title)
		if a.PublishedTime != nil && p.Date == "" {
			p.Date = a.PublishedTime.Format(time.RFC3339)
		}
	}
	p.Markdown = htmlmd.Convert(main, s.base(at))
	return nil
}

// enough reports whether a part of a page can be its main part: it has at least a
// fifth of the text, or much text. Otherwise the choice was wrong, as it is where
// a cookie banner is the only <article>, and the whole page is better.
func enough(part *html.Node, whole string) bool {
	text := textOf(part)
	return len(text) > 2000 || len(text)*5 > len(whole)
}

// first returns the first of the texts that has a word, on one line.
func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}

// deeper reports whether the nodes of a document are nested deeper than limit. It
// does not recurse.
func deeper(doc *html.Node, limit int) bool {
	depth := 0
	for n := doc; n != nil; {
		if n.FirstChild != nil {
			if depth++; depth > limit {
				return true
			}
			n = n.FirstChild
			continue
		}
		for n != doc && n.NextSibling == nil {
			n, depth = n.Parent, depth-1
		}
		if n == doc {
			return false
		}
		n = n.NextSibling
	}
	return false
}

// setAtoms sets the atom of every element, which readability leaves out.
func setAtoms(n *html.Node) *html.Node {
	if n.Type == html.ElementNode {
		n.DataAtom = atom.Lookup([]byte(n.Data))
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		setAtoms(k)
	}
	return n
}

// clone copies a document: readability changes what it is given.
func clone(n *html.Node) *html.Node {
	c := *n
	c.Attr = append([]html.Attribute(nil), n.Attr...)
	c.Parent, c.FirstChild, c.LastChild, c.PrevSibling, c.NextSibling = nil, nil, nil, nil, nil
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.AppendChild(clone(k))
	}
	return &c
}

// csvTable returns a CSV file as a table of Markdown. A file that is not CSV is
// returned unchanged.
func csvTable(data []byte) string {
	rd := csv.NewReader(bytes.NewReader(data))
	rd.FieldsPerRecord, rd.LazyQuotes = -1, true
	rows, err := rd.ReadAll()
	if err != nil || len(rows) == 0 {
		return string(data)
	}
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	var b strings.Builder
	for i, row := range rows {
		for _, c := range row {
			b.WriteString("| " + cell.Replace(c) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
