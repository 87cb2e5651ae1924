package insight

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// correlation states how strongly x and y are correlated. With strongOnly it
// states nothing unless the correlation is significant and at least 0.3.
func correlation(w words, a, b string, x, y []float64, strongOnly bool) []Insight {
	if len(x) < 5 {
		return nil
	}
	p, s := Pearson(x, y), Spearman(x, y)
	if math.IsNaN(p.Value) || math.IsNaN(s.Value) {
		return nil
	}
	strength := max(math.Abs(p.Value), math.Abs(s.Value))
	found := p.P < significant || s.P < significant
	if strongOnly && (!found || strength < 0.3) {
		return nil
	}
	ins := Insight{Kind: Correlation, weight: 0.6 + math.Abs(p.Value)/2, Stats: map[string]float64{
		"pearson": p.Value, "pearson_p": p.P, "spearman": s.Value, "spearman_p": s.P, "n": float64(p.N)}}
	numbers := w.text("(Pearson r = %.2f, %s; Spearman ρ = %.2f, %s; n = %d)",
		"（Pearson r = %.2f，%s；Spearman ρ = %.2f，%s；n = %d）", p.Value, pValue(p.P), s.Value, pValue(s.P), p.N)
	if !found {
		ins.weight = 0.3
		ins.Text = w.text("%s and %s are not significantly correlated %s", "%s与%s无显著相关%s", a, b, numbers)
		return []Insight{ins}
	}
	how := w.text("weakly", "弱")
	switch {
	case strength >= 0.7:
		how = w.text("strongly", "强")
	case strength >= 0.4:
		how = w.text("moderately", "中等")
	}
	direction := w.text("rise together", "正")
	if p.Value < 0 {
		direction = w.text("move in opposite directions", "负")
	}
	ins.Text = w.text("%s and %s are %s correlated and %s %s", "%s与%s呈%s%s相关%s", a, b, how, direction, numbers)
	return []Insight{ins}
}

// majority states that one category has at least half of the total, or that a
// third of at least five categories have 80 % of it. Only parts that are not
// negative make up a whole.
func majority(w words, set Set, s Series) []Insight {
	total := 0.0
	for _, v := range s.Y {
		if v < 0 {
			return nil
		}
		total += v
	}
	if total == 0 || len(s.Y) < 2 {
		return nil
	}
	order := sortedIndices(s.Y)
	slices.Reverse(order)
	sum, k := 0.0, 0
	for ; k < len(order) && sum < 0.8*total; k++ {
		sum += s.Y[order[k]]
	}
	n, top := len(s.Y), order[0]
	lead := s.Y[top] / total
	ins := Insight{Kind: Majority, Series: s.Name, weight: 1,
		Stats: map[string]float64{"share": lead, "eighty": float64(k), "of": float64(n)},
		Marks: []Mark{{Kind: "point", Series: s.Name, X: s.X[top], Y: s.Y[top], Label: percent(lead)}}}
	leader, whole := set.place(s.X[top]), number(total, s.Unit)
	switch {
	case lead >= 0.5:
		ins.Text = w.text("%s has %s of the total %s", "%s占总量的%s（共%s）", leader, percent(lead), whole)
	case n >= 5 && float64(k) <= 0.34*float64(n):
		ins.Text = w.text("%d of %d categories make up %s of the total %s; %s alone has %s",
			"%d个（共%d个）类别占总量的%s（共%s）；其中%s占%s", k, n, percent(sum/total), whole, leader, percent(lead))
	default:
		return nil
	}
	ins.Text = w.about(s, set) + ins.Text
	return []Insight{ins}
}

