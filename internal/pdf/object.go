package pdf

import (
	"bytes"
	"errors"
	"strconv"
)

// An object is nil, a bool, an int, a float64, a name, a str, an array, a dict, a
// *stream or a ref (ISO 32000-1, section 7.3). In content streams it may also be a
// keyword.
type object any

type (
	name    string
	str     string // of bytes
	array   []object
	dict    map[name]object
	ref     struct{ num, gen int }
	keyword string // an operator, or a word such as obj
)

// A stream is a dictionary with bytes, which are still encoded by its filters.
type stream struct {
	dict dict
	raw  []byte
}

// maxNested is how deep arrays and dictionaries may stand in each other: they are read by
// recursion. Deeper ones end the data.
const maxNested = 200

var errSyntax = errors.New("broken syntax")

// A lexer reads objects of a file or of a content stream (section 7.2 and 7.3). It has no
// errors: what is broken is read as far as it makes sense, and the caller sees that something
// else comes than it wants.
type lexer struct {
	data []byte
	pos  int
	deep int
	// decrypt, which may be nil, decrypts the strings.
	decrypt func([]byte) []byte
}

// isSpace and isDelimiter are the classes of characters of tables 1 and 2. All others are
// regular, those above 127 as well.
func isSpace(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

// skipSpace moves past white space and comments.
func (l *lexer) skipSpace() {
	for l.pos < len(l.data) {
		switch c := l.data[l.pos]; {
		case isSpace(c):
			l.pos++
		case c == '%':
			for l.pos < len(l.data) && l.data[l.pos] != '\n' && l.data[l.pos] != '\r' {
				l.pos++
			}
		default:
			return
		}
	}
}

// word reads up to the next delimiter or space.
func (l *lexer) word() []byte {
	start := l.pos
	for l.pos < len(l.data) && !isSpace(l.data[l.pos]) && !isDelimiter(l.data[l.pos]) {
		l.pos++
	}
	return l.data[start:l.pos]
}

// next reads one object, or a keyword. ok is false at the end of the data. A broken object is
// read as far as it goes. References are three tokens, which next returns one by one: whether
// "1 0 R" is one is known at the R only, so [lexer.until] puts them together.
func (l *lexer) next() (o object, ok bool) {
	l.skipSpace()
	if l.pos >= len(l.data) {
		return nil, false
	}
	switch c := l.data[l.pos]; c {
	case '/':
		l.pos++
		return l.name(), true
	case '(':
		l.pos++
		return l.text(l.literal()), true
	case '<':
		l.pos++
		if l.pos < len(l.data) && l.data[l.pos] == '<' {
			l.pos++
			return l.dict(), true
		}
		return l.text(l.hex()), true
	case '[':
		l.pos++
		return array(l.until(keyword("]"))), true
	case '>':
		l.pos++
		if l.pos < len(l.data) && l.data[l.pos] == '>' {
			l.pos++
			return keyword(">>"), true
		}
		return keyword(">"), true
	case ']', '{', '}', ')':
		l.pos++
		return keyword(c), true
	}
	w := l.word()
	if n, ok := number(w); ok {
		return n, true
	}
	switch string(w) {
	case "true":
		return true, true
	case "false":
		return false, true
	case "null":
		return nil, true
	}
	return keyword(w), true
}

func (l *lexer) text(b []byte) str {
	if l.decrypt != nil {
		b = l.decrypt(b)
	}
	return str(b)
}

// number reads an int or a float64 (section 7.3.3). Programs write numbers such as "--5",
// "1.-2" and "4." too, and viewers read the first as 5 below zero and the second as 1. Without a
// digit, a sign or a dot is 0. ok is false for what is a keyword.
func number(w []byte) (object, bool) {
	if len(w) == 0 || len(w) > 64 {
		return nil, false
	}
	if c := w[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return nil, false
	}
	if n, err := strconv.Atoi(string(w)); err == nil {
		return n, true
	}
	for len(w) > 1 && (w[0] == '-' || w[0] == '+') && (w[1] == '-' || w[1] == '+') {
		w = w[1:]
	}
	if i := bytes.LastIndexByte(w, '-'); i > 0 {
		w = w[:i]
	}
	for i, c := range w {
		if (c < '0' || c > '9') && c != '.' && (i > 0 || c != '-' && c != '+') {
			return nil, false
		}
	}
	f, err := strconv.ParseFloat(string(w), 64)
	if err != nil {
		return 0, len(w) == 1 // a lone "-" or "."
	}
	return f, true
}

// name reads a name, of which the slash was read (section 7.3.5). #41 is the character with
// that code; a # that no digits follow stands for itself, as before PDF 1.2.
func (l *lexer) name() name {
	w := l.word()
	if bytes.IndexByte(w, '#') < 0 {
		return name(w)
	}
	var b []byte
	for i := 0; i < len(w); i++ {
		if w[i] == '#' && i+2 < len(w) {
			if n, err := strconv.ParseUint(string(w[i+1:i+3]), 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, w[i])
	}
	return name(b)
}

// literal reads a string in parentheses, of which the first was read (section 7.3.4.2). Pairs
// within need no backslash, and every line end is one \n.
func (l *lexer) literal() []byte {
	var b []byte
	for open := 1; l.pos < len(l.data); {
		c := l.data[l.pos]
		l.pos++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return b
			}
		case '\r':
			c = '\n'
			if l.pos < len(l.data) && l.data[l.pos] == '\n' {
				l.pos++
			}
		case '\\':
			b = l.escape(b)
			continue
		}
		b = append(b, c)
	}
	return b
}

