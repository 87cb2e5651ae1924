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

	places []span // the parts of new that were written, in order; none: all of it
}

// A replacement is one of the edits of str_replace.
type replacement struct {
	OldStr     *string `json:"old_str"`
	NewStr     *string `json:"new_str"` // none deletes OldStr
	ReplaceAll bool    `json:"replace_all"`
}

// replaceAll returns the edit that makes replacements one after the other, each in what
// the one before left: all of them, or none.
func replaceAll(before []byte, edits []replacement, path string) (edit, error) {
	text := string(before)
	var places []span
	for i, r := range edits {
		next, made, err := r.in(text, path)
		if err == nil && next == text {
			err = refuse("No replacement was performed, old_str and new_str are the same.")
		}
		if err != nil {
			if len(edits) > 1 {
				err = refuse("edit %d of %d, and so none of them: %s", i+1, len(edits), err)
			}
			return edit{}, err
		}
		places = moved(places, made, text, next)
		text = next
	}
	ed := difference(before, []byte(text))
	ed.places = places
	return ed, nil
}

// in makes the replacement in a text, and returns the parts that it wrote. Line ends of
// the file are kept. An error is for the model and says what is there instead.
func (r replacement) in(text, path string) (after string, made []span, err error) {
	if r.OldStr == nil {
		return "", nil, required("old_str", "str_replace")
	}
	found, err := locate(text, *r.OldStr, path, r.ReplaceAll)
	if err != nil {
		return "", nil, err
	}
	var b strings.Builder
	from := 0
	for _, at := range found {
		b.WriteString(text[from:at.from])
		begin := b.Len()
		if r.NewStr != nil {
			b.WriteString(withLineEnds(*r.NewStr, *r.OldStr, text, at.from))
		}
		made = append(made, span{begin, b.Len()})
		from = at.to
	}
	b.WriteString(text[from:])
	return b.String(), made, nil
}

// moved returns the places of earlier edits where they are after another one, which
// made others, with these.
func moved(places, made []span, before, after string) []span {
	if len(places) == 0 {
		return made
	}
	last := made[len(made)-1].to
	rest := len(after) - last
	var all []span
	for _, p := range places {
		switch { // exact around the edit, and near enough between its places
		case p.to <= made[0].from:
			all = append(all, p)
		case p.from >= len(before)-rest:
			all = append(all, span{p.from + len(after) - len(before), p.to + len(after) - len(before)})
		}
	}
	all = append(all, made...)
	slices.SortStableFunc(all, func(a, b span) int { return a.from - b.from })
	return all
}

// difference returns the edit that changes before into after, with the smallest parts
// that differ.
func difference(before, after []byte) edit {
	n := min(len(before), len(after))
	from := 0
	for from < n && before[from] == after[from] {
		from++
	}
	end := 0
	for end < n-from && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	return edit{before: before, after: after, old: span{from, len(before) - end}, new: span{from, len(after) - end}}
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

// snippet shows the places of an edit with a few lines around each, numbered as by cat -n,
// so that the model sees its effect.
func snippet(ed edit, of string) string {
	text := string(bytes.TrimPrefix(ed.after, bom))
	shift := len(ed.after) - len(text)
	lines := splitLines(text)
	places := ed.places
	if len(places) == 0 {
		places = []span{ed.new}
	}
	var b strings.Builder
	shown, line, at := 0, 0, 0 // lines that were shown; line is the number of line ends before at
	for _, p := range places {
		line += strings.Count(text[at:max(at, p.from-shift)], "\n")
		at = max(at, p.from-shift)
		first, last := line, line+strings.Count(text[at:max(at, p.to-shift)], "\n")
		if p.to > p.from && ed.after[p.to-1] == '\n' {
			last-- // the line end belongs to the last edited line
		}
		from := max(shown, min(max(0, first-snippetLines), len(lines)))
		to := min(last+snippetLines+1, len(lines))
		if from >= to {
			continue
		}
		if b.Len() > snippetLimit {
			b.WriteString("       ... (more places)\n")
			break
		}
		if shown > 0 && from > shown {
			b.WriteString("       ...\n")
		}
		b.WriteString(numbered(lines[from:to], from+1, snippetLimit))
		shown = to
	}
	return fmt.Sprintf("Here's the result of running `cat -n` on %s:\n%s", of, b.String())
}
