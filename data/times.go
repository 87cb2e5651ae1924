package data

import (
	_ "embed" // the layouts
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
)

// A layout is a way to write times, with the precision that it has.
type layout struct {
	format string
	unit   Unit
}

// layouts are tried in order; the first that fits all cells wins. Month/day
// comes before day/month.
var layouts = sync.OnceValue(func() (all []layout) {
	for line := range strings.Lines(layoutFile) {
		unit, format, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, layout{format, Unit(unit)})
	}
	return all
})

// layoutFile has a unit and a layout of [time.Parse] in each line.
//
//go:embed layouts.txt
var layoutFile string

// times reads the cells as times if all of them are, in the same layout. A
// note tells if days and months could also be read the other way round.
func times(name string, cells []string) (secs []float64, unit Unit, notes []string, ok bool) {
	for _, s := range cells {
		if s != "" && !timelike(s) {
			return nil, "", nil, false
		}
	}
	if secs, ok = parseAll(cells, quarter); ok {
		return secs, Quarter, nil, true
	}
	all := layouts()
	for i, l := range all {
		if secs, ok = parseAll(cells, l.parse); !ok {
			continue
		}
		if twin, has := swapped(l.format); has && i+1 < len(all) {
			if other, also := parseAll(cells, layout{twin, l.unit}.parse); also && !equal(secs, other) {
				notes = append(notes,
					fmt.Sprintf("column %q: dates such as %q are read as month/day", name, firstFilled(cells)))
			}
		}
		return secs, precision(secs, l.unit), notes, true
	}
	return nil, "", nil, false
}

// compactDates reads the cells as dates without marks, 20240131 or 202401, if all of them are, and the name
// speaks of dates or the dates are many: a number of eight digits is a date by chance in one of 27 cases.
func compactDates(name string, cells []string) (secs []float64, unit Unit, ok bool) {
	different := make(map[string]bool)
	digits := 0
	for _, s := range cells {
		if s == "" {
			continue
		}
		digits = max(digits, len(s))
		if len(s) != digits || digits != 8 && digits != 6 || strings.Trim(s, "0123456789") != "" || s < "18" || s >= "22" {
			return nil, "", false
		}
		different[s] = true
	}
	named := false
	for _, word := range []string{"date", "day", "month", "period", "time", "datum", "fecha", "tag", "monat", "yyyymm", "日期", "月", "日"} {
		named = named || strings.Contains(strings.ToLower(name), word)
	}
	format, unit := "20060102", Day
	if digits == 6 {
		format, unit = "200601", Month
	}
	if !named && (digits == 6 || len(different) < 8) {
		return nil, "", false
	}
	secs, ok = parseAll(cells, layout{format, unit}.parse)
	return secs, unit, ok
}

// timelike is a fast check: times are short and have digits.
func timelike(s string) bool { return len(s) <= 40 && strings.ContainsAny(s, "0123456789") }

// parse reads a time as seconds since 1970. Without a zone it is in UTC.
func (l layout) parse(s string) (float64, bool) {
	t, err := time.Parse(l.format, s)
	if err != nil || t.Year() < 1 {
		return 0, false
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, true
}

// swapped returns the layout with day and month exchanged.
func swapped(format string) (string, bool) {
	if rest, ok := strings.CutPrefix(format, "1/2/"); ok {
		return "2/1/" + rest, true
	}
	return "", false
}

// quarter reads 2024Q1, 2024-Q1, 2024 Q1 and Q1 2024.
func quarter(s string) (float64, bool) {
	var y, q int
	clean := strings.ToUpper(strings.NewReplacer("-", "", " ", "", "/", "").Replace(s))
	switch {
	case len(clean) != 6:
		return 0, false
	case clean[0] == 'Q':
		clean = clean[2:] + clean[:2]
	}
	if clean[4] != 'Q' || clean[5] < '1' || clean[5] > '4' {
		return 0, false
	}
	q = int(clean[5] - '0')
	for _, d := range clean[:4] {
		if d < '0' || d > '9' {
			return 0, false
		}
		y = y*10 + int(d-'0')
	}
	return float64(time.Date(y, time.Month(3*q-2), 1, 0, 0, 0, 0, time.UTC).Unix()), y >= 1000
}

// parseAll reads all cells, missing ones as NaN. It reports false if one cannot
// be read, or all are missing.
func parseAll(cells []string, parse func(string) (float64, bool)) ([]float64, bool) {
	var secs []float64
	for i, s := range cells {
		if s == "" {
			if secs != nil {
				secs[i] = math.NaN()
			}
			continue
		}
		v, ok := parse(s)
		if !ok {
			return nil, false
		}
		if secs == nil {
			secs = make([]float64, len(cells))
			for j := range i {
				secs[j] = math.NaN()
			}
		}
		secs[i] = v
	}
	return secs, secs != nil
}

// precision returns the coarsest unit that loses nothing of times that were
// written as finely as u: days that all are the first of a month are months. A
// single time keeps u.
func precision(secs []float64, u Unit) Unit {
	const day = 86400
	months, whole, n := true, true, 0
	distinct := math.NaN()
	for _, s := range secs {
		if math.IsNaN(s) {
			continue
		}
		if s != distinct {
			distinct = s
			n++
		}
		if math.Mod(s, day) != 0 {
			whole = false
			break
		}
		months = months && UnixTime(s).Day() == 1
	}
	switch {
	case n < 2:
		return u
	case u == Second && whole:
		u = Day
	}
	if u == Day && months {
		u = Month
	}
	return u
}

// equal reports whether two columns are the same, missing values included.
func equal(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] && !(math.IsNaN(a[i]) && math.IsNaN(b[i])) {
			return false
		}
	}
	return true
}

// firstFilled returns the first cell that is not missing.
func firstFilled(cells []string) string {
	for _, s := range cells {
		if s != "" {
			return s
		}
	}
	return ""
}
