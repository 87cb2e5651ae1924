package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/data"
)

// calendar are labels that have an order of their own.
var calendar = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

func ordinal(labels []string, names []string) []int {
	var order []int
	for _, l := range labels {
		l = strings.ToLower(l)
		i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(l, n) && len(l) <= 9 })
		if i < 0 {
			return nil
		}
		order = append(order, i)
	}
	return order
}

// arrange puts categories into order, and the smallest of too many together.
func (r *resolved) arrange(f *Figure) {
	n := len(f.X.Labels)
	total := make([]float64, n)
	for _, s := range f.Series {
		for i, x := range s.X {
			if !math.IsNaN(s.Y[i]) {
				total[int(x)] += s.Y[i]
			}
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	rank := ordinal(f.X.Labels, calendar)
	if rank == nil {
		rank = ordinal(f.X.Labels, weekdays)
	}
	switch {
	case r.Sort == "name":
		slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(f.X.Labels[a], f.X.Labels[b]) })
	case r.Sort == "none":
	case r.Sort == "" && rank != nil:
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank[a], rank[b]) })
	case r.x.Kind == data.Number && r.Sort == "" && f.Kind != Pie:
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labelNumber(f.X.Labels[a]), labelNumber(f.X.Labels[b])) })
	case r.Sort == "value" || f.Kind == Bar || f.Kind == Pie:
		order = byValue(total)
	}
	most := r.Top
	if most == 0 {
		most = map[Kind]int{Pie: 7}[f.Kind]
		if most == 0 {
			most = 30
		}
	}
	r.keep(f, order, most)
	if f.Kind == Bar && rank == nil {
		f.Horizontal = sideways(f.X.Labels)
	}
}

func labelNumber(s string) float64 {
	var v float64
	if _, err := fmt.Sscan(strings.ReplaceAll(strings.TrimSuffix(s, "%"), ",", ""), &v); err != nil {
		return math.Inf(1)
	}
	return v
}

// sideways reports whether labels are better read beside bars that lie.
func sideways(labels []string) bool {
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

// keep keeps the first of the order; of sums and counts the rest is one more.
func (r *resolved) keep(f *Figure, order []int, most int) {
	place := make(map[int]int, len(order))
	for i, k := range order {
		place[k] = i
	}
	old, n := f.X.Labels, len(order)
	shown := n
	if n > most+1 {
		shown = most
	}
	labels := make([]string, 0, shown+1)
	for _, k := range order[:shown] {
		labels = append(labels, old[k])
	}
	additive := len(r.ys) == 0 || cmp.Or(r.Aggregate, aggregateFor(r.ys[0])) == "sum" || r.Aggregate == "count"
	if shown < n && additive {
		labels = append(labels, f.say("other", "其他"))
		r.notes = append(r.notes, fmt.Sprintf("%q is the %d smallest of %d categories together", f.say("other", "其他"), n-shown, n))
	} else if shown < n {
		r.notes = append(r.notes, fmt.Sprintf("the first %d of %d categories are drawn; top shows more", shown, n))
	}
	for i := range f.Series {
		s := &f.Series[i]
		sum := make(map[int]float64)
		for j, x := range s.X {
			k := place[int(x)]
			if k >= shown && !additive {
				continue
			}
			sum[min(k, shown)] += s.Y[j]
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
