package insight

import (
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"github.com/openmanus-go/openmanus/data"
)

const year = 365.2425 * 86400

// per is the span of x in which a slope is told.
func per(set Set, s Series) (span float64, en, zh string) {
	if set.XKind != data.Time {
		return 1, "unit of " + set.XName, "单位" + set.XName
	}
	switch total := s.X[len(s.X)-1] - s.X[0]; {
	case total >= 3*year:
		return year, "year", "年"
	case total >= 90*86400:
		return year / 12, "month", "月"
	case total >= 3*86400:
		return 86400, "day", "天"
	default:
		return 3600, "hour", "小时"
	}
}

// trend is a Mann-Kendall test whose p-value allows for values that lean on
// the ones before them, and Theil and Sen's slope.
func trend(w words, set Set, s Series) (Insight, bool) {
	if len(s.Y) < 6 || s.X[0] == s.X[len(s.X)-1] {
		return Insight{}, false
	}
	k := Kendall(s.X, s.Y)
	slope, at := TheilSen(s.X, s.Y)
	if math.IsNaN(k.P) || math.IsNaN(k.Value) || math.IsNaN(slope) {
		return Insight{}, false
	}
	rest := make([]float64, len(s.Y))
	for i := range rest {
		rest[i] = s.Y[i] - at - slope*s.X[i]
	}
	z := math.Sqrt2 * math.Erfcinv(min(k.P, 1)) * math.Sqrt(effective(rest)/float64(len(rest)))
	if k.P == 0 { // beyond what can be told apart
		z = 37 * math.Sqrt(effective(rest)/float64(len(rest)))
	}
	p := normalP(z)
	from, to := s.X[0], s.X[len(s.X)-1]
	a, b := at+slope*from, at+slope*to
	span, en, zh := per(set, s)
	ins := Insight{Kind: Trend, Series: s.Name, Stats: map[string]float64{"tau": k.Value, "p": p, "slope": slope * span, "n": float64(k.N), "from": a, "to": b}}
	if p >= significant {
		ins.weight = 0.25
		ins.Text = w.of(s, set) + w.say("no significant trend (Mann-Kendall τ = %.2f, %s)", "无显著趋势（Mann-Kendall τ = %.2f，%s）", k.Value, pv(p))
		return ins, true
	}
	up, zhUp := "falling", "下降"
	if slope > 0 {
		up, zhUp = "rising", "上升"
	}
	change := ""
	if a > 0 && b > 0 {
		ins.Stats["change"] = b/a - 1
		change = w.say(", %s over the whole span", "，全期%s", percent(b/a-1))
	}
	ins.Text = w.of(s, set) + w.say("%[1]s by %[3]s per %[4]s from %[6]s to %[7]s%[8]s (Mann-Kendall τ = %.2[9]f, %[10]s)",
		"从%[6]s到%[7]s%[2]s，每%[5]s%[3]s%[8]s（Mann-Kendall τ = %.2[9]f，%[10]s）",
		up, zhUp, num(math.Abs(slope*span), s.Unit), en, zh, set.place(from), set.place(to), change, k.Value, pv(p))
	ins.weight = 1 + math.Abs(k.Value)
	ins.Marks = []Mark{{Kind: "line", Series: s.Name, X: from, Y: a, X2: to, Y2: b, Label: w.say("trend", "趋势")}}
	return ins, true
}

// effective is how many independent values those of r are worth, by their
// correlation with the one before.
func effective(r []float64) float64 {
	n := float64(len(r))
	if len(r) < 8 {
		return n
	}
	rho := stat.Correlation(r[:len(r)-1], r[1:], nil)
	if math.IsNaN(rho) || rho <= 1.96/math.Sqrt(n) {
		return n
	}
	return max(3, n*(1-rho)/(1+rho))
}

