package termtext

import (
	"regexp"
	"slices"
	"strings"

	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/openmanus-go/openmanus/internal/clip"
)

const (
	gap       = "  " // between columns
	minColumn = 4    // columns are not made narrower to fit
)

// table returns the lines of a table. Columns that do not fit beside each other are
// made narrower, the widest first, and their cells get several lines; if that is not
// enough, each row stands below the other, a line for a cell.
func (md *markdown) table(t *extast.Table, width int) []string {
	var rows [][][]span
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		look := ""
		if _, head := row.(*extast.TableHeader); head {
			look = strong
		}
		var cells [][]span
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, md.inline(c, look))
		}
		rows = append(rows, cells)
	}
	widths, fits := columnWidths(rows, width)
	if !fits {
		return md.records(rows, width)
	}
	rule := 0
	for _, w := range widths {
		rule += w + len(gap)
	}
	var lines []string
	for i, row := range rows {
		lines = append(lines, md.row(row, widths, t.Alignments)...)
		if i == 0 {
			lines = append(lines, md.s.Dim(strings.Repeat("─", max(0, rule-len(gap)))))
		}
	}
	return lines
}

// columnWidths returns how wide the columns of a table are within width, and whether
// they fit.
func columnWidths(rows [][][]span, width int) (widths []int, fits bool) {
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	room := width - len(gap)*(len(widths)-1)
	if len(widths)*minColumn > room {
		return nil, false
	}
	total := 0
	for _, w := range widths {
		total += w
	}
	for ; total > room; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		widths[widest]--
	}
	return widths, true
}

// row returns the lines of one row.
func (md *markdown) row(row [][]span, widths []int, align []extast.Alignment) []string {
	cells := make([][]string, len(widths))
	high := 1
	for i := range widths {
		if i < len(row) {
			cells[i] = md.s.wrap(row[i], widths[i])
		}
		high = max(high, len(cells[i]))
	}
	lines := make([]string, high)
	for y := range lines {
		var b strings.Builder
		for i, w := range widths {
			text := ""
			if y < len(cells[i]) {
				text = cells[i][y]
			}
			left, right := 0, max(0, w-shownWidth(text))
			if i < len(align) {
				switch align[i] {
				case extast.AlignRight:
					left, right = right, 0
				case extast.AlignCenter:
					left, right = right/2, right-right/2
				}
			}
			b.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", right))
			if i < len(widths)-1 {
				b.WriteString(gap)
			}
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// records returns a table with a line for each cell, behind the name of its column.
func (md *markdown) records(rows [][][]span, width int) (lines []string) {
	if len(rows) == 1 {
		return md.s.wrap(slices.Concat(rows[0]...), width)
	}
	for i, row := range rows[min(1, len(rows)):] {
		if i > 0 {
			lines = append(lines, "")
		}
		for j, cell := range row {
			spans := append(slices.Clone(rows[0][j]), span{": ", ""})
			lines = append(lines, md.s.wrap(append(spans, cell...), width)...)
		}
	}
	return lines
}

// shownWidth returns how many columns a line takes on the screen, without the escape
// sequences of a [Style].
func shownWidth(line string) int { return clip.Width(looks.ReplaceAllString(line, "")) }

var looks = regexp.MustCompile("\x1b\\[[0-9;]*m")
