package insight

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// turningPoint looks for a place where a broken line fits better than a
// straight one, by an F-test that allows for having tried every place.
func turningPoint(w words, set Set, s Series) []Insight {
	x, y := blockMeans(s.X, s.Y, 200)
	k, ok := findKink(x, y)
	if !ok {
		return nil
	}
	unit, en, zh := slopeUnit(set, s)
	return []Insight{{
		Kind: TurningPoint, Series: s.Name, weight: 0.95,
		Stats: map[string]float64{"x": k.x, "before": k.before * unit, "after": k.after * unit, "f": k.f, "p": k.p},
		Text: w.about(s, set) + w.text(
			"turns at %[1]s: %[2]s per %[4]s before, %[3]s after (broken against straight line, F = %.1[6]f, %[7]s)",
			"%[1]s出现转折：此前每%[5]s%[2]s，此后%[3]s（折线与直线比较，F = %.1[6]f，%[7]s）",
			set.place(k.x), signed(k.before*unit, s.Unit), signed(k.after*unit, s.Unit), en, zh, k.f, pValue(k.p)),
		Marks: []Mark{{Kind: "point", Series: s.Name, X: k.x, Y: k.y,
			Label: w.text("turns %s", "转折 %s", set.place(k.x))}},
	}}
}

// blockMeans reduces points to the means of at most so many blocks of
// neighbours. The place of a block is one of its own, so that it can be named
// as a date.
func blockMeans(x, y []float64, most int) (bx, by []float64) {
	if len(x) <= most {
		return x, y
	}
	for k := range most {
		i, j := k*len(x)/most, (k+1)*len(x)/most
		bx, by = append(bx, x[(i+j)/2]), append(by, stat.Mean(y[i:j], nil))
	}
	return bx, by
}

// A kink is where a continuous broken line changes its slope.
type kink struct{ x, y, before, after, f, p float64 }

// findKink returns the best kink, at least a tenth of the points from either
// end. It must be significant at 1 %, explain a fifth of what a straight line
// leaves, and change the slope's sign or double it.
func findKink(x, y []float64) (best kink, ok bool) {
	n := len(x)
	if n < 16 || x[0] == x[n-1] {
		return best, false
	}
	width := x[n-1] - x[0]
	scaled := make([]float64, n)
	for i := range x {
		scaled[i] = (x[i] - x[0]) / width
	}
	straight, _ := residuals(y, scaled, nil)
	if !(straight > 0) {
		return best, false
	}
	margin := max(4, n/10)
	least, at := math.Inf(1), 0
	hinge := make([]float64, n)
	for i := margin; i < n-margin; i++ {
		hingeAt(hinge, scaled, scaled[i])
		if r, _ := residuals(y, scaled, hinge); r < least {
			least, at = r, i
		}
	}
	if at == 0 {
		return best, false
	}
	hingeAt(hinge, scaled, scaled[at])
	_, rest := residuals(y, scaled, hinge)
	df := effective(rest) - 4
	if least < 1e-12*straight { // what is left are rounding errors
		df = float64(n) - 4
	}
	fit, err := LeastSquares(y, scaled, hinge)
	if df < 2 || err != nil {
		return best, false
	}
	b := fit.Coef
	best = kink{x: x[at], y: b[0] + b[1]*scaled[at], before: b[1] / width, after: (b[1] + b[2]) / width}
	best.f = (straight - least) / 2 / (least / df)
	best.p = min(1, fP(best.f, 2, df)*float64(min(n-2*margin, 50)))
	turned := best.before*best.after < 0 ||
		math.Abs(best.after) > 2*math.Abs(best.before) || math.Abs(best.before) > 2*math.Abs(best.after)
	return best, best.p < 0.01 && turned && 1-least/straight > 0.2
}

// hingeAt sets hinge to a line that is 0 up to a place and rises after it.
func hingeAt(hinge, x []float64, at float64) {
	for i, v := range x {
		hinge[i] = max(0, v-at)
	}
}

// residuals returns what a linear model of x1, and of x2 unless it is nil,
// leaves unexplained, and the sum of its squares. It solves the normal
// equations: findKink needs it hundreds of times.
func residuals(y, x1, x2 []float64) (sum float64, rest []float64) {
	my, m1, m2 := stat.Mean(y, nil), stat.Mean(x1, nil), 0.0
	if x2 == nil {
		x2 = make([]float64, len(y))
	} else {
		m2 = stat.Mean(x2, nil)
	}
	var s11, s12, s22, s1y, s2y float64
	for i := range y {
		a, b, c := x1[i]-m1, x2[i]-m2, y[i]-my
		s11 += a * a
		s12 += a * b
		s22 += b * b
		s1y += a * c
		s2y += b * c
	}
	b1, b2 := s1y/s11, 0.0
	if det := s11*s22 - s12*s12; det > 1e-12*s11*s22 {
		b1, b2 = (s1y*s22-s2y*s12)/det, (s2y*s11-s1y*s12)/det
	}
	rest = make([]float64, len(y))
	for i := range y {
		rest[i] = y[i] - my - b1*(x1[i]-m1) - b2*(x2[i]-m2)
		sum += rest[i] * rest[i]
	}
	return sum, rest
}
