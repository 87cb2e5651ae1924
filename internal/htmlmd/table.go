package htmlmd

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxColumns = 100 // of a table that is written as one
	maxSpan    = 50  // rows or columns that a cell covers
)

// The ends of the cells of a row.
const (
	emptyCell = "  |"
	ruleCell  = " --- |"
)

// table writes a table. A table that only lays out a page (one that contains
// another, has one column, or says so) is written as what is in it.
func (c *converter) table(n *html.Node) {
	rows, nested := rowsOf(n)
	columns := 0
	for _, row := range rows {
		columns = max(columns, width(row))
	}
	if c.inline > 0 || nested || columns < 2 || columns > maxColumns || Attr(n, "role") == "presentation" {
		c.plain(n)
		return
	}
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		if k.DataAtom == atom.Caption {
			c.plain(k)
		}
	}
	c.lines(2)
	c.inCell = true
	c.inline++
	named := isHeader(rows[0])
	if !named { // GitHub's tables must have a header
		c.beginRow()
		c.cells(columns, emptyCell)
		c.beginRow()
		c.cells(columns, ruleCell)
	}
	covered := make([]int, columns)
	for i, row := range rows {
		c.row(row, covered)
		if i == 0 && named {
			c.beginRow()
			c.cells(columns, ruleCell)
		}
	}
	c.inline--
	c.inCell = false
	c.lines(2)
}

// rowsOf returns the rows of a table in their order, and whether there is another
// table in it.
func rowsOf(n *html.Node) (rows []*html.Node, nested bool) {
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		switch k.DataAtom {
		case atom.Table:
			return rows, true
		case atom.Tr:
			rows = append(rows, k)
		}
		more, nested := rowsOf(k)
		if nested {
			return rows, true
		}
		rows = append(rows, more...)
	}
	return rows, false
}

func isCell(n *html.Node) bool { return n.DataAtom == atom.Td || n.DataAtom == atom.Th }

// width returns how many columns a row has.
func width(row *html.Node) (columns int) {
	for k := row.FirstChild; k != nil; k = k.NextSibling {
		if isCell(k) {
			columns += span(k, "colspan")
		}
	}
	return columns
}

// span returns how many rows or columns a cell covers.
func span(cell *html.Node, attribute string) int {
	n, err := strconv.Atoi(Attr(cell, attribute))
	if err != nil {
		return 1
	}
	return min(max(n, 1), maxSpan)
}

// isHeader reports whether a row has the names of the columns: it is in the head of
// the table, or has header cells only.
func isHeader(row *html.Node) bool {
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

// row writes a row. A cell that covers several places stands in the first of
// them; the others are empty. covered counts for each column the rows in which a
// cell from above still covers it.
func (c *converter) row(row *html.Node, covered []int) {
	c.beginRow()
	at := 0
	skipCovered := func() {
		for ; at < len(covered) && covered[at] > 0; at++ {
			covered[at]--
			c.cells(1, emptyCell)
		}
	}
	for k := row.FirstChild; k != nil; k = k.NextSibling {
		if !isCell(k) {
			continue
		}
		skipCovered()
		if at == len(covered) {
			break
		}
		columns := min(span(k, "colspan"), len(covered)-at)
		c.cell(k)
		c.cells(columns-1, emptyCell)
		for range columns {
			covered[at] = span(k, "rowspan") - 1
			at++
		}
	}
	for ; at < len(covered); at++ {
		covered[at] = max(0, covered[at]-1)
		c.cells(1, emptyCell)
	}
}

// cell writes what is in a cell, on one line: c.inline turns its line breaks into
// spaces.
func (c *converter) cell(n *html.Node) {
	c.out = append(c.out, ' ')
	c.space, c.fresh = false, true
	c.children(n)
	c.space, c.fresh = false, false
	c.out = append(c.out, " |"...)
}

// beginRow begins the line of a row.
func (c *converter) beginRow() {
	c.gap, c.space = max(c.gap, 1), false
	c.raw("|")
}

// cells writes n cells that are all the same.
func (c *converter) cells(n int, cell string) {
	for range n {
		c.out = append(c.out, cell...)
	}
}
