package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// values aggregates the rows that share a place and a series: for bars, lines,
// areas, pies and dual charts.
func (p *plan) values(f *Figure) (insight.Set, error) {
	at, err := p.places()
	if err != nil {
		return insight.Set{}, err
	}
	f.X = Axis{Name: p.x.Name, Kind: p.x.Kind, Unit: p.x.Unit}
	if at.labels != nil {
		f.X.Kind = data.Text
	} else if b, ok := buckets[p.Bucket]; ok {
		f.X.Unit = b.unit
	}
	if err := p.collect(f, at); err != nil {
		return insight.Set{}, err
	}
	if at.labels == nil {
		set := insights(f, insight.Course)
		for i := range set.Series {
			set.Series[i] = p.whole(set.Series[i])
		}
		return set, nil
	}
	f.X.Labels = at.labels
	p.arrange(f)
	return insights(f, insight.Categories), nil
}

// places are where the rows stand on the horizontal axis.
type places struct {
	at     []float64 // by row: a number, a time, or an index into labels; NaN is missing
	labels []string  // of categories; nil if the axis is continuous
}

// places returns the places of the rows. Texts are categories. So are numbers
// and times in charts that have no continuous axis, and few numbers in bars.
func (p *plan) places() (places, error) {
	if p.x.Kind == data.Text || p.x.Kind == data.Number &&
		(p.kind == Pie || p.kind == Heatmap || p.kind == Bar && p.x.Distinct(60) < 60) {
		return p.categories(), nil
	}
	at := slices.Clone(p.x.Nums)
	unit := p.x.Unit
	if p.Bucket != "" && p.Bucket != "none" {
		b, ok := buckets[p.Bucket]
		if !ok {
			return places{}, fmt.Errorf("there is no bucket %q; there are hour, day, week, month, quarter and year",
				p.Bucket)
		}
		if p.x.Kind != data.Time {
			return places{}, fmt.Errorf("bucket is for times, but the column %q has %ss", p.x.Name, p.x.Kind)
		}
		unit = b.unit
		for i, v := range at {
			if !math.IsNaN(v) {
				at[i] = float64(b.floor(data.UnixTime(v)).Unix())
			}
		}
	}
	if p.kind == Pie || p.kind == Heatmap {
		return timeCategories(at, unit), nil
	}
	return places{at: at}, nil
}

// categories makes a category of each different value of x, in the order of
// the table. A missing one is the category "–".
func (p *plan) categories() places {
	c := places{at: make([]float64, p.table.Rows())}
	index := make(map[string]int)
	for i := range c.at {
		s := cmp.Or(p.x.Label(i), "–")
		k, ok := index[s]
		if !ok {
			k = len(c.labels)
			index[s] = k
			c.labels = append(c.labels, s)
		}
		c.at[i] = float64(k)
	}
	return c
}

// timeCategories makes a category of each different time, in order.
func timeCategories(at []float64, unit data.Unit) places {
	times := slices.Compact(slices.Sorted(slices.Values(present(at))))
	c := places{at: at, labels: []string{}}
	for i, v := range at {
		if k, ok := slices.BinarySearch(times, v); ok {
			at[i] = float64(k)
		}
	}
	for _, v := range times {
		c.labels = append(c.labels, data.FormatTime(v, unit))
	}
	return c
}

// present returns the numbers that are not missing.
func present(nums []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(nums), math.IsNaN)
}

// buckets round times down.
var buckets = map[string]struct {
	unit  data.Unit
	floor func(time.Time) time.Time
}{
	"hour":  {data.Second, func(t time.Time) time.Time { return t.Truncate(time.Hour) }},
	"day":   {data.Day, func(t time.Time) time.Time { return t.Truncate(day) }},
	"week":  {data.Day, monday},
	"month": {data.Month, func(t time.Time) time.Time { return firstOfMonth(t.Year(), t.Month()) }},
	"quarter": {data.Quarter, func(t time.Time) time.Time {
		return firstOfMonth(t.Year(), (t.Month()-1)/3*3+1)
	}},
	"year": {data.Year, func(t time.Time) time.Time { return firstOfMonth(t.Year(), 1) }},
}

