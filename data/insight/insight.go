package insight

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// A Series is values Y at places X.
type Series struct {
	Name string
	X    []float64 // numbers, times in seconds since 1970, or indices of categories
	Y    []float64 // NaN is missing
	Unit data.Unit // of Y
}

// A Shape says how the series of a set are to be read.
type Shape int

// The shapes.
const (
	Course     Shape = iota // values along time or another ordered quantity; X need not be sorted
	Categories              // a value for each category
	Cloud                   // pairs of values without an order
	Groups                  // each series is a group of values; X does not matter
)

// A Set is the series of one chart, which are examined together. Find does not
// change it.
type Set struct {
	Shape  Shape
	XName  string    // how texts call what X is, such as a column's name
	XKind  data.Kind // Time, Number, or Text for categories
	XUnit  data.Unit // of times: how finely texts write a place
	Labels []string  // of categories, by the index that X has
	YName  string    // how texts call Y where a series has no name
	Series []Series  // at most 12 are examined, and 8 compared with each other
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

// An Insight is one finding. Its Stats have these keys, by Kind; a share is from 0
// to 1, a place is a value of X:
//
//	Trend         tau, p, n; slope (of Y for a unit of time or X, as in Text); from, to
//	              (the line's values at its ends); change (to/from-1, if both are above 0)
//	Seasonality   period (positions), strength (share of the variation around the trend),
//	              h, p; peak, trough (positions from 0)
//	TurningPoint  x (the place); before, after (slopes, as in a trend); f, p
//	Outliers      count; largest_z (robust standard deviations, with its sign)
//	Correlation   pearson, pearson_p, spearman, spearman_p, n
//	Majority      share (of the largest category); eighty (how many categories have 80 %);
//	              of (how many there are)
//	Volatility    sd, largest_sd, first_half, second_half (of changes, as shares);
//	              drawdown (a share); p
//	Difference    h, p, n; spread_p
//	Extremes      max, min; max_at, min_at (places)
//	Summary       n, mean, sd, min, q1, median, q3, max
//
// Figures that were saved hold these keys: none is renamed or gets another meaning.
type Insight struct {
	ID     int                `json:"id"` // from 1, the most telling first
	Kind   string             `json:"kind"`
	Series string             `json:"series,omitempty"`
	Text   string             `json:"text"`
	Stats  map[string]float64 `json:"stats,omitempty"` // the numbers in Text, and p if there is one
	Marks  []Mark             `json:"marks,omitempty"`

	weight float64 // how telling it is, from 0 to about 2
}

// A Mark is what an insight draws on its chart, in the coordinates of the
// data.
type Mark struct {
	Kind   string  `json:"kind"` // point, line (X, Y to X2, Y2) or span (X to X2)
	Series string  `json:"series,omitempty"`
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	X2     float64 `json:"x2,omitempty"`
	Y2     float64 `json:"y2,omitempty"`
	Label  string  `json:"label,omitempty"`
}

// significant is the level of the tests: a finding with a larger p-value is
// not stated.
const significant = 0.05

// Limits of Find.
const (
	maxSeries    = 12 // that are examined
	maxFindings  = 8  // besides summaries
	maxSummaries = 4
	maxPaired    = 8 // series that are compared with each other
)

// Find examines a set and returns what it finds, the most telling first: at
// most eight findings and four summaries of series. Texts are in the language
// lang, "en" or "zh".
func Find(set Set, lang string) []Insight {
	w := words{lang == "zh"}
	var found []Insight
	for _, s := range set.Series[:min(len(set.Series), maxSeries)] {
		s = clean(s, set.Shape == Course)
		if len(s.Y) == 0 {
			continue
		}
		switch set.Shape {
		case Course:
			found = append(found, course(w, set, s)...)
		case Categories:
			found = slices.Concat(found, valueOutliers(w, set, s), majority(w, set, s), extremes(w, set, s))
		case Cloud:
			found = slices.Concat(found, cloud(w, set, s), valueOutliers(w, set, s))
		case Groups:
			found = append(found, valueOutliers(w, set, s)...)
		}
		found = append(found, summary(w, set, s))
	}
	return ranked(append(found, together(w, set)...))
}

// ranked sorts findings by weight, numbers them, and drops those beyond the
// limits.
func ranked(found []Insight) (kept []Insight) {
	slices.SortStableFunc(found, func(a, b Insight) int { return cmp.Compare(b.weight, a.weight) })
	findings, summaries := 0, 0
	for _, f := range found {
		count, most := &findings, maxFindings
		if f.Kind == Summary {
			count, most = &summaries, maxSummaries
		}
		if *count++; *count > most {
			continue
		}
		f.ID = len(kept) + 1
		kept = append(kept, f)
	}
	return kept
}

// clean returns a series without missing and infinite values, sorted by x if
// ordered. Values without an x get their index.
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
		order := sortedIndices(c.X)
		x, y := make([]float64, len(order)), make([]float64, len(order))
		for i, k := range order {
			x[i], y[i] = c.X[k], c.Y[k]
		}
		c.X, c.Y = x, y
	}
	return c
}

// course examines values in their order. A turning point is looked for after
// the season is taken out.
func course(w words, set Set, s Series) []Insight {
	season, seasonal := findSeason(set, s)
	found := trend(w, set, s)
	adjusted := s
	if seasonal {
		found = append(found, season.insight(w, set, s))
		adjusted.Y = season.adjusted
	}
	return slices.Concat(found, courseOutliers(w, set, s, season, seasonal), turningPoint(w, set, adjusted),
		volatility(w, set, s), extremes(w, set, s))
}

// cloud examines pairs of values.
func cloud(w words, set Set, s Series) []Insight {
	name := set.YName
	if s.Name != "" {
		name += " (" + s.Name + ")"
	}
	found := correlation(w, set.XName, name, s.X, s.Y, len(set.Series) > 1)
	for i := range found {
		c := &found[i]
		c.Series = s.Name
		if slope, at := TheilSen(s.X, s.Y); c.Stats["pearson_p"] < significant && !math.IsNaN(slope) {
			lo, hi := slices.Min(s.X), slices.Max(s.X)
			c.Marks = []Mark{{Kind: "line", Series: s.Name, X: lo, Y: at + slope*lo, X2: hi, Y2: at + slope*hi,
				Label: fmt.Sprintf("r = %.2f", c.Stats["pearson"])}}
		}
	}
	return found
}

// together compares the series with each other.
func together(w words, set Set) (found []Insight) {
	if set.Shape == Groups {
		return difference(w, set)
	}
	if set.Shape == Cloud || len(set.Series) > maxPaired {
		return nil
	}
	for i, a := range set.Series {
		for _, b := range set.Series[:i] {
			x, y := paired(b, a)
			found = append(found, correlation(w, b.Name, a.Name, x, y, true)...)
		}
	}
	return found
}

// paired returns the values that two series have at the same places.
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