// escape reads what follows a backslash in a string (table 3), and appends what it means to b:
// up to three octal digits are a byte, a line end is nothing, and any other character is
// itself.
func (l *lexer) escape(b []byte) []byte {
	if l.pos >= len(l.data) {
		return b
	}
	c := l.data[l.pos]
	l.pos++
	switch c {
	case 'n':
		return append(b, '\n')
	case 'r':
		return append(b, '\r')
	case 't':
		return append(b, '\t')
	case 'b':
		return append(b, '\b')
	case 'f':
		return append(b, '\f')
	case '\n':
		return b
	case '\r':
		if l.pos < len(l.data) && l.data[l.pos] == '\n' {
			l.pos++
		}
		return b
	}
	if c < '0' || c > '7' {
		return append(b, c)
	}
	n := int(c - '0')
	for i := 0; i < 2 && l.pos < len(l.data) && l.data[l.pos] >= '0' && l.data[l.pos] <= '7'; i++ {
		n = n*8 + int(l.data[l.pos]-'0')
		l.pos++
	}
	return append(b, byte(n))
}

// hex reads a string of hexadecimal digits, of which the < was read (section 7.3.4.3). A last
// digit without a second one is followed by 0; what is no digit is passed over.
func (l *lexer) hex() []byte {
	var b []byte
	high, odd := 0, false
	for l.pos < len(l.data) {
		c := l.data[l.pos]
		l.pos++
		if c == '>' {
			break
		}
		d := hexDigit(c)
		switch {
		case d < 0:
		case odd:
			b, odd = append(b, byte(high<<4|d)), false
		default:
			high, odd = d, true
		}
	}
	if odd {
		b = append(b, byte(high<<4))
	}
	return b
}

// hexDigit returns the value of a digit, or -1.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// until reads objects up to a closing keyword, or to a keyword that shows that the
// closing one is missing. References are put together.
func (l *lexer) until(closing keyword) []object {
	var all []object
	if l.deep++; l.deep > maxNested {
		l.pos = len(l.data)
	}
	defer func() { l.deep-- }()
	for {
		before := l.pos
		o, ok := l.next()
		if !ok {
			return all
		}
		k, isKeyword := o.(keyword)
		if !isKeyword {
			all = append(all, o)
			continue
		}
		switch {
		case k == closing:
			return all
		case k == "R" && len(all) >= 2:
			n := len(all) - 2
			num, ok1 := all[n].(int)
			gen, ok2 := all[n+1].(int)
			if ok1 && ok2 {
				all = append(all[:n], ref{num, gen})
			}
		case k == "endobj" || k == "endstream" || k == "obj" || k == "stream":
			l.pos = before
			return all
		}
	}
}

// dict reads a dictionary, of which the << was read (section 7.3.7). Anything but a key where a
// key belongs is skipped; if a key is there twice, the last value counts.
func (l *lexer) dict() dict {
	all := l.until(">>")
	d := make(dict, len(all)/2)
	for i := 0; i+1 < len(all); {
		if k, ok := all[i].(name); ok {
			d[k] = all[i+1]
			i += 2
		} else {
			i++
		}
	}
	return d
}
