package chart

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/openmanus-go/openmanus/data"
)

// tableOf reads a table from CSV.
func tableOf(t testing.TB, csv string) *data.Table {
	t.Helper()
	tab, err := data.Read(context.Background(), fstest.MapFS{"t.csv": {Data: []byte(csv)}}, "t.csv", data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

const (
	sales = "day,region,revenue,units\n2024-01-01,North,100,3\n2024-01-02,South,70,2\n2024-01-03,North,90,4\n"
	cars  = "name,wt,hp\na,1,100\nb,2,150\nc,3,180\n"
	rates = "id,month,price,revenue\n1,2024-01-01,2.5,90000\n2,2024-02-01,2.7,95000\n3,2024-03-01,2.6,91000\n"
)

// TestChoices: what a chart is made of when the request leaves it out.
func TestChoices(t *testing.T) {
	for _, c := range []struct {
		what, csv string
		req       Request
		want      string // kind: x, ys, series
	}{
		{"times make a line", sales, Request{}, "line: day, revenue, -"},
		{"a title names the column", sales, Request{Title: "Units sold"}, "line: day, units, -"},
		{"a word of the title names the kind", sales, Request{Title: "Distribution of revenue"}, "histogram: revenue, -, -"},
		{"several rows at a place need a series", sales + "2024-01-03,South,10,1\n", Request{}, "line: day, revenue, region"},
		{"texts make bars", "city,sold\na,1\nb,2\n", Request{}, "bar: city, sold, -"},
		{"two columns of numbers make a cloud", "wt,hp\n1,100\n2,150\n", Request{}, "scatter: wt, hp, -"},
		{"a cloud is not split unless asked", cars, Request{Kind: "scatter"}, "scatter: wt, hp, -"},
		{"one column of numbers makes a histogram", "v\n1\n2\n", Request{}, "histogram: v, -, -"},
		{"a pie is of the coarsest text", sales, Request{Kind: "pie"}, "pie: region, revenue, -"},
		{"boxes group by a text", sales, Request{Kind: "box"}, "box: region, revenue, -"},
		{"counting needs no values", sales, Request{Kind: "bar", X: "region", Aggregate: "count"}, "bar: region, -, -"},
		{"identifiers are no values", rates, Request{Y: []string{"price"}}, "line: month, price, -"},
		{"two sizes in the title need two axes", rates, Request{Title: "price and revenue"}, "dual: month, price+revenue, -"},
		{"a heat map has rows", sales, Request{Kind: "heat map"}, "heatmap: day, revenue, region"},
	} {
		p, err := resolve(tableOf(t, c.csv), c.req)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		name := func(c *data.Column) string {
			if c == nil {
				return "-"
			}
			return c.Name
		}
		ys := "-"
		if len(p.ys) > 0 && p.kind != Histogram {
			var names []string
			for _, y := range p.ys {
				names = append(names, y.Name)
			}
			ys = strings.Join(names, "+")
		}
		if got := fmt.Sprintf("%s: %s, %s, %s", p.kind, name(p.x), ys, name(p.series)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		csv  string
		req  Request
		want string
	}{
		{"a,b\n", Request{}, "no rows"},
		{sales, Request{Kind: "spiral"}, `there is no chart "spiral"`},
		{sales, Request{X: "when"}, `no column "when"; it has "day"`},
		{sales, Request{Y: []string{"region"}}, `the column "region" is not numeric`},
		{"a,b\nx,y\n", Request{Kind: "scatter"}, `a scatter chart needs two columns of numbers, in x and y; the columns of t.csv are "a" (text)`},
		{"a\nx\n", Request{Kind: "box"}, "a box chart needs a column of numbers in y"},
		{sales, Request{Kind: "dual", Y: []string{"units"}}, "a dual chart needs two columns of numbers in y"},
		{"a,n\nx,1\n", Request{Kind: "histogram", X: "a"}, "a histogram chart needs a column of numbers in x"},
		{"a\nx\n", Request{Kind: "heatmap"}, "needs a column in x, and one for the rows in series"},
		{sales, Request{Kind: "bar", X: "region", Bucket: "month"}, ""},
		{sales, Request{X: "day", Bucket: "decade"}, `there is no bucket "decade"`},
		{"n,v\n1,2\n2,3\n", Request{Kind: "line", X: "n", Bucket: "month"}, `bucket is for times, but the column "n" has numbers`},
		{sales, Request{X: "day", Aggregate: "mode"}, `there is no aggregate "mode"`},
		{"x,y\n1,\n,2\n", Request{Kind: "scatter", X: "x", Y: []string{"y"}}, "has no values to draw"},
	} {
		_, err := Build(tableOf(t, c.csv), c.req)
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.req, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.req, err, c.want)
		}
	}
}

func TestHintedKind(t *testing.T) {
	for title, want := range map[string]string{
		"Stacked area of sales": "stacked area", "Stacked sales": "stacked bar", "Price vs demand": "scatter",
		"A heat map": "heatmap", "销售额占比": "pie", "Market share of brands": "pie", "Versatility": "", "": "",
	} {
		if got := hintedKind(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

func TestIdentifiers(t *testing.T) {
	for name, want := range map[string]bool{"id": true, "user_id": true, "序号": true, "paid": false, "price": false} {
		if got := isIdentifier(&data.Column{Name: name, Kind: data.Number, Nums: []float64{3, 1}}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	unnamed := &data.Column{Name: "column 1", Nums: []float64{4, 5, 6}}
	if !isIdentifier(unnamed) {
		t.Error("a column without a name that counts")
	}
	if unnamed.Nums[2] = 9; isIdentifier(unnamed) {
		t.Error("a column without a name that does not count")
	}
}
