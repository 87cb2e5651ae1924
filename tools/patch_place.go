package tools

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// A patchedText is the text of a file to which hunks are applied.
type patchedText struct {
	path     string // in the words of the model
	text     string
	mark     []byte // the byte order mark, if there is one
	lines    []textLine
	squeezed []string // the lines with their white space squeezed; nil: not needed yet
}

// A textLine is a line of a file with its end: "\n", "\r\n", or "" at the end of a file.
type textLine struct{ text, end string }

func newPatchedText(path string, data []byte) *patchedText {
	t := &patchedText{path: path}
	if bytes.HasPrefix(data, bom) {
		t.mark, data = bom, data[len(bom):]
	}
	t.text = string(data)
	for l := range strings.Lines(t.text) {
		text := strings.TrimSuffix(strings.TrimSuffix(l, "\n"), "\r")
		if !strings.HasSuffix(l, "\n") {
			text = l
		}
		t.lines = append(t.lines, textLine{text, l[len(text):]})
	}
	return t
}

// A placed hunk is one whose place was found.
type placedHunk struct {
	*hunk
	lines []patchLine // those that count
	at    int         // the first line of the file that it is about, from 0
	old   int         // how many lines of the file it is about
	loose bool        // white space differs
}

// Ways to compare a line of a patch with one of a file, from strict to loose: only white
// space is ever ignored.
const (
	sameText = iota
	sameButEnd
	sameButSpace
	samenesses
)

// equal compares the line i with a line of a patch: exactly, without white space at the
// end, or with all white space squeezed.
func (t *patchedText) equal(i int, text string, how int) bool {
	switch how {
	case sameText:
		return t.lines[i].text == text
	case sameButEnd:
		return strings.TrimRightFunc(t.lines[i].text, unicode.IsSpace) == strings.TrimRightFunc(text, unicode.IsSpace)
	}
	if t.squeezed == nil {
		all := make([]string, len(t.lines))
		for i, l := range t.lines {
			all[i] = l.text
		}
		t.squeezed = squeezed(all)
	}
	return t.squeezed[i] == text // text is squeezed
}

// oldLines returns the lines of a hunk that the file has.
func oldLines(lines []patchLine) []string {
	var old []string
	for _, l := range lines {
		if l.kind != '+' {
			old = append(old, l.text)
		}
	}
	return old
}

// place finds the one place of a hunk. Where several fit, one after the line from
// counts if it is the only one there. Blank lines around a hunk that do not fit are
// left out: models put them between hunks.
func (t *patchedText) place(h *hunk, from int) (*placedHunk, error) {
	lines := h.lines
	for {
		for how := range samenesses {
			found := t.find(h, lines, how, from)
			if later := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return i < from }); len(found) > 1 && len(later) == 1 {
				found = later
			}
			switch {
			case len(found) == 1:
				return &placedHunk{h, lines, found[0], len(oldLines(lines)), how > sameText}, nil
			case len(found) > 1:
				return nil, t.ambiguous(h, found)
			}
		}
		switch n := len(lines) - 1; {
		case n > 0 && lines[n].bare:
			lines = lines[:n]
		case n > 0 && lines[0].bare:
			lines = lines[1:]
		default:
			return nil, t.missing(h)
		}
	}
}

func (t *patchedText) ambiguous(h *hunk, found []int) error {
	var lines []int
	for _, i := range found[:min(len(found), maxOccurrences)] {
		lines = append(lines, i+1)
	}
	return refuse("No replacement was performed. Multiple occurrences of the lines of the hunk at line %d of the patch in "+
		"%s, in lines %s. Please ensure they are unique: add lines around them, or a line before them after @@", h.line, t.path,
		pyList(lines...))
}

func (t *patchedText) missing(h *hunk) error {
	old := oldLines(h.lines)
	if len(old) == 0 {
		return refuse("No replacement was performed, the line `%s` after @@ at line %d of the patch did not appear in %s.%s",
			cut(h.heads[len(h.heads)-1], 300), h.line, t.path, nearest(t.text, h.heads[len(h.heads)-1]))
	}
	text := strings.Join(old, "\n")
	return refuse("No replacement was performed, the lines of the hunk at line %d of the patch did not appear in %s:\n%s%s",
		h.line, t.path, cut(text, 1000), nearest(t.text, text))
}

// find returns the places that fit, compared in one way. A hunk with heads has its
// place after them, if they are in the file.
func (t *patchedText) find(h *hunk, lines []patchLine, how, from int) []int {
	old := oldLines(lines)
	regions := t.regions(h.heads)
	switch {
	case len(old) == 0 && len(h.heads) == 0:
		return []int{len(t.lines)}
	case len(old) == 0:
		var after []int
		for _, r := range regions {
			after = append(after, r.from+1)
		}
		return after
	}
	if how == sameButSpace {
		old = squeezed(old)
	}
	var found []int
	for i := 0; i+len(old) <= len(t.lines); i++ {
		if t.fits(i, old, how) {
			found = append(found, i)
		}
	}
	if atEnd := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return i+len(old) < len(t.lines) }); h.atEnd && len(atEnd) > 0 {
		return atEnd
	}
	if len(h.heads) == 0 || len(regions) == 0 || len(found) < 2 {
		return found
	}
	var first []int // of each region, the later ones if there are some
	for _, r := range regions {
		inside := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return i < r.from || i >= r.to })
		later := slices.DeleteFunc(slices.Clone(inside), func(i int) bool { return i < from })
		switch {
		case len(later) > 0:
			first = append(first, later[0])
		case len(inside) > 0:
			first = append(first, inside[0])
		}
	}
	if len(first) == 0 {
		return found
	}
	return slices.Compact(first)
}

