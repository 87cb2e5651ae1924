// Package htmlmd makes Markdown of HTML for a reader who wants what a page
// says: headings, paragraphs, lists, links, images, tables, quotations and
// code, in CommonMark with GitHub's tables. Scripts, styles, frames and the
// fields of forms are left out, and so is how things look.
package htmlmd

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Convert returns a node and what is in it as Markdown. Links lead where they
// lead from base. The nodes are not changed. It recurses as deeply as they lie
// in each other.
func Convert(n *html.Node, base *url.URL) string {
	c := converter{base: base, origin: base.Scheme + "://" + base.Host}
	c.node(n)
	return string(c.out)
}

type converter struct {
	writer
	base   *url.URL
	origin string // where addresses lead that begin with a slash
	strong bool
	em     bool
}

// node writes a node.
func (c *converter) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		c.text(n.Data)
	case html.DocumentNode:
		c.inside(n)
	case html.ElementNode:
		c.element(n)
	}
}

// inside writes what is in a node.
func (c *converter) inside(n *html.Node) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.node(k)
	}
}

func (c *converter) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Head, atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Frame, atom.Object, atom.Embed,
		atom.Svg, atom.Canvas, atom.Input, atom.Textarea, atom.Select, atom.Datalist, atom.Audio, atom.Video, atom.Link, atom.Meta, atom.Title:
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.heading(n, int(n.Data[1]-'0'))
	case atom.Br:
		c.broken()
	case atom.Hr:
		if c.inline == 0 {
			c.lines(2)
			c.raw("---")
			c.lines(2)
		}
	case atom.Ul, atom.Ol, atom.Menu, atom.Dir:
		c.list(n)
	case atom.Blockquote:
		c.quotation(n)
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		c.code(n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		c.span(n)
	case atom.A:
		c.anchor(n)
	case atom.Img:
		c.image(n)
	case atom.B, atom.Strong:
		c.emphasis(n, "**", &c.strong)
	case atom.I, atom.Em:
		c.emphasis(n, "*", &c.em)
	case atom.Table:
		c.table(n)
	default:
		c.plain(n)
	}
}

// plain writes an element that only its text speaks for.
func (c *converter) plain(n *html.Node) {
	gap := gaps[n.DataAtom]
	if gap > 0 {
		c.lines(gap)
	}
	c.inside(n)
	if gap > 0 {
		c.lines(gap)
	}
}

// gaps are the line breaks around the elements that have lines of their own.
var gaps = map[atom.Atom]int{
	atom.P: 2, atom.Div: 2, atom.Section: 2, atom.Article: 2, atom.Main: 2, atom.Header: 2, atom.Footer: 2, atom.Nav: 2, atom.Aside: 2,
	atom.Figure: 2, atom.Figcaption: 2, atom.Address: 2, atom.Form: 2, atom.Fieldset: 2, atom.Legend: 2, atom.Details: 2, atom.Summary: 2,
	atom.Dl: 2, atom.Dt: 2, atom.Dd: 1, atom.Center: 2, atom.Hgroup: 2, atom.Dialog: 2, atom.Search: 2, atom.Body: 2, atom.Html: 2,
	atom.Caption: 2, atom.Tr: 1, atom.Td: 1, atom.Th: 1, atom.Li: 1, atom.Option: 1, atom.Frameset: 2, atom.Noframes: 2, atom.Table: 2,
}

// heading writes a heading, which is one line.
func (c *converter) heading(n *html.Node, level int) {
	if c.inline > 0 {
		c.plain(n)
		return
	}
	c.lines(2)
	c.open(strings.Repeat("#", level) + " ")
	c.inline++
	c.inside(n)
	c.inline--
	c.space = false
	c.close("")
	c.lines(2)
}

// broken breaks a line.
func (c *converter) broken() {
	switch {
	case c.inline > 0 || len(c.opened) > 0:
		c.space = true
	case c.fresh || c.gap > 1:
	case c.gap == 1: // the second one in a row ends the paragraph
		c.lines(2)
	default:
		c.lines(1)
		c.hard = true
	}
}

// list writes a list, item by item.
func (c *converter) list(n *html.Node) {
	if c.inline > 0 {
		c.inside(n)
		return
	}
	around := 2
	if n.Parent != nil && n.Parent.DataAtom == atom.Li {
		around = 1
	}
	number := 1
	if v, err := strconv.Atoi(attr(n, "start")); err == nil && v >= 0 && v < 1e8 {
		number = v
	}
	c.lines(around)
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom != atom.Li {
			c.node(k)
			continue
		}
		mark := "- "
		if n.DataAtom == atom.Ol {
			mark = strconv.Itoa(number) + ". "
			number++
		}
		c.item(k, mark)
	}
	c.lines(around)
}

func (c *converter) item(n *html.Node, mark string) {
	if !says(n) {
		return
	}
	c.lines(1)
	c.mark(mark)
	was := len(c.prefix)
	c.prefix = append(c.prefix, strings.Repeat(" ", len(mark))...)
	c.inside(n)
	c.prefix = c.prefix[:was]
	c.end()
}

// end ends what had a prefix of its own.
func (c *converter) end() {
	c.fresh, c.space = false, false
	c.gap = 1
}

func (c *converter) quotation(n *html.Node) {
	if c.inline > 0 || !says(n) {
		c.plain(n)
		return
	}
	c.lines(2)
	c.mark("> ")
	was := len(c.prefix)
	c.prefix = append(c.prefix, "> "...)
	c.inside(n)
	c.prefix = c.prefix[:was]
	c.end()
	c.lines(2)
}

// says reports whether there is a word in a node, or an image.
func says(n *html.Node) bool {
	switch n.Type {
	case html.TextNode:
		return strings.ContainsFunc(n.Data, notSpace)
	case html.ElementNode:
		switch n.DataAtom {
		case atom.Img, atom.Hr:
			return true
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Svg, atom.Input, atom.Textarea, atom.Select:
			return false
		}
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if says(k) {
			return true
		}
	}
	return false
}

// emphasis writes what is marked. What has lines of its own cannot be.
func (c *converter) emphasis(n *html.Node, mark string, on *bool) {
	if *on || blocky(n) {
		c.inside(n)
		return
	}
	*on = true
	c.open(mark)
	c.inside(n)
	c.close(mark)
	*on = false
}

// blocky reports whether an element has lines of their own in it.
func blocky(n *html.Node) bool {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.Type != html.ElementNode {
			continue
		}
		switch k.DataAtom {
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Br, atom.Hr, atom.Ul, atom.Ol, atom.Pre, atom.Blockquote, atom.Table:
			return true
		}
		if gaps[k.DataAtom] > 0 || blocky(k) {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
