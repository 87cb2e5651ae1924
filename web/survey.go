package web

import (
	"bytes"
	"errors"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/openmanus-go/openmanus/internal/htmlmd"
)

// A saying is what a page says, and what it says of itself.
type saying struct {
	text                                   strings.Builder
	title, og, canonical, author, date, at string
	links                                  []*html.Node
	mains                                  []*html.Node // what it calls its main part
}

// survey looks through a page.
func survey(doc *html.Node) *saying {
	s := new(saying)
	s.node(doc, false)
	return s
}

// node takes in a node and what is in it; inside says that it is in a main
// part.
func (s *saying) node(n *html.Node, inside bool) {
	switch n.Type {
	case html.TextNode:
		s.text.WriteString(n.Data)
		return
	case html.ElementNode:
		if mute(n) {
			return
		}
		s.about(n)
		if isMain(n, inside) {
			s.mains = append(s.mains, n)
		}
		inside = inside || n.DataAtom == atom.Main
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		s.node(k, inside)
	}
	if n.Type == html.ElementNode && blocks[n.DataAtom] {
		s.text.WriteByte('\n')
	}
}

// isMain reports whether an element is called the main part of the page. An
// article in one is a part of it.
func isMain(n *html.Node, inside bool) bool {
	switch n.DataAtom {
	case atom.Main:
		return true
	case atom.Article:
		return !inside || attr(n, "role") == "main"
	}
	return attr(n, "role") == "main"
}

// about takes in what an element says of the page.
func (s *saying) about(n *html.Node) {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	switch n.DataAtom {
	case atom.Title:
		if s.title == "" && n.Namespace == "" {
			s.title = textOf(n)
		}
	case atom.Base:
		set(&s.at, attr(n, "href"))
	case atom.Link:
		for _, rel := range strings.Fields(attr(n, "rel")) {
			if strings.EqualFold(rel, "canonical") {
				set(&s.canonical, attr(n, "href"))
			}
		}
	case atom.Meta:
		switch value := attr(n, "content"); first(attr(n, "property"), attr(n, "name"), attr(n, "itemprop")) {
		case "og:title":
			set(&s.og, value)
		case "author", "article:author", "dc.creator":
			set(&s.author, value)
		case "article:published_time", "date", "dc.date", "datePublished":
			set(&s.date, value)
		}
	case atom.Time:
		set(&s.date, attr(n, "datetime"))
	case atom.A:
		if attr(n, "href") != "" {
			s.links = append(s.links, n)
		}
	}
}

// base is where the page's links lead from.
func (s *saying) base(at *url.URL) *url.URL {
	if s.at != "" {
		if u, err := at.Parse(s.at); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
	}
	return at
}

// about takes in what a page says of itself, and where it leads.
func (p *Page) about(s *saying, at *url.URL) {
	p.Title, p.Author, p.Date = first(s.title, s.og), first(s.author), first(s.date)
	from := s.base(at)
	if s.canonical != "" {
		if u, err := from.Parse(s.canonical); err == nil {
			p.Canonical = u.String()
		}
	}
	seen := make(map[string]bool, len(s.links))
	for _, a := range s.links {
		u, err := from.Parse(strings.TrimSpace(attr(a, "href")))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		u.Fragment = ""
		if to := u.String(); !seen[to] {
			seen[to] = true
			p.Links = append(p.Links, Link{first(textOf(a), attr(a, "title")), to})
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

// blocks are the elements around which there is a line of its own.
var blocks = map[atom.Atom]bool{atom.P: true, atom.Div: true, atom.Br: true, atom.Li: true, atom.Ul: true, atom.Ol: true, atom.Tr: true,
	atom.Table: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Section: true,
	atom.Article: true, atom.Header: true, atom.Footer: true, atom.Nav: true, atom.Pre: true, atom.Blockquote: true, atom.Dd: true,
	atom.Dt: true, atom.Td: true, atom.Th: true, atom.Title: true, atom.Option: true, atom.Figure: true, atom.Figcaption: true}

// mute reports whether nothing in an element is said to who reads the page.
func mute(n *html.Node) bool {
	return n.DataAtom == atom.Script || n.DataAtom == atom.Style || n.DataAtom == atom.Noscript || n.DataAtom == atom.Template
}

// textOf is all the text of a node, with spaces where its blocks end.
func textOf(n *html.Node) string {
	var b strings.Builder
	addText(n, &b)
	return b.String()
}

func addText(n *html.Node, to *strings.Builder) {
	switch {
	case n.Type == html.TextNode:
		to.WriteString(n.Data)
	case mute(n):
		return
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		addText(k, to)
	}
	if blocks[n.DataAtom] {
		to.WriteByte('\n')
	}
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
	return htmlmd.Convert(doc, survey(doc).base(at)), nil
}
