package chart

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// A Kind is how data is drawn.
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
	Dual      Kind = "dual" // bars, and a line on an axis of its own
)

// A Figure is a chart with its data: all that is needed to draw it. It is
// what a chart's specification file has.
type Figure struct {
	Kind       Kind              `json:"kind"`
	Title      string            `json:"title"`
	Subtitle   string            `json:"subtitle,omitempty"`
	Note       string            `json:"note,omitempty"` // below the chart: where the data is from
	Lang       string            `json:"lang,omitempty"` // of the words that we add: "en" or "zh"
	X          Axis              `json:"x"`
	Y          Axis              `json:"y"`
	Y2         Axis              `json:"y2,omitzero"`
	Series     []Series          `json:"series"`
	Stacked    bool              `json:"stacked,omitempty"`
	Horizontal bool              `json:"horizontal,omitempty"`
	Insights   []insight.Insight `json:"insights,omitempty"`
	Shown      []int             `json:"shown,omitempty"` // the IDs of the insights that are drawn
	Width      float64           `json:"width,omitempty"` // 0 means 960
	Height     float64           `json:"height,omitempty"`
	Notes      []string          `json:"notes,omitempty"` // what was decided or left out
}

// An Axis is one direction of a chart.
type Axis struct {
	Name   string    `json:"name,omitempty"`
	Kind   data.Kind `json:"kind"`
	Unit   data.Unit `json:"unit,omitempty"`
	Labels []string  `json:"labels,omitempty"` // of categories, in their order
	Log    bool      `json:"log,omitempty"`
	Step   float64   `json:"step,omitempty"` // the width of a histogram's bins
}

// A Series is what has one colour. X are numbers, times, or the numbers of
// categories from 0.
type Series struct {
	Name   string    `json:"name,omitempty"`
	X      Floats    `json:"x,omitempty"`
	Y      Floats    `json:"y,omitempty"`
	Box    *Quartile `json:"box,omitempty"`
	Second bool      `json:"second,omitempty"` // on the second axis
}

// A Quartile is what a box shows of a group.
type Quartile struct {
	N        int     `json:"n"`
	Low      float64 `json:"low"` // the whiskers: the furthest within 1.5 boxes
	Q1       float64 `json:"q1"`
	Median   float64 `json:"median"`
	Q3       float64 `json:"q3"`
	High     float64 `json:"high"`
	Outliers Floats  `json:"outliers,omitempty"` // the furthest 200
}

// Floats are numbers that JSON has as null where they are missing.
type Floats []float64

// MarshalJSON implements [json.Marshaler]. Numbers have ten digits.
func (f Floats) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(f)+2)
	b = append(b, '[')
	for i, v := range f {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			b = strconv.AppendInt(b, int64(v), 10)
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

// Parse reads a figure from its specification and checks that it can be drawn.
func Parse(spec []byte) (*Figure, error) {
	var f Figure
	if err := json.Unmarshal(spec, &f); err != nil {
		return nil, fmt.Errorf("it is not the specification of a chart: %w", err)
	}
	switch f.Kind {
	case Bar, Line, Area, Scatter, Histogram, Box, Pie, Heatmap, Dual:
	default:
		return nil, fmt.Errorf("it is not the specification of a chart: there is no kind %q", f.Kind)
	}
	for _, s := range f.Series {
		if len(s.X) != len(s.Y) {
			return nil, fmt.Errorf("the series %q has %d places and %d values", s.Name, len(s.X), len(s.Y))
		}
		if f.X.Kind == data.Text {
			for _, x := range s.X {
				if i := int(x); math.IsNaN(x) || i < 0 || i >= len(f.X.Labels) {
					return nil, fmt.Errorf("the series %q is at place %v of %d", s.Name, x, len(f.X.Labels))
				}
			}
		}
	}
	for _, v := range []float64{f.Width, f.Height} {
		if v < 0 || v > 4000 {
			return nil, fmt.Errorf("a chart cannot be %v wide or high: at most 4000", v)
		}
	}
	return &f, nil
}

func (f *Figure) size() (w, h float64) {
	w, h = f.Width, f.Height
	if w == 0 {
		w = 960
	}
	if h == 0 {
		h = 540
		if f.Horizontal {
			h = min(1400, max(h, 190+float64(len(f.X.Labels))*22*max(1, 0.5*float64(len(f.Series)))))
		}
		if f.Kind == Heatmap {
			h = min(1400, max(h, 200+22*float64(len(f.Series))))
		}
	}
	return max(w, 240), max(h, 180)
}

// marks are those of the insights that are shown.
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

func (f *Figure) say(en, zh string) string {
	if f.Lang == "zh" {
		return zh
	}
	return en
}
