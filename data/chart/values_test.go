package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// listed writes the series of a figure, one a line: NAME LABEL=VALUE …
func listed(f *Figure) string {
	var b strings.Builder
	for _, s := range f.Series {
		b.WriteString(s.Name)
		for i, v := range s.Y {
			place := fmt.Sprint(s.X[i])
			if f.X.Labels != nil {
				place = f.X.Labels[int(s.X[i])]
			}
			fmt.Fprintf(&b, " %s=%g", place, v)
		}
		if q := s.Box; q != nil {
			fmt.Fprintf(&b, " %g|%g|%g|%g|%g n=%d outliers %v", q.Low, q.Q1, q.Median, q.Q3, q.High, q.N, []float64(q.Outliers))
		}
		b.WriteString("\n")
	}
	return b.String()
}

const shop = `month,city,product,sold,price
Feb,Rome,a,4,1
Jan,Rome,a,1,2
Jan,Oslo,b,2,3
Jan,Rome,b,5,6
Feb,Oslo,a,,8
`

// TestAggregation: what becomes of the rows of a table.
func TestAggregation(t *testing.T) {
	for _, c := range []struct {
		what string
		csv  string
		req  Request
		want string
	}{
		{"bars by value", shop, Request{Kind: "bar", X: "city", Y: []string{"sold"}}, "sold (sum) Rome=10 Oslo=2\n"},
		{"months in their order", shop, Request{Kind: "bar", X: "month", Y: []string{"sold"}}, "sold (sum) Jan=8 Feb=4\n"},
		{"by name", shop, Request{Kind: "bar", X: "city", Y: []string{"sold"}, Sort: "name"}, "sold (sum) Oslo=2 Rome=10\n"},
		{"as in the table", shop, Request{Kind: "bar", X: "month", Y: []string{"sold"}, Sort: "none"}, "sold (sum) Feb=4 Jan=8\n"},
		{"prices are averaged", shop, Request{Kind: "bar", X: "product", Y: []string{"price"}}, "price (mean) b=4.5 a=3.6666666666666665\n"},
		{"median", shop, Request{Kind: "bar", X: "product", Y: []string{"price"}, Aggregate: "median"}, "price (median) b=4.5 a=2\n"},
		{"max", shop, Request{Kind: "bar", X: "product", Y: []string{"price"}, Aggregate: "max"}, "price (max) a=8 b=6\n"},
		{"rows are counted", shop, Request{Kind: "pie", X: "city", Aggregate: "count"}, "rows Rome=3 Oslo=2\n"},
		{"series", shop, Request{Kind: "stacked bar", X: "month", Y: []string{"sold"}, Series: "city"}, "Rome Jan=6 Feb=4\nOslo Jan=2\n"},
		{"two columns", shop, Request{Kind: "bar", X: "city", Y: []string{"sold", "price"}, Aggregate: "sum"}, "sold Rome=10 Oslo=2\nprice Rome=9 Oslo=11\n"},
		{"the smallest are combined", "k,v\na,9\nb,7\nc,3\nd,2\n", Request{Kind: "bar", Top: 2}, "v a=9 b=7 other=5\n"},
		{"but not means", "k,price\na,9\nb,7\nc,3\nd,2\n", Request{Kind: "bar", Top: 2}, "price a=9 b=7\n"},
		{"one more is no worse than other", "k,v\na,9\nb,7\nc,3\n", Request{Kind: "bar", Top: 2}, "v a=9 b=7 c=3\n"},
		{"numbers in their order", "k,v\n10,1\n9,5\n,2\n", Request{Kind: "bar", X: "k"}, "v 9=5 10=1 –=2\n"},
		{"a line is sorted", "n,v\n3,1\n1,2\n", Request{Kind: "line", X: "n"}, "v 1=2 3=1\n"},
		{"times by month", "d,v\n2024-01-31,1\n2024-02-01,2\n2024-01-01,3\n", Request{Bucket: "month"}, "v (sum) 1.7040672e+09=4 1.7067456e+09=2\n"},
		{"a pie of times", "d,v\n2024-01-31,1\n2024-02-01,2\n2024-01-01,3\n", Request{Kind: "pie", X: "d", Bucket: "month"}, "v (sum) 2024-01=4 2024-02=2\n"},
		{"a histogram", "v\n1\n2\n2\n5\n9\n", Request{Kind: "histogram", Bins: 5}, "v 0=1 2=2 4=1 6=0 8=1\n"},
		{"equal values", "v\n7\n7\n", Request{Kind: "histogram"}, "v 7=2\n"},
		{"boxes", "g,v\na,1\na,2\na,3\na,4\na,8\nb,6\n", Request{Kind: "box"}, "a 1|2|3|4|4 n=5 outliers [8]\nb 6|6|6|6|6 n=1 outliers []\n"},
		{"a heat map of weekdays", "d,h,v\nTue,x,1\nMon,x,2\nMon,y,3\n", Request{Kind: "heatmap", X: "d", Series: "h"}, "x Mon=2 Tue=1\ny Mon=3\n"},
		{"a heat map of times", "d,h,v\n2024-02-01,x,1\n2024-01-05,x,2\n", Request{Kind: "heatmap", X: "d", Series: "h", Bucket: "month"}, "x 2024-02=1 2024-01=2\n"},
		{"a cloud leaves out what is missing", "x,y\n1,2\n,3\n4,5\n", Request{Kind: "scatter", X: "x", Y: []string{"y"}}, " 1=2 4=5\n"},
	} {
		f, err := Build(tableOf(t, c.csv), c.req)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		} else if got := listed(f); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.what, got, c.want)
		}
	}
}

