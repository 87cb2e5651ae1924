package tools

import (
	"slices"
	"strings"
)

// locate finds the one place at which text has old. If there is no exact match,
// it ignores differences of line ends: a model writes \n, whatever the file
// has. It ignores no other difference. The error is for the model, which calls
// the file path.
func locate(text, old, path string) (span, error) {
	if old == "" {
		return span{}, refuse("No replacement was performed, old_str is empty. To add text use the " +
			"`insert` command.")
	}
	found := occurrences(text, old)
	if len(found) == 0 && strings.Contains(old, "\n") && strings.Contains(text, "\r\n") {
		for _, s := range occurrences(unix(text), unix(old)) {
			found = append(found, span{origin(text, s.from), origin(text, s.to)})
		}
	}
	switch {
	case len(found) == 0:
		return span{}, refuse("No replacement was performed, old_str `%s` did not appear verbatim in %s.%s",
			cut(old, 1000), path, nearest(text, old))
	case len(found) > 1:
		return span{}, refuse("No replacement was performed. Multiple occurrences of old_str `%s` in lines "+
			"%s. "+
			"Please ensure it is unique", cut(old, 1000), pyList(linesOf(text, found)...))
	}
	return found[0], nil
}

// maxOccurrences is how many occurrences are searched for.
const maxOccurrences = 100

// occurrences returns the places at which text has old. Overlapping ones count
// too: then it is not clear which one is meant.
func occurrences(text, old string) []span {
	var found []span
	for from := 0; len(found) < maxOccurrences; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		found = append(found, span{from + i, from + i + len(old)})
		from += i + 1
	}
	return found
}

func unix(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// origin returns the offset in text of the byte at the offset n of unix(text).
func origin(text string, n int) int {
	i := 0
	for ; n > 0; n-- {
		if strings.HasPrefix(text[i:], "\r\n") {
			i++
		}
		i++
	}
	return i
}

// linesOf returns the numbers of the lines in which spans begin, each once.
func linesOf(text string, found []span) []int {
	var lines []int
	line, from := 1, 0
	for _, s := range found {
		line += strings.Count(text[from:s.from], "\n")
		from = s.from
		lines = append(lines, line)
	}
	return slices.Compact(lines)
}
