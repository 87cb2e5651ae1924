package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// histogram counts the values of x in bins of equal width.
func (p *plan) histogram(f *Figure) (insight.Set, error) {
	v := present(p.x.Nums)
	if len(v) == 0 {
		return insight.Set{}, fmt.Errorf("the column %q has no values", p.x.Name)
	}
	slices.Sort(v)
	step := binWidth(v, p.Bins)
	if p.x.Kind == data.Number && whole(v) {
		step = max(1, math.Round(step))
	}
	s, ok := countBins(v, step)
	if !ok {
		return insight.Set{}, fmt.Errorf("the values of %q do not fit into bins: they range from %g to %g",
			p.x.Name, v[0], v[len(v)-1])
	}
	s.Name = p.x.Name
	f.X = Axis{Name: p.x.Name, Kind: p.x.Kind, Unit: p.x.Unit, Step: step}
	f.Y = Axis{Name: f.rows(), Kind: data.Number}
	f.Series = []Series{s}
	if missing := p.x.Len() - len(v); missing > 0 {
		p.note("%d rows have no %q", missing, p.x.Name)
	}
	set := insight.Set{Shape: insight.Groups, YName: p.x.Name}
	if p.x.Kind == data.Number {
		set.Series = []insight.Series{{Name: p.x.Name, Y: v, Unit: p.x.Unit}}
	}
	return set, nil
}

// binWidth returns the width of the bins for sorted values: a round number
// that gives about so many bins. With 0 the number of bins follows Freedman
// and Diaconis, or Sturges where the quartiles are equal, between 5 and 60.
func binWidth(v []float64, bins int) float64 {
	lo, hi, n := v[0], v[len(v)-1], float64(len(v))
	if lo == hi {
		return max(math.Abs(lo)*0.1, 1)
	}
	if bins == 0 {
		bins = int(math.Ceil(math.Log2(n))) + 1
		if width := 2 * (insight.Quantile(v, 0.75) - insight.Quantile(v, 0.25)) / math.Cbrt(n); width > 0 {
			bins = int(math.Ceil(min((hi-lo)/width, 60)))
		}
		bins = min(max(bins, 5), 60)
	}
	return niceStep(hi-lo, min(bins, 500))
}

// countBins counts sorted values in bins that begin at multiples of step. It
// reports false if there would be more than 1000.
func countBins(v []float64, step float64) (s Series, ok bool) {
	begin := math.Floor(v[0]/step) * step
	n := math.Floor((v[len(v)-1]-begin)/step) + 1
	if !(n >= 1 && n <= 1000) {
		return s, false
	}
	s.X, s.Y = make(Floats, int(n)), make(Floats, int(n))
	for i := range s.X {
		s.X[i] = begin + float64(i)*step
	}
	for _, x := range v {
		s.Y[min(len(s.Y)-1, int((x-begin)/step))]++
	}
	return s, true
}

// whole reports whether all values are whole numbers.
func whole(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != math.Trunc(x) })
}

// maxGroups is how many boxes, rows of a heat map, or series a chart has at
// most.
const maxGroups = 40

// boxes makes a box of each group of values: by x, or else by the series
// column, or else one for each column.
func (p *plan) boxes(f *Figure) insight.Set {
	by := p.x
	if by == nil {
		by = p.series
	}
	if by != nil {
		f.X = Axis{Name: by.Name, Kind: data.Text}
	}
	names, groups := p.groups(by)
	if len(names) > maxGroups {
		p.note("the first %d of %d groups are drawn", maxGroups, len(names))
		names = names[:maxGroups]
	}
	y := p.ys[0]
	f.Y = Axis{Name: y.Name, Kind: data.Number, Unit: y.Unit}
	set := insight.Set{Shape: insight.Groups, YName: y.Name}
	for _, n := range names {
		q := quartiles(groups[n])
		f.Series = append(f.Series, Series{Name: n, Box: &q})
		set.Series = append(set.Series, insight.Series{Name: n, Y: groups[n], Unit: y.Unit})
	}
	return set
}

// groups returns the values of all y columns by the value of a column, which
// may be nil, with the names of the groups in the order of the table.
func (p *plan) groups(by *data.Column) (names []string, groups map[string][]float64) {
	groups = make(map[string][]float64)
	for _, y := range p.ys {
		for i, v := range y.Nums {
			name := y.Name
			if by != nil {
				if name = by.Label(i); len(p.ys) > 1 {
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
	return names, groups
}

// quartiles returns the five-number summary of v, with whiskers as Tukey drew
// them.
func quartiles(v []float64) Quartile {
	s := slices.Clone(v)
	slices.Sort(s)
	q := Quartile{N: len(s)}
	q.Q1, q.Median, q.Q3 = insight.Quantile(s, 0.25), insight.Quantile(s, 0.5), insight.Quantile(s, 0.75)
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
