package browser

import (
	"fmt"
	"slices"
	"strconv"
)

// minRows is how many rows a list has to have of which some are not drawn, for a line to say so.
const minRows = 10

// undrawn says of a list that draws only the rows in view how many of how many there are,
// or "". A list says it itself, as grids do; or its rows fill only a small part of what can be scrolled.
func (n *node) undrawn() string {
	drawn, all, about := n.rows()
	if all < minRows || drawn == 0 || drawn >= all {
		return ""
	}
	return fmt.Sprintf("(%d of %s%s rows are drawn: scroll_down with the index of an element among them shows more)",
		drawn, about, thousands(all))
}

// rows counts the rows of a list. about is "about " if the list does not tell how many there are.
func (n *node) rows() (drawn, all int, about string) {
	if told, _ := strconv.Atoi(n.value("aria-rowcount")); told > 0 {
		for k := range n.below() {
			if k.value("role") == "row" || k.tag == "tr" {
				drawn++
			}
		}
		return drawn, told, ""
	}
	if !n.clips || !n.laid {
		return 0, 0, ""
	}
	for k := range n.below() { // what is as tall as all rows together
		if !k.laid || k.kind != elementNode || k.box.H < 3*n.box.H {
			continue
		}
		rows := k.children
		for len(rows) == 1 && rows[0].kind == elementNode { // what moves them into view
			rows = rows[0].children
		}
		rows = slices.DeleteFunc(slices.Clone(rows), func(r *node) bool { return !r.laid || r.kind != elementNode || r.box.H < 1 })
		if len(rows) < 3 {
			continue
		}
		height := rows[0].box.H
		for _, r := range rows {
			if r.tag != rows[0].tag || r.box.H > 3*height || height > 3*r.box.H {
				return 0, 0, ""
			}
		}
		first, last := rows[0].box, rows[len(rows)-1].box
		if each := (last.Y + last.H - first.Y) / float64(len(rows)); each >= 1 {
			return len(rows), int(k.box.H/each + 0.5), "about "
		}
	}
	return 0, 0, ""
}

// thousands writes a number with commas: 5,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// hint adds the line that says what a list does not draw.
func (b *builder) hint(n *node) {
	if text := n.undrawn(); text != "" {
		box := b.place(n)
		b.add(item{text: text, box: box, inView: b.sees(box)})
	}
}
