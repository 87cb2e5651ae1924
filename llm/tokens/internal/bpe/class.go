package bpe

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// A class is what kind of character one is, for cutting text into pieces. It
// has one bit, but for line ends, which are also spaces. 0 is the end.
type class uint8

const (
	upper   class = 1 << iota // Lu, Lt
	lower                     // Ll
	letter                    // Lm, Lo: both upper and lower
	mark                      // M
	number                    // N
	space                     // white space
	newline                   // CR and LF
	other

	letters = upper | lower | letter
	symbols = other | mark
)

// classes has the class of each character of the first two planes, which is
// where nearly all text is.
type classes [2 << 16]class

var characters = sync.OnceValue(func() *classes {
	c := new(classes)
	for i := range c {
		c[i] = other
	}
	for _, t := range tables {
		for _, r := range t.is.R16 {
			for i := uint32(r.Lo); i <= uint32(r.Hi); i += uint32(r.Stride) {
				c[i] = t.class
			}
		}
		for _, r := range t.is.R32 {
			for i := r.Lo; i <= r.Hi && i < uint32(len(c)); i += r.Stride {
				c[i] = t.class
			}
		}
	}
	c['\r'], c['\n'] = space|newline, space|newline
	return c
})

var tables = []struct {
	is    *unicode.RangeTable
	class class
}{
	{unicode.Lu, upper}, {unicode.Lt, upper}, {unicode.Ll, lower}, {unicode.Lm, letter}, {unicode.Lo, letter},
	{unicode.M, mark}, {unicode.N, number}, {unicode.White_Space, space},
}

// at returns the class of the character at i and its length in bytes; at the
// end both are 0. s is UTF-8.
func (c *classes) at(s string, i int) (class, int) {
	if i >= len(s) {
		return 0, 0
	}
	if b := s[i]; b < utf8.RuneSelf {
		return c[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if int(r) < len(c) {
		return c[r], n
	}
	return rare(r), n
}

// rare is the class of a character beyond the second plane.
func rare(r rune) class {
	for _, t := range tables {
		if unicode.Is(t.is, r) {
			return t.class
		}
	}
	return other
}

// run returns where the characters of these classes that begin at i end.
func (c *classes) run(s string, i int, of class) int {
	for {
		is, n := c.at(s, i)
		if is&of == 0 {
			return i
		}
		i += n
	}
}

// before returns the class of the character that ends at i, and its length.
func (c *classes) before(s string, i int) (class, int) {
	r, n := utf8.DecodeLastRuneInString(s[:i])
	if int(r) < len(c) {
		return c[r], n
	}
	return rare(r), n
}
