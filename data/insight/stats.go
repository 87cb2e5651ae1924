package insight

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Test is the statistic of a test with its p-value: the probability of one at
// least as large, in either direction, if nothing were behind it. Both are NaN
// where the test is undefined.
type Test struct {
	Value float64
	P     float64
	N     int // values
}

var undefined = math.NaN()

// Pearson returns the linear correlation of x and y with its t-test.
func Pearson(x, y []float64) Test {
	n := len(x)
	t := Test{undefined, undefined, n}
	if n < 3 {
		return t
	}
	t.Value = max(-1, min(1, stat.Correlation(x, y, nil)))
	if math.IsNaN(t.Value) {
		return t
	}
	df := float64(n - 2)
	t.P = studentP(t.Value*math.Sqrt(df/(1-t.Value*t.Value)), df)
	return t
}

// Spearman returns the correlation of the ranks of x and y. Its p-value is that
// of the t approximation, which allows for ties.
func Spearman(x, y []float64) Test { return Pearson(Ranks(x), Ranks(y)) }

// studentP returns the two-sided p-value of t with df degrees of freedom.
func studentP(t, df float64) float64 {
	switch {
	case df <= 0 || math.IsNaN(t):
		return undefined
	case math.IsInf(t, 0):
		return 0
	}
	return 2 * distuv.StudentsT{Sigma: 1, Nu: df}.CDF(-math.Abs(t))
}

// normalP returns the two-sided p-value of z under the normal distribution.
func normalP(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// Ranks returns the ranks of x, from 1. Ties share the mean of their ranks.
func Ranks(x []float64) []float64 {
	order := sortedIndices(x)
	ranks := make([]float64, len(x))
	for i, j := range equal(len(order), func(i, j int) bool { return x[order[i]] == x[order[j]] }) {
		for _, k := range order[i:j] {
			ranks[k] = float64(i+j+1) / 2
		}
	}
	return ranks
}

// equal yields the runs i:j of equal neighbours among n values.
func equal(n int, same func(i, j int) bool) iter.Seq2[int, int] {
	return func(yield func(i, j int) bool) {
		for i, j := 0, 0; i < n; i = j {
			for j = i + 1; j < n && same(i, j); j++ {
			}
			if !yield(i, j) {
				return
			}
		}
	}
}

// sortedIndices returns the indices of x in the order of its values.
func sortedIndices(x []float64) []int {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return order
}

// Kendall returns the rank correlation tau-b of x and y with its normal
// approximation, corrected for ties. If x are times, it is the Mann-Kendall
// test for a trend. It takes n log n steps (Knight's algorithm).
func Kendall(x, y []float64) Test {
	n := len(x)
	t := Test{undefined, undefined, n}
	if n < 3 {
		return t
	}
	order := sortedIndices(x)
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(x[a], x[b]), cmp.Compare(y[a], y[b]))
	})
	ys := make([]float64, n)
	for i, k := range order {
		ys[i] = y[k]
	}
	tx := tieSums(n, func(i, j int) bool { return x[order[i]] == x[order[j]] })
	txy := tieSums(n, func(i, j int) bool { return x[order[i]] == x[order[j]] && ys[i] == ys[j] })
	discordant := inversions(ys, make([]float64, n)) // sorts ys
	ty := tieSums(n, func(i, j int) bool { return ys[i] == ys[j] })
	nf := float64(n)
	n0 := nf * (nf - 1) / 2
	s := n0 - tx.pairs - ty.pairs + txy.pairs - 2*discordant
	t.Value = s / math.Sqrt((n0-tx.pairs)*(n0-ty.pairs))
	v := (nf*(nf-1)*(2*nf+5)-tx.cubic-ty.cubic)/18 +
		tx.triples*ty.triples/(9*nf*(nf-1)*(nf-2)) + 4*tx.pairs*ty.pairs/(2*nf*(nf-1))
	if v > 0 {
		t.P = normalP(s / math.Sqrt(v))
	}
	return t
}

// ties are sums over groups of k equal values: of the pairs and the triples in
// a group, and of k(k-1)(2k+5).
type ties struct{ pairs, triples, cubic float64 }

// tieSums sums over the runs of equal neighbours among n values.
func tieSums(n int, same func(i, j int) bool) (t ties) {
	for i, j := range equal(n, same) {
		k := float64(j - i)
		t.pairs += k * (k - 1) / 2
		t.triples += k * (k - 1) * (k - 2)
		t.cubic += k * (k - 1) * (2*k + 5)
	}
	return t
}

// inversions sorts y and returns how many pairs were out of order. buf is as
// long as y.
func inversions(y, buf []float64) float64 {
	if len(y) < 2 {
		return 0
	}
	m := len(y) / 2
	n := inversions(y[:m], buf[:m]) + inversions(y[m:], buf[m:])
	copy(buf, y)
	i, j := 0, m
	for k := range y {
		if j == len(y) || i < m && buf[i] <= buf[j] {
			y[k] = buf[i]
			i++
		} else {
			y[k] = buf[j]
			n += float64(m - i)
			j++
		}
	}
	return n
}

// TheilSen returns the line whose slope is the median of the slopes between all
// points, which a few wild values do not move; NaN if there is none. If there
// are more than 500 points, it uses 500, evenly spaced.
func TheilSen(x, y []float64) (slope, intercept float64) {
	x, y = evenly(x, y, 500)
	var slopes []float64
	for i := range x {
		for j := range i {
			if x[i] != x[j] {
				slopes = append(slopes, (y[i]-y[j])/(x[i]-x[j]))
			}
		}
	}
	if len(slopes) == 0 {
		return undefined, undefined
	}
	slope = Median(slopes)
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = y[i] - slope*x[i]
	}
	return slope, Median(rest)
}

