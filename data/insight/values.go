package insight

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// correlation is told if it is there, or if all asks for it anyway.
func correlation(w words, a, b string, x, y []float64, needed bool) (Insight, bool) {
	if len(x) < 5 {
		return Insight{}, false
	}
	p, s := Pearson(x, y), Spearman(x, y)
	if math.IsNaN(p.Value) || math.IsNaN(s.Value) {
		return Insight{}, false
	}
	ins := Insight{Kind: Correlation, weight: 0.6 + math.Abs(p.Value)/2, Stats: map[string]float64{
		"pearson": p.Value, "pearson_p": p.P, "spearman": s.Value, "spearman_p": s.P, "n": float64(p.N)}}
	if p.P >= significant && s.P >= significant {
		if needed {
			return Insight{}, false
		}
		ins.weight = 0.3
		ins.Text = w.say("%s and %s are not significantly correlated (Pearson r = %.2f, %s; Spearman ρ = %.2f, %s; n = %d)",
			"%s与%s无显著相关（Pearson r = %.2f，%s；Spearman ρ = %.2f，%s；n = %d）", a, b, p.Value, pv(p.P), s.Value, pv(s.P), p.N)
		return ins, true
	}
	most := max(math.Abs(p.Value), math.Abs(s.Value))
	if needed && most < 0.3 {
		return Insight{}, false
	}
	how, zhHow := "weakly", "弱"
	switch {
	case most >= 0.7:
		how, zhHow = "strongly", "强"
	case most >= 0.4:
		how, zhHow = "moderately", "中等"
	}
	dir, zhDir := "rise together", "正"
	if p.Value < 0 {
		dir, zhDir = "move in opposite directions", "负"
	}
	ins.Text = w.say("%[1]s and %[2]s are %[3]s correlated and %[4]s (Pearson r = %.2[7]f, %[8]s; Spearman ρ = %.2[9]f, %[10]s; n = %[11]d)",
		"%[1]s与%[2]s呈%[5]s%[6]s相关（Pearson r = %.2[7]f，%[8]s；Spearman ρ = %.2[9]f，%[10]s；n = %[11]d）",
		a, b, how, dir, zhHow, zhDir, p.Value, pv(p.P), s.Value, pv(s.P), p.N)
	return ins, true
}

// majority is a share that most of a whole belongs to.
func majority(w words, set Set, s Series) (Insight, bool) {
	total := 0.0
	for _, v := range s.Y {
		if v < 0 {
			return Insight{}, false
		}
		total += v
	}
	if total == 0 || len(s.Y) < 2 {
		return Insight{}, false
	}
	order := sorted(s.Y)
	slices.Reverse(order)
	sum, k := 0.0, 0
	for ; k < len(order) && sum < 0.8*total; k++ {
		sum += s.Y[order[k]]
	}
	top := order[0]
	ins := Insight{Kind: Majority, Series: s.Name, weight: 1, Stats: map[string]float64{"share": s.Y[top] / total, "eighty": float64(k), "of": float64(len(s.Y))}}
	switch lead := s.Y[top] / total; {
	case lead >= 0.5:
		ins.Text = w.of(s, set) + w.say("%s has %s of the total %s", "%s占总量的%s（共%s）", set.place(s.X[top]), share(lead), num(total, s.Unit))
		ins.Marks = []Mark{{Kind: "point", Series: s.Name, X: s.X[top], Y: s.Y[top], Label: share(lead)}}
	case len(s.Y) >= 5 && float64(k) <= 0.34*float64(len(s.Y)):
		ins.Text = w.of(s, set) + w.say("%d of %d categories make up %s of the total %s; %s alone has %s",
			"%d个（共%d个）类别占总量的%s（共%s）；其中%s占%s", k, len(s.Y), share(sum/total), num(total, s.Unit), set.place(s.X[top]), share(lead))
		ins.Marks = []Mark{{Kind: "point", Series: s.Name, X: s.X[top], Y: s.Y[top], Label: share(lead)}}
	default:
		return Insight{}, false
	}
	return ins, true
}

