package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A patch is what apply_patch is given, in the form that models are trained on:
//
//	*** Begin Patch
//	*** Update File: PATH
//	*** Move to: PATH
//	@@ a line before the place, such as the head of a function
//	 a line that stays
//	-a line that goes
//	+a line that comes
//	*** End of File
//	*** Add File: PATH
//	+a line
//	*** Delete File: PATH
//	*** End Patch
//
// "Move to", "@@" and "End of File" are optional. Several @@ lines in a row lead from
// one to the next.
type patch struct{ files []patchFile }

// The operations of a patch.
const (
	patchUpdate = "*** Update File: "
	patchAdd    = "*** Add File: "
	patchDelete = "*** Delete File: "
	patchMove   = "*** Move to: "
	patchEOF    = "*** End of File"
	patchBegin  = "*** Begin Patch"
	patchEnd    = "*** End Patch"
)

// A patchFile is what a patch does to a file.
type patchFile struct {
	op    string // patchUpdate, patchAdd or patchDelete
	path  string
	move  string // the new path; "": it stays
	text  string // of a file that is added
	hunks []hunk
}

// A hunk is a change of one place.
type hunk struct {
	line  int      // of the patch, from 1
	heads []string // the @@ lines
	lines []patchLine
	atEnd bool // the place is at the end of the file
}

// A patchLine is a line of a hunk.
type patchLine struct {
	kind byte // ' ', '-' or '+'
	text string
	bare bool // it is empty, without the space that a line that stays begins with
}

// parsePatch reads a patch. It takes what models put around one: a fence, or the lines
// of a here-document. The error says which line is wrong.
func parsePatch(text string) (*patch, error) {
	p := patchParser{lines: strings.Split(strings.TrimRight(text, "\r\n \t"), "\n")}
	crlf := 0
	for _, l := range p.lines {
		if strings.HasSuffix(l, "\r") {
			crlf++
		}
	}
	for i, l := range p.lines {
		if crlf >= len(p.lines)-1 { // line ends of the patch, and not of the file
			p.lines[i] = strings.TrimSuffix(l, "\r")
		}
	}
	if err := p.begin(); err != nil {
		return nil, err
	}
	for p.at < len(p.lines) {
		if strings.TrimSpace(p.lines[p.at]) == "" {
			p.at++
			continue
		}
		f, err := p.file()
		if err != nil {
			return nil, err
		}
		p.patch.files = append(p.patch.files, *f)
	}
	if len(p.patch.files) == 0 {
		return nil, fmt.Errorf("the patch changes nothing: it has no line such as %q", patchUpdate+"PATH")
	}
	return &p.patch, nil
}

// A patchParser reads the lines of a patch.
type patchParser struct {
	lines []string
	at    int // the next line
	patch patch
}

// fail returns an error about the line n, from 0.
func (p *patchParser) fail(n int, format string, a ...any) error {
	return fmt.Errorf("line %d of the patch: %s", n+1, fmt.Sprintf(format, a...))
}

var (
	patchOpening = regexp.MustCompile("^(```\\w*|.*<<-?\\s*['\"]?\\w+['\"]?)$")
	patchClosing = regexp.MustCompile("^(```|[A-Z_]{2,20})$")
)

// begin goes to the first line of the patch, and cuts off its last one.
func (p *patchParser) begin() error {
	for p.at < len(p.lines) && (strings.TrimSpace(p.lines[p.at]) == "" || patchOpening.MatchString(strings.TrimSpace(p.lines[p.at]))) {
		p.at++
	}
	if p.at == len(p.lines) || strings.TrimSpace(p.lines[p.at]) != patchBegin {
		return fmt.Errorf("the patch does not begin with the line %q", patchBegin)
	}
	p.at++
	last := len(p.lines) - 1
	for last > p.at && patchClosing.MatchString(strings.TrimSpace(p.lines[last])) {
		last--
	}
	if last < p.at || strings.TrimSpace(p.lines[last]) != patchEnd {
		return fmt.Errorf("the patch does not end with the line %q: it may have been cut off, and nothing was changed", patchEnd)
	}
	p.lines = p.lines[:last]
	return nil
}

// file reads what the patch does to the next file.
func (p *patchParser) file() (*patchFile, error) {
	start, line := p.at, strings.TrimRight(p.lines[p.at], " \t\r")
	p.at++
	for _, op := range []string{patchUpdate, patchAdd, patchDelete} {
		path, ok := strings.CutPrefix(line, op)
		if !ok {
			continue
		}
		f := &patchFile{op: op, path: strings.TrimSpace(path)}
		if f.path == "" {
			return nil, p.fail(start, "the path is missing")
		}
		switch op {
		case patchAdd:
			return f, p.added(f)
		case patchUpdate:
			return f, p.updated(f, start)
		}
		return f, nil
	}
	return nil, p.fail(start, "%q is none of %q, %q and %q", cut(line, 100), patchUpdate+"PATH", patchAdd+"PATH", patchDelete+"PATH")
}

