package tools

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// snippetLines is how many lines are shown on each side of an edit, and
// snippetLimit about how many bytes.
const (
	snippetLines = 4
	snippetLimit = 4000
)

// A span is a part of a text, as byte offsets: from inclusive, to exclusive.
type span struct{ from, to int }

// An edit replaces a part of a file.
type edit struct {
	before, after []byte // the whole file; before is nil if there was none
	old           span   // what is replaced, in before
	new           span   // by what, in after
}

// splice returns the edit that replaces the part at of before with text.
func splice(before []byte, at span, text string) edit {
	return edit{
		before: before,
		after:  slices.Concat(before[:at.from], []byte(text), before[at.to:]),
		old:    at,
		new:    span{at.from, at.from + len(text)},
	}
}

// insertion returns the edit that puts text after the n-th line of a file, with
// a line end added if it needs one, and how many lines the file has. The edit
// is nil if there is no such line.
func insertion(before []byte, n int, text string) (*edit, int) {
	starts := lineStarts(before)
	lines := len(starts) - 1
	if n < 0 || n > lines {
		return nil, lines
	}
	at := starts[n]
	eol := lineEnd(string(before), at)
	text = withLineEnds(strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), "", string(before), at)
	if n == lines && n > 0 && before[len(before)-1] != '\n' {
		text = eol + text // the old last line has no line end, and the new one gets none
	} else {
		text += eol
	}
	ed := splice(before, span{at, at}, text)
	return &ed, lines
}

// lineStarts returns the offset of each line of text after the byte order mark,
// and then the length of text.
func lineStarts(text []byte) []int {
	start := 0
	if bytes.HasPrefix(text, bom) {
		start = len(bom)
	}
	var starts []int
	for start < len(text) {
		starts = append(starts, start)
		i := bytes.IndexByte(text[start:], '\n')
		if i < 0 {
			break
		}
		start += i + 1
	}
	return append(starts, len(text))
}

// lineEnd returns how lines end around the offset at: "\r\n" or "\n".
func lineEnd(text string, at int) string {
	i := strings.IndexByte(text[at:], '\n') + at
	if i < at {
		i = strings.LastIndexByte(text[:at], '\n')
	}
	if i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// withLineEnds returns s, which a model wrote to stand at the offset at of
// text, with the line ends that text has there. If the model wrote CRLF where
// it quoted the text, s stays as written.
func withLineEnds(s, quoted, text string, at int) string {
	if strings.Contains(quoted, "\r\n") || lineEnd(text, at) == "\n" {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// snippet shows the place of an edit with line numbers, like cat -n.
func snippet(ed edit, of string) string {
	text := string(bytes.TrimPrefix(ed.after, bom))
	shift := len(ed.after) - len(text)
	first := strings.Count(text[:max(0, ed.new.from-shift)], "\n")
	last := strings.Count(text[:max(0, ed.new.to-shift)], "\n")
	if ed.new.to > ed.new.from && ed.after[ed.new.to-1] == '\n' {
		last-- // the line end belongs to the last edited line
	}
	lines := splitLines(text)
	from := min(max(0, first-snippetLines), len(lines))
	to := min(last+snippetLines+1, len(lines))
	return fmt.Sprintf("Here's the result of running `cat -n` on %s:\n%s",
		of, numbered(lines[from:max(from, to)], from+1, snippetLimit))
}
