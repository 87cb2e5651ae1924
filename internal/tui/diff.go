package tui

import (
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/gist"
)

// diff returns the lines of a unified diff in colours, with the numbers that they have in
// the file: of the old file for those that were removed, else of the new one.
func diff(t Theme, lines []string, width int) (out []string) {
	hunks := gist.Hunks(lines)
	line := func(n int, code, text string) {
		mark, text := text[:1], strings.ReplaceAll(clip.Visible(text[1:]), "\t", "    ")
		head := fmt.Sprintf("%4d ", n)
		out = append(out, t.dim(head)+t.paint(code, clip.Fit(mark+" "+text, max(width-len(head), 4))))
	}
	several := len(hunks) > 0 && hunks[0].Name() != hunks[len(hunks)-1].Name()
	for i, h := range hunks {
		if several && (i == 0 || h.Name() != hunks[i-1].Name()) {
			out = append(out, t.accent(clip.Fit(clip.Visible(h.Name()), width)))
		}
		if len(out) > 0 {
			out = append(out, t.dim("   ⋮"))
		}
		old, now := h.Old, h.New
		for _, l := range h.Lines {
			switch l[0] {
			case '+':
				line(now, t.Good, l)
				now++
			case '-':
				line(old, t.Bad, l)
				old++
			case ' ':
				line(now, t.Dim, l)
				old, now = old+1, now+1
			}
		}
	}
	return out
}
