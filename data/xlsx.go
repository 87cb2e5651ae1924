package data

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/ooxml"
)

// maxUnpacked is how many bytes a workbook may unpack to.
const maxUnpacked = 512 << 20

// readXLSX reads the sheet that o names, or the first that has rows below its
// names.
func readXLSX(ctx context.Context, data []byte, o Options) (*Table, error) {
	f, err := ooxml.OpenBook(ctx, data, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read as XLSX: %w", err)
	}
	sheets := f.Sheets
	wanted := sheets
	if o.Table != "" {
		i := slices.IndexFunc(sheets, func(s string) bool { return strings.EqualFold(s, o.Table) })
		if i < 0 {
			return nil, fmt.Errorf("there is no sheet %q; there are %s", o.Table, strings.Join(sheets, ", "))
		}
		wanted = sheets[i : i+1]
	}
	for _, sheet := range wanted {
		c, formulas, err := readSheet(f, sheet, o.MaxCells)
		if err != nil {
			return nil, fmt.Errorf("sheet %q: %w", sheet, err)
		}
		if c.rows == 0 && o.Table == "" {
			continue
		}
		t, err := c.table(ctx)
		if err != nil {
			return nil, err
		}
		t.Name, t.Tables = " ["+sheet+"]", sheets
		if len(sheets) > 1 {
			t.Notes = append(t.Notes,
				fmt.Sprintf("the sheet %q was read; the sheets are %s", sheet, strings.Join(sheets, ", ")))
		}
		if formulas > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%d formulas are not computed, and their cells are empty: the file has no values "+
				"for them. Compute them in Python, or let LibreOffice save the file anew", formulas))
		}
		if f.Hidden[sheet] {
			t.Notes = append(t.Notes, fmt.Sprintf("the sheet %q is hidden in the file", sheet))
		}
		return t, nil
	}
	return nil, fmt.Errorf("no sheet has a table: %s", strings.Join(sheets, ", "))
}

// readSheet reads a sheet. The names of its columns are in the first row that
// has more than one cell, or in the first row if none has: a single cell above
// is the title of the table. uncomputed is how many formulas have no value.
func readSheet(f *ooxml.Book, sheet string, limit int) (c *cells, uncomputed int, err error) {
	c = &cells{max: limit}
	var titles []string
	for row, err := range f.Rows(sheet) {
		if err != nil {
			return nil, 0, err
		}
		uncomputed += row.Uncomputed
		filled := 0
		for _, v := range row.Cells {
			if strings.TrimSpace(v) != "" {
				filled++
			}
		}
		switch {
		case filled == 0:
			continue
		case len(c.names) == 0 && filled == 1 && titles == nil:
			titles = row.Cells
			continue
		case len(c.names) == 0:
			c.head(titles, row.Cells, filled)
			continue
		}
		if !c.add(row.Cells) {
			break
		}
	}
	if len(c.names) == 0 && titles != nil {
		c.head(titles, nil, 0)
	}
	return c, uncomputed, nil
}

// head adds the columns that row names, which has so many filled cells. before
// is the row of one cell above it, or nil. If both have one, the table has one
// column, and before names it.
func (c *cells) head(before, row []string, filled int) {
	if before != nil && filled <= 1 {
		for _, n := range before {
			c.widen(n)
		}
		if row != nil {
			c.add(row)
		}
		return
	}
	for _, n := range row {
		c.widen(n)
	}
}
