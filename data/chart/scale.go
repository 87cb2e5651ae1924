package chart

import (
	"math"
	"strconv"
	"time"

	"github.com/openmanus-go/openmanus/data"
)

// A scale takes values to pixels.
type scale struct {
	lo, hi float64 // values
	a, b   float64 // the pixels of lo and hi
	log    bool
}

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

// A tick is a labelled place on an axis.
type tick struct {
	v     float64
	label string
}

// nice is a step of 1, 2, 2.5 or 5 times a power of ten, so that a span has
// about n of them.
func nice(span float64, n int) float64 {
	raw := span / float64(max(n, 1))
	p := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if raw <= m*p*1.0001 {
			return m * p
		}
	}
	return 10 * p
}

// numberScale is a scale from lo to hi, made wider to whole ticks.
func numberScale(lo, hi float64, n int, log bool) (scale, float64) {
	if log && lo > 0 {
		return scale{lo: lo, hi: max(hi, lo*1.0001), log: true}, 0
	}
	if math.IsInf(lo, 0) || lo > hi {
		lo, hi = 0, 1
	}
	if lo == hi {
		d := max(math.Abs(lo)*0.1, 1)
		if lo == 0 {
			hi = 1
		} else {
			lo, hi = lo-d, hi+d
		}
	}
	step := nice(hi-lo, n)
	if math.IsInf(step, 0) || math.IsNaN(step) || step == 0 {
		return scale{lo: lo, hi: hi}, hi - lo
	}
	return scale{lo: math.Floor(lo/step+1e-9) * step, hi: math.Ceil(hi/step-1e-9) * step}, step
}

func (s scale) numbers(step float64, u data.Unit) []tick {
	var ticks []tick
	if s.log {
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
	if step <= 0 || (s.hi-s.lo)/step > 100 {
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

// numeral writes a tick: 1.5M, 20k, 0.25, with the unit.
func numeral(v, step float64, u data.Unit) string {
	a, s := max(math.Abs(v), math.Abs(step)), ""
	div, suffix := 1.0, ""
	switch {
	case a >= 1e15 || a > 0 && math.Abs(step) < 1e-6:
		s = strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 1e10:
		div, suffix = 1e9, "B"
	case a >= 1e7:
		div, suffix = 1e6, "M"
	case a >= 1e4 && math.Mod(step, 100) == 0:
		div, suffix = 1e3, "k"
	}
	if s == "" {
		digits := max(0, int(math.Ceil(-math.Log10(math.Abs(step/div))-1e-9)))
		if r := step / div * math.Pow(10, float64(digits)); math.Abs(r-math.Round(r)) > 1e-6 {
			digits++
		}
		s = strconv.FormatFloat(v/div, 'f', min(digits, 8), 64)
		if v == 0 {
			s, suffix = "0", ""
		}
	}
	switch u {
	case data.Percent:
		return s + suffix + "%"
	case "$", "€", "£", "¥", "₹":
		if v < 0 {
			return "−" + string(u) + s[1:] + suffix
		}
		return string(u) + s + suffix
	}
	return s + suffix
}

// timeTicks are at whole years, quarters, months, days or hours, at most n.
func timeTicks(lo, hi float64, n int) []tick {
	type step struct {
		months int
		d      time.Duration
		format string
	}
	const day = 24 * time.Hour
	steps := []step{
		{0, time.Second, "15:04:05"}, {0, 10 * time.Second, "15:04:05"}, {0, time.Minute, "15:04"}, {0, 5 * time.Minute, "15:04"},
		{0, 15 * time.Minute, "15:04"}, {0, time.Hour, "15:04"}, {0, 3 * time.Hour, "01-02 15:04"}, {0, 6 * time.Hour, "01-02 15:04"}, {0, 12 * time.Hour, "01-02 15:04"},
		{0, day, "01-02"}, {0, 2 * day, "01-02"}, {0, 7 * day, "01-02"}, {0, 14 * day, "01-02"},
		{1, 0, "2006-01"}, {2, 0, "2006-01"}, {3, 0, "2006-01"}, {6, 0, "2006-01"}, {12, 0, "2006"}, {24, 0, "2006"}, {60, 0, "2006"}, {120, 0, "2006"}, {240, 0, "2006"}, {600, 0, "2006"}, {1200, 0, "2006"},
	}
	for _, s := range steps {
		size := s.d.Seconds()
		if s.months > 0 {
			size = float64(s.months) * 30.44 * 86400
		}
		if (hi-lo)/size > float64(n) {
			continue
		}
		format := s.format
		if s.months == 0 && s.d >= day && data.UnixTime(lo).Year() != data.UnixTime(hi).Year() {
			format = "2006-01-02"
		}
		return ticksBy(lo, hi, s.months, s.d, format)
	}
	return []tick{{lo, data.FormatTime(lo, data.Year)}, {hi, data.FormatTime(hi, data.Year)}}
}

func ticksBy(lo, hi float64, months int, d time.Duration, format string) []tick {
	t := data.UnixTime(lo)
	switch {
	case months >= 12:
		years := months / 12
		t = time.Date(t.Year()-t.Year()%years, 1, 1, 0, 0, 0, 0, time.UTC)
	case months > 0:
		m := int(t.Month()) - 1
		t = time.Date(t.Year(), time.Month(m-m%months+1), 1, 0, 0, 0, 0, time.UTC)
	case d >= 7*24*time.Hour: // weeks begin on Monday
		t = t.Truncate(24 * time.Hour)
		t = t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
	default:
		t = t.Truncate(d)
	}
	var ticks []tick
	for v := float64(t.Unix()); v <= hi && len(ticks) < 200; v = float64(t.Unix()) {
		if v >= lo {
			ticks = append(ticks, tick{v, t.Format(format)})
		}
		if months > 0 {
			t = t.AddDate(0, months, 0)
		} else {
			t = t.Add(d)
		}
	}
	return ticks
}
