package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// Build makes a figure of a table. Its insights are found; which of them are
// drawn is for the caller to say.
func Build(t *data.Table, req Request) (*Figure, error) {
	r, err := resolve(t, req)
	if err != nil {
		return nil, err
	}
	f := &Figure{Kind: r.kind, Title: r.Title, Subtitle: r.Subtitle, Note: r.Note, Lang: r.Lang, Stacked: r.Stacked, Width: r.Width, Height: r.Height}
	var set insight.Set
	switch r.kind {
	case Histogram:
		set, err = r.histogram(f)
	case Scatter:
		set = r.scatter(f)
	case Box:
		set, err = r.boxes(f)
	case Heatmap:
		err = r.heatmap(f)
	default:
		set, err = r.values(f)
	}
	if err != nil {
		return nil, err
	}
	if len(f.Series) == 0 {
		return nil, fmt.Errorf("%s has no values to draw: every row lacks one of the columns", t.Name)
	}
	if r.Log && f.Kind != Pie && f.Kind != Heatmap && f.Kind != Dual {
		f.Y.Log = positive(f.Series)
		if !f.Y.Log {
			r.notes = append(r.notes, "the axis is not logarithmic: there are values that are not above 0")
		}
	}
	if f.Title == "" {
		f.Title = r.title(f)
	}
	if len(set.Series) > 0 {
		f.Insights = insight.Find(set, r.Lang)
	}
	f.Notes = append(slices.Clone(t.Notes), r.notes...)
	return f, nil
}

func positive(series []Series) bool {
	some := false
	for _, s := range series {
		for _, v := range s.Y {
			if v <= 0 {
				return false
			}
			some = some || v > 0
		}
	}
	return some
}

func (r *resolved) title(f *Figure) string {
	var ys []string
	for _, y := range r.ys {
		ys = append(ys, y.Name)
	}
	what := strings.Join(ys, ", ")
	if what == "" {
		what = f.say("rows", "行数")
	}
	switch {
	case f.Kind == Histogram:
		return fmt.Sprintf(f.say("Distribution of %s", "%s的分布"), r.x.Name)
	case r.x == nil:
		return what
	}
	return fmt.Sprintf(f.say("%s by %s", "%s（按%s）"), what, r.x.Name)
}

func (r *resolved) scatter(f *Figure) insight.Set {
	y := r.ys[0]
	f.X, f.Y = Axis{Name: r.x.Name, Kind: r.x.Kind, Unit: r.x.Unit}, Axis{Name: y.Name, Kind: data.Number, Unit: y.Unit}
	index := make(map[string]int)
	for i, v := range y.Nums {
		x := r.x.Nums[i]
		if math.IsNaN(v) || math.IsNaN(x) {
			continue
		}
		name := ""
		if r.series != nil {
			name = r.series.Label(i)
		}
		k, ok := index[name]
		if !ok {
			if len(f.Series) == 24 {
				continue
			}
			k = len(f.Series)
			index[name] = k
			f.Series = append(f.Series, Series{Name: name})
		}
		f.Series[k].X, f.Series[k].Y = append(f.Series[k].X, x), append(f.Series[k].Y, v)
	}
	if missing := y.Len() - points(f.Series); missing > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d rows are not drawn: a value is missing", missing))
	}
	return r.set(f, insight.Cloud)
}

func points(series []Series) (n int) {
	for _, s := range series {
		n += len(s.Y)
	}
	return n
}

// set is what insights are looked for in.
func (r *resolved) set(f *Figure, shape insight.Shape) insight.Set {
	set := insight.Set{Shape: shape, XName: f.X.Name, XKind: f.X.Kind, XUnit: f.X.Unit, Labels: f.X.Labels, YName: f.Y.Name}
	for _, s := range f.Series {
		u := f.Y.Unit
		if s.Second {
			u = f.Y2.Unit
		}
		set.Series = append(set.Series, insight.Series{Name: s.Name, X: s.X, Y: s.Y, Unit: u})
	}
	return set
}

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

// A bin collects the values of rows at one place.
type bin struct {
	values []float64 // only if the median is asked for
	n      int
	sum    float64
	lo, hi float64
}

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

