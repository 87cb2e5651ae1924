package gist

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
)

// Lines are how many lines were added to something, and how many were removed from it.
type Lines struct{ Added, Removed int }

// String returns the lines as "+9 −6".
func (n Lines) String() string { return fmt.Sprintf("+%d −%d", n.Added, n.Removed) }

// Plus returns the sum.
func (n Lines) Plus(m Lines) Lines { return Lines{n.Added + m.Added, n.Removed + m.Removed} }

// LinesOf returns the lines that a call added to each file and removed from it, by the
// file's name, as far as its result has a diff.
func LinesOf(d openmanus.CallDone) map[string]Lines {
	var in detail
	if d.IsError || len(d.Detail) == 0 || json.Unmarshal(d.Detail, &in) != nil || in.Diff == "" {
		return nil
	}
	return linesIn(strings.Split(in.Diff, "\n"))
}

// linesIn counts the lines that a unified diff adds to files and removes from them. The
// heads of its hunks say how many lines they have, so that a line "-- x" that was removed
// is not taken for the name of a file.
func linesIn(diff []string) map[string]Lines {
	all := make(map[string]Lines)
	name := ""
	old, now := 0, 0 // lines that are left of the hunk
	for _, l := range diff {
		n := all[name]
		switch {
		case old <= 0 && now <= 0:
			if to, ok := nameIn(l); ok {
				name = to
			}
			old, now = hunk(l)
			continue
		case strings.HasPrefix(l, "+"):
			n.Added++
			now--
		case strings.HasPrefix(l, "-"):
			n.Removed++
			old--
		case !strings.HasPrefix(l, `\`): // "\ No newline at end of file"
			old--
			now--
		}
		all[name] = n
	}
	return all
}

// nameIn returns the name of the file in a line of the head of a diff: "--- a/NAME" or
// "+++ b/NAME", perhaps in quotes, perhaps with a tab after it.
func nameIn(head string) (string, bool) {
	for _, side := range []string{"--- ", "+++ "} {
		name, ok := strings.CutPrefix(head, side)
		if !ok || name == "/dev/null" {
			continue
		}
		name = strings.TrimSuffix(name, "\t")
		if plain, err := strconv.Unquote(name); err == nil {
			name = plain
		}
		return strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/"), true
	}
	return "", false
}

// hunk returns how many lines of the old and of the new file follow the head of a
// hunk, "@@ -FROM,LINES +FROM,LINES @@". A count that is left out is 1.
func hunk(head string) (old, now int) {
	f := strings.Fields(head)
	if len(f) < 4 || f[0] != "@@" {
		return 0, 0
	}
	count := func(of string) int {
		_, n, given := strings.Cut(of, ",")
		if !given {
			return 1
		}
		lines, _ := strconv.Atoi(n) // of a diff of our own
		return lines
	}
	return count(f[1]), count(f[2])
}