// fits reports whether the lines from i on are those of old.
func (t *patchedText) fits(i int, old []string, how int) bool {
	for j, l := range old {
		if !t.equal(i+j, l, how) {
			return false
		}
	}
	return true
}

// A region is a part of a file, from a line that a head names to the next such line.
type region struct{ from, to int }

// regions returns the parts of the file that heads lead to, from the outermost head to the
// innermost, such as a class and a method.
func (t *patchedText) regions(heads []string) []region {
	all := []region{{0, len(t.lines)}}
	for _, head := range heads {
		want := squeezed([]string{head})[0]
		found := t.below(all, func(i int) bool { return t.equal(i, want, sameButSpace) })
		if len(found) == 0 { // models shorten heads
			found = t.below(all, func(i int) bool { return strings.HasPrefix(t.squeezed[i], want) })
		}
		all = found
	}
	return all
}

// below splits regions at the lines that are wanted.
func (t *patchedText) below(all []region, wanted func(i int) bool) []region {
	var found []region
	for _, r := range all {
		begin := len(found)
		for i := r.from; i < r.to; i++ {
			if wanted(i) {
				if len(found) > begin {
					found[len(found)-1].to = i
				}
				found = append(found, region{i, r.to})
			}
		}
	}
	return found
}

// apply returns the text with the hunks applied, all of them or none. loose are the
// hunks whose white space differs from the file's, which stays.
func (t *patchedText) apply(hunks []hunk) (after []byte, loose []int, err error) {
	var placed []*placedHunk
	from := 0
	for i := range hunks {
		p, err := t.place(&hunks[i], from)
		if err != nil {
			return nil, nil, err
		}
		placed, from = append(placed, p), p.at+p.old
		if p.loose {
			loose = append(loose, p.line)
		}
	}
	slices.SortStableFunc(placed, func(a, b *placedHunk) int { return a.at - b.at })
	var out []textLine
	next := 0 // the next line of the file
	for i, p := range placed {
		if p.at < next {
			return nil, nil, refuse("No replacement was performed, the hunks at lines %d and %d of the patch are about the same lines "+
				"of %s: make one hunk of them", placed[i-1].line, p.line, t.path)
		}
		out = append(out, t.lines[next:p.at]...)
		out = append(out, t.changed(p)...)
		next = p.at + p.old
	}
	out = append(out, t.lines[next:]...)
	return t.join(out), loose, nil
}

// changed returns the lines that stand in the place of a hunk afterwards. Lines that stay
// are the file's own.
func (t *patchedText) changed(p *placedHunk) []textLine {
	var out []textLine
	indents := make(map[string]string) // of the patch, to those of the file
	learn := func(patch, file string, again bool) {
		if p.loose && strings.TrimSpace(patch) != "" {
			if _, known := indents[indentOf(patch)]; again || !known {
				indents[indentOf(patch)] = indentOf(file)
			}
		}
	}
	for i, l := range oldLines(p.lines) {
		learn(l, t.lines[p.at+i].text, false)
	}
	at := p.at
	for _, l := range p.lines {
		if l.kind == '+' {
			end := t.endAt(at)
			text := l.text
			if end == "\r\n" {
				text = strings.TrimSuffix(text, "\r")
			}
			out = append(out, textLine{indented(text, indents), end})
			continue
		}
		learn(l.text, t.lines[at].text, true)
		if l.kind == ' ' {
			out = append(out, t.lines[at])
		}
		at++
	}
	return out
}

func indentOf(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " \t"))] }

// indented returns a line that a patch adds with the indentation that the file has where
// the patch has the line's.
func indented(text string, indents map[string]string) string {
	own, best := indentOf(text), ""
	found := false
	for patch := range indents {
		if strings.HasPrefix(own, patch) && (!found || len(patch) > len(best)) {
			best, found = patch, true
		}
	}
	if !found || own == text { // nothing but white space
		return text
	}
	return indents[best] + text[len(best):]
}

// endAt returns how lines end around the line i.
func (t *patchedText) endAt(i int) string {
	for _, k := range []int{i, i - 1, i - 2} {
		if k >= 0 && k < len(t.lines) && t.lines[k].end != "" {
			return t.lines[k].end
		}
	}
	return "\n"
}

// join returns the file with these lines. If the last line had no end, the last one has
// none now.
func (t *patchedText) join(lines []textLine) []byte {
	open := len(t.lines) > 0 && t.lines[len(t.lines)-1].end == ""
	var b bytes.Buffer
	b.Write(t.mark)
	for i, l := range lines {
		b.WriteString(l.text)
		switch last := i == len(lines)-1; {
		case last && open:
		case l.end == "":
			b.WriteString(t.endAt(len(t.lines) - 1))
		default:
			b.WriteString(l.end)
		}
	}
	return b.Bytes()
}