// average are words in the names of columns whose sum means nothing.
var average = []string{"rate", "ratio", "avg", "average", "mean", "price", "temp", "percent", "pct", "score", "age", "index", "height", "weight", "length", "speed", "rating", "density", "率", "均", "价", "温", "比", "年龄"}

func aggregateFor(y *data.Column) string {
	if y == nil {
		return "count"
	}
	n := strings.ToLower(y.Name)
	if y.Unit == data.Percent || slices.ContainsFunc(average, func(w string) bool { return strings.Contains(n, w) }) {
		return "mean"
	}
	return "sum"
}

// places gives every row a place on the horizontal axis.
type places struct {
	at     []float64 // by row; NaN: none
	labels []string  // of categories
}

func (r *resolved) places() (places, error) {
	var p places
	p.at = make([]float64, r.table.Rows())
	if r.x.Kind == data.Text || r.x.Kind == data.Number && (r.kind == Pie || r.kind == Bar && r.x.Distinct(60) < 60 || r.kind == Heatmap) {
		index := make(map[string]int)
		for i := range p.at {
			s := r.x.Label(i)
			if s == "" {
				s = "–"
			}
			k, ok := index[s]
			if !ok {
				k = len(p.labels)
				index[s] = k
				p.labels = append(p.labels, s)
			}
			p.at[i] = float64(k)
		}
		return p, nil
	}
	copy(p.at, r.x.Nums)
	if r.Bucket == "" || r.Bucket == "none" {
		return p, nil
	}
	if r.x.Kind != data.Time {
		return p, fmt.Errorf("bucket is for times, and %q has %ss", r.x.Name, r.x.Kind)
	}
	for i, v := range p.at {
		if !math.IsNaN(v) {
			b, ok := bucket(v, r.Bucket)
			if !ok {
				return p, fmt.Errorf("there is no bucket %q; there are hour, day, week, month, quarter and year", r.Bucket)
			}
			p.at[i] = b
		}
	}
	return p, nil
}

func bucket(v float64, name string) (float64, bool) {
	t := data.UnixTime(v)
	switch name {
	case "hour":
		t = t.Truncate(time.Hour)
	case "day":
		t = t.Truncate(24 * time.Hour)
	case "week":
		t = t.Truncate(24*time.Hour).AddDate(0, 0, -(int(t.Weekday())+6)%7)
	case "month":
		t = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	case "quarter":
		t = time.Date(t.Year(), (t.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	case "year":
		t = time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return 0, false
	}
	return float64(t.Unix()), true
}

var bucketUnits = map[string]data.Unit{"hour": data.Second, "day": data.Day, "week": data.Day, "month": data.Month, "quarter": data.Quarter, "year": data.Year}

// values puts rows at the same place together, for each series.
func (r *resolved) values(f *Figure) (insight.Set, error) {
	p, err := r.places()
	if err != nil {
		return insight.Set{}, err
	}
	f.X = Axis{Name: r.x.Name, Kind: r.x.Kind, Unit: r.x.Unit}
	if p.labels != nil {
		f.X.Kind = data.Text
	} else if u, ok := bucketUnits[r.Bucket]; ok {
		f.X.Unit = u
	}
	if err := r.collect(f, p); err != nil {
		return insight.Set{}, err
	}
	shape := insight.Course
	if p.labels != nil {
		f.X.Labels = p.labels
		r.arrange(f)
		shape = insight.Categories
	}
	return r.set(f, shape), nil
}

func (r *resolved) collect(f *Figure, p places) error {
	ys := r.ys
	if len(ys) == 0 {
		ys = []*data.Column{nil}
	}
	type key struct {
		series int
		at     float64
	}
	bins := make(map[key]*bin)
	index := make(map[string]int)
	var order []key
	var aggs []string
	repeated, left := false, 0
	for n, y := range ys {
		agg := r.Aggregate
		if agg == "" {
			agg = aggregateFor(y)
		}
		switch agg {
		case "sum", "mean", "median", "min", "max", "count":
		default:
			return fmt.Errorf("there is no aggregate %q; there are sum, mean, median, min, max and count", agg)
		}
		for i, at := range p.at {
			v := 1.0
			if y != nil {
				v = y.Nums[i]
			}
			if math.IsNaN(v) || math.IsNaN(at) {
				left++
				continue
			}
			name := f.say("rows", "行数")
			if y != nil {
				name = y.Name
			}
			if r.series != nil {
				if name = r.series.Label(i); len(ys) > 1 {
					name += " · " + y.Name
				}
			}
			s, ok := index[name]
			if !ok {
				if len(index) == maxGroups {
					return fmt.Errorf("the column %q has more than %d different values: too many colours", r.series.Name, maxGroups)
				}
				s = len(f.Series)
				index[name] = s
				f.Series = append(f.Series, Series{Name: name, Second: r.kind == Dual && n == 1})
				aggs = append(aggs, agg)
			}
			k := key{s, at}
			b := bins[k]
			if b == nil {
				b = &bin{}
				bins[k] = b
				order = append(order, k)
			} else {
				repeated = true
			}
			b.add(v, agg == "median")
		}
	}
	if f.X.Kind != data.Text {
		slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(a.at, b.at) })
	}
	for _, k := range order {
		s := &f.Series[k.series]
		s.X, s.Y = append(s.X, k.at), append(s.Y, bins[k].value(aggs[k.series]))
	}
	r.describe(f, ys, aggs, repeated, left)
	return nil
}

