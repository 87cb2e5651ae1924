// Package near suggests words for mistyped ones.
package near

import "strings"

// Nearest returns the candidate with the smallest edit distance to name, or "" if
// all differ too much: by more than 2 characters and a third of the name. It
// ignores case. It treats names as bytes, and returns "" for very long ones.
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

// distance returns the optimal string alignment distance of a and b: the number
// of bytes to insert, delete, replace or swap with their neighbour.
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
