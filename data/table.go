package data

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind says what the values of a column are.
type Kind int

// The kinds of columns.
const (
	Text Kind = iota
	Number
	Time
)

func (k Kind) String() string { return [...]string{"text", "number", "time"}[k] }

// A Unit is the precision of a column's times, or the sign that its numbers are
// written with: %, or a currency's such as $ and 元.
type Unit string

// The units of times, and Percent.
const (
	Year    Unit = "year"
	Month   Unit = "month"
	Quarter Unit = "quarter"
	Day     Unit = "day"
	Second  Unit = "second"
	Percent Unit = "%"
)

// Format adds a unit to a number that is written already, such as 12%, €300 or
// −$5. Units that are not written beside numbers add nothing.
func (u Unit) Format(number string) string {
	switch u {
	case Percent:
		return number + "%"
	case "$", "€", "£", "¥", "₹":
		if rest, negative := strings.CutPrefix(number, "-"); negative {
			return "−" + string(u) + rest
		}
		return string(u) + number
	}
	return number
}

// A Column is one variable of a table. Its values, to compute with, are in Nums, or
// in Texts if its kind is [Text]; the other is nil. [Column.Cell] returns what
// stands in the file, to read.
type Column struct {
	Name  string
	Kind  Kind
	Unit  Unit      // "" for plain numbers and for text
	Nums  []float64 // numbers, or times in seconds since 1970 in UTC; NaN is missing
	Texts []string  // "" is missing

	written []string // the cells as they stand in the file; nil: Texts are
}

// Len returns the number of rows.
func (c *Column) Len() int { return max(len(c.Nums), len(c.Texts)) }

// Missing reports whether row i has no value.
func (c *Column) Missing(i int) bool {
	if c.Kind == Text {
		return c.Texts[i] == ""
	}
	return math.IsNaN(c.Nums[i])
}

// Cell returns the cell of row i as it stands in the file: no digit is rounded, no word
// stands for nothing, and no date is written another way. Columns that were not read from
// a file have no such text: then it is the label.
func (c *Column) Cell(i int) string {
	if c.written != nil {
		return c.written[i]
	}
	return c.Label(i)
}

// Label returns the value of row i as charts write it, or "" if it is missing. It may be
// rounded. Numbers so large that rounding would make two of them one are written as they
// stand in the file.
func (c *Column) Label(i int) string {
	switch {
	case c.Missing(i):
		return ""
	case c.Kind == Text:
		return c.Texts[i]
	case c.Kind == Time:
		return FormatTime(c.Nums[i], c.Unit)
	case c.written != nil && math.Abs(c.Nums[i]) >= 1e15:
		return strings.TrimSpace(c.written[i])
	case c.Unit == Percent:
		return Percent.Format(FormatNumber(c.Nums[i]))
	}
	return FormatNumber(c.Nums[i])
}

// Distinct returns how many different values there are, not counting missing
// ones. It stops counting at limit, unless that is 0.
func (c *Column) Distinct(limit int) int {
	seen := make(map[any]struct{})
	for i := range c.Len() {
		switch {
		case c.Missing(i):
			continue
		case c.Kind == Text:
			seen[c.Texts[i]] = struct{}{}
		case c.written != nil && math.Abs(c.Nums[i]) >= exact:
			seen[c.written[i]] = struct{}{}
		default:
			seen[c.Nums[i]] = struct{}{}
		}
		if limit > 0 && len(seen) >= limit {
			break
		}
	}
	return len(seen)
}

// exact is the number up to which a float64 tells whole numbers apart.
const exact = 1 << 53

// Extremes returns the rows of the least and of the largest value of a column that is no
// [Text], or -1 if all are missing.
func (c *Column) Extremes() (least, most int) {
	least, most = -1, -1
	for i := range c.Nums {
		if c.Missing(i) {
			continue
		}
		if least < 0 || c.less(i, least) {
			least = i
		}
		if most < 0 || c.less(most, i) {
			most = i
		}
	}
	return least, most
}

