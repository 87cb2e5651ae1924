// Package clip shortens texts for people.
package clip

import "strings"

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