// ended reports whether the lines of a file end before the next line.
func (p *patchParser) ended() bool {
	if p.at == len(p.lines) {
		return true
	}
	l := p.lines[p.at]
	return strings.HasPrefix(l, patchUpdate) || strings.HasPrefix(l, patchAdd) || strings.HasPrefix(l, patchDelete)
}

// added reads the lines of a new file.
func (p *patchParser) added(f *patchFile) error {
	var b strings.Builder
	blank := 0 // lines that are empty, which separate files or were meant to be in one
	for ; !p.ended(); p.at++ {
		l := p.lines[p.at]
		if l == "" || l == "\r" {
			blank++
			continue
		}
		text, ok := strings.CutPrefix(l, "+")
		if !ok {
			return p.fail(p.at, "each line of a new file begins with +")
		}
		b.WriteString(strings.Repeat("\n", blank) + text + "\n")
		blank = 0
	}
	f.text = b.String()
	return nil
}

// updated reads the hunks of a file. start is the line that names it.
func (p *patchParser) updated(f *patchFile, start int) error {
	if !p.ended() {
		if to, ok := strings.CutPrefix(p.lines[p.at], patchMove); ok {
			if f.move = strings.TrimSpace(to); f.move == "" {
				return p.fail(p.at, "the path is missing")
			}
			p.at++
		}
	}
	for !p.ended() {
		if strings.TrimSpace(p.lines[p.at]) == "" && p.onlyBlank() {
			break
		}
		h, err := p.hunk()
		if err != nil {
			return err
		}
		f.hunks = append(f.hunks, *h)
	}
	if len(f.hunks) == 0 && f.move == "" {
		return p.fail(start, "there are no lines that change %s", f.path)
	}
	return nil
}

// onlyBlank skips blank lines, and reports whether the lines of the file end there.
func (p *patchParser) onlyBlank() bool {
	at := p.at
	for !p.ended() && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
	if p.ended() {
		return true
	}
	p.at = at
	return false
}

// unifiedHead matches what diff writes after @@; the numbers do not count.
var unifiedHead = regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)? @@ ?`)

// hunk reads the next hunk: the lines after @@ that lead to its place, and then its lines.
// Heads of unified diffs, with numbers, are accepted, and the numbers ignored.
func (p *patchParser) hunk() (*hunk, error) {
	h := &hunk{line: p.at + 1}
	for !p.ended() {
		head, ok := strings.CutPrefix(p.lines[p.at], "@@")
		if !ok {
			break
		}
		head = strings.TrimPrefix(head, " ")
		unified := unifiedHead.FindString(head)
		head = strings.TrimSuffix(strings.TrimPrefix(head, unified), " @@")
		if strings.TrimSpace(head) != "" && unified == "" { // after numbers it is a remark
			h.heads = append(h.heads, head)
		}
		p.at++
	}
	for ; !p.ended() && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		l := p.lines[p.at]
		switch {
		case strings.TrimSpace(l) == patchEOF:
			p.at++
			h.atEnd = true
			return h, p.check(h)
		case strings.TrimRight(l, "\r") == "":
			h.lines = append(h.lines, patchLine{kind: ' ', bare: true})
		case strings.ContainsRune(" +-", rune(l[0])):
			h.lines = append(h.lines, patchLine{kind: l[0], text: l[1:]})
		case l == `\ No newline at end of file`:
		default:
			return nil, p.fail(p.at, "a line of a hunk begins with a space if it stays, with - if it goes and with + if it comes, "+
				"and not like this: %q", cut(l, 100))
		}
	}
	return h, p.check(h)
}

// check returns an error if a hunk changes nothing. From a hunk that only adds lines
// it drops the blank ones around them.
func (p *patchParser) check(h *hunk) error {
	if !slices.ContainsFunc(h.lines, func(l patchLine) bool { return l.kind != '+' && !l.bare }) {
		for len(h.lines) > 0 && h.lines[0].bare {
			h.lines = h.lines[1:]
		}
		for len(h.lines) > 0 && h.lines[len(h.lines)-1].bare {
			h.lines = h.lines[:len(h.lines)-1]
		}
	}
	for _, l := range h.lines {
		if l.kind != ' ' {
			return nil
		}
	}
	return p.fail(h.line-1, "this hunk has no line that begins with + or -, so it changes nothing")
}

// paths returns the paths that a patch names, and which of them it removes.
func (p *patch) paths(each func(path string, removes bool)) {
	for _, f := range p.files {
		each(f.path, f.op == patchDelete || f.move != "")
		if f.move != "" {
			each(f.move, false)
		}
	}
}

// DescribePatch returns what a patch does in a line such as "update a.go, delete b.go",
// or "" for a text that is no patch.
func DescribePatch(text string) string {
	p, err := parsePatch(text)
	if err != nil {
		return ""
	}
	var all []string
	for _, f := range p.files {
		verb := map[string]string{patchUpdate: "update ", patchAdd: "add ", patchDelete: "delete "}[f.op]
		if f.move != "" {
			verb, f.path = "move ", f.path+" to "+f.move
		}
		all = append(all, verb+f.path)
	}
	return strings.Join(all, ", ")
}
