package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

func present(nums []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(nums), math.IsNaN)
}

// histogram counts values in bins as wide as Freedman and Diaconis say.
func (r *resolved) histogram(f *Figure) (insight.Set, error) {
	v := present(r.x.Nums)
	if len(v) == 0 {
		return insight.Set{}, fmt.Errorf("the column %q has no values", r.x.Name)
	}
	slices.Sort(v)
	lo, hi := v[0], v[len(v)-1]
	bins := r.Bins
	if bins == 0 {
		width := 2 * (insight.Quantile(v, 0.75) - insight.Quantile(v, 0.25)) / math.Cbrt(float64(len(v)))
		bins = int(math.Ceil(math.Log2(float64(len(v))))) + 1
		if width > 0 {
			bins = int(math.Ceil((hi - lo) / width))
		}
		bins = min(max(bins, 5), 60)
	}
	step := nice(max(hi-lo, 1e-300), min(bins, 500))
	if lo == hi {
		step = max(math.Abs(lo)*0.1, 1)
	}
	if r.x.Kind == data.Number && whole(v) {
		step = max(1, math.Round(step))
	}
	begin := math.Floor(lo/step) * step
	n := int(math.Floor((hi-begin)/step)) + 1
	if n > 1000 || n < 1 {
		return insight.Set{}, fmt.Errorf("the values of %q cannot be put into bins: from %g to %g", r.x.Name, lo, hi)
	}
	s := Series{Name: r.x.Name, X: make(Floats, n), Y: make(Floats, n)}
	for i := range s.X {
		s.X[i] = begin + float64(i)*step
	}
	for _, x := range v {
		s.Y[min(n-1, int((x-begin)/step))]++
	}
	f.X, f.Y = Axis{Name: r.x.Name, Kind: r.x.Kind, Unit: r.x.Unit, Step: step}, Axis{Name: f.say("rows", "行数"), Kind: data.Number}
	f.Series = []Series{s}
	if missing := r.x.Len() - len(v); missing > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d rows have no %q", missing, r.x.Name))
	}
	set := insight.Set{Shape: insight.Groups, YName: r.x.Name}
	if r.x.Kind == data.Number {
		set.Series = []insight.Series{{Name: r.x.Name, Y: v, Unit: r.x.Unit}}
	}
	return set, nil
}

func whole(v []float64) bool {
	for _, x := range v {
		if x != math.Trunc(x) {
			return false
		}
	}
	return true
}

// maxGroups is how many boxes or rows are drawn.
const maxGroups = 40

func (r *resolved) boxes(f *Figure) (insight.Set, error) {
	var names []string
	groups := make(map[string][]float64)
	by := r.x
	if by == nil {
		by = r.series
	}
	for _, y := range r.ys {
		for i, v := range y.Nums {
			name := y.Name
			if by != nil {
				if name = by.Label(i); len(r.ys) > 1 {
					name += " · " + y.Name
				}
			}
			if math.IsNaN(v) || name == "" {
				continue
			}
			if _, ok := groups[name]; !ok {
				names = append(names, name)
			}
			groups[name] = append(groups[name], v)
		}
	}
	if len(names) > maxGroups {
		r.notes = append(r.notes, fmt.Sprintf("the first %d of %d groups are drawn", maxGroups, len(names)))
		names = names[:maxGroups]
	}
	if by != nil {
		f.X = Axis{Name: by.Name, Kind: data.Text}
	}
	y := r.ys[0]
	f.Y = Axis{Name: y.Name, Kind: data.Number, Unit: y.Unit}
	set := insight.Set{Shape: insight.Groups, YName: y.Name}
	for _, n := range names {
		q := quartiles(groups[n])
		f.Series = append(f.Series, Series{Name: n, Box: &q})
		set.Series = append(set.Series, insight.Series{Name: n, Y: groups[n], Unit: y.Unit})
	}
	return set, nil
}

func quartiles(v []float64) Quartile {
	s := slices.Clone(v)
	slices.Sort(s)
	q := Quartile{N: len(s), Q1: insight.Quantile(s, 0.25), Median: insight.Quantile(s, 0.5), Q3: insight.Quantile(s, 0.75)}
	reach := 1.5 * (q.Q3 - q.Q1)
	q.Low, q.High = q.Q1, q.Q3
	var low, high []float64
	for _, x := range s {
		switch {
		case x < q.Q1-reach:
			low = append(low, x)
		case x > q.Q3+reach:
			high = append(high, x)
		default:
			q.Low, q.High = min(q.Low, x), max(q.High, x)
		}
	}
	q.Outliers = append(low[:min(len(low), 100)], high[max(0, len(high)-100):]...)
	return q
}
