package gist

import (
	"strconv"
	"strings"
)

// A Hunk is a piece of a unified diff: lines of a file that changed, and some around them.
type Hunk struct {
	From, To string   // the file before and after; "": it was not there, or is gone
	Old, New int      // the numbers of the first line before and after
	Head     string   // "@@ -OLD,LINES +NEW,LINES @@"
	Lines    []string // each begins with a space, +, - or, if it is a remark about the one before, \
}

// Name returns the name of the file.
func (h *Hunk) Name() string {
	if h.To == "" {
		return h.From
	}
	return h.To
}

// Hunks returns the hunks in the lines of a unified diff. Their heads say how many lines they
// have, so that a line "-- x" that was removed is not taken for the name of a file.
func Hunks(diff []string) (all []Hunk) {
	from, to := "", ""
	old, now := 0, 0 // lines that are left of the last hunk
	for _, l := range diff {
		if old > 0 || now > 0 {
			if l == "" {
				l = " " // some programs leave out spaces at the ends of lines
			}
			if l[0] != '+' && l[0] != '\\' {
				old--
			}
			if l[0] != '-' && l[0] != '\\' {
				now--
			}
			all[len(all)-1].Lines = append(all[len(all)-1].Lines, l)
			continue
		}
		switch {
		case strings.HasPrefix(l, "--- "):
			from, to = fileName(l[4:], "a/"), ""
		case strings.HasPrefix(l, "+++ "):
			to = fileName(l[4:], "b/")
		case strings.HasPrefix(l, `\`) && len(all) > 0:
			all[len(all)-1].Lines = append(all[len(all)-1].Lines, l)
		default:
			if f := strings.Fields(l); len(f) >= 4 && f[0] == "@@" {
				h := Hunk{From: from, To: to, Head: l}
				h.Old, old = span(f[1])
				h.New, now = span(f[2])
				all = append(all, h)
			}
		}
	}
	return all
}

// fileName returns the name in a line of the head of a diff, which may be in quotes and have a
// tab after it; "" for /dev/null.
func fileName(name, side string) string {
	name, _, _ = strings.Cut(name, "\t")
	if plain, err := strconv.Unquote(name); err == nil {
		name = plain
	}
	if name == "/dev/null" {
		return ""
	}
	return strings.TrimPrefix(name, side)
}

// span reads "-FROM,LINES" or "+FROM,LINES". A number of lines that is left out is 1.
func span(text string) (from, lines int) {
	first, n, given := strings.Cut(text[1:], ",")
	from, _ = strconv.Atoi(first) // of a diff of our own
	if lines = 1; given {
		lines, _ = strconv.Atoi(n)
	}
	return from, lines
}
