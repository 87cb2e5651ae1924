package tools

import (
	"slices"
	"strings"
)

// locate finds the one place at which text has old, or all that do not overlap. If there is no exact match,
// it ignores differences of line ends: a model writes \n, whatever the file
// has. It ignores no other difference. The error is for the model, which calls
// the file path.
func locate(text, old, path string, all bool) ([]span, error) {
	if old == "" {
		return nil, refuse("No replacement was performed, old_str is empty. To add text use the " +
			"`insert` command.")
	}
	found := occurrences(text, old, all)
	if len(found) == 0 && strings.Contains(old, "\n") && strings.Contains(text, "\r\n") {
		found = origins(text, occurrences(unix(text), unix(old), all))
	}
	switch {
	case len(found) == 0:
		return nil, refuse("No replacement was performed, old_str `%s` did not appear verbatim in %s.%s",
			cut(old, 1000), path, nearest(text, old))
	case len(found) > 1 && !all:
		return nil, refuse("No replacement was performed. Multiple occurrences of old_str `%s` in lines "+
			"%s. "+
			"Please ensure it is unique", cut(old, 1000), pyList(linesOf(text, found)...))
	}
	return found, nil
}

// maxOccurrences is how many occurrences are searched for.
const maxOccurrences = 100

// occurrences returns the places at which text has old. Overlapping ones count
// too: then it is not clear which one is meant. With all it returns every place, and
// none that overlaps the one before.
func occurrences(text, old string, all bool) []span {
	var found []span
	for from := 0; all || len(found) < maxOccurrences; {
		i := strings.Index(text[from:], old)
		if i < 0 {
			break
		}
		found = append(found, span{from + i, from + i + len(old)})
		if from += i + 1; all {
			from += len(old) - 1
		}
	}
	return found
}

func unix(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// origins returns where spans of unix(text), in order, are in text, which may have \r\n at
// the ends of lines.
func origins(text string, spans []span) []span {
	var found []span
	i, n := 0, 0 // the same place in text and in unix(text)
	to := func(i, n, want int) (int, int) {
		for ; n < want; n++ {
			if strings.HasPrefix(text[i:], "\r\n") {
				i++
			}
			i++
		}
		return i, n
	}
	for _, s := range spans {
		i, n = to(i, n, s.from)
		end, _ := to(i, n, s.to)
		found = append(found, span{i, end})
	}
	return found
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
