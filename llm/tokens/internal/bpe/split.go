package bpe

import "strings"

// splitO200k returns the length of the first match of
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
//
// in s, which is not "": a match, of the first of these that matches, is
// always at its beginning.
func splitO200k(c *classes, s string) int {
	first, n := c.at(s, 0)
	if end := c.word(s, first, n); end > 0 {
		return end + contraction(s[end:])
	}
	return c.rest(s, first, "\r\n/")
}

// word is the first two of the alternatives of O200k without contractions,
// where the first character takes n bytes; 0 is no match.
func (c *classes) word(s string, first class, n int) int {
	if first&letters != 0 {
		if end := c.lowerWord(s, 0); end > 0 {
			return end
		}
		return c.run(s, 0, capitals)
	}
	if first&(number|newline) != 0 {
		return 0
	}
	if end := c.lowerWord(s, n); end > 0 {
		return end
	}
	if first == mark { // itself one, if it cannot be before one
		return n
	}
	if end := c.run(s, n, capitals); end > n {
		return end
	}
	return 0
}

const (
	capitals = upper | letter | mark
	smalls   = lower | letter | mark
)

// lowerWord returns where capitals, if any, and at least one small character
// that begin at i end, or 0. Letters without case are both.
func (c *classes) lowerWord(s string, i int) int {
	end := c.run(s, i, capitals)
	if small := c.run(s, end, smalls); small > end {
		return small
	}
	for end > i { // back to the last that is also a small one
		is, n := c.before(s, end)
		if is&smalls != 0 {
			return end
		}
		end -= n
	}
	return 0
}

// splitCl100k is as [splitO200k], of
//
//	(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
func splitCl100k(c *classes, s string) int {
	if n := contraction(s); n > 0 {
		return n
	}
	first, n := c.at(s, 0)
	if first&(number|newline) == 0 {
		if end := c.run(s, n, letters); end > n || first&letters != 0 {
			return end
		}
	}
	return c.rest(s, first, "\r\n")
}

// contraction returns the length of the 's of it's at the beginning of s, or
// of one of its kind, or 0.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 0xE5: // maybe the long s, ſ, which is one if case does not matter
		if strings.HasPrefix(s[1:], "ſ") {
			return 3
		}
	case 'r', 'v', 'l':
		want := byte('e')
		if s[1]|0x20 == 'l' {
			want = 'l'
		}
		if len(s) > 2 && s[2]|0x20 == want {
			return 3
		}
	}
	return 0
}

// rest is what both have in common: numbers, symbols and what comes after
// them, and white space.
func (c *classes) rest(s string, first class, after string) int {
	switch {
	case first&number != 0:
		return c.digits(s)
	case first&symbols != 0:
		return c.punctuation(s, 0, after)
	case s[0] == ' ':
		if end := c.punctuation(s, 1, after); end > 1 {
			return end
		}
	}
	return c.white(s)
}

func (c *classes) digits(s string) (end int) {
	for range 3 {
		is, n := c.at(s, end)
		if is&number == 0 {
			break
		}
		end += n
	}
	return end
}

// punctuation returns where symbols that begin at i end, with what is in after
// behind them; it returns i if there are none.
func (c *classes) punctuation(s string, i int, after string) int {
	end := c.run(s, i, symbols)
	if end == i {
		return i
	}
	for end < len(s) && strings.IndexByte(after, s[end]) >= 0 {
		end++
	}
	return end
}

// white cuts white space: behind its last line end if it has one; before its
// last character, which belongs to what follows; or, if nothing follows or
// there is only one, all of it.
func (c *classes) white(s string) int {
	end := c.run(s, 0, space)
	if i := strings.LastIndexAny(s[:end], "\r\n"); i >= 0 {
		return i + 1
	}
	if _, n := c.before(s, end); end < len(s) && n < end {
		return end - n
	}
	return end
}
