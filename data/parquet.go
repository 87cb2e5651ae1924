package data

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// readParquet reads the columns that have one value per row. It leaves out
// lists and maps, with a note.
func readParquet(ctx context.Context, data []byte, o Options) (*Table, error) {
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("it cannot be read as Parquet: %w", err)
	}
	c := cells{max: o.MaxCells}
	var left []string
	type leaf struct {
		index int
		text  func(parquet.Value) string
	}
	var leaves []leaf
	for _, path := range f.Schema().Columns() {
		l, ok := f.Schema().Lookup(path...)
		if !ok || l.MaxRepetitionLevel > 0 {
			left = append(left, strings.Join(path, "."))
			continue
		}
		c.widen(strings.Join(path, "."))
		leaves = append(leaves, leaf{l.ColumnIndex, parquetText(l.Node.Type())})
	}
	rows := int64(0)
	for _, g := range f.RowGroups() {
		rows += g.NumRows()
	}
	limit := int64(o.MaxCells / max(len(leaves), 1))
	c.cut, c.rows = rows > limit, int(min(rows, limit))
	for i, l := range leaves {
		for _, g := range f.RowGroups() {
			if err := readChunk(ctx, g.ColumnChunks()[l.index], l.text, &c.columns[i], c.rows); err != nil {
				return nil, fmt.Errorf("column %q: %w", c.names[i], err)
			}
		}
		if len(c.columns[i]) != c.rows {
			return nil, fmt.Errorf("column %q has %d rows of %d", c.names[i], len(c.columns[i]), c.rows)
		}
	}
	t, err := c.table(ctx)
	if err == nil && len(left) > 0 {
		t.Notes = append(t.Notes, "left out, because they have several values per row: "+strings.Join(left, ", "))
	}
	return t, err
}

// readChunk appends the values of a column in one row group to into, until it
// has limit values.
func readChunk(
	ctx context.Context, chunk parquet.ColumnChunk, text func(parquet.Value) string, into *[]string, limit int,
) error {
	pages := chunk.Pages()
	defer pages.Close()
	values := make([]parquet.Value, 1024)
	for len(*into) < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		page, err := pages.ReadPage()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r := page.Values()
		for err == nil && len(*into) < limit {
			var n int
			n, err = r.ReadValues(values)
			for _, v := range values[:min(n, limit-len(*into))] {
				s := ""
				if !v.IsNull() {
					s = text(v)
				}
				*into = append(*into, s)
			}
		}
		parquet.Release(page)
		if err != nil && err != io.EOF {
			return err
		}
	}
	return nil
}

// parquetText returns how to write the values of a column, by its logical type
// or else its physical one.
func parquetText(t parquet.Type) func(parquet.Value) string {
	if l := t.LogicalType(); l != nil {
		switch {
		case l.Date != nil:
			return func(v parquet.Value) string {
				return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly)
			}
		case l.Timestamp != nil:
			layout := "2006-01-02T15:04:05.999999999"
			if l.Timestamp.IsAdjustedToUTC {
				layout += "Z07:00"
			}
			return moments(l.Timestamp.Unit, layout)
		case l.Time != nil:
			return moments(l.Time.Unit, "15:04:05.999999999")
		case l.Decimal != nil:
			return decimals(int(l.Decimal.Scale))
		case l.Integer != nil && !l.Integer.IsSigned:
			return func(v parquet.Value) string {
				if v.Kind() == parquet.Int32 {
					return strconv.FormatUint(uint64(v.Uint32()), 10)
				}
				return strconv.FormatUint(v.Uint64(), 10)
			}
		case l.UUID != nil:
			return parquet.Value.String
		}
	}
	switch t.Kind() {
	case parquet.Int96: // an old form of timestamps: nanoseconds of a day, and the Julian day
		return func(v parquet.Value) string {
			i := v.Int96()
			nanos := int64(i[0]) | int64(i[1])<<32
			return time.Unix((int64(i[2])-2440588)*86400, nanos).UTC().Format("2006-01-02T15:04:05.999999999Z07:00")
		}
	case parquet.Float:
		return func(v parquet.Value) string { return FormatFloat(float64(v.Float()), 32) }
	case parquet.Double:
		return func(v parquet.Value) string { return FormatFloat(v.Double(), 64) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return func(v parquet.Value) string {
			if b := v.ByteArray(); utf8.Valid(b) {
				return string(b)
			}
			return hex.EncodeToString(v.ByteArray())
		}
	}
	return parquet.Value.String
}

// moments returns how to write times that are counted in a unit: since 1970, or since
// midnight.
func moments(u format.TimeUnit, layout string) func(parquet.Value) string {
	at := time.UnixMilli
	switch {
	case u.Micros != nil:
		at = time.UnixMicro
	case u.Nanos != nil:
		at = func(n int64) time.Time { return time.Unix(0, n) }
	}
	return func(v parquet.Value) string {
		n := v.Int64()
		if v.Kind() == parquet.Int32 {
			n = int64(v.Int32())
		}
		return at(n).UTC().Format(layout)
	}
}

// decimals returns how to write integers that are scaled by a power of ten.
// Those of more than 64 bits are big-endian in two's complement.
func decimals(scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		var i big.Int
		switch v.Kind() {
		case parquet.Int32:
			i.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			i.SetInt64(v.Int64())
		default:
			b := v.ByteArray()
			i.SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				i.Sub(&i, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
		}
		return scaled(i.String(), scale)
	}
}

// scaled writes the digits of an integer with its decimal point moved to the left.
func scaled(digits string, scale int) string {
	if scale <= 0 || scale > maxScale {
		return digits
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	s := digits[:point] + "." + digits[point:]
	if negative {
		s = "-" + s
	}
	return s
}

// maxScale is how many digits a decimal may have behind its point.
const maxScale = 1000
