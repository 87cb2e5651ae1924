package htmlmd

import (
	"cmp"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// anchor writes a link. One that leads nowhere else is its text.
func (c *converter) anchor(n *html.Node) {
	to := c.address(attr(n, "href"))
	if to == "" || c.link {
		c.inside(n)
		return
	}
	c.link = true
	c.inline++ // a link is in one line
	c.open("[")
	c.inside(n)
	if c.close("](" + to + ")") {
		if name := cmp.Or(attr(n, "aria-label"), attr(n, "title")); strings.TrimSpace(name) != "" {
			c.open("[")
			c.text(name)
			c.close("](" + to + ")")
		}
	}
	c.inline--
	c.link = false
}

// address is where a link leads; "" if that is no other page.
func (c *converter) address(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || ref[0] == '#' {
		return ""
	}
	if ref[0] == '/' && simple(ref) {
		return c.origin + ref
	}
	u, err := c.base.Parse(ref)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp":
		return bare.Replace(u.String())
	}
	return ""
}

// simple reports whether an address within a host is as it would be if it was
// taken apart and put together again.
func simple(ref string) bool {
	for i := range len(ref) {
		b := ref[i]
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b == '-', b == '_', b == '?', b == '=', b == '&':
		case b == '/' && (i+1 == len(ref) || ref[i+1] != '/' && ref[i+1] != '.'), b == '.' && ref[i-1] != '/':
		default:
			return false
		}
	}
	return true
}

// bare is for addresses that stand in parentheses.
var bare = strings.NewReplacer("(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "\n", "", "\\", "%5C", "|", "%7C")

// image writes an image: its description and where it is.
func (c *converter) image(n *html.Node) {
	src := c.picture(attr(n, "src"))
	if src == "" {
		src = c.picture(attr(n, "data-src")) // it is loaded when it comes into view
	}
	alt := attr(n, "alt")
	if src == "" {
		c.text(alt)
		return
	}
	link := c.link
	c.link = true
	c.raw("![")
	c.words(alt)
	c.raw("](" + src + ")")
	c.link = link
}

// words writes a text of one line.
func (c *converter) words(s string) {
	for i, word := range strings.Fields(s) {
		if i > 0 {
			c.out = append(c.out, ' ')
		}
		c.escape(word)
	}
}

func (c *converter) picture(ref string) string {
	u, err := url.Parse(strings.TrimSpace(ref))
	if ref == "" || err != nil || u.Scheme == "data" {
		return ""
	}
	return c.address(ref)
}

// span writes code within a line.
func (c *converter) span(n *html.Node) {
	var b strings.Builder
	verbatim(n, &b)
	s := strings.Join(strings.Fields(b.String()), " ")
	if s == "" {
		c.text(b.String())
		return
	}
	if c.cell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", longest(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	t := b.String()
	c.space = c.space || space[t[0]]
	c.raw(fence + s + fence)
	c.space = space[t[len(t)-1]]
}

// code writes a block of code as it stands there.
func (c *converter) code(n *html.Node) {
	if c.inline > 0 {
		c.span(n)
		return
	}
	var b strings.Builder
	verbatim(n, &b)
	s := strings.Trim(strings.ReplaceAll(b.String(), "\r\n", "\n"), "\n")
	if strings.TrimSpace(s) == "" {
		return
	}
	fence := strings.Repeat("`", max(3, longest(s)+1))
	c.lines(2)
	c.raw(fence + language(n))
	for line := range strings.SplitSeq(s, "\n") {
		c.gap = 1
		c.raw(line)
	}
	c.gap = 1
	c.raw(fence)
	c.lines(2)
}

// language is the language that a block of code names, in its class or in
// that of the element in it.
func language(n *html.Node) string {
	for _, n := range []*html.Node{n, n.FirstChild} {
		if n == nil {
			continue
		}
		for _, class := range strings.Fields(attr(n, "class")) {
			for _, prefix := range []string{"language-", "lang-"} {
				if name, ok := strings.CutPrefix(class, prefix); ok && !strings.Contains(name, "`") {
					return name
				}
			}
		}
	}
	return ""
}

// longest is the length of the longest run of backticks.
func longest(s string) (most int) {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}

// verbatim writes the text of a node as it stands there.
func verbatim(n *html.Node, to *strings.Builder) {
	switch {
	case n.Type == html.TextNode:
		to.WriteString(n.Data)
	case n.DataAtom == atom.Br:
		to.WriteByte('\n')
	case n.DataAtom == atom.Script || n.DataAtom == atom.Style || n.DataAtom == atom.Template || n.DataAtom == atom.Noscript:
		return
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		verbatim(k, to)
	}
}
