package insight

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// A Series is values y at places x. NaN is missing.
type Series struct {
	Name string
	X    []float64 // of the points; for categories their numbers from 0
	Y    []float64
	Unit data.Unit // of Y
}

// A Shape is how the series of a set are to be read.
type Shape int

// The shapes.
const (
	Course     Shape = iota // values along time or another ordered quantity
	Categories              // a value for each category
	Cloud                   // pairs of values in no order
	Groups                  // each series is a group of values; X does not matter
)

// A Set is what is looked at together: the series of one chart.
type Set struct {
	Shape  Shape
	XName  string
	XKind  data.Kind // Time, Number, or Text for categories
	XUnit  data.Unit
	Labels []string // of categories
	YName  string
	Series []Series
}

// The kinds of insights.
const (
	Trend        = "trend"
	Seasonality  = "seasonality"
	TurningPoint = "turning point"
	Outliers     = "outliers"
	Correlation  = "correlation"
	Majority     = "majority"
	Volatility   = "volatility"
	Difference   = "difference"
	Extremes     = "extremes"
	Summary      = "summary"
)

// An Insight is one thing that is to be seen.
type Insight struct {
	ID     int                `json:"id"` // from 1, the most telling first
	Kind   string             `json:"kind"`
	Series string             `json:"series,omitempty"`
	Text   string             `json:"text"`
	Stats  map[string]float64 `json:"stats,omitempty"` // the numbers in Text, and p if there is one
	Marks  []Mark             `json:"marks,omitempty"`

	weight float64
}

// A Mark is what an insight draws on its chart, in the chart's coordinates.
type Mark struct {
	Kind   string  `json:"kind"` // point, line (X, Y to X2, Y2), span (X to X2), level (Y)
	Series string  `json:"series,omitempty"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	X2     float64 `json:"x2,omitempty"`
	Y2     float64 `json:"y2,omitempty"`
	Label  string  `json:"label,omitempty"`
}

// significant is the p-value from which something is not said to be there.
const significant = 0.05

// Find looks at a set and returns what it finds, the most telling first, at
// most eight besides a summary. Text is in lang: "en" or "zh".
func Find(set Set, lang string) []Insight {
	w := words{lang == "zh"}
	var found []Insight
	for i, s := range set.Series {
		if i == 12 {
			break
		}
		c := clean(s, set.Shape == Course)
		if len(c.Y) == 0 {
			continue
		}
		switch set.Shape {
		case Course:
			found = append(found, course(w, set, c)...)
		case Categories:
			found = append(found, categories(w, set, c)...)
		case Cloud:
			found = append(found, cloud(w, set, c)...)
		case Groups:
			found = append(found, valueOutliers(w, set, c)...)
		}
		found = append(found, summary(w, set, c))
	}
	found = append(found, together(w, set)...)
	return ranked(found)
}

func ranked(found []Insight) []Insight {
	slices.SortStableFunc(found, func(a, b Insight) int { return cmp.Compare(b.weight, a.weight) })
	var kept []Insight
	n, sums := 0, 0
	for _, f := range found {
		if f.Kind == Summary {
			if sums++; sums > 4 {
				continue
			}
		} else if n++; n > 8 {
			continue
		}
		f.ID = len(kept) + 1
		kept = append(kept, f)
	}
	return kept
}

// clean leaves out missing values; ordered sorts by x.
func clean(s Series, ordered bool) Series {
	c := Series{Name: s.Name, Unit: s.Unit}
	for i, y := range s.Y {
		x := float64(i)
		if i < len(s.X) {
			x = s.X[i]
		}
		if !math.IsNaN(y) && !math.IsInf(y, 0) && !math.IsNaN(x) {
			c.X, c.Y = append(c.X, x), append(c.Y, y)
		}
	}
	if ordered && !slices.IsSorted(c.X) {
		order := sorted(c.X)
		x, y := make([]float64, len(order)), make([]float64, len(order))
		for i, k := range order {
			x[i], y[i] = c.X[k], c.Y[k]
		}
		c.X, c.Y = x, y
	}
	return c
}

// course is what can be said of values in their order.
func course(w words, set Set, s Series) []Insight {
	var found []Insight
	season, hasSeason := seasonOf(set, s)
	if t, ok := trend(w, set, s); ok {
		found = append(found, t)
	}
	if hasSeason {
		found = append(found, season.insight(w, set, s))
	}
	if o, ok := courseOutliers(w, set, s, season, hasSeason); ok {
		found = append(found, o)
	}
	plain := s
	if hasSeason {
		plain.Y = season.adjusted
	}
	found = append(found, turning(w, set, plain)...)
	if v, ok := volatility(w, set, s); ok {
		found = append(found, v)
	}
	if e, ok := extremes(w, set, s); ok {
		found = append(found, e)
	}
	return found
}

func categories(w words, set Set, s Series) []Insight {
	found := valueOutliers(w, set, s)
	if m, ok := majority(w, set, s); ok {
		found = append(found, m)
	}
	if e, ok := extremes(w, set, s); ok {
		found = append(found, e)
	}
	return found
}

func cloud(w words, set Set, s Series) []Insight {
	name := set.YName
	if s.Name != "" {
		name += " (" + s.Name + ")"
	}
	var found []Insight
	if c, ok := correlation(w, set.XName, name, s.X, s.Y, len(set.Series) > 1); ok {
		c.Series = s.Name
		if slope, at := TheilSen(s.X, s.Y); c.Stats["pearson_p"] < significant && !math.IsNaN(slope) {
			lo, hi := slices.Min(s.X), slices.Max(s.X)
			c.Marks = []Mark{{Kind: "line", Series: s.Name, X: lo, Y: at + slope*lo, X2: hi, Y2: at + slope*hi,
				Label: fmt.Sprintf("r = %.2f", c.Stats["pearson"])}}
		}
		found = append(found, c)
	}
	return append(found, valueOutliers(w, set, s)...)
}

// together compares the series with each other.
func together(w words, set Set) []Insight {
	var found []Insight
	if set.Shape == Groups {
		if d, ok := difference(w, set); ok {
			found = append(found, d)
		}
	}
	if set.Shape != Course && set.Shape != Categories || len(set.Series) > 8 {
		return found
	}
	for i, a := range set.Series {
		for _, b := range set.Series[:i] {
			x, y := paired(b, a)
			if c, ok := correlation(w, b.Name, a.Name, x, y, true); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// paired are the values of two series at the same places.
func paired(a, b Series) (x, y []float64) {
	at := make(map[float64]float64, len(a.Y))
	for i, v := range a.Y {
		if i < len(a.X) && !math.IsNaN(v) {
			at[a.X[i]] = v
		}
	}
	for i, v := range b.Y {
		if i >= len(b.X) || math.IsNaN(v) {
			continue
		}
		if u, ok := at[b.X[i]]; ok {
			x, y = append(x, u), append(y, v)
		}
	}
	return x, y
}
