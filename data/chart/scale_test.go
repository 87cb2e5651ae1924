package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/data"
)

func TestNiceStep(t *testing.T) {
	for _, c := range []struct {
		span float64
		n    int
		want float64
	}{
		{10, 10, 1}, {10, 5, 2}, {10, 4, 2.5}, {10, 3, 5}, {11, 10, 2}, {100, 1, 100}, {101, 1, 200},
		{0.03, 6, 0.005}, {7, 0, 10}, {1e9, 6, 2e8}, {1e-12, 5, 2e-13},
	} {
		if got := niceStep(c.span, c.n); math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("niceStep(%v, %d) = %v, want %v", c.span, c.n, got, c.want)
		}
	}
}

func TestNumberScale(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		lo, hi       float64
		n            int
		log          bool
		from, to, by float64
	}{
		{0, 97, 5, false, 0, 100, 20},
		{-3, 97, 5, false, -20, 100, 20},
		{0.4, 0.6, 4, false, 0.4, 0.6, 0.05},
		{0, 0, 5, false, 0, 1, 0.2},         // all values are 0
		{50, 50, 5, false, 44, 56, 2},       // all values are equal
		{inf, -inf, 5, false, 0, 1, 0.2},    // no values
		{inf, -inf, 5, true, 0, 1, 0.2},     // no values above 0
		{3, 900, 5, true, 3, 900, 0},        // logarithmic: not widened
		{-1, 900, 5, true, -200, 1000, 200}, // logarithms need values above 0
	} {
		s, step := numberScale(c.lo, c.hi, c.n, c.log)
		if math.Abs(s.lo-c.from) > 1e-9 || math.Abs(s.hi-c.to) > 1e-9 || math.Abs(step-c.by) > 1e-9 {
			t.Errorf("numberScale(%v, %v, %d, %v) = %v to %v by %v, want %v to %v by %v",
				c.lo, c.hi, c.n, c.log, s.lo, s.hi, step, c.from, c.to, c.by)
		}
	}
}

// TestSecondScale: whatever the values, the scale covers them in exactly n
// steps.
func TestSecondScale(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		lo, hi float64
		n      int
		want   string
	}{
		{0, 30, 6, "0 to 30 by 5"},
		{8, 28, 6, "0 to 30 by 5"},
		{990, 1010, 5, "990 to 1015 by 5"}, // far from 0
		{-4, 9, 4, "-5 to 15 by 5"},
		{0, 0, 5, "0 to 1 by 0.2"},
		{inf, -inf, 5, "0 to 1 by 0.2"},
	} {
		s, step := secondScale(c.lo, c.hi, c.n)
		if got := fmt.Sprintf("%g to %g by %g", s.lo, s.hi, step); got != c.want {
			t.Errorf("secondScale(%v, %v, %d) = %s, want %s", c.lo, c.hi, c.n, got, c.want)
		}
	}
}

func joined(ticks []tick) string { return strings.Join(labels(ticks), " ") }

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		lo, hi, step float64
		log          bool
		unit         data.Unit
		want         string
	}{
		{0, 1, 0.25, false, "", "0 0.25 0.50 0.75 1.00"},
		{-10, 10, 5, false, "", "-10 -5 0 5 10"},
		{0, 30_000, 10_000, false, "", "0 10k 20k 30k"},
		{0, 2e7, 5e6, false, "$", "$0 $5M $10M $15M $20M"},
		{0, 100, 50, false, data.Percent, "0% 50% 100%"},
		{-20, 0, 10, false, "€", "−€20 −€10 €0"},
		{3, 60, 0, true, "", "5 10 20 50"},
		{1, 1e6, 0, true, "", "1 10 100 1000 10k 100k 1M"}, // powers of ten alone
		{0, 1000, 1, false, "", "0 1000"},                  // too many: the ends
	} {
		s := scale{lo: c.lo, hi: c.hi, log: c.log}
		if got := joined(s.ticks(c.step, c.unit)); got != c.want {
			t.Errorf("%v to %v by %v: %q, want %q", c.lo, c.hi, c.step, got, c.want)
		}
	}
}

func TestBrief(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit data.Unit
		want string
	}{
		{0, "", "0"}, {7, "", "7"}, {1234, "", "1234"}, {12345, "", "12.3k"}, {1_380_000_000, "", "1.38B"}, {1_234_567, "", "1.23M"},
		{2.5e10, "", "25B"}, {0.1234, "", "0.123"}, {2.0004, "", "2"}, {-1.5, "", "-1.5"}, {12.3, "%", "12.3%"},
		{99.95, "$", "$100"}, {1e-9, "", "1e-09"}, {3e15, "", "3e+15"},
	} {
		if got := brief(c.v, c.unit); got != c.want {
			t.Errorf("brief(%v) = %q, want %q", c.v, got, c.want)
		}
	}
}

