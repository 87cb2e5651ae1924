package data

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// missing are the texts, in lower case, that stand for no value.
var missing = map[string]bool{
	"": true, "na": true, "n/a": true, "nan": true, "null": true, "none": true, "nil": true,
	"-": true, "--": true, "#n/a": true, "?": true, ".": true, "<na>": true, "#value!": true, "#div/0!": true,
}

// isMissing reports whether a trimmed cell stands for no value.
func isMissing(s string) bool { return len(s) <= 8 && missing[strings.ToLower(s)] }

// infer makes a column of the texts of its cells: of numbers or times if nearly
// all cells are, else of texts. It keeps the cells. It also returns notes.
func infer(name string, written []string) (*Column, []string) {
	some, cells := false, written
	for i, s := range written {
		value := strings.TrimSpace(s)
		if isMissing(value) {
			value = ""
		}
		if some = some || value != ""; len(value) == len(s) {
			continue
		}
		if &cells[0] == &written[0] {
			cells = slices.Clone(written)
		}
		cells[i] = value
	}
	c := &Column{Name: name, written: written}
	if some {
		if secs, unit, ok := compactDates(name, cells); ok {
			c.Kind, c.Nums, c.Unit = Time, secs, unit
			return c, nil
		}
		if nums, unit, notes, ok := numbers(name, cells); ok {
			c.Kind, c.Nums, c.Unit = Number, nums, unit
			if years(name, nums) {
				c.Kind, c.Unit = Time, Year
				for i, y := range nums {
					if !math.IsNaN(y) {
						nums[i] = float64(time.Date(int(y), 1, 1, 0, 0, 0, 0, time.UTC).Unix())
					}
				}
			}
			return c, notes
		}
		if secs, unit, notes, ok := times(name, cells); ok {
			c.Kind, c.Nums, c.Unit = Time, secs, unit
			return c, notes
		}
	}
	c.Texts = cells
	return c, nil
}

// maxStray is the share of cells in a column of numbers that may be something
// else. They become missing, with a note.
const maxStray = 0.01

// numbers reads the cells as numbers. It reports false if more than maxStray of
// those that are not missing are none.
func numbers(name string, cells []string) (nums []float64, unit Unit, notes []string, ok bool) {
	nums = make([]float64, len(cells))
	bad, filled, example := 0, 0, ""
	european := commaDecimals(cells)
	for i, s := range cells {
		if s == "" {
			nums[i] = math.NaN()
			continue
		}
		filled++
		if isIdentifier(s) {
			return nil, "", nil, false
		}
		v, u, ok := number(s, european)
		if !ok {
			if bad++; float64(bad) > maxStray*float64(len(cells)) {
				return nil, "", nil, false
			}
			v, example = math.NaN(), s
		} else if unit == "" {
			unit = u
		}
		nums[i] = v
	}
	if float64(bad) > maxStray*float64(filled) {
		return nil, "", nil, false
	}
	if bad > 0 {
		notes = append(notes, fmt.Sprintf("column %q: %d values are not numbers and count as missing, such as %q",
			name, bad, clip.Text(example, 40)))
	}
	if european {
		notes = append(notes, fmt.Sprintf("column %q: the comma is read as the decimal mark", name))
	}
	return nums, unit, notes, true
}

// isIdentifier reports whether s is a name made of digits: it begins with a
// zero, as postcodes and article numbers do.
func isIdentifier(s string) bool {
	return len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9'
}

var commaDecimal = regexp.MustCompile(`^[-+]?(\d{1,3}(\.\d{3})+|\d+),(\d{1,2}|\d{4,})$`)
var anyComma = regexp.MustCompile(`^[-+]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?$`)

// commaDecimals reports whether the comma is the cells' decimal mark: whether
// all cells can be read so and one, among the first 200, cannot be read
// otherwise.
func commaDecimals(cells []string) bool {
	sure, seen := false, 0
	for _, s := range cells {
		if s == "" {
			continue
		}
		if !anyComma.MatchString(s) {
			return false
		}
		sure = sure || commaDecimal.MatchString(s)
		if seen++; seen > 200 && !sure {
			return false
		}
	}
	return sure
}

// thousands matches digits in groups of three; ungroup joins the groups.
var (
	ungroup   = strings.NewReplacer(",", "", " ", "", "'", "", "’", "", "\u00a0", "", "\u202f", "")
	thousands = regexp.MustCompile(`^\d{1,3}([, '\x{00a0}\x{202f}’]\d{3})+(\.\d+)?$`)
)

// number reads a number as people write it: 1,234.5 or $3 or 12% or (7), which
// is negative. european takes the comma for the decimal mark. s is not empty.
func number(s string, european bool) (v float64, unit Unit, ok bool) {
	if european {
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	}
	if c := s[0]; c >= '0' && c <= '9' || c == '-' || c == '.' || c == '+' {
		v, err := strconv.ParseFloat(s, 64)
		if err == nil && !math.IsInf(v, 0) && !strings.ContainsAny(s, "xX_pP") { // no hexadecimal numbers
			return v, "", true
		}
	}
	if len(s) > 40 {
		return 0, "", false
	}
	negative := false
	if strings.HasPrefix(s, "(") && strings.HasSuffix(s, ")") {
		negative, s = true, s[1:len(s)-1]
	}
	if r, found := strings.CutPrefix(s, "-"); found {
		negative, s = !negative, r
	} else if r, found := strings.CutPrefix(s, "−"); found {
		negative, s = !negative, r
	}
	for _, u := range []Unit{Percent, "$", "€", "£", "¥", "₹", "元"} {
		r, before := strings.CutPrefix(s, string(u))
		r, after := strings.CutSuffix(r, string(u))
		if before || after {
			unit, s = u, strings.TrimSpace(r)
			break
		}
	}
	if thousands.MatchString(s) {
		s = ungroup.Replace(s)
	}
	if s == "" || s[0] < '.' || s[0] > '9' || s[0] == '/' || strings.ContainsAny(s, "xX_pP") {
		return 0, "", false
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, "", false
	}
	if negative {
		v = -v
	}
	return v, unit, true
}

// years reports whether a column of numbers is one of years, by its name and
// its values.
func years(name string, nums []float64) bool {
	switch n := strings.ToLower(strings.TrimSpace(name)); n {
	case "year", "years", "yr", "jahr", "année", "año", "年份":
	default:
		if !strings.HasSuffix(n, "年") && !strings.HasSuffix(n, " year") && !strings.HasSuffix(n, "_year") {
			return false
		}
	}
	return !slices.ContainsFunc(nums, func(v float64) bool { return !math.IsNaN(v) && (v != math.Trunc(v) || v < 1000 || v > 2300) })
}
