package web

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/andybalholm/cascadia"
	readability "github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
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
	p.Text = textOf(doc)
	p.about(doc, at)
	main := doc
	if all := cascadia.QueryAll(doc, selMain); len(all) == 1 && enough(textOf(all[0]), p.Text) {
		main = all[0] // it says itself what it is about
	} else if article, err := readability.FromDocument(clone(doc), at); err == nil && enough(article.TextContent, p.Text) {
		p.Author = first(p.Author, article.Byline)
		if article.PublishedTime != nil && p.Date == "" {
			p.Date = article.PublishedTime.Format(time.RFC3339)
		}
		p.Title = first(p.Title, article.Title)
		main = article.Node
	}
	md, err := markdown(main, at)
	if err != nil {
		return fmt.Errorf("%s: %w", p.URL, err)
	}
	p.Markdown = md
	return nil
}

// enough reports whether what was taken for the main part of a page is that:
// at least a fifth of its text, or a good deal.
func enough(part, whole string) bool { return len(part) > 2000 || len(part)*5 > len(whole) }

func first(texts ...string) string {
	for _, t := range texts {
		if t = strings.Join(strings.Fields(t), " "); t != "" {
			return t
		}
	}
	return ""
}

var (
	selTitle     = cascadia.MustCompile("title")
	selCanonical = cascadia.MustCompile(`link[rel~="canonical"][href]`)
	selAuthor    = cascadia.MustCompile(`meta[name="author"], meta[property="article:author"], meta[name="dc.creator"]`)
	selDate      = cascadia.MustCompile(`meta[property="article:published_time"], meta[name="date"], meta[name="dc.date"], meta[itemprop="datePublished"], time[datetime]`)
	selOGTitle   = cascadia.MustCompile(`meta[property="og:title"]`)
	selBase      = cascadia.MustCompile(`base[href]`)
	selMain      = cascadia.MustCompile(`main, article:not(main article), [role="main"]:not(main)`)
	selLinks     = cascadia.MustCompile(`a[href]`)
)

// about takes in what a page says of itself, and where it leads.
func (p *Page) about(doc *html.Node, at *url.URL) {
	say := func(sel cascadia.Selector, attrs ...string) string {
		n := cascadia.Query(doc, sel)
		if n == nil {
			return ""
		}
		for _, a := range attrs {
			if v := attr(n, a); v != "" {
				return v
			}
		}
		return textOf(n)
	}
	p.Title = first(say(selTitle), say(selOGTitle, "content"))
	p.Author, p.Date = first(say(selAuthor, "content")), first(say(selDate, "content", "datetime"))
	from := *at
	if b := say(selBase, "href"); b != "" {
		if u, err := at.Parse(b); err == nil {
			from = *u
		}
	}
	if c := say(selCanonical, "href"); c != "" {
		if u, err := from.Parse(c); err == nil {
			p.Canonical = u.String()
		}
	}
	seen := make(map[string]bool)
	for _, a := range cascadia.QueryAll(doc, selLinks) {
		u, err := from.Parse(strings.TrimSpace(attr(a, "href")))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		u.Fragment = ""
		if !seen[u.String()] {
			seen[u.String()] = true
			p.Links = append(p.Links, Link{first(textOf(a), attr(a, "title")), u.String()})
		}
	}
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// Markdown makes Markdown of HTML, all of it.
func Markdown(data []byte, base string) (string, error) {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if deeper(doc, maxDepth) {
		return "", errors.New("the page is nested too deeply to be read")
	}
	at, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return markdown(doc, at)
}

func markdown(n *html.Node, at *url.URL) (string, error) {
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	out, err := conv.ConvertNode(n, converter.WithDomain(at.Scheme+"://"+at.Host))
	return strings.TrimSpace(string(out)), err
}

// blocks are the elements around which there is a line of its own.
var blocks = map[string]bool{"p": true, "div": true, "br": true, "li": true, "ul": true, "ol": true, "tr": true, "table": true, "h1": true, "h2": true,
	"h3": true, "h4": true, "h5": true, "h6": true, "section": true, "article": true, "header": true, "footer": true, "nav": true, "pre": true,
	"blockquote": true, "dd": true, "dt": true, "td": true, "th": true, "title": true, "option": true, "figure": true, "figcaption": true}

// textOf is all the text of a node, with spaces where its blocks end.
func textOf(n *html.Node) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Type == html.ElementNode && (n.Data == "script" || n.Data == "style" || n.Data == "noscript" || n.Data == "template"):
			return
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if n.Type == html.ElementNode && blocks[n.Data] {
			b.WriteByte('\n')
		}
	}
	walk(n)
	return b.String()
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
