package insight

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/data"
)

func table(t testing.TB, name string) *data.Table {
	t.Helper()
	tab, err := data.Read(context.Background(), os.DirFS("../testdata"), name, data.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func nums(t testing.TB, tab *data.Table, name string) []float64 {
	t.Helper()
	c, err := tab.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return c.Nums
}

func near(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > rel*math.Abs(want)+1e-15 {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// TestAnscombe: four sets with the same statistics.
func TestAnscombe(t *testing.T) {
	tab := table(t, "anscombe.json")
	series := tab.Column("Series")
	if series == nil {
		t.Fatal(tab.Columns)
	}
	for _, name := range []string{"I", "II", "III", "IV"} {
		var x, y []float64
		for i, s := range series.Texts {
			if s == name {
				x, y = append(x, nums(t, tab, "X")[i]), append(y, nums(t, tab, "Y")[i])
			}
		}
		f, err := LeastSquares(y, x)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name+" r", Pearson(x, y).Value, 0.8165, 2e-3)
		near(t, name+" intercept", f.Coef[0], 3.00, 2e-3)
		near(t, name+" slope", f.Coef[1], 0.500, 2e-3)
		near(t, name+" R2", f.R2, 0.667, 2e-3)
	}
}

// TestLongley: the certified values of NIST for a regression that breaks
// careless arithmetic (R gives the same).
func TestLongley(t *testing.T) {
	tab := table(t, "longley.csv")
	var xs [][]float64
	for _, n := range []string{"GNP.deflator", "GNP", "Unemployed", "Armed.Forces", "Population"} {
		xs = append(xs, nums(t, tab, n))
	}
	var years []float64
	for _, sec := range nums(t, tab, "Year") {
		years = append(years, float64(data.UnixTime(sec).Year()))
	}
	f, err := LeastSquares(nums(t, tab, "Employed"), append(xs, years)...)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{-3482.25863459582, 0.0150618722713733, -0.0358191792925910, -0.0202022980381683, -0.0103322686717359, -0.0511041056535807, 1.82915146461355} {
		near(t, fmt.Sprint("b", i), f.Coef[i], want, 1e-8)
	}
	near(t, "R2", f.R2, 0.995479004577296, 1e-10)
	near(t, "sigma", f.Sigma, 0.304854073561965, 1e-9)
}

// TestAgainstR: what cor.test, kruskal.test, quantile and mad of R 4.2.2 say.
func TestAgainstR(t *testing.T) {
	cars := table(t, "mtcars.csv")
	mpg, wt := nums(t, cars, "mpg"), nums(t, cars, "wt")
	p := Pearson(mpg, wt)
	near(t, "pearson", p.Value, -0.867659376517, 1e-11)
	near(t, "pearson p", p.P, 1.2939587e-10, 1e-7)
	s := Spearman(mpg, wt)
	near(t, "spearman", s.Value, -0.88642203327, 1e-10)
	near(t, "spearman p", s.P, 1.48759486e-11, 1e-7)
	near(t, "first quartile", Quantile(mpg, 0.25), 15.425, 1e-12)
	near(t, "mad", MAD(mpg), 5.41149, 1e-9)

	nile := table(t, "nile.csv")
	k := Kendall(nums(t, nile, "year"), nums(t, nile, "flow"))
	near(t, "kendall", k.Value, -0.280741334725, 1e-11)
	near(t, "kendall p", k.P, 3.61117992e-05, 1e-8)

	sprays := [][]float64{
		{10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13}, {11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13},
		{0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4}, {3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4},
		{3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4}, {11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13},
	}
	near(t, "brown-forsythe", BrownForsythe(sprays...).Value, 3.821356313, 1e-9)
	near(t, "brown-forsythe p", BrownForsythe(sprays...).P, 0.00422279114, 1e-8)
	near(t, "kruskal-wallis", KruskalWallis(sprays...).Value, 54.69134, 1e-6)
}

// TestKendallAgainstItsDefinition counts every pair.
func TestKendallAgainstItsDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		n := 3 + r.IntN(30)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(r.IntN(8)), float64(r.IntN(8))
		}
		var s, tx, ty float64
		for i := range n {
			for j := range i {
				a, b := x[i]-x[j], y[i]-y[j]
				s += sign(a) * sign(b)
				tx += math.Abs(sign(a))
				ty += math.Abs(sign(b))
			}
		}
		if want := s / math.Sqrt(tx*ty); !math.IsNaN(want) {
			near(t, "tau", Kendall(x, y).Value, want, 1e-12)
		}
	}
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

func find(t *testing.T, all []Insight, kind string) Insight {
	t.Helper()
	for _, i := range all {
		if i.Kind == kind {
			return i
		}
	}
	t.Fatalf("no %s in %+v", kind, all)
	return Insight{}
}

func none(t *testing.T, all []Insight, kinds ...string) {
	t.Helper()
	for _, i := range all {
		if slices.Contains(kinds, i.Kind) {
			t.Errorf("found %s where there is nothing: %s", i.Kind, i.Text)
		}
	}
}

func timeSet(t *testing.T, file, x, y string) Set {
	tab := table(t, file)
	c, err := tab.Find(x)
	if err != nil {
		t.Fatal(err)
	}
	return Set{Shape: Course, XName: x, XKind: c.Kind, XUnit: c.Unit, YName: y, Series: []Series{{X: c.Nums, Y: nums(t, tab, y)}}}
}

// TestAirPassengers: the series of every textbook: rising, with a year's
// pattern that peaks in July and is lowest in November.
func TestAirPassengers(t *testing.T) {
	all := Find(timeSet(t, "airpassengers.csv", "month", "passengers"), "en")
	s := find(t, all, Seasonality)
	if s.Stats["period"] != 12 || s.Stats["peak"] != 6 || s.Stats["trough"] != 10 || s.Stats["strength"] < 0.9 || s.Stats["p"] > 1e-6 {
		t.Errorf("%+v", s)
	}
	tr := find(t, all, Trend)
	if !strings.Contains(tr.Text, "rising") || tr.Stats["p"] > 0.05 || tr.Stats["slope"] < 28 || tr.Stats["slope"] > 35 {
		t.Errorf("%+v", tr)
	}
	for _, i := range all {
		if i.Kind == Outliers && (i.Stats["count"] != 1 || !strings.Contains(i.Text, "1960-03")) { // Easter fell otherwise
			t.Error(i.Text)
		}
	}
	for _, i := range all {
		t.Log(i.ID, i.Text)
	}
}

// TestNile: it falls; Cobb found the change at 1898.
func TestNile(t *testing.T) {
	all := Find(timeSet(t, "nile.csv", "year", "flow"), "en")
	if tr := find(t, all, Trend); !strings.Contains(tr.Text, "falling") {
		t.Error(tr.Text)
	}
	none(t, all, Seasonality)
	for _, i := range all {
		t.Log(i.ID, i.Text)
	}
}

// TestNothingIsFoundInNoise: in sets of noise, hardly more is found than the
// level of the tests allows.
func TestNothingIsFoundInNoise(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	said := map[string]int{}
	const sets = 200
	for range sets {
		s := Series{}
		for i := range 120 {
			s.X, s.Y = append(s.X, float64(i)*86400), append(s.Y, 100+10*r.NormFloat64())
		}
		for _, i := range Find(Set{Shape: Course, XName: "day", XKind: data.Time, XUnit: data.Day, YName: "y", Series: []Series{s}}, "en") {
			if i.Kind == Trend && i.Stats["p"] >= significant {
				continue
			}
			said[i.Kind]++
		}
	}
	for kind, most := range map[string]float64{Trend: 0.10, Seasonality: 0.03, TurningPoint: 0.05, Outliers: 0.05} {
		if got := float64(said[kind]) / sets; got > most {
			t.Errorf("%s was found in %.0f %% of sets of noise", kind, 100*got)
		}
	}
	t.Log(said)
}

func TestPlantedOutliersAndTurns(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := Series{Name: "load"}
	for i := range 200 {
		y := 50 + 0.5*float64(min(i, 120)) - 0.8*float64(max(0, i-120)) + r.NormFloat64()
		s.X, s.Y = append(s.X, float64(i)*86400), append(s.Y, y)
	}
	s.Y[40] += 30
	all := Find(Set{Shape: Course, XKind: data.Time, XUnit: data.Day, YName: "load", Series: []Series{s}}, "en")
	if o := find(t, all, Outliers); o.Stats["count"] != 1 || o.Marks[0].X != 40*86400 {
		t.Errorf("%+v", o)
	}
	if k := find(t, all, TurningPoint); math.Abs(k.Stats["x"]/86400-120) > 3 || k.Stats["p"] > 0.001 {
		t.Errorf("%+v", k)
	}
}

func TestMajorityAndDifference(t *testing.T) {
	set := Set{Shape: Categories, Labels: []string{"a", "b", "c"}, YName: "sales", Series: []Series{{X: []float64{0, 1, 2}, Y: []float64{70, 20, 10}}}}
	if m := find(t, Find(set, "en"), Majority); m.Stats["share"] != 0.7 || !strings.Contains(m.Text, "a has 70.0%") {
		t.Errorf("%+v", m)
	}
	if m := find(t, Find(set, "zh"), Majority); !strings.Contains(m.Text, "占总量的70.0%") {
		t.Errorf("%+v", m)
	}
	cars := table(t, "mtcars.csv")
	groups := Set{Shape: Groups, YName: "mpg"}
	for _, cyl := range []float64{4, 6, 8} {
		s := Series{Name: fmt.Sprint(cyl)}
		for i, c := range nums(t, cars, "cyl") {
			if c == cyl {
				s.Y = append(s.Y, nums(t, cars, "mpg")[i])
			}
		}
		groups.Series = append(groups.Series, s)
	}
	d := find(t, Find(groups, "en"), Difference)
	near(t, "H", d.Stats["h"], 25.7462, 1e-5) // kruskal.test(mpg ~ cyl, mtcars)
}

// TestBothLanguagesFormat: no verb without its argument, in any text.
func TestBothLanguagesFormat(t *testing.T) {
	cars := table(t, "mtcars.csv")
	sets := []Set{
		timeSet(t, "airpassengers.csv", "month", "passengers"), timeSet(t, "nile.csv", "year", "flow"), timeSet(t, "seattle-weather.csv", "date", "temp_max"),
		timeSet(t, "seattle-weather.csv", "date", "precipitation"),
		{Shape: Cloud, XName: "wt", YName: "mpg", Series: []Series{{X: nums(t, cars, "wt"), Y: nums(t, cars, "mpg")}}},
	}
	for _, set := range sets {
		for _, lang := range []string{"en", "zh"} {
			for _, i := range Find(set, lang) {
				if strings.Contains(i.Text, "%!") || i.Text == "" {
					t.Errorf("%s %s: %s", lang, i.Kind, i.Text)
				}
				t.Log(i.ID, i.Text)
			}
		}
	}
}

// TestFindAnything: whatever the values, it returns, and says no NaN.
func TestFindAnything(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.IntN(120)
		scale := []float64{1, 0, 1e-300, 1e9, math.MaxFloat64}[r.IntN(5)]
		s := Series{Name: "s"}
		for range n {
			y := r.NormFloat64() * scale
			switch r.IntN(20) {
			case 0:
				y = math.NaN()
			case 1:
				y = 0
			}
			s.X, s.Y = append(s.X, float64(r.IntN(n))*86400), append(s.Y, y)
		}
		for _, shape := range []Shape{Course, Categories, Cloud, Groups} {
			for _, kind := range []data.Kind{data.Time, data.Number} {
				for _, i := range Find(Set{Shape: shape, XKind: kind, XUnit: data.Day, YName: "y", Series: []Series{s, s}}, "en") {
					if strings.Contains(i.Text, "%!") || strings.Contains(i.Text, "NaN") {
						t.Errorf("%d %s: %s", seed, i.Kind, i.Text)
					}
				}
			}
		}
	}
}

func BenchmarkFind100k(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	s := Series{Name: "s"}
	for i := range 100_000 {
		s.X, s.Y = append(s.X, float64(i)*60), append(s.Y, 100+10*math.Sin(float64(i)/230)+r.NormFloat64())
	}
	for b.Loop() {
		Find(Set{Shape: Course, XKind: data.Time, XUnit: data.Second, YName: "y", Series: []Series{s}}, "en")
	}
}
