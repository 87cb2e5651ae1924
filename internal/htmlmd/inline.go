package htmlmd

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// link writes a link on one line. One that leads to no other page is only its
// text; one without text gets its label or title.
func (c *converter) link(n *html.Node) {
	to := c.address(Attr(n, "href"))
	if to == "" || c.inLink {
		c.children(n)
		return
	}
	end := "](" + to + ")"
	c.inLink = true
	c.inline++
	c.open("[")
	c.children(n)
	if empty := c.close(end); empty {
		if name := cmp.Or(Attr(n, "aria-label"), Attr(n, "title")); strings.ContainsFunc(name, notSpace) {
			c.open("[")
			c.text(name)
			c.close(end)
		}
	}
	c.inline--
	c.inLink = false
}

// address returns where a reference leads, or "" if that is not another page: a
// place in the same page, a script, or an address that cannot be parsed.
func (c *converter) address(ref string) string {
	ref = strings.TrimSpace(ref)
	if ref == "" || ref[0] == '#' {
		return ""
	}
	if ref[0] == '/' && strings.Trim(ref, unreserved) == "" &&
		!strings.Contains(ref, "//") && !strings.Contains(ref, "/.") {
		return c.origin + ref // as the parser would say, which is slow
	}
	u, err := c.base.Parse(ref)
	if err != nil {
		return ""
	}
	switch u.Scheme {
	case "http", "https", "mailto", "tel", "ftp":
		return inParentheses.Replace(u.String())
	}
	return ""
}

// unreserved are characters of an address that never need to be escaped.
const unreserved = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_?=&/."

// inParentheses escapes what would end an address or begin a mark.
var inParentheses = strings.NewReplacer(
	"(", "%28", ")", "%29", " ", "%20", "<", "%3C", ">", "%3E", "\n", "", "\\", "%5C", "|", "%7C")

// image writes an image with its description. One without an address of its own,
// such as a data: URL, is only its description.
func (c *converter) image(n *html.Node) {
	src := cmp.Or(c.picture(Attr(n, "src")), c.picture(Attr(n, "data-src"))) // the latter is loaded later
	alt := Attr(n, "alt")
	if src == "" {
		c.text(alt)
		return
	}
	outer := c.inLink
	c.inLink = true // brackets are escaped
	c.raw("![")
	c.escape(strings.Join(strings.Fields(alt), " "))
	c.raw("](" + src + ")")
	c.inLink = outer
}

// picture returns the address of an image, or "" for one that is in the page itself.
func (c *converter) picture(ref string) string {
	if u, err := url.Parse(strings.TrimSpace(ref)); err != nil || u.Scheme == "data" {
		return ""
	}
	return c.address(ref)
}

// code writes code within a line, between as many backticks as it takes. Space at
// its ends is moved outside, where it separates words.
func (c *converter) code(n *html.Node) {
	source := verbatim(n)
	s := strings.Join(strings.Fields(source), " ")
	if s == "" {
		c.text(source)
		return
	}
	if c.inCell {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	fence := strings.Repeat("`", longestFence(s)+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	c.space = c.space || isSpace[source[0]]
	c.raw(fence + s + fence)
	c.space = isSpace[source[len(source)-1]]
}

// codeBlock writes a block of code as it is, between fences that are longer than
// any in it.
func (c *converter) codeBlock(n *html.Node) {
	if c.inline > 0 {
		c.code(n)
		return
	}
	s := strings.Trim(strings.ReplaceAll(verbatim(n), "\r\n", "\n"), "\n")
	if strings.TrimSpace(s) == "" {
		return
	}
	fence := strings.Repeat("`", max(3, longestFence(s)+1))
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

// languageClass is the class of a block of code that names its language.
var languageClass = regexp.MustCompile("(?:^|\\s)lang(?:uage)?-([^\\s`]+)(?:\\s|$)")

// language returns the language of a block of code, by its class or by that of
// the element in it, or "".
func language(n *html.Node) string {
	m := languageClass.FindStringSubmatch(Attr(n, "class"))
	if m == nil && n.FirstChild != nil {
		m = languageClass.FindStringSubmatch(Attr(n.FirstChild, "class"))
	}
	if m == nil {
		return ""
	}
	return m[1]
}

// longestFence returns the length of the longest run of backticks.
func longestFence(s string) (longest int) {
	run := 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// verbatim returns the text in a node as it is in the source.
func verbatim(n *html.Node) string {
	var b strings.Builder
	addVerbatim(n, &b)
	return b.String()
}

func addVerbatim(n *html.Node, to *strings.Builder) {
	switch n.DataAtom {
	case atom.Br:
		to.WriteByte('\n')
	case atom.Script, atom.Style, atom.Template, atom.Noscript:
		return
	}
	if n.Type == html.TextNode {
		to.WriteString(n.Data)
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		addVerbatim(k, to)
	}
}
