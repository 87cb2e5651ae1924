package data

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// unzipped is how large the parts of a workbook may be when unpacked.
const unzipped = 512 << 20

// readXLSX reads a sheet: the one asked for, or the first with two rows.
func readXLSX(ctx context.Context, data []byte, o Options) (*Table, error) {
	// Equal limits keep excelize from unpacking into temporary files.
	f, err := excelize.OpenReader(bytes.NewReader(data), excelize.Options{UnzipSizeLimit: unzipped, UnzipXMLSizeLimit: unzipped, ShortDatePattern: "yyyy-mm-dd"})
	if err != nil {
		return nil, fmt.Errorf("it cannot be read as XLSX: %w", err)
	}
	defer f.Close()
	sheets := f.GetSheetList()
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
func readSheet(ctx context.Context, f *excelize.File, sheet string, limit int) (*cells, error) {
	c := &cells{max: limit}
	dates := dateStyles{f: f, known: make(map[int]bool)}
	rows, err := f.Rows(sheet)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var titles []string
	for n := 1; rows.Next(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row, err := rows.Columns(excelize.Options{RawCellValue: true})
		if err != nil {
			return nil, err
		}
		filled := 0
		for _, v := range row {
			if strings.TrimSpace(v) != "" {
				filled++
			}
		}
		switch {
		case filled == 0:
			continue
		case len(c.names) == 0 && filled == 1 && titles == nil:
			titles = row // a title above the table, or a table of one column
			continue
		case len(c.names) == 0:
			c.head(titles, row, filled)
			continue
		}
		dates.apply(sheet, n, row)
		if !c.add(row) {
			break
		}
	}
	if len(c.names) == 0 && titles != nil {
		c.head(titles, nil, 0)
	}
	return c, rows.Error()
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

// dateStyles turn Excel's day numbers into dates where the cell's style says
// that it is one.
type dateStyles struct {
	f     *excelize.File
	known map[int]bool // style → shows dates
}

func (d dateStyles) apply(sheet string, n int, row []string) {
	for i, v := range row {
		if v == "" || v[0] < '0' || v[0] > '9' {
			continue
		}
		axis, err := excelize.CoordinatesToCellName(i+1, n)
		if err != nil {
			continue
		}
		style, err := d.f.GetCellStyle(sheet, axis)
		if err != nil || style == 0 || !d.shows(style) {
			continue
		}
		days, _, ok := number(v, false)
		if !ok {
			continue
		}
		t, err := excelize.ExcelDateToTime(days, false)
		if err != nil {
			continue
		}
		row[i] = t.Format("2006-01-02 15:04:05")
	}
}

func (d dateStyles) shows(style int) bool {
	if is, ok := d.known[style]; ok {
		return is
	}
	is := false
	if s, err := d.f.GetStyle(style); err == nil {
		is = s.NumFmt >= 14 && s.NumFmt <= 17 || s.NumFmt == 22 || s.NumFmt >= 27 && s.NumFmt <= 36 ||
			s.CustomNumFmt != nil && dateFormat(*s.CustomNumFmt)
	}
	d.known[style] = is
	return is
}

// dateFormat reports whether a number format shows a year or a day and month.
func dateFormat(f string) bool {
	quoted := false
	for _, r := range strings.ToLower(f) {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && r == 'y':
			return true
		}
	}
	return false
}
