package htmlmd

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A writer writes Markdown. Spaces, line breaks and opening marks are pending
// until there is a word after them.
type writer struct {
	out    []byte
	prefix []byte // of each line: of quotations and list items
	inline int    // how many elements it is in that allow no line breaks
	inLink bool   // in the text of a link
	inCell bool   // in a table
	fresh  bool   // at the beginning of a line, after its prefix

	unfinished bool // the text ends with this word, and the next may go on with it

	// Pending, in this order.
	gap    int      // line breaks
	hard   bool     // the line break is a <br>
	space  bool     // a space
	opened []string // marks such as "**" and "["
}

// lines asks for at least n line breaks before the next word. Where no line breaks
// are allowed, it asks for a space.
func (w *writer) lines(n int) {
	switch {
	case n == 0 || w.fresh && w.inline == 0:
	case w.inline > 0:
		w.space = true
	default:
		w.gap, w.space, w.hard = max(w.gap, n), false, false
	}
}

// flush writes what is pending. At the beginning of the output there are no line
// breaks, and at the beginning of a line no space.
func (w *writer) flush() {
	switch {
	case w.gap > 0 && len(w.out) > 0:
		if w.hard && w.gap == 1 {
			w.out = append(w.out, "  "...)
		}
		for range w.gap - 1 {
			w.out = append(append(w.out, '\n'), strings.TrimRight(string(w.prefix), " ")...)
		}
		w.out = append(append(w.out, '\n'), w.prefix...)
		w.fresh = true
	case len(w.out) == 0:
		w.out, w.fresh = append(w.out, w.prefix...), true
	case w.space && !w.fresh:
		w.out = append(w.out, ' ')
	}
	w.gap, w.space, w.hard = 0, false, false
	for _, m := range w.opened {
		w.out, w.fresh = append(w.out, m...), false
	}
	w.opened = w.opened[:0]
}

// raw writes a piece of Markdown.
func (w *writer) raw(s string) {
	w.flush()
	w.out = append(w.out, s...)
	w.fresh = false
}

// open opens something with a mark, as soon as there is a word in it.
func (w *writer) open(mark string) { w.opened = append(w.opened, mark) }

// close closes what was opened last with a mark, and reports whether there was no
// word in it: then neither mark is written. open and close are nested.
func (w *writer) close(mark string) (empty bool) {
	if n := len(w.opened); n > 0 {
		w.opened = w.opened[:n-1]
		return true
	}
	w.out = append(w.out, mark...)
	return false
}

// text writes a text of the page: its words, with escapes where Markdown would
// take a character for a mark.
func (w *writer) text(s string) {
	for i := 0; i < len(s); {
		if isSpace[s[i]] {
			w.space = true
			i++
			continue
		}
		from := i
		for i < len(s) && !isSpace[s[i]] {
			i++
		}
		w.flush()
		w.unfinished = i == len(s)
		if w.fresh {
			w.firstWord(s[from:i])
		} else {
			w.escape(s[from:i])
		}
		w.unfinished = false
		w.fresh = false
	}
}

// isSpace are the characters that HTML takes for white space.
var isSpace = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, '\f': true}

// notSpace reports whether r is not white space in HTML.
func notSpace(r rune) bool { return r > ' ' || !isSpace[byte(r)] }

// firstWord writes a word at the beginning of a line, where it could also begin a
// quotation, a list, a heading, a rule or a definition.
func (w *writer) firstWord(s string) {
	number := strings.TrimLeft(s, "0123456789")
	switch {
	case s[0] == '>', s == "-", s == "+", strings.Trim(s, "#") == "" && len(s) <= 6,
		strings.Trim(s, "-") == "", strings.Trim(s, "=") == "", s[0] == '[' && strings.Contains(s, "]:"):
		w.out = append(w.out, '\\')
	case number != s && (number == "." || number == ")"):
		w.out = append(append(w.out, s[:len(s)-1]...), '\\')
		s = number
	}
	w.escape(s)
}

// escape writes a word with a backslash before each character that Markdown would
// take for a mark.
func (w *writer) escape(s string) {
	written := 0
	if strings.HasPrefix(s, "(") && len(w.out) > 0 && w.out[len(w.out)-1] == ']' {
		w.out = append(w.out, '\\') // with brackets in the text before, this would be a link
	}
	for i := range len(s) {
		if mayBeMark[s[i]] && w.isMark(s, i) {
			w.out = append(append(w.out, s[written:i]...), '\\')
			written = i
		}
	}
	w.out = append(w.out, s[written:]...)
}

// mayBeMark are the characters that isMark is asked about.
var mayBeMark = [256]bool{
	'\\': true, '`': true, '*': true, '_': true, '[': true, ']': true,
	'<': true, '|': true, '&': true, '~': true,
}

// isMark reports whether Markdown would take the character at i of a word for a
// mark (CommonMark 0.31.2, and GitHub's tables and strikethrough).
func (w *writer) isMark(s string, i int) bool {
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	if next == 0 && w.unfinished && (s[i] == '<' || s[i] == '&') {
		return true // the next text may make it one
	}
	switch s[i] {
	case '_': // between letters it is none
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		return !isWord(before) || !isWord(after)
	case '[':
		return w.inLink
	case ']':
		return w.inLink || next == '('
	case '<': // a tag
		return next == '/' || next == '!' || next == '?' || isWord(rune(next))
	case '|':
		return w.inCell
	case '&': // a character reference
		return next == '#' || isWord(rune(next)) && (w.unfinished || strings.Contains(s[i:], ";"))
	case '~':
		return next == '~'
	case '\\':
		return next == 0 || next < utf8.RuneSelf && unicode.IsPunct(rune(next)) || unicode.IsSymbol(rune(next))
	}
	return true
}

// isWord reports whether r is a part of a word.
func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
