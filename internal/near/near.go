// Package near suggests words for mistyped ones.
package near

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// maxSiblings is how many files of a directory are looked at.
const maxSiblings = 10_000

// File returns what to add to the error that fsys has no file name: "; there is " and the
// file in the same directory whose name is nearest, or "".
func File(fsys fs.FS, name string) string {
	dir, base := path.Split(name)
	entries, err := fs.ReadDir(fsys, path.Clean("./"+dir))
	if err != nil || len(entries) > maxSiblings {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if found := Nearest(base, names); found != "" {
		return fmt.Sprintf("; there is %s", path.Join(dir, found))
	}
	return ""
}

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
