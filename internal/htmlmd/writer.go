package htmlmd

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A writer writes Markdown. Spaces, line breaks and the marks that open
// something wait until there is a word after them.
type writer struct {
	out    []byte
	prefix []byte   // of each line: quotations and the indents of lists
	gap    int      // line breaks that are due
	hard   bool     // the first of them is one of the text
	space  bool     // a space is due
	opened []string // marks that are due, such as "**" and "["
	fresh  bool     // at the beginning of a line, after its prefix
	inline int      // in how many things that have no lines of their own
	link   bool     // in the text of a link
	cell   bool     // in a table
}

// lines asks for n line breaks before the next word. Where there are no
// lines, it asks for a space.
func (w *writer) lines(n int) {
	switch {
	case w.inline > 0:
		w.space = true
	case w.fresh: // it stands at the beginning of one
	default:
		w.gap, w.space, w.hard = max(w.gap, n), false, false
	}
}

// flush writes what is due before a word.
func (w *writer) flush() {
	switch {
	case w.gap > 0 && len(w.out) > 0:
		if w.hard && w.gap == 1 {
			w.out = append(w.out, ' ', ' ')
		}
		for n := range w.gap {
			w.out = append(w.out, '\n')
			if n == w.gap-1 {
				w.out = append(w.out, w.prefix...)
			} else {
				w.out = append(w.out, strings.TrimRight(string(w.prefix), " ")...)
			}
		}
		w.fresh = true
	case len(w.out) == 0:
		w.out, w.fresh = append(w.out, w.prefix...), true
	case w.space && !w.fresh:
		w.out = append(w.out, ' ')
	}
	w.gap, w.space, w.hard = 0, false, false
	if len(w.opened) > 0 {
		for _, m := range w.opened {
			w.out = append(w.out, m...)
		}
		w.opened, w.fresh = w.opened[:0], false
	}
}

// raw writes a piece of Markdown.
func (w *writer) raw(s string) {
	w.flush()
	w.out = append(w.out, s...)
	w.fresh = false
}

// mark writes the mark of a line, such as that of an item, after which the
// line still begins.
func (w *writer) mark(s string) {
	w.flush()
	w.out = append(w.out, s...)
	w.fresh = true
}

// open opens something with a mark, as soon as there is a word in it. close
// closes it, and reports whether there was none.
func (w *writer) open(mark string) { w.opened = append(w.opened, mark) }

func (w *writer) close(mark string) (empty bool) {
	if n := len(w.opened); n > 0 {
		w.opened = w.opened[:n-1]
		return true
	}
	w.out = append(w.out, mark...)
	return false
}

// text writes a text of the page: its words, each with what Markdown would
// take for a mark escaped.
func (w *writer) text(s string) {
	for i := 0; i < len(s); {
		if space[s[i]] {
			w.space = true
			i++
			continue
		}
		from := i
		for i < len(s) && !space[s[i]] {
			i++
		}
		w.flush()
		w.word(s[from:i])
	}
}

// space is what HTML takes for white space.
var space = [256]bool{' ': true, '\n': true, '\t': true, '\r': true, '\f': true}

func notSpace(r rune) bool { return r > ' ' || !space[byte(r)] }

// word writes a word.
func (w *writer) word(s string) {
	if w.fresh {
		w.first(s)
		w.fresh = false
		return
	}
	w.escape(s)
}

// first writes a word at the beginning of a line, where more is a mark than
// elsewhere.
func (w *writer) first(s string) {
	digits := strings.TrimLeft(s, "0123456789")
	switch {
	case s[0] == '>', s == "-", s == "+",
		strings.Trim(s, "#") == "" && len(s) <= 6, strings.Trim(s, "-") == "", strings.Trim(s, "=") == "":
		w.out = append(w.out, '\\')
	case digits != s && (digits == "." || digits == ")"):
		w.out = append(append(w.out, s[:len(s)-1]...), '\\')
		s = digits
	case s[0] == '[' && strings.Contains(s, "]:"):
		w.out = append(w.out, '\\')
	}
	w.escape(s)
}

// escape writes a word with what Markdown would take for a mark escaped.
func (w *writer) escape(s string) {
	done := 0
	for i := range len(s) {
		if marks[s[i]] {
			w.out = append(w.out, s[done:i]...)
			done = i
			if w.means(s, i) {
				w.out = append(w.out, '\\')
			}
		}
	}
	w.out = append(w.out, s[done:]...)
}

// marks are the bytes that Markdown may take for a mark.
var marks = [256]bool{'\\': true, '`': true, '*': true, '_': true, '[': true, ']': true, '<': true, '|': true, '&': true, '~': true}

// means reports whether the byte at i of a word would be taken for a mark.
func (w *writer) means(s string, i int) bool {
	next := byte(0)
	if i+1 < len(s) {
		next = s[i+1]
	}
	switch s[i] {
	case '_': // within a word it is none
		before, _ := utf8.DecodeLastRuneInString(s[:i])
		after, _ := utf8.DecodeRuneInString(s[i+1:])
		return !letter(before) || !letter(after)
	case '[':
		return w.link
	case ']':
		return w.link || next == '('
	case '<':
		return next == '/' || next == '!' || next == '?' || letter(rune(next))
	case '|':
		return w.cell
	case '&':
		return next == '#' || letter(rune(next)) && strings.Contains(s[i:], ";")
	case '~':
		return next == '~'
	case '\\':
		return next == 0 || next < utf8.RuneSelf && unicode.IsPunct(rune(next)) || unicode.IsSymbol(rune(next))
	}
	return true
}

func letter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