// evenly returns at most so many of the points, evenly spaced.
func evenly(x, y []float64, most int) (_, _ []float64) {
	if len(x) <= most {
		return x, y
	}
	var tx, ty []float64
	for k := range most {
		i := k * (len(x) - 1) / (most - 1)
		tx, ty = append(tx, x[i]), append(ty, y[i])
	}
	return tx, ty
}

// Median returns the median of x, which it does not modify; NaN if x is empty.
func Median(x []float64) float64 { return Quantile(x, 0.5) }

// Quantile returns the p-quantile of x, which it does not modify, by
// interpolating between its sorted values (R's type 7); NaN if x is empty.
func Quantile(x []float64, p float64) float64 {
	return sortedQuantile(slices.Sorted(slices.Values(x)), p)
}

// sortedQuantile is Quantile for a sorted slice.
func sortedQuantile(s []float64, p float64) float64 {
	if len(s) == 0 {
		return undefined
	}
	h := p * float64(len(s)-1)
	i := int(h)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (h-float64(i))*(s[i+1]-s[i])
}

// MAD returns the median absolute deviation of x, scaled so that it estimates
// the standard deviation of normally distributed values.
func MAD(x []float64) float64 {
	m := Median(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return 1.4826 * Median(d)
}

// A Fit is a linear model.
type Fit struct {
	Coef  []float64 // the intercept, then one for each variable
	R2    float64
	Sigma float64 // the residual standard error
}

// LeastSquares fits y = b0 + b1 x1 + … by a QR decomposition, which keeps its
// precision with variables that nearly depend on each other.
func LeastSquares(y []float64, xs ...[]float64) (*Fit, error) {
	n, k := len(y), len(xs)+1
	if n <= k {
		return nil, errors.New("a linear model needs more rows than variables")
	}
	a := mat.NewDense(n, k, nil)
	for i := range n {
		a.Set(i, 0, 1)
		for j, x := range xs {
			a.Set(i, j+1, x[i])
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var b mat.VecDense
	if err := qr.SolveVecTo(&b, false, mat.NewVecDense(n, y)); err != nil {
		var c mat.Condition
		if !errors.As(err, &c) || math.IsInf(float64(c), 1) {
			return nil, errors.New("the variables of the linear model depend on each other")
		}
	}
	var fitted mat.VecDense
	fitted.MulVec(a, &b)
	rss, tss, mean := 0.0, 0.0, stat.Mean(y, nil)
	for i, v := range y {
		rss += (v - fitted.AtVec(i)) * (v - fitted.AtVec(i))
		tss += (v - mean) * (v - mean)
	}
	return &Fit{Coef: b.RawVector().Data, R2: 1 - rss/tss, Sigma: math.Sqrt(rss / float64(n-k))}, nil
}

// fP returns the probability of an F at least as large with d1 and d2 degrees
// of freedom.
func fP(f, d1, d2 float64) float64 {
	switch {
	case d1 <= 0 || d2 <= 0 || math.IsNaN(f) || f < 0:
		return undefined
	case math.IsInf(f, 1):
		return 0
	}
	// The distribution's symmetry keeps the precision of small probabilities.
	return distuv.F{D1: d2, D2: d1}.CDF(1 / f)
}

// KruskalWallis tests whether groups differ in location, by their ranks. Empty
// groups do not count.
func KruskalWallis(groups ...[]float64) Test {
	var all []float64
	filled := 0
	for _, g := range groups {
		all = append(all, g...)
		if len(g) > 0 {
			filled++
		}
	}
	n := float64(len(all))
	t := Test{undefined, undefined, len(all)}
	if filled < 2 || len(all) < 3 {
		return t
	}
	ranks, h, at := Ranks(all), 0.0, 0
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		sum := 0.0
		for range g {
			sum += ranks[at]
			at++
		}
		h += sum * sum / float64(len(g))
	}
	slices.Sort(all)
	tied := 0.0
	for i, j := range equal(len(all), func(i, j int) bool { return all[i] == all[j] }) {
		k := float64(j - i)
		tied += k*k*k - k
	}
	if tied == n*n*n-n {
		return t // all values are equal
	}
	t.Value = (12/(n*(n+1))*h - 3*(n+1)) / (1 - tied/(n*n*n-n))
	t.P = distuv.ChiSquared{K: float64(filled - 1)}.Survival(t.Value)
	return t
}

// BrownForsythe tests whether groups differ in spread, by the distances from
// their medians. Groups of less than two values do not count.
func BrownForsythe(groups ...[]float64) Test {
	t := Test{undefined, undefined, 0}
	var means []float64
	var dev [][]float64
	total := 0.0
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		m := Median(g)
		d := make([]float64, len(g))
		for i, v := range g {
			d[i] = math.Abs(v - m)
			total += d[i]
		}
		t.N += len(g)
		dev, means = append(dev, d), append(means, stat.Mean(d, nil))
	}
	if len(dev) < 2 {
		return t
	}
	between, within, mean := 0.0, 0.0, total/float64(t.N)
	for i, d := range dev {
		between += float64(len(d)) * (means[i] - mean) * (means[i] - mean)
		for _, v := range d {
			within += (v - means[i]) * (v - means[i])
		}
	}
	d1, d2 := float64(len(dev)-1), float64(t.N-len(dev))
	if within == 0 {
		return t
	}
	t.Value = between / d1 / (within / d2)
	t.P = fP(t.Value, d1, d2)
	return t
}