// monday is the beginning of t's week.
func monday(t time.Time) time.Time {
	t = t.Truncate(day)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

func firstOfMonth(year int, m time.Month) time.Time {
	return time.Date(year, m, 1, 0, 0, 0, 0, time.UTC)
}

// A bin aggregates the values at one place.
type bin struct {
	values []float64 // kept only for the median
	n      int
	sum    float64
	lo, hi float64
}

// add adds a value, and keeps it if the aggregate needs all values.
func (b *bin) add(v float64, keep bool) {
	if b.n == 0 {
		b.lo, b.hi = v, v
	}
	b.n++
	b.sum += v
	b.lo, b.hi = min(b.lo, v), max(b.hi, v)
	if keep {
		b.values = append(b.values, v)
	}
}

// value returns the aggregate of that name; NaN without values, but a count
// of 0.
func (b *bin) value(aggregate string) float64 {
	switch {
	case aggregate == "count":
		return float64(b.n)
	case b.n == 0:
		return math.NaN()
	case aggregate == "mean":
		return b.sum / float64(b.n)
	case aggregate == "median":
		return insight.Median(b.values)
	case aggregate == "min":
		return b.lo
	case aggregate == "max":
		return b.hi
	}
	return b.sum
}

// aggregateFor chooses how to aggregate a column; nil counts rows.
func aggregateFor(y *data.Column) string {
	switch {
	case y == nil:
		return "count"
	case meaningOf(y) == level:
		return "mean"
	}
	return "sum"
}

// aggregates returns how each of the columns is aggregated.
func (p *plan) aggregates(ys []*data.Column) (aggs []string, err error) {
	for _, y := range ys {
		agg := cmp.Or(p.Aggregate, aggregateFor(y))
		switch agg {
		case "sum", "mean", "median", "min", "max", "count":
			aggs = append(aggs, agg)
		default:
			return nil, fmt.Errorf("there is no aggregate %q; there are sum, mean, median, min, max and count", agg)
		}
	}
	return aggs, nil
}

// collect adds the series to f, with the aggregated values of the rows at each
// place, and names its axes. A continuous axis is sorted; categories keep the
// order of the table.
func (p *plan) collect(f *Figure, at places) error {
	ys := p.ys
	if len(ys) == 0 {
		ys = []*data.Column{nil}
	}
	aggs, err := p.aggregates(ys)
	if err != nil {
		return err
	}
	g := grouping{plan: p, f: f, index: make(map[string]int), bins: make(map[binKey]*bin)}
	for n, y := range ys {
		if err := g.addColumn(y, aggs[n], at, p.kind == Dual && n == 1); err != nil {
			return err
		}
	}
	if f.X.Kind != data.Text {
		slices.SortStableFunc(g.order, func(a, b binKey) int { return cmp.Compare(a.at, b.at) })
	}
	for _, k := range g.order {
		s := &f.Series[k.series]
		s.X, s.Y = append(s.X, k.at), append(s.Y, g.bins[k].value(g.aggs[k.series]))
	}
	if len(f.Series) > 0 {
		p.nameAxes(f, ys, aggs, g.repeated)
	}
	if g.repeated && p.Aggregate == "" && ys[0] != nil {
		p.note("rows at the same place are combined by %s", aggs[0])
	}
	if g.missing > 0 {
		p.note("%d values are missing and not drawn", g.missing)
	}
	if f.X.Kind == data.Time && g.repeated {
		p.findPartial(f.X.Unit, g.order, g.bins)
	}
	return p.checkPie(f, ys[0])
}

// checkPie returns an error if a pie would show parts of what is no whole.
func (p *plan) checkPie(f *Figure, y *data.Column) error {
	if p.kind != Pie || len(f.Series) == 0 {
		return nil
	}
	below := 0
	for _, v := range f.Series[0].Y {
		if v < 0 {
			below++
		}
	}
	switch {
	case below > 0:
		return fmt.Errorf("a pie shows parts of a whole, and %d of the %d values of %q are below 0: use bar", below, len(f.Series[0].Y), f.Series[0].Name)
	case y != nil && p.Aggregate == "" && meaningOf(y) == level:
		return fmt.Errorf("a pie shows parts of a whole, and values of %q cannot be added: use bar, or set aggregate if they can", y.Name)
	}
	return nil
}

// findPartial notes the first and the last period of a course that have fewer rows than the others usually
// have: the data begins or ends within them. They are drawn, and compared with no other.
func (p *plan) findPartial(unit data.Unit, order []binKey, bins map[binKey]*bin) {
	rows := make(map[float64]int)
	for _, k := range order {
		rows[k.at] += bins[k].n
	}
	at := slices.Sorted(maps.Keys(rows))
	if len(at) < 4 {
		return
	}
	var inner []float64
	for _, x := range at[1 : len(at)-1] {
		inner = append(inner, float64(rows[x]))
	}
	usual := insight.Median(inner)
	for _, x := range []float64{at[0], at[len(at)-1]} {
		if float64(rows[x]) < 0.9*usual {
			p.partial = append(p.partial, x)
			p.note("%s has %d rows where others have %g: it is not complete, and compared with no other", data.FormatTime(x, unit), rows[x], usual)
		}
	}
}

// whole returns a series without the periods that are not complete.
func (p *plan) whole(s insight.Series) insight.Series {
	if len(p.partial) == 0 {
		return s
	}
	kept := s
	kept.X, kept.Y = nil, nil
	for i, x := range s.X {
		if !slices.Contains(p.partial, x) {
			kept.X, kept.Y = append(kept.X, x), append(kept.Y, s.Y[i])
		}
	}
	return kept
}

// A binKey says which values are aggregated together.
type binKey struct {
	series int
	at     float64
}

// A grouping sorts the values of rows into bins.
type grouping struct {
	*plan
	f        *Figure
	index    map[string]int // of series by name
	aggs     []string       // by series
	bins     map[binKey]*bin
	order    []binKey // as the table has them
	repeated bool     // a bin has more than one value
	missing  int      // values, or values without a place
}

// addColumn adds the values of a column; nil counts rows.
func (g *grouping) addColumn(y *data.Column, agg string, at places, second bool) error {
	for i, x := range at.at {
		v := 1.0
		if y != nil {
			v = y.Nums[i]
		}
		if math.IsNaN(v) || math.IsNaN(x) {
			g.missing++
			continue
		}
		series, err := g.seriesFor(i, y, agg, second)
		if err != nil {
			return err
		}
		k := binKey{series, x}
		b := g.bins[k]
		if b == nil {
			b = &bin{}
			g.bins[k] = b
			g.order = append(g.order, k)
		} else {
			g.repeated = true
		}
		b.add(v, agg == "median")
	}
	return nil
}

// seriesFor returns the index of the series that row i of a column belongs to,
// which it adds to the figure if it is new.
func (g *grouping) seriesFor(i int, y *data.Column, agg string, second bool) (int, error) {
	name := g.f.rows()
	if y != nil {
		name = y.Name
	}
	if g.series != nil {
		if name = g.series.Label(i); len(g.ys) > 1 {
			name += " · " + y.Name
		}
	}
	if k, ok := g.index[name]; ok {
		return k, nil
	}
	k := len(g.f.Series)
	if k == maxGroups {
		return 0, fmt.Errorf("the column %q has more than %d different values, too many to tell apart by colour",
			g.series.Name, maxGroups)
	}
	g.index[name] = k
	g.f.Series = append(g.f.Series, Series{Name: name, Second: second})
	g.aggs = append(g.aggs, agg)
	return k, nil
}

// nameAxes names the axes of values after their columns, with the aggregate if
// there was something to aggregate. A single series has the name of its axis.
func (p *plan) nameAxes(f *Figure, ys []*data.Column, aggs []string, repeated bool) {
	name := func(n int) Axis {
		if ys[n] == nil || aggs[n] == "count" {
			return Axis{Name: f.rows(), Kind: data.Number}
		}
		a := Axis{Name: ys[n].Name, Kind: data.Number, Unit: ys[n].Unit}
		if repeated {
			a.Name = fmt.Sprintf("%s (%s)", ys[n].Name, f.aggregateName(aggs[n]))
		}
		return a
	}
	f.Y = name(0)
	switch {
	case p.kind == Dual && len(ys) > 1:
		f.Y2 = name(1)
	case len(ys) > 1:
		f.Y.Name = ""
		if repeated {
			f.Y.Name = f.aggregateName(aggs[0])
		}
	}
	if p.series == nil && len(ys) == 1 {
		f.Series[0].Name = f.Y.Name
	}
}

// aggregateName returns the name of an aggregate in the figure's language.
func (f *Figure) aggregateName(agg string) string {
	zh := map[string]string{"sum": "合计", "mean": "平均", "median": "中位数", "min": "最小", "max": "最大", "count": "计数"}
	return f.word(agg, zh[agg])
}
