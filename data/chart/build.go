package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
