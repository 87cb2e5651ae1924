package insight

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/openmanus-go/openmanus/data"
)

// A season is a pattern that comes back.
type season struct {
	period   int
	effect   []float64 // by position; shares of the level if relative
	relative bool
	names    []string // of the positions; none: numbers
	en, zh   string   // the period in words
	position func(x float64) int
	strength float64 // from 0 to 1: what of the variation around the trend is the pattern's
	test     Test
	rest     []float64 // without trend and pattern, relative or not; 0 where the trend is a guess
	adjusted []float64 // without the pattern
}

// seasonOf looks for the period that the unit of the times suggests and takes
// the strongest.
func seasonOf(set Set, s Series) (season, bool) {
	var best season
	for _, c := range candidates(set, s) {
		if got, ok := c.fit(s); ok && got.strength > best.strength {
			best = got
		}
	}
	return best, best.strength >= 0.3 && best.test.P < 0.01
}

// A cycle is a period to try: the position of a time within it.
type cycle struct {
	period   int
	position func(x float64) int
	names    []string
	en, zh   string
}

var (
	monthNames = []string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"}
	dayNames   = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
)

// candidates are the cycles of the calendar that the times are fine and long
// enough for. There must be three rounds, and one value for a place.
func candidates(set Set, s Series) []cycle {
	n := len(s.X)
	if set.XKind != data.Time || n < 12 {
		return nil
	}
	for i := 1; i < n; i++ {
		if s.X[i] == s.X[i-1] {
			return nil
		}
	}
	step := Median(differences(s.X))
	total := s.X[n-1] - s.X[0]
	var cs []cycle
	add := func(lo, hi, rounds float64, c cycle) {
		if step >= lo && step <= hi && total >= rounds {
			cs = append(cs, c)
		}
	}
	const day = 86400
	at := func(f func(time.Time) int) func(float64) int {
		return func(x float64) int { return f(data.UnixTime(x)) }
	}
	add(25*day, 35*day, 2.9*year, cycle{12, at(func(t time.Time) int { return int(t.Month()) - 1 }), monthNames, "12 months", "12个月"})
	add(85*day, 95*day, 2.7*year, cycle{4, at(func(t time.Time) int { return (int(t.Month()) - 1) / 3 }), []string{"Q1", "Q2", "Q3", "Q4"}, "4 quarters", "4个季度"})
	add(0.9*day, 1.1*day, 20*day, cycle{7, at(func(t time.Time) int { return int(t.Weekday()) }), dayNames, "7 days", "7天"})
	add(0.9*day, 8*day, 2.9*year, cycle{12, at(func(t time.Time) int { return int(t.Month()) - 1 }), monthNames, "year", "年"})
	add(0, 3600, 2.9*day, cycle{24, at(time.Time.Hour), nil, "24 hours", "24小时"})
	return cs
}

func differences(x []float64) []float64 {
	d := make([]float64, len(x)-1)
	for i := range d {
		d[i] = x[i+1] - x[i]
	}
	return d
}

// fit takes the trend away by a moving mean over one period and looks at what
// is left by its place in the period.
func (c cycle) fit(s Series) (season, bool) {
	n := len(s.Y)
	// How many values make a round may differ from the number of positions:
	// a year of days has 12 months.
	first := s.X[0]
	round := 0
	for i, p0 := 1, c.position(first); i < n && round == 0; i++ {
		if c.position(s.X[i]) == p0 && c.position(s.X[i-1]) != p0 {
			round = i
		}
	}
	if round < 2 || n < 5*round/2 {
		return season{}, false
	}
	got := season{period: c.period, names: c.names, en: c.en, zh: c.zh, position: c.position, relative: relative(s.Y)}
	y := s.Y
	if got.relative {
		y = make([]float64, n)
		for i, v := range s.Y {
			y[i] = math.Log(v)
		}
	}
	level := movingMean(y, round)
	groups := make([][]float64, c.period)
	for i := range y {
		p := c.position(s.X[i])
		groups[p] = append(groups[p], y[i]-level[i])
	}
	got.effect = make([]float64, c.period)
	for p, g := range groups {
		if len(g) == 0 {
			return season{}, false
		}
		got.effect[p] = stat.Mean(g, nil)
	}
	rest, both := make([]float64, n), make([]float64, n)
	got.rest, got.adjusted = make([]float64, n), make([]float64, n)
	for i := range y {
		e := got.effect[c.position(s.X[i])]
		both[i] = y[i] - level[i]
		rest[i] = both[i] - e
		if i >= round/2 && i < n-round/2 {
			got.rest[i] = rest[i]
		}
		if got.adjusted[i] = y[i] - e; got.relative {
			got.adjusted[i] = math.Exp(got.adjusted[i])
		}
	}
	got.strength = max(0, 1-stat.Variance(rest, nil)/stat.Variance(both, nil))
	got.test = KruskalWallis(groups...)
	return got, !math.IsNaN(got.strength)
}

// relative reports whether values swing in proportion to their level.
func relative(y []float64) bool {
	lo, hi := math.Inf(1), 0.0
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo > 0 && hi > 2*lo
}

// movingMean is centred, over n values; towards the ends it goes on along the
// line of the nearest whole window.
func movingMean(y []float64, n int) []float64 {
	half := n / 2
	out := make([]float64, len(y))
	sums := make([]float64, len(y)+1)
	for i, v := range y {
		sums[i+1] = sums[i] + v
	}
	lo, hi := half, len(y)-1-half
	for i := lo; i <= hi; i++ {
		if n%2 == 1 {
			out[i] = (sums[i+half+1] - sums[i-half]) / float64(n)
		} else { // half a value at each end
			out[i] = (sums[i+half] - sums[i-half+1] + (y[i-half]+y[i+half])/2) / float64(n)
		}
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

func (c season) name(w words, p int) string {
	switch {
	case c.names == nil:
		return fmt.Sprintf("%d:00", p)
	case w.chinese && c.period == 12:
		return fmt.Sprintf("%d月", p+1)
	case w.chinese && c.period == 7:
		return "星期" + string([]rune("日一二三四五六")[p])
	}
	return c.names[p]
}

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
			return percent(math.Exp(c.effect[p]) - 1)
		}
		return signed(c.effect[p], s.Unit)
	}
	ins := Insight{Kind: Seasonality, Series: s.Name, weight: 0.8 + c.strength,
		Stats: map[string]float64{"period": float64(c.period), "strength": c.strength, "h": c.test.Value, "p": c.test.P, "peak": float64(top), "trough": float64(bottom)}}
	ins.Text = w.of(s, set) + w.say("a pattern that repeats every %[1]s: highest in %[3]s (%[4]s against the trend), lowest in %[5]s (%[6]s); strength %.2[7]f of 1 (Kruskal-Wallis, %[8]s)",
		"每%[2]s重复的季节性：%[3]s最高（相对趋势%[4]s），%[5]s最低（%[6]s）；强度%.2[7]f（满分1，Kruskal-Wallis，%[8]s）",
		c.en, c.zh, c.name(w, top), size(top), c.name(w, bottom), size(bottom), c.strength, pv(c.test.P))
	// The last time that it was highest shows where in the round that is.
	last, best := false, 0
	for i := len(s.X) - 1; i >= 0 && !(last && c.position(s.X[i]) != top); i-- {
		if c.position(s.X[i]) == top && (!last || s.Y[i] > s.Y[best]) {
			last, best = true, i
		}
	}
	ins.Marks = []Mark{{Kind: "point", Series: s.Name, X: s.X[best], Y: s.Y[best], Label: w.say("%s peak", "%s高峰", c.name(w, top))}}
	return ins
}