func seconds(t *testing.T, s string) float64 {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", s)
	if err != nil {
		t.Fatal(err)
	}
	return float64(at.Unix())
}

func TestTimeTicks(t *testing.T) {
	for _, c := range []struct {
		from, to string
		n        int
		want     string
	}{
		{"2024-05-01 10:00:00", "2024-05-01 10:00:03", 5, "10:00:00 10:00:01 10:00:02 10:00:03"},
		{"2024-05-01 10:07:00", "2024-05-01 11:00:00", 5, "10:15 10:30 10:45 11:00"},
		{"2024-05-01 00:00:00", "2024-05-02 00:00:00", 4, "05-01 00:00 05-01 06:00 05-01 12:00 05-01 18:00 05-02 00:00"},
		{"2024-05-01 00:00:00", "2024-05-29 00:00:00", 5, "05-06 05-13 05-20 05-27"}, // Mondays
		{"2023-12-20 00:00:00", "2024-01-08 00:00:00", 3, "2023-12-25 2024-01-01 2024-01-08"},
		{"2024-01-15 00:00:00", "2024-12-31 00:00:00", 4, "2024-04 2024-07 2024-10"},
		{"1950-06-01 00:00:00", "2024-06-01 00:00:00", 8, "1960 1970 1980 1990 2000 2010 2020"},
	} {
		got := joined(timeTicks(seconds(t, c.from), seconds(t, c.to), c.n))
		if got != c.want {
			t.Errorf("%s to %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	if got := joined(timeTicks(-1e12, 1e12, 3)); !strings.Contains(got, " ") {
		t.Errorf("ages have no ticks: %q", got)
	}
}

func TestBuckets(t *testing.T) {
	at := time.Date(2024, 8, 15, 13, 45, 6, 0, time.UTC) // a Thursday
	for name, want := range map[string]string{
		"hour": "2024-08-15 13:00:00", "day": "2024-08-15 00:00:00", "week": "2024-08-12 00:00:00",
		"month": "2024-08-01 00:00:00", "quarter": "2024-07-01 00:00:00", "year": "2024-01-01 00:00:00",
	} {
		if got := buckets[name].floor(at).Format(time.DateTime); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestScaleAt(t *testing.T) {
	up := scale{lo: 0, hi: 10, a: 100, b: 0} // y grows downwards
	log := scale{lo: 1, hi: 100, a: 0, b: 200, log: true}
	flat := scale{lo: 5, hi: 5, a: 0, b: 10}
	got := []float64{up.at(0), up.at(2.5), up.at(10), log.at(10), flat.at(5)}
	if want := []float64{100, 75, 0, 100, 5}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestRanges: what the axes have to show.
func TestRanges(t *testing.T) {
	nan := math.NaN()
	one := func(v ...float64) []Series {
		s := Series{Y: v}
		for i := range v {
			s.X = append(s.X, float64(i))
		}
		return []Series{s}
	}
	for _, c := range []struct {
		what string
		f    Figure
		want extent
	}{
		{"bars begin at 0", Figure{Kind: Bar, Series: one(5, 9)}, extent{0, 1, 0, 9}},
		{"lines near 0 begin there", Figure{Kind: Line, Series: one(2, 9)}, extent{0, 1, 0, 9}},
		{"lines far from 0 do not", Figure{Kind: Line, Series: one(8, 9, nan)}, extent{0, 1, 8, 9}},
		{"a cloud does not", Figure{Kind: Scatter, Series: one(2, 9)}, extent{0, 1, 2, 9}},
		{"stacked values add up", Figure{Kind: Bar, Stacked: true, Series: append(one(5, -1), one(4, -2)...)}, extent{0, 1, -3, 9}},
		{"bins have a width", Figure{Kind: Histogram, X: Axis{Step: 10}, Series: one(5, 9)}, extent{0, 11, 0, 9}},
		{"logarithms begin above 0", Figure{Kind: Line, Y: Axis{Log: true}, Series: one(-1, 0, 5, 9)}, extent{2, 3, 5, 9}},
		{"boxes with outliers", Figure{Kind: Box, Series: []Series{{Box: &Quartile{Low: 4, High: 6, Outliers: Floats{3, 20}}}}},
			extent{math.Inf(1), math.Inf(-1), 0, 20}},
		{"nothing", Figure{Kind: Line}, extent{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}},
	} {
		if got := c.f.ranges(false); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
