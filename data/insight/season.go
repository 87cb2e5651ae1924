package insight

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/openmanus-go/openmanus/data"
)

// A cycle is a period of the calendar that may show in a series.
type cycle struct {
	positions int                 // in a period, such as 12 months
	position  func(x float64) int // of a time
	names     []string            // of the positions; nil: hours
	en, zh    string              // the period's name

	// The series must have values from every least to most seconds, and be so
	// many seconds long.
	least, most, length float64
}

// cycles are the periods that are tried, with at least nearly three rounds.
var cycles = []cycle{
	{12, month, monthNames, "12 months", "12个月", 25 * day, 35 * day, 2.9 * year},
	{4, quarter, []string{"Q1", "Q2", "Q3", "Q4"}, "4 quarters", "4个季度", 85 * day, 95 * day, 2.7 * year},
	{7, weekday, weekdayNames, "7 days", "7天", 0.9 * day, 1.1 * day, 20 * day},
	{12, month, monthNames, "year", "年", 0.9 * day, 8 * day, 2.9 * year},
	{24, hour, nil, "24 hours", "24小时", 0, day / 24, 2.9 * day},
}

var monthNames, weekdayNames = calendarNames()

func calendarNames() (months, weekdays []string) {
	for m := time.January; m <= time.December; m++ {
		months = append(months, m.String())
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		weekdays = append(weekdays, d.String())
	}
	return months, weekdays
}

// hour, month, quarter and weekday return the position of a time in its period,
// from 0.
func hour(x float64) int    { return data.UnixTime(x).Hour() }
func month(x float64) int   { return int(data.UnixTime(x).Month()) - 1 }
func quarter(x float64) int { return month(x) / 3 }
func weekday(x float64) int { return int(data.UnixTime(x).Weekday()) }

// A season is a cycle that a series follows.
type season struct {
	cycle
	effect   []float64 // by position; logarithms of factors if relative
	relative bool      // the effect grows with the level
	strength float64   // from 0 to 1: its share in the variation around the trend
	test     Test      // of the differences between positions
	rest     []float64 // without trend and season; 0 where the trend is extrapolated
	adjusted []float64 // without the season
}

// findSeason returns the strongest season, and whether it is strong and
// significant enough to be stated.
func findSeason(set Set, s Series) (best season, ok bool) {
	if set.XKind != data.Time || len(s.X) < 12 {
		return best, false
	}
	steps := differences(s.X)
	for _, d := range steps {
		if d == 0 { // several values at one time
			return best, false
		}
	}
	step, length := Median(steps), s.X[len(s.X)-1]-s.X[0]
	for _, c := range cycles {
		if step < c.least || step > c.most || length < c.length {
			continue
		}
		if got, ok := c.fit(s); ok && got.strength > best.strength {
			best = got
		}
	}
	return best, best.strength >= 0.3 && best.test.P < 0.01
}

// round returns how many values make one period, or 0. It may differ from the
// number of positions: a year of days has 12 months.
func (c cycle) round(x []float64) int {
	first := c.position(x[0])
	for i := 1; i < len(x); i++ {
		if c.position(x[i]) == first && c.position(x[i-1]) != first {
			return i
		}
	}
	return 0
}

// fit decomposes a series: it takes away the trend, a moving mean over one
// period, and averages what is left by its position. It needs two and a half
// periods and values at every position.
func (c cycle) fit(s Series) (got season, ok bool) {
	n, round := len(s.Y), c.round(s.X)
	if round < 2 || n < 5*round/2 {
		return got, false
	}
	got = season{cycle: c, relative: proportional(s.Y), effect: make([]float64, c.positions),
		rest: make([]float64, n), adjusted: make([]float64, n)}
	y := s.Y
	if got.relative {
		y = make([]float64, n)
		for i, v := range s.Y {
			y[i] = math.Log(v)
		}
	}
	level := movingMean(y, round)
	detrended := make([]float64, n)
	groups := make([][]float64, c.positions)
	for i := range y {
		detrended[i] = y[i] - level[i]
		p := c.position(s.X[i])
		groups[p] = append(groups[p], detrended[i])
	}
	for p, g := range groups {
		if len(g) == 0 {
			return got, false
		}
		got.effect[p] = stat.Mean(g, nil)
	}
	rest := make([]float64, n)
	for i := range y {
		e := got.effect[c.position(s.X[i])]
		rest[i] = detrended[i] - e
		if i >= round/2 && i < n-round/2 {
			got.rest[i] = rest[i]
		}
		if got.adjusted[i] = y[i] - e; got.relative {
			got.adjusted[i] = math.Exp(got.adjusted[i])
		}
	}
	got.strength = max(0, 1-stat.Variance(rest, nil)/stat.Variance(detrended, nil))
	got.test = KruskalWallis(groups...)
	return got, !math.IsNaN(got.strength)
}

