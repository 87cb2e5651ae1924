package clip

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Width returns how many columns of a terminal text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch k := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case k == width.EastAsianWide || k == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit returns text, or its beginning and an ellipsis if it takes more than n columns
// of a terminal.
func Fit(text string, n int) string {
	if Width(text) <= n {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if n -= runeColumns(r); n < 1 {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
