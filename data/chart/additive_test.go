package chart

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/data"
)

// TestMeaning: whether the values of a column can be added, by its name, its unit, and its values.
func TestMeaning(t *testing.T) {
	for _, c := range []struct {
		name, values string
		want         meaning
	}{
		{"murder rate", "3,5,8", level}, {"unemployment", "5.1,5.2", level}, {"avgPrice", "1,2,3", level}, {"Average Temperature", "1,2", level},
		{"gdp per capita", "30000,40000", level}, {"score", "1,2", level}, {"prices", "3,4", level}, {"share", "12%,13%", level}, {"x", "12%,13%", level},
		{"增长率", "1,2", level}, {"km/h", "1,2", level}, {"CO2 ppm", "410,411", level}, {"max_speed", "1,2", level}, {"latitude", "1,50", level},
		{"page_views", "1,2", amount}, {"usage", "10,20", amount}, {"corporate", "3,4", amount}, {"mileage", "1,2", amount}, {"wage", "1,2", amount},
		{"separated", "1,2", amount}, {"sales", "1.5,20.25", amount}, {"Revenue", "1.5,999.5", amount}, {"paid", "$3.50,$900.10", amount},
		{"population", "1.5,200.1", amount}, {"visits", "1,2", amount}, {"销售额", "1.5,100.5", amount}, {"v", "1,2,3", amount}, {"v", "-3,2", amount},
		{"v", "5.0,5.2,5.4,5.2", level}, {"v", "97.5,98.1,99.0,96.4,101.2", level},
		{"v", "0.5,20.25,3.1,900.7", unclear}, {"murder", "3.0,5.8,11.8,4.2", unclear}, {"v", "1.5,1.6", unclear},
	} {
		y := tableOf(t, "k,"+c.name+"\n"+rows(c.values)).Columns[1]
		if y.Kind != data.Number {
			t.Fatalf("%s of %s is no column of numbers", c.name, c.values)
		}
		if m := meaningOf(y); m != c.want {
			t.Errorf("%s of %s: %d, want %d", c.name, c.values, m, c.want)
		}
	}
}

// rows makes rows of values, each with a name.
func rows(values string) string {
	var b strings.Builder
	for i, v := range strings.Split(values, ",") {
		fmt.Fprintf(&b, "r%d,%s\n", i, v)
	}
	return b.String()
}

// TestNothingUntrue: a chart does not add what cannot be added, shows no part of what is no whole, and
// compares no period that is not complete.
func TestNothingUntrue(t *testing.T) {
	var murder, quarters, daily strings.Builder
	murder.WriteString("state,murder\n")
	for i := range 50 {
		fmt.Fprintf(&murder, "State %02d,%.1f\n", i, 3+float64(i*28%90)/10)
	}
	quarters.WriteString("year,quarter,unemployment\n")
	for i := range 18 {
		fmt.Fprintf(&quarters, "%d,%d,%.1f\n", 2019+i/4, i%4+1, 5+float64(i/4%3)*0.2)
	}
	daily.WriteString("date,orders\n")
	for m := 1; m <= 6; m++ {
		for d := 1; d <= 28 && (m < 6 || d <= 9); d++ {
			fmt.Fprintf(&daily, "2024%02d%02d,%d\n", m, d, 10+m)
		}
	}
	build := func(csv string, r Request) *Figure {
		t.Helper()
		f, err := Build(tableOf(t, csv), r)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := build(murder.String(), Request{Kind: "bar", X: "state", Y: []string{"murder"}, Top: 15})
	if len(f.X.Labels) != 15 || strings.Contains(listed(f), "other") {
		t.Errorf("rates: %s", listed(f))
	}
	f = build(murder.String(), Request{Kind: "bar", X: "state", Y: []string{"murder"}, Top: 15, Aggregate: "sum"})
	if !strings.Contains(listed(f), "other") {
		t.Errorf("rates whose sum is asked for: %s", listed(f))
	}
	f = build(quarters.String(), Request{Kind: "bar", X: "year", Y: []string{"unemployment"}})
	if got := listed(f); !strings.Contains(got, "unemployment (mean)") || strings.Contains(got, "=2") && strings.Contains(got, "=21.6") {
		t.Errorf("rates of quarters: %s", got)
	}
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "2023 has 2 rows where others have 4") {
		t.Errorf("the last year: %s", notes)
	}
	f = build(daily.String(), Request{Kind: "line", X: "date", Y: []string{"orders"}, Bucket: "month"})
	if notes := strings.Join(f.Notes, "\n"); !strings.Contains(notes, "2024-06 has 9 rows where others have 28") {
		t.Errorf("the last month: %s", notes)
	}
	for _, i := range f.Insights {
		if strings.Contains(i.Text, "2024-06") {
			t.Errorf("a month that is not over is compared: %s", i.Text)
		}
	}
	for csv, want := range map[string]string{
		"a,b\nx,-5\ny,3\nz,-1\n":     "2 of the 3 values of \"b\" are below 0: use bar",
		"a,rate\nx,5\ny,3\nz,1\n":    "cannot be added: use bar",
		"a,price\nx,$5\ny,$3\nz,1\n": "cannot be added: use bar",
	} {
		if _, err := Build(tableOf(t, csv), Request{Kind: "pie", X: "a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a pie of %q: %v", csv, err)
		}
	}
	for v, want := range map[float64]string{27360935000000: "27.4T", 1.2e12: "1.2T", 999e9: "999B", 2.5e9: "2.5B", 1e15: "1e+15"} {
		if got := brief(v, ""); got != want {
			t.Errorf("%g: %s, want %s", v, got, want)
		}
	}
}
