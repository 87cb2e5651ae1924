package web

import (
	"bytes"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/openmanus-go/openmanus/internal/htmlmd"
)

// A survey is what one walk through a page collects: its text, and what it says
// about itself.
type survey struct {
	text                                             strings.Builder
	title, ogTitle, canonical, author, date, baseURL string
	links                                            []*html.Node
	mains                                            []*html.Node // that the page marks as its main part
	scripts                                          bool         // it has scripts, which may draw what it shows
}

// surveyOf surveys a document.
func surveyOf(doc *html.Node) *survey {
	s := new(survey)
	s.node(doc, false)
	return s
}

// node collects a node and those in it. inMain says that it is in a <main>.
func (s *survey) node(n *html.Node, inMain bool) {
	switch n.Type {
	case html.TextNode:
		s.text.WriteString(n.Data)
		return
	case html.ElementNode:
		if hidden(n) {
			s.scripts = s.scripts || runs(n)
			return
		}
		s.element(n)
		if isMain(n, inMain) {
			s.mains = append(s.mains, n)
		}
		inMain = inMain || n.DataAtom == atom.Main
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		s.node(k, inMain)
	}
	if n.Type == html.ElementNode && htmlmd.IsBlock(n.DataAtom) {
		s.text.WriteByte('\n')
	}
}

// runs reports whether an element is a script that a browser runs, and not data.
func runs(n *html.Node) bool {
	t := strings.ToLower(attr(n, "type"))
	return n.DataAtom == atom.Script && (t == "" || t == "module" || strings.Contains(t, "javascript"))
}

// isMain reports whether an element is marked as the main part of the page. An
// <article> in a <main> is only a part of it.
func isMain(n *html.Node, inMain bool) bool {
	switch {
	case n.DataAtom == atom.Main, attr(n, "role") == "main":
		return true
	}
	return n.DataAtom == atom.Article && !inMain
}

// element collects what an element says about the page. If there are several,
// the first counts.
func (s *survey) element(n *html.Node) {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	switch n.DataAtom {
	case atom.Title:
		if n.Namespace == "" { // not that of an SVG
			set(&s.title, textOf(n))
		}
	case atom.Base:
		set(&s.baseURL, attr(n, "href"))
	case atom.Link:
		for _, rel := range strings.Fields(attr(n, "rel")) {
			if strings.EqualFold(rel, "canonical") {
				set(&s.canonical, attr(n, "href"))
			}
		}
	case atom.Meta:
		switch value := attr(n, "content"); first(attr(n, "property"), attr(n, "name"), attr(n, "itemprop")) {
		case "og:title":
			set(&s.ogTitle, value)
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

// base returns the address that the links of the page are relative to: that of its
// <base>, or at, the address of the page.
func (s *survey) base(at *url.URL) *url.URL {
	if s.baseURL != "" {
		if u, err := at.Parse(s.baseURL); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return u
		}
	}
	return at
}

// describe fills in what a survey found: title, author, date and links, each
// address once.
func (p *Page) describe(s *survey, at *url.URL) {
	p.Title, p.Author, p.Date = first(s.title, s.ogTitle), first(s.author), first(s.date)
	base := s.base(at)
	if s.canonical != "" {
		if u, err := base.Parse(s.canonical); err == nil {
			p.Canonical = u.String()
		}
	}
	seen := make(map[string]bool, len(s.links))
	for _, a := range s.links {
		u, err := base.Parse(strings.TrimSpace(attr(a, "href")))
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

// attr returns the value of an attribute, or "".
func attr(n *html.Node, name string) string { return htmlmd.Attr(n, name) }

// hidden reports whether a reader of the page sees nothing of an element.
func hidden(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template:
		return true
	}
	return false
}

// textOf returns the text in a node, with line breaks where blocks end, so that the
// last word of one block and the first of the next stay apart.
func textOf(n *html.Node) string {
	var b strings.Builder
	addText(n, &b)
	return b.String()
}

// addText adds the text in a node, and a line break after a block.
func addText(n *html.Node, to *strings.Builder) {
	if hidden(n) {
		return
	}
	if n.Type == html.TextNode {
		to.WriteString(n.Data)
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		addText(k, to)
	}
	if htmlmd.IsBlock(n.DataAtom) {
		to.WriteByte('\n')
	}
}

// Markdown converts all of an HTML page to Markdown. base is its address.
func Markdown(data []byte, base string) (string, error) {
	doc, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if deeper(doc, maxDepth) {
		return "", errTooDeep
	}
	at, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	return htmlmd.Convert(doc, surveyOf(doc).base(at)), nil
}
