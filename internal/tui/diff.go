package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// diff returns the lines of a unified diff in colours, with the numbers that they have in
// the file: of the old file for those that were removed, else of the new one.
func diff(t Theme, lines []string, width int) (out []string) {
	old, now := 0, 0
	oldLeft, nowLeft := 0, 0 // lines that are left of the hunk
	files := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "+++ ") {
			files++
		}
	}
	line := func(n int, mark, code, text string) {
		text = strings.ReplaceAll(clip.Visible(text), "\t", "    ")
		head := fmt.Sprintf("%4d ", n)
		out = append(out, t.dim(head)+t.paint(code, clip.Fit(mark+" "+text, max(width-len(head), 4))))
	}
	for _, l := range lines {
		text := ""
		if l != "" {
			text = l[1:]
		}
		switch {
		case oldLeft <= 0 && nowLeft <= 0 && strings.HasPrefix(l, "@@ "):
			if len(out) > 0 {
				out = append(out, t.dim("   ⋮"))
			}
			old, oldLeft, now, nowLeft = hunk(l)
		case oldLeft <= 0 && nowLeft <= 0:
			if strings.HasPrefix(l, "+++ ") && files > 1 {
				out = append(out, t.accent(clip.Fit(clip.Visible(strings.TrimPrefix(l[4:], "b/")), width)))
			}
		case strings.HasPrefix(l, "+"):
			line(now, "+", t.Good, text)
			now, nowLeft = now+1, nowLeft-1
		case strings.HasPrefix(l, "-"):
			line(old, "-", t.Bad, text)
			old, oldLeft = old+1, oldLeft-1
		case !strings.HasPrefix(l, `\`): // "\ No newline at end of file"
			line(now, " ", t.Dim, text)
			old, now, oldLeft, nowLeft = old+1, now+1, oldLeft-1, nowLeft-1
		}
	}
	return out
}

// hunk returns the first lines of a hunk in both files, and how many follow, from its
// head "@@ -FROM,LINES +FROM,LINES @@". A count that is left out is 1.
func hunk(head string) (old, oldLines, now, nowLines int) {
	f := strings.Fields(head)
	if len(f) < 4 {
		return 0, 0, 0, 0
	}
	parse := func(s string) (from, n int) {
		a, b, given := strings.Cut(strings.TrimLeft(s, "+-"), ",")
		from, _ = strconv.Atoi(a) // of a diff of our own
		n = 1
		if given {
			n, _ = strconv.Atoi(b)
		}
		return from, n
	}
	old, oldLines = parse(f[1])
	now, nowLines = parse(f[2])
	return old, oldLines, now, nowLines
}