// TestNotes: what Build chose or left out is in the figure.
func TestNotes(t *testing.T) {
	many := "k,v\n"
	for i := range 50 {
		many += fmt.Sprintf("k%d,%d\n", i, i+1)
	}
	for _, c := range []struct {
		csv  string
		req  Request
		want string
	}{
		{shop, Request{Kind: "bar", X: "city", Y: []string{"sold"}}, "rows at the same place are combined by sum"},
		{shop, Request{Kind: "bar", X: "city", Y: []string{"sold"}}, "1 values are missing and not drawn"},
		{many, Request{Kind: "bar"}, `"other" combines the 20 smallest of 50 categories`},
		{strings.Replace(many, "v", "price", 1), Request{Kind: "bar"}, "the first 30 of 50 categories are drawn; top shows more"},
		{many, Request{Kind: "box", X: "k"}, "the first 40 of 50 groups are drawn"},
		{"x,y\n1,2\n,3\n", Request{Kind: "scatter", X: "x", Y: []string{"y"}}, "1 rows are not drawn: a value is missing"},
		{strings.Replace(many, "v", "v,w", 1), Request{Kind: "scatter", X: "v", Y: []string{"v"}, Series: "k"}, `26 rows are not drawn: "k" has more than 24 values`},
		{"v\n1\n2\n\"\"\n3\n", Request{Kind: "histogram"}, `1 rows have no "v"`},
		{"k,v\na,0\nb,1\n", Request{Kind: "bar", Log: true}, "the axis is linear"},
	} {
		f, err := Build(tableOf(t, c.csv), c.req)
		if err != nil {
			t.Error(err)
		} else if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.Contains(n, c.want) }) {
			t.Errorf("%q is missing in %q", c.want, f.Notes)
		}
	}
}

func TestTitles(t *testing.T) {
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Kind: "bar", X: "city", Y: []string{"sold"}}, "sold by city"},
		{Request{Kind: "bar", X: "city", Y: []string{"sold"}, Lang: "zh"}, "sold（按city）"},
		{Request{Kind: "histogram", X: "price"}, "Distribution of price"},
		{Request{Kind: "pie", X: "city", Aggregate: "count"}, "rows by city"},
	} {
		f, err := Build(tableOf(t, shop), c.req)
		if err != nil || f.Title != c.want {
			t.Errorf("%+v: %v %v, want %q", c.req, f, err, c.want)
		}
	}
}

func TestBinWidth(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		bins int
		want float64
	}{
		{[]float64{0, 100}, 10, 10},
		{[]float64{0, 100}, 3, 50},                   // a round number, so fewer
		{[]float64{5, 5, 5}, 0, 1},                   // equal values
		{[]float64{-40, -40}, 0, 4},                  // a tenth of them
		{[]float64{0, 0, 0, 0, 0, 0, 0, 100}, 0, 20}, // no spread between the quartiles: Sturges, but at least 5
		{[]float64{0, 1, 1e9}, 0, 2e8},
	} {
		if got := binWidth(c.v, c.bins); got != c.want {
			t.Errorf("%v in %d: %v, want %v", c.v, c.bins, got, c.want)
		}
	}
	if _, ok := countBins([]float64{0, 1e6}, 1); ok {
		t.Error("a million bins")
	}
	if _, ok := countBins([]float64{-math.MaxFloat64, math.MaxFloat64}, 1e300); ok {
		t.Error("an infinite range")
	}
}

func TestCalendarRank(t *testing.T) {
	for _, c := range []struct {
		labels []string
		want   []int
	}{
		{[]string{"March", "jan", "DEC"}, []int{2, 0, 11}},
		{[]string{"Sun", "monday"}, []int{6, 0}},
		{[]string{"Jan", "Mon"}, nil},
		{[]string{"March", "Marchioness"}, nil},
	} {
		if got := calendarRank(c.labels); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.labels, got, c.want)
		}
	}
}

func TestNeedsRoom(t *testing.T) {
	repeat := func(s string, n int) []string { return slices.Repeat([]string{s}, n) }
	for _, c := range []struct {
		labels []string
		want   bool
	}{
		{repeat("ab", 20), false},
		{repeat("a long name of a place", 5), true},
		{repeat("a long name of a place, and of another place with it", 3), false}, // three have room
		{repeat("北京北京北京", 8), true},                                                // ideographs are wide
		{repeat("abcdef", 8), false},
	} {
		if got := needsRoom(c.labels); got != c.want {
			t.Errorf("%d of %q: %v", len(c.labels), c.labels[0], got)
		}
	}
}