// difference compares groups of values.
func difference(w words, set Set) (Insight, bool) {
	var groups [][]float64
	var names []string
	for _, s := range set.Series {
		if c := clean(s, false); len(c.Y) > 1 {
			groups, names = append(groups, c.Y), append(names, s.Name)
		}
	}
	if len(groups) < 2 {
		return Insight{}, false
	}
	h, b := KruskalWallis(groups...), BrownForsythe(groups...)
	if math.IsNaN(h.P) {
		return Insight{}, false
	}
	lo, hi := 0, 0
	for i, g := range groups {
		if Median(g) < Median(groups[lo]) {
			lo = i
		}
		if Median(g) > Median(groups[hi]) {
			hi = i
		}
	}
	ins := Insight{Kind: Difference, weight: 0.4, Stats: map[string]float64{"h": h.Value, "p": h.P, "spread_p": b.P, "n": float64(h.N)}}
	if h.P >= significant {
		ins.Text = w.say("the groups do not differ significantly in %s (Kruskal-Wallis H = %.1f, %s)", "各组的%s无显著差异（Kruskal-Wallis H = %.1f，%s）", set.YName, h.Value, pv(h.P))
		return ins, true
	}
	ins.weight = 1.2
	ins.Text = w.say("the groups differ in %s: the median is highest for %s (%s) and lowest for %s (%s) (Kruskal-Wallis H = %.1f, %s)",
		"各组的%s存在显著差异：%s的中位数最高（%s），%s最低（%s）（Kruskal-Wallis H = %.1f，%s）", set.YName,
		names[hi], short(Median(groups[hi])), names[lo], short(Median(groups[lo])), h.Value, pv(h.P))
	if b.P < significant {
		ins.Text += w.say("; they also differ in spread (Brown-Forsythe, %s)", "；离散程度也有差异（Brown-Forsythe，%s）", pv(b.P))
	}
	return ins, true
}

// extremes are the highest and the lowest value, and where.
func extremes(w words, set Set, s Series) (Insight, bool) {
	if len(s.Y) < 3 {
		return Insight{}, false
	}
	lo, hi := 0, 0
	for i, v := range s.Y {
		if cmp.Less(v, s.Y[lo]) {
			lo = i
		}
		if cmp.Less(s.Y[hi], v) {
			hi = i
		}
	}
	if s.Y[lo] == s.Y[hi] {
		return Insight{}, false
	}
	return Insight{Kind: Extremes, Series: s.Name, weight: 0.35, Stats: map[string]float64{"max": s.Y[hi], "min": s.Y[lo], "max_at": s.X[hi], "min_at": s.X[lo]},
		Text: w.of(s, set) + w.say("highest %s (%s), lowest %s (%s)", "最高%s（%s），最低%s（%s）",
			num(s.Y[hi], s.Unit), set.place(s.X[hi]), num(s.Y[lo], s.Unit), set.place(s.X[lo])),
		Marks: []Mark{{Kind: "point", Series: s.Name, X: s.X[hi], Y: s.Y[hi], Label: w.say("max %s", "最高 %s", num(s.Y[hi], s.Unit))},
			{Kind: "point", Series: s.Name, X: s.X[lo], Y: s.Y[lo], Label: w.say("min %s", "最低 %s", num(s.Y[lo], s.Unit))}},
	}, true
}

func summary(w words, set Set, s Series) Insight {
	srt := slices.Clone(s.Y)
	slices.Sort(srt)
	mean, sd := stat.MeanStdDev(s.Y, nil)
	if len(s.Y) < 2 {
		sd = 0
	}
	st := map[string]float64{"n": float64(len(s.Y)), "mean": mean, "sd": sd, "min": srt[0], "median": quantile(srt, 0.5), "max": srt[len(srt)-1], "q1": quantile(srt, 0.25), "q3": quantile(srt, 0.75)}
	return Insight{Kind: Summary, Series: s.Name, Stats: st,
		Text: w.of(s, set) + w.say("%d values, mean %s, median %s, standard deviation %s, middle half from %s to %s, range %s to %s",
			"%d个值，均值%s，中位数%s，标准差%s，中间一半在%s至%s，范围%s至%s",
			len(s.Y), num(mean, s.Unit), num(st["median"], s.Unit), num(sd, s.Unit), num(st["q1"], s.Unit), num(st["q3"], s.Unit), num(st["min"], s.Unit), num(st["max"], s.Unit))}
}
