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
	"golang.org/x/net/html/charset"

	"github.com/openmanus-go/openmanus/internal/htmlmd"
)

// A Page is what was read at an address.
type Page struct {
	URL       string // after redirects
	Canonical string `json:",omitempty"` // what it calls itself
	Title     string
	Author    string `json:",omitempty"`
	Date      string `json:",omitempty"` // when it was published, as it says
	Markdown  string
	Text      string // all of its text, words only: what a quotation is checked against
	Links     []Link
	Image     []byte // if it is one
	Body      *Body
}

// A Link is one of a page.
type Link struct{ Text, URL string }

// Read reads an address.
func (r *Reader) Read(ctx context.Context, address string) (*Page, error) {
	b, err := r.get(ctx, address)
	if err != nil {
		return nil, err
	}
	return r.Page(ctx, b)
}

// Page makes a page of what an address gave. The same bytes make the same
// page.
func (r *Reader) Page(ctx context.Context, b *Body) (*Page, error) {
	p := &Page{URL: b.URL, Body: b}
	switch {
	case b.Type == "text/html", b.Type == "application/xhtml+xml":
		data, err := utf8Of(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.URL, err)
		}
		return p, p.fromHTML(data)
	case strings.HasPrefix(b.Type, "image/"):
		p.Image, p.Markdown = b.Data, fmt.Sprintf("(an image, %s, %d bytes)", b.Type, len(b.Data))
		return p, nil
	case b.Type == "application/json", strings.HasSuffix(b.Type, "+json"):
		var out bytes.Buffer
		if json.Indent(&out, b.Data, "", "  ") != nil {
			out.Reset()
			out.Write(b.Data)
		}
		p.Text, p.Markdown = out.String(), "```json\n"+out.String()+"\n```"
		return p, nil
	case b.Type == "text/csv":
		data, err := utf8Of(b)
		p.Text, p.Markdown = string(data), csvTable(data)
		return p, err
	case strings.HasPrefix(b.Type, "text/"), b.Type == "application/xml", strings.HasSuffix(b.Type, "+xml"), b.Type == "application/javascript":
		data, err := utf8Of(b)
		p.Text, p.Markdown = string(data), string(data)
		return p, err
	}
	if r.Convert != nil {
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
	return nil, fmt.Errorf("%s is a %s of %d bytes, which cannot be read as text", b.URL, b.Type, len(b.Data))
}

// utf8Of is a text in UTF-8, whatever it came in.
func utf8Of(b *Body) ([]byte, error) {
	e, _, _ := charset.DetermineEncoding(b.Data, b.Param)
	data, err := e.NewDecoder().Bytes(b.Data)
	if err != nil {
		return nil, fmt.Errorf("its characters: %w", err)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// maxDepth is how deeply the elements of a page may lie in each other.
const maxDepth = 500

// fromHTML takes in a page.
func (p *Page) fromHTML(data []byte) error {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", p.URL, err)
	}
	if deeper(doc, maxDepth) {
		return fmt.Errorf("%s is nested too deeply to be read", p.URL)
	}
	at, err := url.Parse(p.URL)
	if err != nil {
		return err
	}
	said := survey(doc)
	p.Text = said.text.String()
	p.about(said, at)
	main := doc
	if len(said.mains) == 1 && enough(said.mains[0], p.Text) {
		main = said.mains[0] // it says itself what it is about
	} else if article, err := readability.FromDocument(clone(doc), at); err == nil && article.Node != nil && enough(named(article.Node), p.Text) {
		p.Author = first(p.Author, article.Byline)
		if article.PublishedTime != nil && p.Date == "" {
			p.Date = article.PublishedTime.Format(time.RFC3339)
		}
		p.Title = first(p.Title, article.Title)
		main = article.Node
	}
	p.Markdown = htmlmd.Convert(main, said.base(at))
	return nil
}

// enough reports whether what was taken for the main part of a page is that:
// at least a fifth of its text, or a good deal.
func enough(part *html.Node, whole string) bool {
	text := textOf(part)
	return len(text) > 2000 || len(text)*5 > len(whole)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}

// deeper reports whether something lies deeper than n in a document.
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

// named gives the nodes of a tree the numbers of their names, which who takes a
// document apart does not keep.
func named(n *html.Node) *html.Node {
	if n.Type == html.ElementNode {
		n.DataAtom = atom.Lookup([]byte(n.Data))
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		named(k)
	}
	return n
}

// clone copies a document: who looks for its main part takes it apart.
func clone(n *html.Node) *html.Node {
	c := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: append([]html.Attribute(nil), n.Attr...)}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.AppendChild(clone(k))
	}
	return c
}

// csvTable is a CSV file as a table of Markdown.
func csvTable(data []byte) string {
	rd := csv.NewReader(bytes.NewReader(data))
	rd.FieldsPerRecord, rd.LazyQuotes = -1, true
	rows, err := rd.ReadAll()
	if err != nil || len(rows) == 0 {
		return string(data)
	}
	var b strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			b.WriteString("| " + strings.NewReplacer("|", `\|`, "\n", " ").Replace(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return b.String()
}
