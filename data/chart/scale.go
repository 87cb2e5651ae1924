package chart

import (
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/openmanus-go/openmanus/data"
)

// A scale maps the values of an axis to pixels.
type scale struct {
	lo, hi float64 // values; above 0 if log
	a, b   float64 // the pixels of lo and hi; b may be less than a
	log    bool
}

// at returns the pixel of v. Values outside the scale lie outside its pixels.
func (s scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		v, lo, hi = math.Log10(v), math.Log10(lo), math.Log10(hi)
	}
	if hi == lo {
		return (s.a + s.b) / 2
	}
	return s.a + (v-lo)/(hi-lo)*(s.b-s.a)
}

// A tick is a labelled value of an axis.
type tick struct {
	v     float64
	label string
}

// niceStep returns a step of 1, 2, 2.5 or 5 times a power of ten of which span
// has about n, at most n.
func niceStep(span float64, n int) float64 {
	raw := span / float64(max(n, 1))
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*p*1.0001 {
			return m * p
		}
	}
	return 10 * p
}

// numberScale returns a scale from lo to hi, widened to whole ticks, and the
// distance of its ticks: about n of them. A logarithmic scale is not widened
// and has no step. Without values (lo above hi) it goes from 0 to 1.
func numberScale(lo, hi float64, n int, log bool) (s scale, step float64) {
	if math.IsInf(lo, 0) || lo > hi {
		lo, hi, log = 0, 1, false
	}
	if log && lo > 0 {
		return scale{lo: lo, hi: max(hi, lo*1.0001), log: true}, 0
	}
	switch {
	case lo != hi:
	case lo == 0:
		hi = 1
	default:
		d := max(math.Abs(lo)*0.1, 1)
		lo, hi = lo-d, hi+d
	}
	step = niceStep(hi-lo, n)
	if math.IsInf(step, 0) || math.IsNaN(step) || step == 0 {
		return scale{lo: lo, hi: hi}, hi - lo
	}
	return scale{lo: math.Floor(lo/step+1e-9) * step, hi: math.Ceil(hi/step-1e-9) * step}, step
}

// secondScale returns a scale from lo to hi or wider that has exactly n steps,
// so that both vertical axes of a chart share one grid. It starts at 0 unless
// the values lie far from it.
func secondScale(lo, hi float64, n int) (s scale, step float64) {
	if math.IsInf(lo, 0) || lo > hi {
		lo, hi = 0, 1
	}
	from := min(lo, 0)
	if hi == from {
		hi++
	}
	step = niceStep(hi-from, n)
	if lo > 0.5*hi && hi > lo {
		from, step = lo, niceStep((hi-lo)*1.1, n)
	}
	for {
		begin := math.Floor(from/step) * step
		if top := begin + float64(n)*step; top >= hi {
			return scale{lo: begin, hi: top}, step
		}
		step = niceStep(step*1.2, 1)
	}
}

// ticks returns the labelled values of a scale of numbers.
func (s scale) ticks(step float64, u data.Unit) (ticks []tick) {
	switch {
	case s.log:
		return s.logTicks(u)
	case step <= 0 || (s.hi-s.lo)/step > 100:
		return []tick{{s.lo, numeral(s.lo, s.lo, u)}, {s.hi, numeral(s.hi, s.hi, u)}}
	}
	for i := range int(math.Round((s.hi-s.lo)/step)) + 1 {
		v := s.lo + float64(i)*step
		if math.Abs(v) < step*1e-6 {
			v = 0
		}
		ticks = append(ticks, tick{v, numeral(v, step, u)})
	}
	return ticks
}

// logTicks labels 1, 2 and 5 times the powers of ten; beyond three decades the
// powers alone.
func (s scale) logTicks(u data.Unit) (ticks []tick) {
	for e := math.Floor(math.Log10(s.lo)); e <= math.Ceil(math.Log10(s.hi)); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < s.lo*0.999 || v > s.hi*1.001 || m > 1 && s.hi/s.lo > 1e3 {
				continue
			}
			ticks = append(ticks, tick{v, numeral(v, v, u)})
		}
	}
	return ticks
}