// smooth is the running median of 25 values or a fifth of them; towards the
// ends of fewer, so that a slope there is not taken for something odd.
func smooth(y []float64) []float64 {
	half := min(12, max(2, len(y)/10))
	out := make([]float64, len(y))
	var win []float64
	lo, hi := 0, 0
	for i := range y {
		h := min(half, i, len(y)-1-i)
		for ; hi < i+h+1; hi++ {
			k := sort.SearchFloat64s(win, y[hi])
			win = slices.Insert(win, k, y[hi])
		}
		for ; lo < i-h; lo++ {
			k := sort.SearchFloat64s(win, y[lo])
			win = slices.Delete(win, k, k+1)
		}
		out[i] = quantile(win, 0.5)
	}
	return out
}

// wild is from how many robust standard deviations on a value is an outlier.
const wild = 4.5

// courseOutliers are values far from what their place lets expect.
func courseOutliers(w words, set Set, s Series, c season, seasonal bool) (Insight, bool) {
	if len(s.Y) < 12 {
		return Insight{}, false
	}
	rest, spread := c.rest, MAD(c.rest)
	if !seasonal {
		rest = make([]float64, len(s.Y))
		for i, v := range smooth(s.Y) {
			rest[i] = s.Y[i] - v
		}
		// Along a slope the middle of a window is nearly the value itself, and
		// what is left says too little of the noise; the steps say it.
		spread = max(MAD(rest), MAD(differences(s.Y))/math.Sqrt2)
	}
	return outliers(w, set, s, rest, spread, w.say("what its neighbourhood lets expect", "邻近水平"))
}

// valueOutliers are values far from the middle of all.
func valueOutliers(w words, set Set, s Series) []Insight {
	if len(s.Y) < 8 {
		return nil
	}
	m := Median(s.Y)
	rest := make([]float64, len(s.Y))
	for i := range rest {
		rest[i] = s.Y[i] - m
	}
	if o, ok := outliers(w, set, s, rest, MAD(rest), w.say("the median", "中位数")); ok {
		return []Insight{o}
	}
	return nil
}

// outliers are those of what is left of the values, far beyond its spread.
func outliers(w words, set Set, s Series, rest []float64, spread float64, from string) (Insight, bool) {
	mad := spread
	if !(mad > 0) {
		return Insight{}, false
	}
	mid := Median(rest)
	z := make([]float64, len(rest))
	var idx []int
	for i, r := range rest {
		z[i] = (r - mid) / mad
		if math.Abs(z[i]) > wild {
			idx = append(idx, i)
		}
	}
	// A tenth of all are not outliers but a distribution with long tails.
	if len(idx) == 0 || len(idx) > max(3, len(rest)/20) {
		return Insight{}, false
	}
	slices.SortStableFunc(idx, func(a, b int) int {
		if math.Abs(z[a]) > math.Abs(z[b]) {
			return -1
		}
		return 1
	})
	ins := Insight{Kind: Outliers, Series: s.Name, Stats: map[string]float64{"count": float64(len(idx)), "largest_z": z[idx[0]]}}
	list := ""
	for n, i := range idx[:min(len(idx), 3)] {
		if n > 0 {
			list += w.say(", ", "、")
		}
		if set.Shape == Groups {
			list += num(s.Y[i], s.Unit)
		} else {
			list += w.say("%s (%s, %+.1f σ)", "%s（%s，%+.1f σ）", set.place(s.X[i]), num(s.Y[i], s.Unit), z[i])
		}
	}
	for _, i := range idx[:min(len(idx), 5)] {
		label := ""
		if len(idx) <= 5 && set.Shape != Groups {
			label = set.place(s.X[i])
		}
		ins.Marks = append(ins.Marks, Mark{Kind: "point", Series: s.Name, X: s.X[i], Y: s.Y[i], Label: label})
	}
	if len(idx) > 3 {
		list += w.say(" and %d more", "等，另有%d个", len(idx)-3)
	}
	ins.Text = w.of(s, set) + w.say("%d outliers, more than %.1f robust standard deviations from %s: %s",
		"%d个异常值，偏离%[3]s超过%.1[2]f个稳健标准差：%[4]s", len(idx), wild, from, list)
	if len(idx) == 1 {
		ins.Text = w.of(s, set) + w.say("one outlier, more than %.1f robust standard deviations from %s: %s",
			"1个异常值，偏离%[2]s超过%.1[1]f个稳健标准差：%[3]s", wild, from, list)
	}
	ins.weight = 0.9
	return ins, true
}

