// Package near finds what somebody meant who has mistyped a word.
package near

import "strings"

// Nearest returns the candidate that is most like name and near enough to be
// what was meant, or "". Letters are compared without regard to case.
func Nearest(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, at := "", 1+max(2, len(name)/3)
	if len(name) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := distance(name, strings.ToLower(c)); d < at {
			best, at = c, d
		}
	}
	return best
}

// distance is the number of characters to insert, delete, replace or swap
// with their neighbour that make b of a.
func distance(a, b string) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
