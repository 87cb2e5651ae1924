package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// Build makes a figure of a table and finds the insights in it. It draws none
// of them: the caller sets [Figure.Shown]. [Figure.Notes] lists what it chose
// and left out.
func Build(t *data.Table, req Request) (*Figure, error) {
	p, err := resolve(t, req)
	if err != nil {
		return nil, err
	}
	f := &Figure{Kind: p.kind, Title: p.Title, Subtitle: p.Subtitle, Note: p.Note, Lang: p.Lang,
		Stacked: p.Stacked, Width: p.Width, Height: p.Height}
	var set insight.Set
	switch p.kind {
	case Histogram:
		set, err = p.histogram(f)
	case Scatter:
		set = p.scatter(f)
	case Box:
		set = p.boxes(f)
	case Heatmap:
		err = p.heatmap(f)
	default:
		set, err = p.values(f)
	}
	if err != nil {
		return nil, err
	}
	if len(f.Series) == 0 {
		return nil, fmt.Errorf("%s has no values to draw: every row lacks one of the columns", t.Name)
	}
	if p.Log && f.Kind != Pie && f.Kind != Heatmap && f.Kind != Dual {
		if f.Y.Log = positiveOnly(f.Series); !f.Y.Log {
			p.note("the axis is linear: a logarithmic one needs all values above 0")
		}
	}
	if f.Title == "" {
		f.Title = p.title(f)
	}
	if len(set.Series) > 0 {
		f.Insights = insight.Find(set, p.Lang)
	}
	f.Notes = append(slices.Clone(t.Notes), p.notes...)
	return f, nil
}

// positiveOnly reports whether there are values and all are above 0.
func positiveOnly(series []Series) bool {
	found := false
	for _, s := range series {
		for _, v := range s.Y {
			if v <= 0 {
				return false
			}
			found = found || v > 0
		}
	}
	return found
}

// title describes a chart whose request has no title, such as "price by date".
func (p *plan) title(f *Figure) string {
	var names []string
	for _, y := range p.ys {
		names = append(names, y.Name)
	}
	subject := strings.Join(names, ", ")
	if subject == "" {
		subject = f.rows()
	}
	switch {
	case f.Kind == Histogram:
		return fmt.Sprintf(f.word("Distribution of %s", "%s的分布"), p.x.Name)
	case p.x == nil:
		return subject
	}
	return fmt.Sprintf(f.word("%s by %s", "%s（按%s）"), subject, p.x.Name)
}

// rows is the name of a count of rows.
func (f *Figure) rows() string { return f.word("rows", "行数") }

// maxColours is how many series a scatter plot has at most.
const maxColours = 24

// scatter makes a point of every row, without aggregation.
func (p *plan) scatter(f *Figure) insight.Set {
	y := p.ys[0]
	f.X = Axis{Name: p.x.Name, Kind: p.x.Kind, Unit: p.x.Unit}
	f.Y = Axis{Name: y.Name, Kind: data.Number, Unit: y.Unit}
	index := make(map[string]int)
	missing, beyond := 0, 0
	for i, v := range y.Nums {
		x := p.x.Nums[i]
		if math.IsNaN(v) || math.IsNaN(x) {
			missing++
			continue
		}
		name := ""
		if p.series != nil {
			name = p.series.Label(i)
		}
		k, ok := index[name]
		if !ok {
			if len(f.Series) == maxColours {
				beyond++
				continue
			}
			k = len(f.Series)
			index[name] = k
			f.Series = append(f.Series, Series{Name: name})
		}
		f.Series[k].X, f.Series[k].Y = append(f.Series[k].X, x), append(f.Series[k].Y, v)
	}
	if missing > 0 {
		p.note("%d rows are not drawn: a value is missing", missing)
	}
	if beyond > 0 {
		p.note("%d rows are not drawn: %q has more than %d values", beyond, p.series.Name, maxColours)
	}
	return insights(f, insight.Cloud)
}

// insights returns the series of f as what insights are looked for in.
func insights(f *Figure, shape insight.Shape) insight.Set {
	set := insight.Set{Shape: shape, YName: f.Y.Name,
		XName: f.X.Name, XKind: f.X.Kind, XUnit: f.X.Unit, Labels: f.X.Labels}
	for _, s := range f.Series {
		unit := f.Y.Unit
		if s.Second {
			unit = f.Y2.Unit
		}
		set.Series = append(set.Series, insight.Series{Name: s.Name, X: s.X, Y: s.Y, Unit: unit})
	}
	return set
}

// maxCells is how many columns of cells a heat map has at most.
const maxCells = 400

// heatmap has a row for each value of the series column and a column for each
// value of x, in the order of time, of the calendar, or of the table.
func (p *plan) heatmap(f *Figure) error {
	at, err := p.places()
	if err != nil {
		return err
	}
	if len(at.labels) > maxCells {
		return fmt.Errorf("the column %q has %d different values, too many for a heat map: set bucket",
			p.x.Name, len(at.labels))
	}
	f.X = Axis{Name: p.x.Name, Kind: data.Text}
	if err := p.collect(f, at); err != nil {
		return err
	}
	f.X.Labels = at.labels
	if calendarRank(at.labels) != nil {
		p.Top = len(at.labels)
		p.arrange(f)
	}
	return nil
}