// turning looks for a place at which a broken line fits better than a straight
// one, by an F-test that allows for having looked everywhere.
func turning(w words, set Set, s Series) []Insight {
	x, y := blocks(s.X, s.Y, 200)
	k, ok := bend(x, y)
	if !ok {
		return nil
	}
	span, en, zh := per(set, s)
	ins := Insight{Kind: TurningPoint, Series: s.Name, weight: 0.95,
		Stats: map[string]float64{"x": k.x, "before": k.before * span, "after": k.after * span, "f": k.f, "p": k.p}}
	ins.Text = w.of(s, set) + w.say("turns at %[1]s: %[2]s per %[4]s before, %[3]s after (broken against straight line, F = %.1[6]f, %[7]s)",
		"%[1]s出现转折：此前每%[5]s%[2]s，此后%[3]s（折线与直线比较，F = %.1[6]f，%[7]s）",
		set.place(k.x), signed(k.before*span, s.Unit), signed(k.after*span, s.Unit), en, zh, k.f, pv(k.p))
	ins.Marks = []Mark{
		{Kind: "point", Series: s.Name, X: k.x, Y: k.y, Label: w.say("turns %s", "转折 %s", set.place(k.x))},
	}
	return []Insight{ins}
}

func signed(v float64, u data.Unit) string {
	if v > 0 {
		return "+" + num(v, u)
	}
	return num(v, u)
}

// blocks are means of neighbours, at most so many.
func blocks(x, y []float64, most int) (bx, by []float64) {
	if len(x) <= most {
		return x, y
	}
	for k := range most {
		i, j := k*len(x)/most, (k+1)*len(x)/most
		// The place is one that exists, so that it can be told as a date.
		bx, by = append(bx, x[(i+j)/2]), append(by, stat.Mean(y[i:j], nil))
	}
	return bx, by
}

type kink struct{ x, y, before, after, f, p float64 }

// bend finds the best kink of a continuous broken line.
func bend(x, y []float64) (best kink, ok bool) {
	n := len(x)
	if n < 16 || x[0] == x[n-1] {
		return best, false
	}
	scaled := make([]float64, n)
	for i := range x {
		scaled[i] = (x[i] - x[0]) / (x[n-1] - x[0])
	}
	straight, _ := rss(y, scaled)
	if !(straight > 0) {
		return best, false
	}
	margin := max(4, n/10)
	least, at, tried := math.Inf(1), 0, 0
	hinge := make([]float64, n)
	for i := margin; i < n-margin; i++ {
		hingeAt(hinge, scaled, scaled[i])
		if r, _ := rss(y, scaled, hinge); r < least {
			least, at = r, i
		}
		tried++
	}
	if at == 0 {
		return best, false
	}
	hingeAt(hinge, scaled, scaled[at])
	_, rest := rss(y, scaled, hinge)
	df := effective(rest) - 4
	if df < 2 {
		return best, false
	}
	f, err := LeastSquares(y, scaled, hinge)
	if err != nil {
		return best, false
	}
	width := x[n-1] - x[0]
	best = kink{x: x[at], y: f.Coef[0] + f.Coef[1]*scaled[at], before: f.Coef[1] / width, after: (f.Coef[1] + f.Coef[2]) / width}
	best.f = (straight - least) / 2 / (least / df)
	best.p = min(1, fP(best.f, 2, df)*float64(min(tried, 50)))
	explained := 1 - least/straight
	turned := best.before*best.after < 0 || math.Abs(best.after) > 2*math.Abs(best.before) || math.Abs(best.before) > 2*math.Abs(best.after)
	return best, best.p < 0.01 && turned && explained > 0.2
}

func hingeAt(hinge, x []float64, at float64) {
	for i, v := range x {
		hinge[i] = max(0, v-at)
	}
}

