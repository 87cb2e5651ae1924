package htmlmd

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxColumns = 100 // of a table
	maxSpan    = 50  // cells that one is made to cover
)

// table writes a table. One that only lays out a page is written as what is in
// it.
func (c *converter) table(n *html.Node) {
	rows, nested := rowsOf(n)
	columns := 0
	for _, row := range rows {
		columns = max(columns, width(row))
	}
	if c.inline > 0 || nested || columns < 2 || columns > maxColumns || attr(n, "role") == "presentation" {
		c.plain(n)
		return
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom == atom.Caption {
			c.plain(k)
		}
	}
	c.lines(2)
	c.cell = true
	c.inline++
	if !header(rows[0]) {
		c.row(nil, columns, nil)
		c.rule(columns)
	}
	below := make([]int, columns) // rows for which a cell from above covers a column
	for i, row := range rows {
		c.row(row, columns, below)
		if i == 0 && header(row) {
			c.rule(columns)
		}
	}
	c.inline--
	c.cell = false
	c.lines(2)
}

// rowsOf are the rows of a table, and whether there is a table in it.
func rowsOf(n *html.Node) (rows []*html.Node, nested bool) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch k.DataAtom {
		case atom.Table:
			return rows, true
		case atom.Tr:
			rows = append(rows, k)
		}
		more, n := rowsOf(k)
		if n {
			return rows, true
		}
		rows = append(rows, more...)
	}
	return rows, false
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

func width(row *html.Node) (columns int) {
	for k := row.FirstChild; k != nil; k = k.NextSibling {
		if isCell(k) {
			columns += span(k, "colspan")
		}
	}
	return columns
}

func span(cell *html.Node, name string) int {
	n, err := strconv.Atoi(attr(cell, name))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}

// header reports whether a row has the names of columns.
func header(row *html.Node) bool {
	if row.Parent != nil && row.Parent.DataAtom == atom.Thead {
		return true
	}
	for k := row.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom == atom.Td {
			return false
		}
	}
	return true
}

// row writes a row. A cell that covers several stands in the first of them.
func (c *converter) row(row *html.Node, columns int, below []int) {
	c.newRow()
	at := 0
	skip := func() {
		for ; at < columns && below != nil && below[at] > 0; at++ {
			below[at]--
			c.out = append(c.out, "  |"...)
		}
	}
	for k := first(row); k != nil; k = k.NextSibling {
		if !isCell(k) {
			continue
		}
		skip()
		rows := span(k, "rowspan") - 1
		for n := range span(k, "colspan") {
			if at >= columns {
				break
			}
			below[at] = rows
			at++
			if n == 0 {
				c.content(k)
			} else {
				c.out = append(c.out, "  |"...)
			}
		}
	}
	for ; at < columns; at++ {
		if below != nil && below[at] > 0 {
			below[at]--
		}
		c.out = append(c.out, "  |"...)
	}
}

func first(n *html.Node) *html.Node {
	if n == nil {
		return nil
	}
	return n.FirstChild
}

// content writes what is in a cell, in one line.
func (c *converter) content(cell *html.Node) {
	c.out = append(c.out, ' ')
	c.space, c.fresh = false, true
	c.inside(cell)
	c.space, c.fresh = false, false
	c.out = append(c.out, " |"...)
}

// newRow begins the line of a row.
func (c *converter) newRow() {
	c.gap, c.space = max(c.gap, 1), false
	c.raw("|")
}

// rule writes the line under the names of the columns.
func (c *converter) rule(columns int) {
	c.newRow()
	for range columns {
		c.out = append(c.out, " --- |"...)
	}
}
