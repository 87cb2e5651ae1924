package insight

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"github.com/openmanus-go/openmanus/data"
)

const (
	day  = 86400.0 // seconds
	year = 365.2425 * day
)

// slopeUnit returns the length on the x axis for which slopes are stated, and
// its name in both languages: a unit of time that suits the whole length.
func slopeUnit(set Set, s Series) (length float64, en, zh string) {
	if set.XKind != data.Time {
		return 1, "unit of " + set.XName, "单位" + set.XName
	}
	switch total := s.X[len(s.X)-1] - s.X[0]; {
	case total >= 3*year:
		return year, "year", "年"
	case total >= 90*day:
		return year / 12, "month", "月"
	case total >= 3*day:
		return day, "day", "天"
	default:
		return day / 24, "hour", "小时"
	}
}

// trend states whether values rise or fall: by the Mann-Kendall test, corrected
// for autocorrelation, and the slope of Theil and Sen.
func trend(w words, set Set, s Series) []Insight {
	if len(s.Y) < 6 || s.X[0] == s.X[len(s.X)-1] {
		return nil
	}
	k := Kendall(s.X, s.Y)
	slope, intercept := TheilSen(s.X, s.Y)
	if math.IsNaN(k.P) || math.IsNaN(k.Value) || math.IsNaN(slope) {
		return nil
	}
	rest := make([]float64, len(s.Y))
	for i := range rest {
		rest[i] = s.Y[i] - intercept - slope*s.X[i]
	}
	p := correctedP(k.P, rest)
	from, to := s.X[0], s.X[len(s.X)-1]
	begin, end := intercept+slope*from, intercept+slope*to
	unit, en, zh := slopeUnit(set, s)
	ins := Insight{Kind: Trend, Series: s.Name, Stats: map[string]float64{
		"tau": k.Value, "p": p, "slope": slope * unit, "n": float64(k.N), "from": begin, "to": end}}
	if p >= significant {
		ins.weight = 0.25
		ins.Text = w.about(s, set) + w.text("no significant trend (Mann-Kendall τ = %.2f, %s)",
			"无显著趋势（Mann-Kendall τ = %.2f，%s）", k.Value, pValue(p))
		return []Insight{ins}
	}
	direction := w.text("falling", "下降")
	if slope > 0 {
		direction = w.text("rising", "上升")
	}
	change := ""
	if begin > 0 && end > 0 {
		ins.Stats["change"] = end/begin - 1
		change = w.text(", %s over the whole span", "，全期%s", signedPercent(end/begin-1))
	}
	ins.Text = w.about(s, set) + w.text(
		"%[1]s by %[2]s per %[3]s from %[5]s to %[6]s%[7]s (Mann-Kendall τ = %.2[8]f, %[9]s)",
		"从%[5]s到%[6]s%[1]s，每%[4]s%[2]s%[7]s（Mann-Kendall τ = %.2[8]f，%[9]s）",
		direction, number(math.Abs(slope*unit), s.Unit), en, zh, set.place(from), set.place(to), change,
		k.Value, pValue(p))
	ins.weight = 1 + math.Abs(k.Value)
	ins.Marks = []Mark{{Kind: "line", Series: s.Name, X: from, Y: begin, X2: to, Y2: end,
		Label: w.text("trend", "趋势")}}
	return []Insight{ins}
}

// correctedP corrects the p-value of a test that assumes independent values,
// by how many such values the residuals are worth.
func correctedP(p float64, residuals []float64) float64 {
	z := 37.0 // for p = 0: the largest that floating-point numbers tell apart
	if p > 0 {
		z = math.Sqrt2 * math.Erfcinv(min(p, 1))
	}
	return normalP(z * math.Sqrt(effective(residuals)/float64(len(residuals))))
}

// effective returns how many independent values r is worth, from the
// correlation of each value with the one before (Bayley and Hammersley).
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