// less reports whether the number of row i is less than that of row j. Numbers that a
// float64 does not tell apart are compared as they are written.
func (c *Column) less(i, j int) bool {
	a, b := c.Nums[i], c.Nums[j]
	if a != b || math.Abs(a) < exact || c.written == nil {
		return a < b
	}
	x, okX := new(big.Rat).SetString(strings.TrimSpace(c.written[i]))
	y, okY := new(big.Rat).SetString(strings.TrimSpace(c.written[j]))
	return okX && okY && x.Cmp(y) < 0
}

// A Table is a list of named columns of the same length.
type Table struct {
	Name    string // the file, and the sheet or table within it
	Columns []*Column
	Tables  []string // the names of all sheets or tables of the file
	Notes   []string // sentences about guesses, and about what was left out
}

// Rows returns the number of rows.
func (t *Table) Rows() int {
	if len(t.Columns) == 0 {
		return 0
	}
	return t.Columns[0].Len()
}

// Column returns the column of that name, or nil. It prefers an exact match to
// one that ignores case and surrounding spaces.
func (t *Table) Column(name string) *Column {
	if i := slices.IndexFunc(t.Columns, func(c *Column) bool { return c.Name == name }); i >= 0 {
		return t.Columns[i]
	}
	i := slices.IndexFunc(t.Columns, func(c *Column) bool {
		return strings.EqualFold(strings.TrimSpace(c.Name), strings.TrimSpace(name))
	})
	if i < 0 {
		return nil
	}
	return t.Columns[i]
}

// Find is [Table.Column] with an error that lists the columns.
func (t *Table) Find(name string) (*Column, error) {
	if c := t.Column(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s has no column %q; it has %s", t.Name, name, t.names())
}

// names lists the columns for an error.
func (t *Table) names() string {
	var names []string
	for _, c := range t.Columns {
		if len(names) == 40 {
			names = append(names, fmt.Sprintf("and %d more", len(t.Columns)-40))
			break
		}
		names = append(names, strconv.Quote(c.Name))
	}
	return strings.Join(names, ", ")
}

// FormatFloat writes the number that a file stores in binary, of 32 or 64 bits: with the
// digits that tell it from its neighbours, and with .0 if it is whole, as sqlite3 and
// Python do.
func FormatFloat(v float64, bits int) string {
	if a := math.Abs(v); math.IsNaN(v) || math.IsInf(v, 0) || a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	s := strconv.FormatFloat(v, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// FormatNumber writes a number for people: all digits of a whole number, six
// significant ones of a fraction, and commas between thousands from 10,000 on.
func FormatNumber(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case a != 0 && (a < 1e-4 || a >= 1e15):
		return strconv.FormatFloat(v, 'g', 4, 64)
	case v == math.Trunc(v):
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 100_000:
		return group(strconv.FormatFloat(v, 'f', 1, 64))
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		s = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return group(s)
}

// group puts commas between the thousands of five or more digits.
func group(s string) string {
	whole, frac, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	if len(whole) > 4 {
		for i := len(whole) - 3; i > 0; i -= 3 {
			whole = whole[:i] + "," + whole[i:]
		}
	}
	if frac != "" {
		whole += "." + frac
	}
	return sign + whole
}

// FormatTime writes a time, in seconds since 1970, with the precision of a unit.
func FormatTime(sec float64, u Unit) string {
	t := UnixTime(sec)
	switch u {
	case Year:
		return t.Format("2006")
	case Quarter:
		return fmt.Sprintf("%d-Q%d", t.Year(), (int(t.Month())+2)/3)
	case Month:
		return t.Format("2006-01")
	case Day:
		return t.Format("2006-01-02")
	}
	if t.Second() == 0 {
		return t.Format("2006-01-02 15:04")
	}
	return t.Format("2006-01-02 15:04:05")
}

// UnixTime returns the time that many seconds after 1970, in UTC, to the
// microsecond.
func UnixTime(sec float64) time.Time {
	whole, frac := math.Modf(sec)
	return time.Unix(int64(whole), int64(math.Round(frac*1e6))*1000).UTC()
}
