package data

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/internal/xlsx"
)

// unzipped is how large the parts of a workbook may be when unpacked.
const unzipped = 512 << 20

// readXLSX reads a sheet: the one asked for, or the first with two rows.
func readXLSX(ctx context.Context, data []byte, o Options) (*Table, error) {
	f, err := xlsx.Open(data, unzipped)
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
		c, err := readSheet(ctx, f, sheet, o.MaxCells)
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
			t.Notes = append(t.Notes, fmt.Sprintf("sheet %q was read; the sheets are %s", sheet, strings.Join(sheets, ", ")))
		}
		return t, nil
	}
	return nil, fmt.Errorf("no sheet has a table: %s", strings.Join(sheets, ", "))
}

// readSheet reads a table: its names are in the first row that has more than
// one cell, or in the first if none has.
func readSheet(ctx context.Context, f *xlsx.Book, sheet string, limit int) (*cells, error) {
	c := &cells{max: limit}
	var titles []string
	for row, err := range f.Rows(sheet) {
		if err != nil {
			return nil, err
		}
		if row.N%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
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
			titles = row.Cells // a title above the table, or a table of one column
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
	return c, nil
}

// head takes the row of names; before is a row of one cell above it, or nil.
func (c *cells) head(before, row []string, filled int) {
	if before != nil && filled <= 1 { // a table of one column
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