// numeral writes a number as finely as step with its unit, such as 20k, 1.5M,
// 0.25 or €300.
func numeral(v, step float64, u data.Unit) string {
	a := max(math.Abs(v), math.Abs(step))
	div, suffix := 1.0, ""
	switch {
	case a >= 1e15 || a > 0 && math.Abs(step) < 1e-6:
		return u.Format(strconv.FormatFloat(v, 'g', 3, 64))
	case v == 0:
		return u.Format("0")
	case a >= 1e13 || a >= 1e12 && math.Mod(step, 1e9) == 0:
		div, suffix = 1e12, "T"
	case a >= 1e10 || a >= 1e9 && math.Mod(step, 1e6) == 0:
		div, suffix = 1e9, "B"
	case a >= 1e7 || a >= 1e6 && math.Mod(step, 1e3) == 0:
		div, suffix = 1e6, "M"
	case a >= 1e4 && math.Mod(step, 100) == 0:
		div, suffix = 1e3, "k"
	}
	digits := max(0, int(math.Ceil(-math.Log10(math.Abs(step/div))-1e-9)))
	if r := step / div * math.Pow(10, float64(digits)); math.Abs(r-math.Round(r)) > 1e-6 {
		digits++ // a step such as 2.5
	}
	return u.Format(strconv.FormatFloat(v/div, 'f', min(digits, 8), 64) + suffix)
}

// brief writes a number to three significant digits, without trailing zeros.
func brief(v float64, u data.Unit) string {
	a := math.Abs(v)
	if a == 0 || v == math.Trunc(v) && a < 1e4 {
		return numeral(v, 1, u)
	}
	digit := math.Pow(10, math.Floor(math.Log10(a))-2)
	v = math.Round(v/digit) * digit
	for step := digit; ; step *= 10 {
		if r := v / (step * 10); math.Abs(r-math.Round(r)) > 1e-6 || step > a {
			return numeral(v, step, u)
		}
	}
}

const day = 24 * time.Hour

// timeSteps are the distances at which an axis of times has ticks, with the
// layout of their labels.
var timeSteps = []struct {
	layout string
	steps  []time.Duration
	months []int
}{
	{"15:04:05", []time.Duration{time.Second, 10 * time.Second}, nil},
	{"15:04", []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour}, nil},
	{"01-02 15:04", []time.Duration{3 * time.Hour, 6 * time.Hour, 12 * time.Hour}, nil},
	{"01-02", []time.Duration{day, 2 * day, 7 * day, 14 * day}, nil},
	{"2006-01", nil, []int{1, 2, 3, 6}},
	{"2006", nil, []int{12, 24, 60, 120, 240, 600, 1200}},
}

// timeTicks returns at most n ticks, at whole seconds, minutes, hours, days,
// Mondays, months or years between lo and hi.
func timeTicks(lo, hi float64, n int) []tick {
	for _, t := range timeSteps {
		for _, d := range t.steps {
			if (hi-lo)/d.Seconds() > float64(n) {
				continue
			}
			layout := t.layout
			if d >= day && data.UnixTime(lo).Year() != data.UnixTime(hi).Year() {
				layout = "2006-01-02"
			}
			next := func(t time.Time) time.Time { return t.Add(d) }
			return ticksBetween(lo, hi, floorTime(lo, d), layout, next)
		}
		for _, m := range t.months {
			if (hi-lo)/(float64(m)*30.44*86400) > float64(n) {
				continue
			}
			next := func(t time.Time) time.Time { return t.AddDate(0, m, 0) }
			return ticksBetween(lo, hi, floorMonths(lo, m), t.layout, next)
		}
	}
	return []tick{{lo, data.FormatTime(lo, data.Year)}, {hi, data.FormatTime(hi, data.Year)}}
}

// floorTime is the last whole step of d up to v; weeks begin on Monday.
func floorTime(v float64, d time.Duration) time.Time {
	if d < 7*day {
		return data.UnixTime(v).Truncate(d)
	}
	return monday(data.UnixTime(v))
}

// floorMonths is the last first day of a month up to v that is a whole number
// of steps of so many months into its year, or of so many years.
func floorMonths(v float64, months int) time.Time {
	t := data.UnixTime(v)
	if years := months / 12; years > 0 {
		return firstOfMonth(t.Year()-t.Year()%years, 1)
	}
	m := int(t.Month()) - 1
	return firstOfMonth(t.Year(), time.Month(m-m%months+1))
}

// ticksBetween labels the times from lo to hi among those that begin with t, at
// most 200.
func ticksBetween(lo, hi float64, t time.Time, layout string, next func(time.Time) time.Time) (ticks []tick) {
	for ; float64(t.Unix()) <= hi && len(ticks) < 200; t = next(t) {
		if v := float64(t.Unix()); v >= lo {
			ticks = append(ticks, tick{v, t.Format(layout)})
		}
	}
	return ticks
}

// without drops the ticks outside lo to hi.
func without(ticks []tick, lo, hi, slack float64) []tick {
	return slices.DeleteFunc(ticks, func(t tick) bool { return t.v < lo-slack || t.v > hi+slack })
}