// describe names the axes and says what was put together.
func (r *resolved) describe(f *Figure, ys []*data.Column, aggs []string, repeated bool, left int) {
	name := func(y *data.Column, agg string) Axis {
		if y == nil || agg == "count" {
			return Axis{Name: f.say("rows", "行数"), Kind: data.Number}
		}
		a := Axis{Name: y.Name, Kind: data.Number, Unit: y.Unit}
		if repeated {
			a.Name = fmt.Sprintf("%s (%s)", y.Name, f.aggregate(agg))
		}
		return a
	}
	if len(aggs) == 0 {
		return
	}
	f.Y = name(ys[0], aggs[0])
	if r.kind == Dual && len(ys) > 1 && len(aggs) > 1 {
		f.Y2 = name(ys[1], aggs[len(aggs)-1])
	} else if len(ys) > 1 {
		f.Y.Name = ""
		if repeated {
			f.Y.Name = f.aggregate(aggs[0])
		}
	}
	if r.series == nil && len(ys) == 1 {
		f.Series[0].Name = f.Y.Name
	}
	if repeated && r.Aggregate == "" && ys[0] != nil {
		r.notes = append(r.notes, fmt.Sprintf("rows at the same place are put together by %s", aggs[0]))
	}
	if left > 0 {
		r.notes = append(r.notes, fmt.Sprintf("%d values are missing and not drawn", left))
	}
}

func (f *Figure) aggregate(a string) string {
	if f.Lang != "zh" {
		return a
	}
	return map[string]string{"sum": "合计", "mean": "平均", "median": "中位数", "min": "最小", "max": "最大", "count": "计数"}[a]
}

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

// heatmap has a row for each value of the series column.
func (r *resolved) heatmap(f *Figure) error {
	f.X = Axis{Name: r.x.Name, Kind: data.Text}
	var p places
	var err error
	if r.x.Kind == data.Time {
		p, err = r.timeCells(f)
	} else {
		p, err = r.places()
	}
	if err != nil {
		return err
	}
	if len(p.labels) > 400 {
		return fmt.Errorf("the column %q has %d different values: too many for a heat map; choose a bucket", r.x.Name, len(p.labels))
	}
	if err := r.collect(f, p); err != nil {
		return err
	}
	f.X.Labels = p.labels
	if rank := ordinal(p.labels, calendar); rank != nil {
		r.Top = len(p.labels)
		r.arrange(f)
	}
	return nil
}

// timeCells makes categories of times.
func (r *resolved) timeCells(f *Figure) (places, error) {
	kind := r.kind
	r.kind = Line // places that are times
	p, err := r.places()
	r.kind = kind
	if err != nil {
		return p, err
	}
	u := r.x.Unit
	if b, ok := bucketUnits[r.Bucket]; ok {
		u = b
	}
	times := slices.Compact(slices.Sorted(slices.Values(present(p.at))))
	for i, v := range p.at {
		if k, ok := slices.BinarySearch(times, v); ok {
			p.at[i] = float64(k)
		}
	}
	p.labels = []string{}
	for _, v := range times {
		p.labels = append(p.labels, data.FormatTime(v, u))
	}
	return p, nil
}
