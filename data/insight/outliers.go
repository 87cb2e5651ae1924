package insight

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// outlierZ is how many robust standard deviations from the expected value an
// outlier begins.
const outlierZ = 4.5

// courseOutliers looks for values far from what their place suggests: trend
// and season, or the running median.
func courseOutliers(w words, set Set, s Series, c season, seasonal bool) []Insight {
	if len(s.Y) < 12 {
		return nil
	}
	rest, spread := c.rest, MAD(c.rest)
	if !seasonal {
		rest = make([]float64, len(s.Y))
		for i, v := range runningMedian(s.Y) {
			rest[i] = s.Y[i] - v
		}
		// On a slope the running median nearly equals the value, so that the
		// residuals say too little about the noise. The steps tell.
		spread = max(MAD(rest), MAD(differences(s.Y))/math.Sqrt2)
	}
	return outliers(w, set, s, rest, spread, w.text("the local level", "邻近水平"))
}

// valueOutliers looks for values far from the median of all.
func valueOutliers(w words, set Set, s Series) []Insight {
	if len(s.Y) < 8 {
		return nil
	}
	m := Median(s.Y)
	rest := make([]float64, len(s.Y))
	for i := range rest {
		rest[i] = s.Y[i] - m
	}
	return outliers(w, set, s, rest, MAD(rest), w.text("the median", "中位数"))
}

// outliers states which values have a residual far beyond the spread. More
// than a twentieth of all are no outliers but a distribution with long tails.
func outliers(w words, set Set, s Series, rest []float64, spread float64, from string) []Insight {
	if !(spread > 0) {
		return nil
	}
	middle := Median(rest)
	z := make([]float64, len(rest))
	var far []int
	for i, r := range rest {
		if z[i] = (r - middle) / spread; math.Abs(z[i]) > outlierZ {
			far = append(far, i)
		}
	}
	if len(far) == 0 || len(far) > max(3, len(rest)/20) {
		return nil
	}
	slices.SortStableFunc(far, func(a, b int) int { return cmp.Compare(math.Abs(z[b]), math.Abs(z[a])) })
	ins := Insight{Kind: Outliers, Series: s.Name, weight: 0.9,
		Stats: map[string]float64{"count": float64(len(far)), "largest_z": z[far[0]]}}
	var list []string
	for _, i := range far[:min(len(far), 3)] {
		value := number(s.Y[i], s.Unit)
		if set.Shape != Groups {
			value = w.text("%s (%s, %+.1f σ)", "%s（%s，%+.1f σ）", set.place(s.X[i]), value, z[i])
		}
		list = append(list, value)
	}
	for _, i := range far[:min(len(far), 5)] {
		label := ""
		if len(far) <= 5 && set.Shape != Groups {
			label = set.place(s.X[i])
		}
		ins.Marks = append(ins.Marks, Mark{Kind: "point", Series: s.Name, X: s.X[i], Y: s.Y[i], Label: label})
	}
	named := strings.Join(list, w.text(", ", "、"))
	if len(far) > 3 {
		named += w.text(" and %d more", "等，另有%d个", len(far)-3)
	}
	count := w.text("%d outliers", "%d个异常值", len(far))
	if len(far) == 1 {
		count = w.text("one outlier", "1个异常值")
	}
	ins.Text = w.about(s, set) + w.text("%[1]s, more than %.1[2]f robust standard deviations from %[3]s: %[4]s",
		"%[1]s，偏离%[3]s超过%.1[2]f个稳健标准差：%[4]s", count, outlierZ, from, named)
	return []Insight{ins}
}

// runningMedian returns the medians of windows of up to 25 values, or a fifth
// of all. Towards the ends the windows shrink, so that they stay centred and a
// slope there does not look like an outlier.
func runningMedian(y []float64) []float64 {
	half := min(12, max(2, len(y)/10))
	out := make([]float64, len(y))
	var window []float64 // sorted
	lo, hi := 0, 0
	for i := range y {
		h := min(half, i, len(y)-1-i)
		for ; hi < i+h+1; hi++ {
			window = slices.Insert(window, sort.SearchFloat64s(window, y[hi]), y[hi])
		}
		for ; lo < i-h; lo++ {
			k := sort.SearchFloat64s(window, y[lo])
			window = slices.Delete(window, k, k+1)
		}
		out[i] = sortedQuantile(window, 0.5)
	}
	return out
}

// differences returns the steps from each value to the next; x is not empty.
func differences(x []float64) []float64 {
	d := make([]float64, len(x)-1)
	for i := range d {
		d[i] = x[i+1] - x[i]
	}
	return d
}