// proportional reports whether a season is assumed to grow with the level:
// for values above 0 that vary by more than a factor of two.
func proportional(y []float64) bool {
	lo, hi := math.Inf(1), 0.0
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo > 0 && hi > 2*lo
}

// movingMean is the centred mean of n values; with n even the outermost count
// half. Towards the ends it continues the line of the nearest whole windows.
func movingMean(y []float64, n int) []float64 {
	half := n / 2
	out := make([]float64, len(y))
	sums := make([]float64, len(y)+1)
	for i, v := range y {
		sums[i+1] = sums[i] + v
	}
	lo, hi := half, len(y)-1-half
	for i := lo; i <= hi; i++ {
		sum := sums[i+half+1] - sums[i-half]
		if n%2 == 0 {
			sum -= (y[i-half] + y[i+half]) / 2
		}
		out[i] = sum / float64(n)
	}
	k := min(half, hi-lo)
	for i := range lo {
		out[i] = out[lo] - (out[lo+k]-out[lo])/float64(max(k, 1))*float64(lo-i)
	}
	for i := hi + 1; i < len(y); i++ {
		out[i] = out[hi] + (out[hi]-out[hi-k])/float64(max(k, 1))*float64(i-hi)
	}
	return out
}

// positionName names a position of the period.
func (c season) positionName(w words, p int) string {
	switch {
	case c.names == nil:
		return fmt.Sprintf("%d:00", p)
	case w.chinese && c.positions == 12:
		return fmt.Sprintf("%d月", p+1)
	case w.chinese && c.positions == 7:
		return "星期" + string([]rune("日一二三四五六")[p])
	}
	return c.names[p]
}

// insight states the season: its period, and where it is highest and lowest.
func (c season) insight(w words, set Set, s Series) Insight {
	top, bottom := 0, 0
	for p, e := range c.effect {
		if e > c.effect[top] {
			top = p
		}
		if e < c.effect[bottom] {
			bottom = p
		}
	}
	size := func(p int) string {
		if c.relative {
			return signedPercent(math.Exp(c.effect[p]) - 1)
		}
		return signed(c.effect[p], s.Unit)
	}
	peak := c.lastPeak(s, top)
	return Insight{
		Kind: Seasonality, Series: s.Name, weight: 0.8 + c.strength,
		Stats: map[string]float64{"period": float64(c.positions), "strength": c.strength, "h": c.test.Value,
			"p": c.test.P, "peak": float64(top), "trough": float64(bottom)},
		Text: w.about(s, set) + w.text(
			"a pattern that repeats every %[1]s: highest in %[3]s (%[4]s against the trend), "+
				"lowest in %[5]s (%[6]s); strength %.2[7]f of 1 (Kruskal-Wallis, %[8]s)",
			"每%[2]s重复的季节性：%[3]s最高（相对趋势%[4]s），%[5]s最低（%[6]s）；强度%.2[7]f（满分1，Kruskal-Wallis，%[8]s）",
			c.en, c.zh, c.positionName(w, top), size(top), c.positionName(w, bottom), size(bottom), c.strength,
			pValue(c.test.P)),
		Marks: []Mark{{Kind: "point", Series: s.Name, X: s.X[peak], Y: s.Y[peak],
			Label: w.text("%s peak", "%s高峰", c.positionName(w, top))}},
	}
}

// lastPeak returns the index of the largest value in the last run of values at
// a position: it shows where in the period that position is.
func (c season) lastPeak(s Series, position int) int {
	best := -1
	for i := len(s.X) - 1; i >= 0; i-- {
		switch {
		case c.position(s.X[i]) != position:
			if best >= 0 {
				return best
			}
		case best < 0 || s.Y[i] > s.Y[best]:
			best = i
		}
	}
	return max(best, 0)
}
