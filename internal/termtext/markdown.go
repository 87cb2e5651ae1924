package termtext

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// The looks of what Markdown marks: see [Style.Paint].
const (
	strong  = "1"
	faint   = "2"
	italic  = "3"
	linked  = "4"
	crossed = "9"
	code    = "36"
)

// minText is how many columns text has at least: what is nested so deep that it would
// have fewer is not indented any more.
const minText = 6

// Markdown returns a text in Markdown (GitHub's dialect) as lines of at most width columns, and 6
// at least. Markup without a meaning on a terminal, such as HTML, stays unchanged.
func (s Style) Markdown(source string, width int) []string {
	source = clip.Plain(source)
	md := &markdown{s: s, source: []byte(source)}
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(md.source))
	return md.blocks(doc, max(width, minText), false)
}

// Whole divides the beginning of a text in Markdown: head ends at a place after which
// what follows cannot change its meaning, tail is the rest. It is for text that is
// still on its way: head can be shown for good.
func Whole(source string) (head, tail string) {
	end, fence, at := 0, "", 0
	for line := range strings.SplitAfterSeq(source, "\n") {
		at += len(line)
		if !strings.HasSuffix(line, "\n") {
			break
		}
		trimmed := strings.TrimSpace(line)
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && mark != "" && strings.HasPrefix(mark, fence) && strings.Trim(trimmed, fence[:1]) == "":
			fence, end = "", at
		case fence == "" && trimmed == "":
			end = at
		}
	}
	return source[:end], source[end:]
}

// fenceOf returns the backticks or tildes with which a line begins or ends a block of
// code, or "".
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// A markdown is a text that is being formatted.
type markdown struct {
	s      Style
	source []byte
}

// blocks returns the lines of what is in n, with an empty line between blocks unless
// they stand tight.
func (md *markdown) blocks(n ast.Node, width int, tight bool) (lines []string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		more := md.block(c, width)
		if len(lines) > 0 && len(more) > 0 && !tight {
			lines = append(lines, "")
		}
		lines = append(lines, more...)
	}
	return lines
}

// block returns the lines of one block.
func (md *markdown) block(n ast.Node, width int) []string {
	switch n := n.(type) {
	case *ast.Heading:
		return md.s.wrap(md.inline(n, strong), width)
	case *ast.Paragraph, *ast.TextBlock:
		return md.s.wrap(md.inline(n, ""), width)
	case *ast.List:
		return md.list(n, width)
	case *ast.Blockquote:
		if width-2 < minText {
			return md.blocks(n, width, false)
		}
		return prefixed(md.blocks(n, width-2, false), md.s.Dim("│ "), md.s.Dim("│ "))
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		if width-2 < minText {
			return md.raw(n, width, code)
		}
		return prefixed(md.raw(n, width-2, code), "  ", "  ")
	case *ast.ThematicBreak:
		return []string{md.s.Dim(strings.Repeat("─", min(width, 40)))}
	case *extast.Table:
		return md.table(n, width)
	case *ast.LinkReferenceDefinition:
		return nil
	}
	return md.raw(n, width, "")
}

// raw returns the lines of a block as they were written, folded where they are too
// long.
func (md *markdown) raw(n ast.Node, width int, look string) (lines []string) {
	for i := range n.Lines().Len() {
		seg := n.Lines().At(i)
		line := strings.ReplaceAll(strings.TrimRight(string(seg.Value(md.source)), "\n"), "\t", "    ")
		for {
			rest := ""
			if clip.Width(line) > width {
				line, rest = split(line, max(width, 2))
			}
			lines = append(lines, md.s.Paint(look, line))
			if line = rest; rest == "" {
				break
			}
		}
	}
	return lines
}

// split returns the beginning of a line that takes at most width columns, and the
// rest.
func split(line string, width int) (head, rest string) {
	for i, r := range line {
		if width -= clip.Width(string(r)); width < 0 {
			return line[:i], line[i:]
		}
	}
	return line, ""
}

// prefixed puts first before the first of lines, and then before the others.
func prefixed(lines []string, first, then string) []string {
	for i := range lines {
		if lines[i] = then + lines[i]; i == 0 {
			lines[i] = first + strings.TrimPrefix(lines[i], then)
		}
	}
	return lines
}

func (md *markdown) list(l *ast.List, width int) (lines []string) {
	number := l.Start
	for item := l.FirstChild(); item != nil; item = item.NextSibling() {
		mark := "• "
		if l.IsOrdered() {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		indent := strings.Repeat(" ", len([]rune(mark)))
		if len(lines) > 0 && !l.IsTight {
			lines = append(lines, "")
		}
		if width-len(indent) < minText {
			lines = append(append(lines, md.s.Mark(strings.TrimSpace(mark))), md.blocks(item, width, l.IsTight)...)
			continue
		}
		more := md.blocks(item, width-len(indent), l.IsTight)
		if len(more) == 0 {
			more = []string{""}
		}
		lines = append(lines, prefixed(more, md.s.Mark(mark), indent)...)
	}
	return lines
}

// inline returns the spans of what is in n.
func (md *markdown) inline(n ast.Node, look string) (spans []span) {
	add := func(text, code string) {
		if text = clip.Plain(text); text != "" { // references such as &#27; are resolved here
			spans = append(spans, span{text, code})
		}
	}
	with := func(more string) string {
		if look == "" {
			return more
		}
		return look + ";" + more
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			add(string(resolved(c.Segment.Value(md.source))), look)
			if c.HardLineBreak() {
				add("\n", look)
			} else if c.SoftLineBreak() {
				add(" ", look)
			}
		case *ast.String:
			add(string(c.Value), look)
		case *ast.CodeSpan:
			for _, sp := range md.inline(c, with(code)) {
				add(sp.text, with(code))
			}
		case *ast.Emphasis:
			more := italic
			if c.Level > 1 {
				more = strong
			}
			spans = append(spans, md.inline(c, with(more))...)
		case *extast.Strikethrough:
			spans = append(spans, md.inline(c, with(crossed))...)
		case *extast.TaskCheckBox:
			mark := "[ ] "
			if c.IsChecked {
				mark = "[✓] "
			}
			add(mark, look)
		case *ast.Link:
			label := md.inline(c, with(linked))
			spans = append(spans, label...)
			if to := string(c.Destination); to != joined(label) {
				add(" ("+to+")", with(faint))
			}
		case *ast.Image:
			add("image: ", with(faint))
			spans = append(spans, md.inline(c, look)...)
			add(" ("+string(c.Destination)+")", with(faint))
		case *ast.AutoLink:
			add(string(c.Label(md.source)), with(linked))
		case *ast.RawHTML:
			for i := range c.Segments.Len() {
				seg := c.Segments.At(i)
				add(string(seg.Value(md.source)), look)
			}
		default:
			spans = append(spans, md.inline(c, look)...)
		}
	}
	return spans
}

// resolved returns text without escapes and with references to characters replaced.
func resolved(text []byte) []byte {
	return util.UnescapePunctuations(util.ResolveNumericReferences(util.ResolveEntityNames(text)))
}

// joined returns the text of spans.
func joined(spans []span) string {
	var b strings.Builder
	for _, sp := range spans {
		b.WriteString(sp.text)
	}
	return b.String()
}
