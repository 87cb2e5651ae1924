// Package clip makes texts short and harmless to show, for people and for models.
package clip

import (
	"regexp"
	"strings"
	"unicode"
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

// escapes are the escape sequences of ECMA-48: control sequences, operating
// system commands, and two-character ones.
var escapes = regexp.MustCompile("\x1b(\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)?|[@-Z\\\\^_])")
