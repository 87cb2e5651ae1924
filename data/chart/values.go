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
