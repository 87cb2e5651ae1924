package clip

import (
	"strings"
	"unicode/utf8"
)

// Page returns how many bytes of text to show first if a reader takes about limit at a
// time, and the rest later: len(text), or a place at which a reader would stop. Within
// the last quarter before the limit that is the place before a heading or the mark of
// a page, or else an empty line, a line or a word. It never splits a character, and is
// more than 0 for a text that has one.
func Page(text string, limit int) int {
	if limit = max(1, limit); len(text) <= limit {
		return len(text)
	}
	for n := 1; n < utf8.UTFMax && limit > 0 && !utf8.RuneStart(text[limit]); n++ {
		limit--
	}
	if limit == 0 { // it is shorter than the first character
		_, n := utf8.DecodeRuneInString(text)
		return n
	}
	from := limit - limit/4
	last := text[from:limit]
	for _, mark := range []string{"\n--- page ", "\n# ", "\n## ", "\n### ", "\n\n", "\n"} {
		if i := strings.LastIndex(last, mark); i >= 0 {
			if mark == "\n\n" {
				i++
			}
			return from + i + 1
		}
	}
	if i := strings.LastIndexByte(last, ' '); i >= 0 {
		return from + i + 1
	}
	return limit
}
