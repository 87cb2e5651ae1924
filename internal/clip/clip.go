// Package clip makes texts short and harmless to show, for people and for models.
//
// Texts of models, tools and pages may have escape sequences, invisible characters, marks
// that change the direction of writing, and any length. [Clean] removes what has no
// meaning in a text, [Visible] shows it as escapes, for a person who has to decide about
// the text, and [Plain] is for messages of the program that quote others. [OneLine],
// [Text] and [Fit] cut, by lines, characters and columns; they never cut within a
// character.
package clip

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns s, or its first n characters and an ellipsis if it has more.
func Text(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}

// Runes returns s without a character at its end whose bytes are not all there.
func Runes(s string) string {
	for i := 1; i < utf8.UTFMax && i <= len(s); i++ {
		if c := s[len(s)-i]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// Count returns a number of things in words: "1 step", "2 steps". one names one
// of them, whose plural has an s.
func Count(n int, one string) string {
	return fmt.Sprintf("%d %s%s", n, one, Which(n, "", "s"))
}

// Which returns the word for a number of things: one for 1, and many for any other.
func Which(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// OneLine returns s with every run of white space, line ends included, as one
// space.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Clean returns foreign text without escape sequences of terminals, and without
// characters that do not show or that hide or reorder what stands beside them:
// control characters other than line feed and tab, format characters (Unicode Cf,
// such as zero-width and bidirectional ones), private ones, line separators, and
// what is not UTF-8. A model or a person who reads it sees all there is.
func Clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co,
			unicode.Zl, unicode.Zp):
			return -1
		}
		return r
	}, escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), ""))
}

// Plain returns text without control characters, but for line feeds and tabs, and
// without those that change the direction of writing or end lines, so that it cannot
// control a terminal. In contrast to [Clean] it keeps what letters are joined by. It may
// be called with pieces of a text.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || 0x202A <= r && r <= 0x202E || 0x2066 <= r && r <= 0x2069:
			return -1
		}
		return r
	}, text)
}

// Visible returns foreign text with an escape in place of each character that does
// not show, or that hides or reorders what stands beside it: \x1b for control
// characters and bytes that are not UTF-8, \u202e and \U000e0041 for the others.
// Line feeds, tabs and spaces stay. It is for what a person approves: in contrast
// to [Clean] it leaves nothing out, so that the person sees that something is there.
func Visible(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || !hidden(r):
			b.WriteRune(r)
		case r < 0x80:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'")) // \r and the like have names
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// hidden reports whether a character does not show, or looks like a space and is
// none. The blanks that are letters or marks to Unicode are the fillers of Hangul,
// the empty pattern of Braille, the joiner of marks, and the selectors of variants.
func hidden(r rune) bool {
	switch r {
	case ' ', '\u3000': // the latter is the space of Chinese and Japanese
		return false
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u2800', '\u3164', '\uffa0':
		return true
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Zs, unicode.Variation_Selector)
}

// escapes are the escape sequences of ECMA-48: control sequences, operating
// system commands, and two-character ones.
var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")
