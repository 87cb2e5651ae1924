// Package htmlmd converts HTML to Markdown for a reader who wants what a page
// says: headings, paragraphs, lists, links, images, tables, quotations and code,
// in CommonMark with GitHub's tables. It leaves out scripts, styles, frames, form
// fields and all that is only about looks.
//
// A converter walks the tree once and writes as it goes. Spaces, line breaks and
// opening marks are not written but noted: they are written before the next word,
// if there is one. So nothing empty is left behind, such as "****" or a list item
// without text.
package htmlmd

import (
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Convert returns a node and what is in it as Markdown. Links are resolved against
// base. Convert does not change the nodes. It recurses as deeply as they are
// nested, so callers limit that.
func Convert(n *html.Node, base *url.URL) string {
	c := converter{base: base, origin: base.Scheme + "://" + base.Host}
	c.node(n)
	return string(c.out)
}

// A converter is one conversion. inline and the flags of the writer say in what it
// is while it walks; each method leaves them as it found them.
type converter struct {
	writer
	base   *url.URL
	origin string // of base: what an address begins with that begins with a slash
	strong bool   // in <b> or <strong>
	em     bool   // in <i> or <em>
}

// Attr returns the value of an attribute of an element, or "".
func Attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func (c *converter) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		c.text(n.Data)
	case html.DocumentNode:
		c.children(n)
	case html.ElementNode:
		c.element(n)
	}
}

func (c *converter) children(n *html.Node) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		c.node(k)
	}
}

// element writes an element by its kind.
func (c *converter) element(n *html.Node) {
	switch n.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		c.heading(n, int(n.Data[1]-'0'))
	case atom.Br:
		c.lineBreak()
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
		c.codeBlock(n)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		c.code(n)
	case atom.A:
		c.link(n)
	case atom.Img:
		c.image(n)
	case atom.B, atom.Strong:
		c.emphasis(n, "**", &c.strong)
	case atom.I, atom.Em:
		c.emphasis(n, "*", &c.em)
	case atom.Table:
		c.table(n)
	default:
		if !leftOut[n.DataAtom] {
			c.plain(n)
		}
	}
}

// leftOut are the elements that have no part in the Markdown.
var leftOut = set(
	atom.Head, atom.Title, atom.Meta, atom.Link, atom.Script, atom.Style, atom.Noscript, atom.Template,
	atom.Iframe, atom.Frame, atom.Object, atom.Embed, atom.Svg, atom.Canvas, atom.Audio, atom.Video,
	atom.Input, atom.Textarea, atom.Select, atom.Datalist)

// paragraphs are the elements with a blank line around them; lines those with a
// line of their own; blocks those that this package writes in other ways.
var (
	paragraphs = set(
		atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer, atom.Nav, atom.Aside,
		atom.Figure, atom.Figcaption, atom.Address, atom.Form, atom.Fieldset, atom.Legend, atom.Details,
		atom.Summary, atom.Dl, atom.Dt, atom.Center, atom.Hgroup, atom.Dialog, atom.Search, atom.Body, atom.Html,
		atom.Caption, atom.Frameset, atom.Noframes, atom.Table)
	lines  = set(atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Li, atom.Option)
	blocks = set(
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Title, atom.Br, atom.Hr, atom.Ul, atom.Ol,
		atom.Pre, atom.Blockquote)
)

func set(atoms ...atom.Atom) map[atom.Atom]bool {
	m := make(map[atom.Atom]bool, len(atoms))
	for _, a := range atoms {
		m[a] = true
	}
	return m
}

// IsBlock reports whether elements of a kind begin and end a line. Callers use it
// to keep the words of neighbouring elements apart.
func IsBlock(a atom.Atom) bool { return paragraphs[a] || lines[a] || blocks[a] }

// plain writes an element that has no mark.
func (c *converter) plain(n *html.Node) {
	gap := 0
	if paragraphs[n.DataAtom] {
		gap = 2
	} else if lines[n.DataAtom] {
		gap = 1
	}
	c.lines(gap)
	c.children(n)
	c.lines(gap)
}

// heading writes a heading on one line. In a table or a link it is plain text.
func (c *converter) heading(n *html.Node, level int) {
	if c.inline > 0 {
		c.plain(n)
		return
	}
	c.lines(2)
	c.open(strings.Repeat("#", level) + " ")
	c.inline++
	c.children(n)
	c.inline--
	c.space = false
	c.close("")
	c.lines(2)
}

// lineBreak writes a <br>. Two in a row end the paragraph; within a link or
// emphasis there is only a space.
func (c *converter) lineBreak() {
	switch {
	case c.inline > 0 || len(c.opened) > 0:
		c.space = true
	case c.fresh || c.gap > 1:
	case c.gap == 1:
		c.lines(2)
	default:
		c.lines(1)
		c.hard = true
	}
}

// list writes a list. In a list item it follows the text of the item without a blank
// line; what is in it is indented by the width of the mark.
func (c *converter) list(n *html.Node) {
	if c.inline > 0 {
		c.children(n)
		return
	}
	around := 2
	if n.Parent != nil && n.Parent.DataAtom == atom.Li {
		around = 1
	}
	number := 1
	if v, err := strconv.Atoi(Attr(n, "start")); err == nil && v >= 0 && v < 1e8 {
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
		c.lines(1)
		c.prefixed(k, mark, strings.Repeat(" ", len(mark)))
	}
	c.lines(around)
}

// quotation writes a <blockquote> with "> " before each of its lines.
func (c *converter) quotation(n *html.Node) {
	if c.inline > 0 {
		c.plain(n)
		return
	}
	c.lines(2)
	c.prefixed(n, "> ", "> ")
	c.lines(2)
}

// prefixed writes what is in a node behind a mark, and a prefix before each of
// its other lines. It writes nothing if the node shows nothing.
func (c *converter) prefixed(n *html.Node, mark, prefix string) {
	if !shows(n) {
		return
	}
	c.flush()
	c.out = append(c.out, mark...)
	c.fresh = true
	outer := len(c.prefix)
	c.prefix = append(c.prefix, prefix...)
	c.children(n)
	c.prefix = c.prefix[:outer]
	c.fresh, c.space, c.gap = false, false, 1
}

// shows reports whether there is a word, an image or a rule in a node.
func shows(n *html.Node) bool {
	switch {
	case n.Type == html.TextNode:
		return strings.ContainsFunc(n.Data, notSpace)
	case n.DataAtom == atom.Img, n.DataAtom == atom.Hr:
		return true
	case leftOut[n.DataAtom]:
		return false
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if shows(k) {
			return true
		}
	}
	return false
}

// emphasis writes marked text. Text with blocks in it cannot be marked, and text
// that is marked already is not marked again: on says whether it is.
func (c *converter) emphasis(n *html.Node, mark string, on *bool) {
	if *on || hasBlocks(n) {
		c.children(n)
		return
	}
	*on = true
	c.open(mark)
	c.children(n)
	c.close(mark)
	*on = false
}

// hasBlocks reports whether there is a block in an element.
func hasBlocks(n *html.Node) bool {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.Type == html.ElementNode && (IsBlock(k.DataAtom) || hasBlocks(k)) {
			return true
		}
	}
	return false
}