// rss is what a linear model of one or two variables leaves unexplained, by
// the normal equations: bend asks for it hundreds of times.
func rss(y, x1 []float64, x2 ...[]float64) (float64, []float64) {
	my, m1 := stat.Mean(y, nil), stat.Mean(x1, nil)
	var s11, s12, s22, s1y, s2y, m2 float64
	if len(x2) > 0 {
		m2 = stat.Mean(x2[0], nil)
	}
	for i := range y {
		a, c := x1[i]-m1, y[i]-my
		s11 += a * a
		s1y += a * c
		if len(x2) > 0 {
			b := x2[0][i] - m2
			s12 += a * b
			s22 += b * b
			s2y += b * c
		}
	}
	b1, b2 := s1y/s11, 0.0
	if det := s11*s22 - s12*s12; len(x2) > 0 && det > 1e-12*s11*s22 {
		b1, b2 = (s1y*s22-s2y*s12)/det, (s2y*s11-s1y*s12)/det
	}
	sum, rest := 0.0, make([]float64, len(y))
	for i := range y {
		r := y[i] - my - b1*(x1[i]-m1)
		if len(x2) > 0 {
			r -= b2 * (x2[0][i] - m2)
		}
		rest[i] = r
		sum += r * r
	}
	return sum, rest
}

// volatility is how much values change from one to the next, as a share: of
// values that come near 0 it says nothing.
func volatility(w words, set Set, s Series) (Insight, bool) {
	if len(s.Y) < 20 || set.XKind != data.Time || slices.Min(s.Y) <= 0 || !(slices.Min(s.Y) > 0.1*stat.Mean(s.Y, nil)) {
		return Insight{}, false
	}
	changes := make([]float64, len(s.Y)-1)
	for i := range changes {
		changes[i] = s.Y[i+1]/s.Y[i] - 1
	}
	sd := stat.StdDev(changes, nil)
	win := max(6, len(changes)/10)
	from, most := 0, 0.0
	var roll rolling
	for i, c := range changes {
		roll.add(c)
		if i >= win {
			roll.remove(changes[i-win])
		}
		if v := roll.sd(); i >= win-1 && v > most {
			from, most = i-win+1, v
		}
	}
	drop, top, bottom := drawdown(s.Y)
	half := len(changes) / 2
	bf := BrownForsythe(changes[:half], changes[half:])
	a, b := stat.StdDev(changes[:half], nil), stat.StdDev(changes[half:], nil)
	ins := Insight{Kind: Volatility, Series: s.Name, weight: 0.5, Stats: map[string]float64{"sd": sd, "largest_sd": most, "drawdown": drop, "first_half": a, "second_half": b, "p": bf.P}}
	start, end := set.place(s.X[from]), set.place(s.X[from+win])
	ins.Text = w.of(s, set) + w.say("changes from one value to the next have a standard deviation of %s, the most (%s) from %s to %s; largest fall from a peak %s (%s to %s)",
		"相邻变化的标准差为%s，最高（%s）在%s至%s；最大回撤%s（%s至%s）",
		share(sd), share(most), start, end, share(drop), set.place(s.X[top]), set.place(s.X[bottom]))
	if bf.P < significant {
		ins.weight = 0.7
		ins.Text += w.say("; first half %s, second half %s (Brown-Forsythe, %s)", "；前半期%s，后半期%s（Brown-Forsythe，%s）", share(a), share(b), pv(bf.P))
	}
	if most > 1.5*sd {
		ins.Marks = []Mark{{Kind: "span", Series: s.Name, X: s.X[from], X2: s.X[from+win], Label: w.say("most volatile", "波动最大")}}
	}
	return ins, true
}

// rolling is the standard deviation of a moving window.
type rolling struct{ n, sum, squares float64 }

func (r *rolling) add(v float64)    { r.n++; r.sum += v; r.squares += v * v }
func (r *rolling) remove(v float64) { r.n--; r.sum -= v; r.squares -= v * v }
func (r *rolling) sd() float64 {
	if r.n < 2 {
		return 0
	}
	return math.Sqrt(max(0, (r.squares-r.sum*r.sum/r.n)/(r.n-1)))
}

// drawdown is the largest fall from a peak, as a share of it.
func drawdown(y []float64) (share float64, top, bottom int) {
	peak := 0
	for i, v := range y {
		if v > y[peak] {
			peak = i
		}
		if d := 1 - v/y[peak]; d > share {
			share, top, bottom = d, peak, i
		}
	}
	return share, top, bottom
}