// difference compares the locations and the spreads of groups.
func difference(w words, set Set) []Insight {
	var groups [][]float64
	var names []string
	for _, s := range set.Series {
		if c := clean(s, false); len(c.Y) > 1 {
			groups, names = append(groups, c.Y), append(names, s.Name)
		}
	}
	if len(groups) < 2 {
		return nil
	}
	h, spread := KruskalWallis(groups...), BrownForsythe(groups...)
	if math.IsNaN(h.P) {
		return nil
	}
	ins := Insight{Kind: Difference, weight: 0.4,
		Stats: map[string]float64{"h": h.Value, "p": h.P, "spread_p": spread.P, "n": float64(h.N)}}
	if h.P >= significant {
		ins.Text = w.text("the groups do not differ significantly in %s (Kruskal-Wallis H = %.1f, %s)",
			"各组的%s无显著差异（Kruskal-Wallis H = %.1f，%s）", set.YName, h.Value, pValue(h.P))
		return []Insight{ins}
	}
	medians := make([]float64, len(groups))
	for i, g := range groups {
		medians[i] = Median(g)
	}
	lo, hi := extremeIndices(medians)
	ins.weight = 1.2
	ins.Text = w.text("the groups differ in %s: the median is highest for %s (%s) and lowest for %s (%s) "+
		"(Kruskal-Wallis H = %.1f, %s)",
		"各组的%s存在显著差异：%s的中位数最高（%s），%s最低（%s）（Kruskal-Wallis H = %.1f，%s）", set.YName,
		names[hi], short(medians[hi]), names[lo], short(medians[lo]), h.Value, pValue(h.P))
	if spread.P < significant {
		ins.Text += w.text("; they also differ in spread (Brown-Forsythe, %s)",
			"；离散程度也有差异（Brown-Forsythe，%s）", pValue(spread.P))
	}
	return []Insight{ins}
}

// extremeIndices returns where the least and the largest value first stand.
func extremeIndices(v []float64) (lo, hi int) {
	for i, x := range v {
		if cmp.Less(x, v[lo]) {
			lo = i
		}
		if cmp.Less(v[hi], x) {
			hi = i
		}
	}
	return lo, hi
}

// extremes states the highest and the lowest value, and where they are.
func extremes(w words, set Set, s Series) []Insight {
	lo, hi := extremeIndices(s.Y)
	if len(s.Y) < 3 || s.Y[lo] == s.Y[hi] {
		return nil
	}
	least, most := number(s.Y[lo], s.Unit), number(s.Y[hi], s.Unit)
	return []Insight{{
		Kind: Extremes, Series: s.Name, weight: 0.35,
		Stats: map[string]float64{"max": s.Y[hi], "min": s.Y[lo], "max_at": s.X[hi], "min_at": s.X[lo]},
		Text: w.about(s, set) + w.text("highest %s (%s), lowest %s (%s)", "最高%s（%s），最低%s（%s）",
			most, set.place(s.X[hi]), least, set.place(s.X[lo])),
		Marks: []Mark{
			{Kind: "point", Series: s.Name, X: s.X[hi], Y: s.Y[hi], Label: w.text("max %s", "最高 %s", most)},
			{Kind: "point", Series: s.Name, X: s.X[lo], Y: s.Y[lo], Label: w.text("min %s", "最低 %s", least)},
		},
	}}
}

// summary describes the distribution of the values.
func summary(w words, set Set, s Series) Insight {
	v := slices.Sorted(slices.Values(s.Y))
	mean, sd := stat.MeanStdDev(v, nil)
	if len(v) < 2 {
		sd = 0
	}
	n := func(v float64) string { return number(v, s.Unit) }
	q1, median, q3 := sortedQuantile(v, 0.25), sortedQuantile(v, 0.5), sortedQuantile(v, 0.75)
	least, most := v[0], v[len(v)-1]
	return Insight{
		Kind: Summary, Series: s.Name,
		Stats: map[string]float64{"n": float64(len(v)), "mean": mean, "sd": sd, "min": least, "q1": q1,
			"median": median, "q3": q3, "max": most},
		Text: w.about(s, set) + w.text(
			"%d values, mean %s, median %s, standard deviation %s, middle half from %s to %s, range %s to %s",
			"%d个值，均值%s，中位数%s，标准差%s，中间一半在%s至%s，范围%s至%s",
			len(v), n(mean), n(median), n(sd), n(q1), n(q3), n(least), n(most)),
	}
}
