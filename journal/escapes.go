package journal

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxEscaped is how often a text may be escaped for its secrets to be found: the
// arguments of a call are JSON within JSON, and may contain a URL.
const maxEscaped = 3

// A view is a text without its escapes: %2D as in URLs, and \u002d, \x2d and \" as
// in JSON and other languages. Any character may have been escaped, so a secret
// can have more forms than a list of them could.
type view struct {
	text  []byte
	units []unit // the escapes, in order
}

// A unit is an escape: bytes of the text that stand for bytes of the view.
type unit struct{ from, to, viewFrom, viewTo int }

// unescape returns a view of text. It leaves an escape alone if no secret has what
// it stands for, so that most texts need no view. cut is where an escape begins
// that text may be the beginning of; the view ends there. ok is false if the view
// would be the text.
func (m *matcher) unescape(text []byte) (v view, cut int, ok bool) {
	done := 0
	var b []byte
	for i := 0; i < len(text); {
		n := nextEscape(text[i:])
		if n < 0 {
			break
		}
		i += n
		b, n = decodeEscape(text[i:], b[:0])
		switch {
		case n < 0:
			v.text = append(v.text, text[done:i]...)
			return v, i, true
		case n == 0:
			i++ // it is a % or a \ that begins no escape
			continue
		case m.matters(b[0], text[i+n:]):
			v.text = append(v.text, text[done:i]...)
			v.units = append(v.units, unit{i, i + n, len(v.text), len(v.text) + len(b)})
			v.text = append(v.text, b...)
			done = i + n
		}
		i += n
	}
	if len(v.units) == 0 {
		return v, len(text), false
	}
	v.text = append(v.text, text[done:]...)
	return v, len(text), true
}

// nextEscape returns the index of the first byte of text that may begin an escape,
// or -1.
func nextEscape(text []byte) int {
	i := bytes.IndexByte(text, '\\')
	if i < 0 {
		return bytes.IndexByte(text, '%')
	}
	if j := bytes.IndexByte(text[:i], '%'); j >= 0 {
		return j
	}
	return i
}

// matters reports whether an escape that stands for text with the first byte c can
// be part of a secret. It can also be part of another escape, with what follows.
func (m *matcher) matters(c byte, follows []byte) bool {
	if m.has[c] || c == '%' {
		return true
	}
	if c != '\\' || len(follows) == 0 {
		return c == '\\'
	}
	switch c := follows[0]; c {
	case 'u', 'x', '\\':
		return true
	default:
		i := strings.IndexByte(simple, c)
		return i >= 0 && m.has[simpleFor[i]]
	}
}

// simple are the characters that are escaped by a \ alone, or that stand for another
// one behind it; simpleFor is what they stand for.
const (
	simple    = "\"\\/'ntrbf"
	simpleFor = "\"\\/'\n\t\r\b\f"
)

// decodeEscape appends what the escape stands for that text begins with, and
// returns the escape's length: 0 if it is none, and -1 if text may be the beginning
// of one. text begins with % or \.
func decodeEscape(text, to []byte) ([]byte, int) {
	if text[0] == '%' {
		x, n := hexNumber(text, 1, 2)
		return append(to, byte(x)), n
	}
	if len(text) == 1 {
		return to, -1
	}
	switch text[1] {
	case 'x':
		x, n := hexNumber(text, 2, 2)
		return append(to, byte(x)), n
	case 'u':
		x, n := hexNumber(text, 2, 4)
		if n > 0 && utf16.IsSurrogate(x) {
			return decodePair(x, text, to)
		}
		return utf8.AppendRune(to, x), n
	}
	if i := strings.IndexByte(simple, text[1]); i >= 0 {
		return append(to, simpleFor[i]), 2
	}
	return to, 0
}

// decodePair is decodeEscape for text that begins with the escape of a surrogate,
// high, which counts together with the next one.
func decodePair(high rune, text, to []byte) ([]byte, int) {
	rest := text[6:]
	if len(rest) < 6 && bytes.HasPrefix([]byte(`\u`), rest[:min(len(rest), 2)]) {
		return to, -1
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		if low, n := hexNumber(rest, 2, 4); n > 0 && utf16.DecodeRune(high, low) != utf8.RuneError {
			return utf8.AppendRune(to, utf16.DecodeRune(high, low)), 12
		}
	}
	return utf8.AppendRune(to, utf8.RuneError), 6
}

// hexNumber returns the number that so many hexadecimal digits make after the first
// skip bytes of text, and where it ends: 0 if there is another character, and -1 if
// text ends before.
func hexNumber(text []byte, skip, digits int) (x rune, end int) {
	d := text[skip:min(len(text), skip+digits)]
	for _, c := range d {
		switch {
		case '0' <= c && c <= '9':
			x = x<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			x = x<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, 0
		}
	}
	if len(d) < digits {
		return 0, -1
	}
	return x, skip + digits
}

// place returns where in the text the unit or the byte stands that the byte at of
// the view comes from.
func (v *view) place(at int) (from, to int) {
	lo, hi := 0, len(v.units)
	for lo < hi { // the units that begin at or before at
		if mid := (lo + hi) / 2; v.units[mid].viewFrom <= at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == 0 {
		return at, at + 1
	}
	u := v.units[lo-1]
	if at < u.viewTo {
		return u.from, u.to
	}
	from = u.to + at - u.viewTo
	return from, from + 1
}

// start returns where the escape begins that the byte at of the text belongs to,
// or at.
func (v *view) start(at int) int {
	lo, hi := 0, len(v.units)
	for lo < hi {
		if mid := (lo + hi) / 2; v.units[mid].from < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 && at < v.units[lo-1].to {
		return v.units[lo-1].from
	}
	return at
}
