package chart

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// A Kind is a type of chart.
type Kind string

// The kinds of charts.
const (
	Bar       Kind = "bar"
	Line      Kind = "line"
	Area      Kind = "area"
	Scatter   Kind = "scatter"
	Histogram Kind = "histogram"
	Box       Kind = "box"
	Pie       Kind = "pie"
	Heatmap   Kind = "heatmap"
	Dual      Kind = "dual" // bars, and a line on a second axis
)

// A Figure is a chart together with its data: everything that drawing it
// takes. Its JSON is the chart's specification file. The series of a heat map
// are its rows; a box plot's series have only a Box; a pie has one series.
type Figure struct {
	Kind       Kind              `json:"kind"`
	Title      string            `json:"title"`
	Subtitle   string            `json:"subtitle,omitempty"`
	Note       string            `json:"note,omitempty"` // below the chart, such as the source of the data
	Lang       string            `json:"lang,omitempty"` // of the words that this package adds: "en" or "zh"
	X          Axis              `json:"x"`
	Y          Axis              `json:"y"`
	Y2         Axis              `json:"y2,omitzero"`
	Series     []Series          `json:"series"`
	Stacked    bool              `json:"stacked,omitempty"`
	Horizontal bool              `json:"horizontal,omitempty"` // bars from left to right, X running down
	Insights   []insight.Insight `json:"insights,omitempty"`
	Shown      []int             `json:"shown,omitempty"` // the IDs of the insights that are drawn
	Width      float64           `json:"width,omitempty"` // in pixels; 0 means 960
	Height     float64           `json:"height,omitempty"`
	Notes      []string          `json:"notes,omitempty"` // choices that Build made, and data that it left out
}

// An Axis is one direction of a chart.
type Axis struct {
	Name   string    `json:"name,omitempty"`
	Kind   data.Kind `json:"kind"`
	Unit   data.Unit `json:"unit,omitempty"`
	Labels []string  `json:"labels,omitempty"` // the categories in order, if Kind is data.Text
	Log    bool      `json:"log,omitempty"`
	Step   float64   `json:"step,omitempty"` // the width of a histogram's bins
}

// A Series is a set of values that share a colour. Each X is a number, a time
// in seconds since 1970, the left edge of a bin, or an index into the axis's
// Labels.
type Series struct {
	Name   string    `json:"name,omitempty"`
	X      Floats    `json:"x,omitempty"`
	Y      Floats    `json:"y,omitempty"` // as long as X; NaN is missing
	Box    *Quartile `json:"box,omitempty"`
	Second bool      `json:"second,omitempty"` // on the second axis
}

// A Quartile is the five-number summary that a box shows.
type Quartile struct {
	N        int     `json:"n"`
	Low      float64 `json:"low"` // the end of a whisker: the furthest value within 1.5 box lengths
	Q1       float64 `json:"q1"`
	Median   float64 `json:"median"`
	Q3       float64 `json:"q3"`
	High     float64 `json:"high"`
	Outliers Floats  `json:"outliers,omitempty"` // the furthest 100 on each side
}

// Floats are numbers whose missing values (NaN) are null in JSON.
type Floats []float64

// MarshalJSON implements [json.Marshaler]. Fractions get ten digits, and at
// least three decimals, so that times keep their milliseconds.
func (f Floats) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(f)+2)
	b = append(b, '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		switch a := math.Abs(v); {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && a < 1e15:
			b = strconv.AppendInt(b, int64(v), 10)
		case a >= 1e7 && a < 1e15:
			b = strconv.AppendFloat(b, v, 'f', 3, 64)
		default:
			b = strconv.AppendFloat(b, v, 'g', 10, 64)
		}
	}
	return append(b, ']'), nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Floats) UnmarshalJSON(b []byte) error {
	var in []*float64
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*f = make(Floats, len(in))
	for i, v := range in {
		(*f)[i] = math.NaN()
		if v != nil {
			(*f)[i] = *v
		}
	}
	return nil
}

// Parse reads a figure from its specification. It rejects one that cannot be
// drawn: of an unknown kind, with values that lack a place, or too large.
func Parse(spec []byte) (*Figure, error) {
	var f Figure
	if err := json.Unmarshal(spec, &f); err != nil {
		return nil, fmt.Errorf("not the specification of a chart: %w", err)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return &f, nil
}

// check returns an error if drawing the figure would fail: a specification may
// have been written by anyone.
func (f *Figure) check() error {
	switch f.Kind {
	case Bar, Line, Area, Scatter, Histogram, Box, Pie, Heatmap, Dual:
	default:
		return fmt.Errorf("not the specification of a chart: there is no kind %q", f.Kind)
	}
	for _, s := range f.Series {
		if len(s.X) != len(s.Y) {
			return fmt.Errorf("the series %q has %d places but %d values", s.Name, len(s.X), len(s.Y))
		}
		for _, x := range s.X {
			categorical := f.X.Kind == data.Text || f.Kind == Pie || f.Kind == Heatmap
			if i := int(x); categorical && (math.IsNaN(x) || i < 0 || i >= len(f.X.Labels)) {
				return fmt.Errorf("the series %q has a value at place %v; the axis has %d labels",
					s.Name, x, len(f.X.Labels))
			}
		}
	}
	for _, v := range []float64{f.Width, f.Height} {
		if v < 0 || v > 4000 {
			return fmt.Errorf("a chart cannot be %v pixels wide or high: at most 4000", v)
		}
	}
	return nil
}

// size is the figure's width and height in pixels. Lying bars and the rows of
// heat maps make a figure higher, within limits, unless the height is given.
func (f *Figure) size() (w, h float64) {
	w, h = f.Width, f.Height
	w = cmp.Or(w, 960)
	if h == 0 {
		h = 540
		if f.Horizontal {
			rows := float64(len(f.X.Labels)) * max(1, 0.5*float64(len(f.Series)))
			h = min(1400, max(h, 190+22*rows))
		}
		if f.Kind == Heatmap {
			h = min(1400, max(h, 200+22*float64(len(f.Series))))
		}
	}
	return max(w, 240), max(h, 180)
}

// marks returns what the shown insights draw.
func (f *Figure) marks() []insight.Mark {
	var marks []insight.Mark
	for _, id := range f.Shown {
		for _, i := range f.Insights {
			if i.ID == id {
				marks = append(marks, i.Marks...)
			}
		}
	}
	return marks
}

// points is how many values all series have.
func (f *Figure) points() (n int) {
	for _, s := range f.Series {
		n += len(s.Y)
	}
	return n
}

// word returns the one of its arguments that is in the figure's language.
func (f *Figure) word(en, zh string) string {
	if f.Lang == "zh" {
		return zh
	}
	return en
}

// other is the label of the category that holds all smaller ones.
func (f *Figure) other() string { return f.word("other", "其他") }
