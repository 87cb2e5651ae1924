package data

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"math"
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
				return time.Unix(int64(v.Int32())*86400, 0).UTC().Format("2006-01-02")
			}
		case l.Timestamp != nil:
			return timestamps(l.Timestamp.Unit)
		case l.Decimal != nil:
			return decimals(int(l.Decimal.Scale))
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
		return func(v parquet.Value) string { return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32) }
	case parquet.Double:
		return func(v parquet.Value) string { return strconv.FormatFloat(v.Double(), 'g', -1, 64) }
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

// timestamps returns how to write times since 1970 in a unit.
func timestamps(u format.TimeUnit) func(parquet.Value) string {
	at := time.UnixMilli
	switch {
	case u.Micros != nil:
		at = time.UnixMicro
	case u.Nanos != nil:
		at = func(n int64) time.Time { return time.Unix(0, n) }
	}
	return func(v parquet.Value) string { return at(v.Int64()).UTC().Format(time.RFC3339Nano) }
}

// decimals returns how to write integers that are scaled by a power of ten.
// Those of more than 64 bits are big-endian in two's complement.
func decimals(scale int) func(parquet.Value) string {
	return func(v parquet.Value) string {
		var n float64
		switch v.Kind() {
		case parquet.Int32:
			n = float64(v.Int32())
		case parquet.Int64:
			n = float64(v.Int64())
		default:
			b := v.ByteArray()
			i := new(big.Int).SetBytes(b)
			if len(b) > 0 && b[0]&0x80 != 0 {
				i.Sub(i, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
			}
			n, _ = new(big.Float).SetInt(i).Float64()
		}
		return strconv.FormatFloat(n/math.Pow10(scale), 'f', max(0, min(scale, 30)), 64)
	}
}
