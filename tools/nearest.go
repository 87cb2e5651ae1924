package tools

import (
	"fmt"
	"regexp"
	"strings"
)

// The limits of what nearest compares, in lines.
const (
	maxNearestText = 50_000
	maxNearestOld  = 40
)

// nearest helps a model whose quotation old is not in text: it shows the most
// similar place. The result begins with a line break, or is "" if no place is
// similar.
func nearest(text, old string) string {
	if bare := lineNumbers.ReplaceAllString(old, ""); bare != old &&
		strings.Contains(unix(text), unix(bare)) {
		return "\nIt would match without the line numbers at the beginning of its lines: leave them out."
	}
	lines, want := splitLines(text), squeezed(splitLines(old))
	for len(want) > 0 && want[0] == "" {
		want = want[1:]
	}
	want = want[:min(len(want), maxNearestOld)]
	if len(want) == 0 || len(lines) > maxNearestText {
		return ""
	}
	have := squeezed(lines)
	at, equal := bestWindow(have, want)
	what := "The most similar place is"
	switch {
	case equal == len(want):
		what = "It differs only in white space from"
	case equal == 0:
		if at = mostAlike(have, want); at < 0 {
			return ""
		}
	}
	end := min(at+len(want), len(lines))
	where := fmt.Sprintf("lines %d to %d", at+1, end)
	if end == at+1 {
		where = fmt.Sprintf("line %d", end)
	}
	return fmt.Sprintf("\n%s %s:\n%sCopy the text from there to the letter, or view the file again.",
		what, where, numbered(lines[at:end], at+1, snippetLimit))
}

// lineNumbers matches what view puts before each line.
var lineNumbers = regexp.MustCompile(`(?m)^ *\d+\t`)

// squeezed returns the lines with white space trimmed at their ends and reduced
// to one space within.
func squeezed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.Join(strings.Fields(l), " ")
	}
	return out
}

// bestWindow returns the first place at which most lines of want equal those of
// have, and how many do. Blank lines count only if all lines are equal.
func bestWindow(have, want []string) (at, equal int) {
	for i := range have {
		same, blank := 0, 0
		for j := 0; j < len(want) && i+j < len(have); j++ {
			if have[i+j] == want[j] {
				same++
				if want[j] == "" {
					blank++
				}
			}
		}
		if same < len(want) {
			same -= blank
		}
		if same > equal {
			at, equal = i, same
		}
	}
	return at, equal
}

// mostAlike returns the place at which the longest line of want is opposite the
// line of have that is most similar to it, or -1 if none is similar by half.
func mostAlike(have, want []string) int {
	longest := 0
	for j, l := range want {
		if len(l) > len(want[longest]) {
			longest = j
		}
	}
	pairs := bigrams(want[longest])
	at, best := -1, 0.5
	for i, l := range have {
		if score := alike(pairs, bigrams(l)); score > best {
			at, best = max(0, i-longest), score
		}
	}
	return at
}

// bigrams counts the pairs of adjacent bytes at the beginning of s.
func bigrams(s string) map[[2]byte]int {
	s = s[:min(len(s), 200)]
	m := make(map[[2]byte]int, len(s))
	for i := 1; i < len(s); i++ {
		m[[2]byte{s[i-1], s[i]}]++
	}
	return m
}

// alike returns Dice's coefficient of two counts of pairs: from 0, nothing in
// common, to 1.
func alike(a, b map[[2]byte]int) float64 {
	common, all := 0, 0
	for p, n := range a {
		common += min(n, b[p])
		all += n
	}
	for _, n := range b {
		all += n
	}
	if all == 0 {
		return 0
	}
	return 2 * float64(common) / float64(all)
}
