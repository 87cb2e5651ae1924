package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/data"
)

var (
	months   = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
)

// calendarRank returns the place in the year of each label, or the place in
// the week, if all are months or all are weekdays, in full or abbreviated;
// else nil.
func calendarRank(labels []string) []int {
	for _, names := range [][]string{months, weekdays} {
		var rank []int
		for _, l := range labels {
			l = strings.ToLower(l)
			i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(l, n) && len(l) <= 9 })
			if i < 0 {
				break
			}
			rank = append(rank, i)
		}
		if len(rank) == len(labels) {
			return rank
		}
	}
	return nil
}

// arrange sorts the categories of f, combines the smallest of too many, and
// decides whether bars lie.
func (p *plan) arrange(f *Figure) {
	rank := calendarRank(f.X.Labels)
	most := p.Top
	if most == 0 {
		most = 30
		if f.Kind == Pie {
			most = 7
		}
	}
	p.keepFirst(f, p.categoryOrder(f, rank), most)
	if f.Kind == Bar && rank == nil {
		f.Horizontal = needsRoom(f.X.Labels)
	}
}

// categoryOrder returns the indices of the labels in the order in which they
// are drawn: the requested one, or that of the calendar (rank), of numbers, of
// the values of bars and slices, or of the table.
func (p *plan) categoryOrder(f *Figure, rank []int) []int {
	labels := f.X.Labels
	order := make([]int, len(labels))
	for i := range order {
		order[i] = i
	}
	by := func(compare func(a, b int) int) []int {
		slices.SortStableFunc(order, compare)
		return order
	}
	switch {
	case p.Sort == "none":
		return order
	case p.Sort == "name":
		return by(func(a, b int) int { return strings.Compare(labels[a], labels[b]) })
	case p.Sort == "" && rank != nil:
		return by(func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	case p.Sort == "" && p.x.Kind == data.Number && f.Kind != Pie:
		return by(func(a, b int) int { return cmp.Compare(labelNumber(labels[a]), labelNumber(labels[b])) })
	case p.Sort == "value" || f.Kind == Bar || f.Kind == Pie:
		total := totals(f)
		return by(func(a, b int) int { return cmp.Compare(total[b], total[a]) })
	}
	return order
}

// totals sums the values of all series by category.
func totals(f *Figure) []float64 {
	total := make([]float64, len(f.X.Labels))
	for _, s := range f.Series {
		for i, x := range s.X {
			if !math.IsNaN(s.Y[i]) {
				total[int(x)] += s.Y[i]
			}
		}
	}
	return total
}

// labelNumber reads a number as [data.Column.Label] writes it.
func labelNumber(s string) float64 {
	var v float64
	if _, err := fmt.Sscan(strings.ReplaceAll(strings.TrimSuffix(s, "%"), ",", ""), &v); err != nil {
		return math.Inf(1)
	}
	return v
}

// needsRoom reports whether labels are so many and so long that they read
// better beside lying bars than below standing ones. Ideographs count twice.
func needsRoom(labels []string) bool {
	letters := 0
	for _, l := range labels {
		for _, r := range l {
			if letters++; r >= 0x2E80 {
				letters++
			}
		}
	}
	return len(labels) > 3 && (letters > 90 || letters > 10*len(labels) && len(labels) > 6)
}

// keepFirst rearranges the series of f by order and drops the categories after
// the first most. Where adding them surely makes sense, for counts and sums of amounts, they
// become the category "other" instead.
func (p *plan) keepFirst(f *Figure, order []int, most int) {
	n := len(order)
	shown := n
	if n > most+1 { // one more is no worse than "other"
		shown = most
	}
	place := make([]int, n) // by old index
	labels := make([]string, 0, shown+1)
	for i, k := range order {
		place[k] = i
		if i < shown {
			labels = append(labels, f.X.Labels[k])
		}
	}
	agg := p.Aggregate
	if agg == "" {
		agg = aggregateFor(first(p.ys))
	}
	additive := agg == "count" || agg == "sum" && (p.Aggregate == "sum" || meaningOf(first(p.ys)) == amount)
	switch {
	case shown == n:
	case additive:
		labels = append(labels, f.other())
		p.note("%q combines the %d smallest of %d categories", f.other(), n-shown, n)
	default:
		p.note("the first %d of %d categories are drawn; top shows more", shown, n)
	}
	for i := range f.Series {
		s := &f.Series[i]
		sum := make(map[int]float64)
		for j, x := range s.X {
			if k := place[int(x)]; k < shown || additive {
				sum[min(k, shown)] += s.Y[j]
			}
		}
		s.X, s.Y = nil, nil
		for k := range labels {
			if v, ok := sum[k]; ok {
				s.X, s.Y = append(s.X, float64(k)), append(s.Y, v)
			}
		}
	}
	f.X.Labels = labels
}
