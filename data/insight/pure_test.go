package insight

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/data"
)

func TestRanks(t *testing.T) {
	if got := Ranks([]float64{30, 10, 20, 20, 5}); !slices.Equal(got, []float64{5, 2, 3.5, 3.5, 1}) {
		t.Errorf("%v", got)
	}
}

func TestQuantile(t *testing.T) {
	v := []float64{4, 1, 3, 2}
	for p, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 2.5, 0.75: 3.25, 1: 4} {
		if got := Quantile(v, p); got != want {
			t.Errorf("%v: %v, want %v", p, got, want)
		}
	}
	if v[0] != 4 || !math.IsNaN(Quantile(nil, 0.5)) || Median([]float64{7}) != 7 {
		t.Error("the slice is changed, or an end is wrong")
	}
}

func TestTheilSen(t *testing.T) {
	slope, intercept := TheilSen([]float64{0, 1, 2, 3, 4}, []float64{1, 3, 5, 100, 9}) // one wild value
	if slope != 2 || intercept != 1 {
		t.Errorf("%v, %v", slope, intercept)
	}
	if slope, _ = TheilSen([]float64{2, 2}, []float64{1, 5}); !math.IsNaN(slope) {
		t.Error("a vertical line has a slope:", slope)
	}
	var x, y []float64
	for i := range 5000 {
		x, y = append(x, float64(i)), append(y, 3*float64(i))
	}
	if slope, _ = TheilSen(x, y); slope != 3 {
		t.Error(slope)
	}
}

// TestUndefined: tests of too little have no value.
func TestUndefined(t *testing.T) {
	for name, got := range map[string]Test{
		"two points": Pearson([]float64{1, 2}, []float64{1, 2}),
		"no spread":  Pearson([]float64{1, 1, 1}, []float64{1, 2, 3}),
		"kendall":    Kendall([]float64{1}, []float64{1}),
		"one group":  KruskalWallis([]float64{1, 2, 3}),
		"all equal":  KruskalWallis([]float64{1, 1}, []float64{1, 1}),
		"no residue": BrownForsythe([]float64{1, 1, 1}, []float64{2, 2, 2}),
	} {
		if !math.IsNaN(got.P) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := LeastSquares([]float64{1, 2}, []float64{1, 2}); err == nil || !strings.Contains(err.Error(), "more rows") {
		t.Error(err)
	}
	x := []float64{1, 2, 3, 4}
	if _, err := LeastSquares(x, x, x); err == nil || !strings.Contains(err.Error(), "depend on each other") {
		t.Error(err)
	}
}

// TestResidualsAgreeWithLeastSquares: the normal equations give what the QR
// decomposition does.
func TestResidualsAgreeWithLeastSquares(t *testing.T) {
	y := []float64{1, 3, 2, 8, 9, 14, 20}
	a := []float64{0, 1, 2, 3, 4, 5, 6}
	b := make([]float64, len(a))
	hingeAt(b, a, 3)
	fit, err := LeastSquares(y, a, b)
	if err != nil {
		t.Fatal(err)
	}
	sum, rest := residuals(y, a, b)
	near(t, "residual", rest[4], y[4]-fit.Coef[0]-fit.Coef[1]*a[4]-fit.Coef[2]*b[4], 1e-9)
	near(t, "sigma", math.Sqrt(sum/4), fit.Sigma, 1e-9)
	one, err := LeastSquares(y, a)
	if err != nil {
		t.Fatal(err)
	}
	sum, _ = residuals(y, a, nil)
	near(t, "sigma of a straight line", math.Sqrt(sum/5), one.Sigma, 1e-9)
}

func TestRunningMedian(t *testing.T) {
	got := runningMedian([]float64{1, 2, 90, 4, 5, 6, 7})
	if want := []float64{1, 2, 4, 5, 6, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMovingMean(t *testing.T) {
	line := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	for _, n := range []int{2, 3, 4} {
		for i, v := range movingMean(line, n) {
			near(t, fmt.Sprintf("mean of %d at %d", n, i), v, line[i], 1e-12) // to the ends
		}
	}
	season := []float64{1, -1, 1, -1, 1, -1}
	for i, v := range movingMean(season, 2) {
		if math.Abs(v) > 1e-12 {
			t.Errorf("at %d the mean over a period is %v", i, v)
		}
	}
}

func TestDrawdown(t *testing.T) {
	fall, top, bottom := drawdown([]float64{10, 8, 20, 15, 5, 30, 20})
	if fall != 0.75 || top != 2 || bottom != 4 {
		t.Errorf("%v from %d to %d", fall, top, bottom)
	}
}

func TestWildest(t *testing.T) {
	from, sd := wildest([]float64{0, 0, 0, 1, -1, 1, 0, 0}, 3)
	if from != 3 {
		t.Errorf("from %d", from)
	}
	near(t, "sd", sd, math.Sqrt(4.0/3), 1e-12)
}

func TestBlockMeans(t *testing.T) {
	x, y := blockMeans([]float64{1, 2, 3, 4, 5, 6}, []float64{10, 20, 30, 40, 50, 60}, 2)
	if !slices.Equal(x, []float64{2, 5}) || !slices.Equal(y, []float64{20, 50}) {
		t.Errorf("%v %v", x, y)
	}
}

func TestEffective(t *testing.T) {
	var drifting, jumping []float64
	for i := range 100 {
		drifting = append(drifting, math.Sin(float64(i)/10))
		jumping = append(jumping, float64(i%2))
	}
	if got := effective(drifting); got > 5 {
		t.Errorf("a slow wave is worth %v values", got)
	}
	if got := effective(jumping); got != 100 {
		t.Errorf("values that do not lean on each other are worth %v", got)
	}
	if p := correctedP(1e-6, drifting); p < 0.05 {
		t.Errorf("a trend in it has p = %v", p)
	}
	if p := correctedP(0.01, jumping); math.Abs(p-0.01) > 1e-9 {
		t.Errorf("p = %v", p)
	}
}

func TestClean(t *testing.T) {
	nan := math.NaN()
	c := clean(Series{X: []float64{3, 1, 2, nan}, Y: []float64{30, nan, 20, 40, math.Inf(1), 50}}, true)
	if !slices.Equal(c.X, []float64{2, 3, 5}) || !slices.Equal(c.Y, []float64{20, 30, 50}) {
		t.Errorf("%v %v", c.X, c.Y)
	}
}

func TestPaired(t *testing.T) {
	a := Series{X: []float64{1, 2, 3}, Y: []float64{10, math.NaN(), 30}}
	b := Series{X: []float64{3, 2, 1, 0}, Y: []float64{300, 200, math.NaN(), 0}}
	if x, y := paired(a, b); !slices.Equal(x, []float64{30}) || !slices.Equal(y, []float64{300}) {
		t.Errorf("%v %v", x, y)
	}
}

func TestRanked(t *testing.T) {
	var all []Insight
	for i := range 20 {
		all = append(all, Insight{Kind: Trend, weight: float64(i)}, Insight{Kind: Summary})
	}
	kept := ranked(all)
	if len(kept) != maxFindings+maxSummaries || kept[0].weight != 19 || kept[0].ID != 1 || kept[11].ID != 12 || kept[11].Kind != Summary {
		t.Errorf("%+v", kept)
	}
}

func TestSlopeUnit(t *testing.T) {
	for length, want := range map[float64]string{2 * 3600: "hour", 10 * day: "day", 100 * day: "month", 4 * year: "year"} {
		_, got, _ := slopeUnit(Set{XKind: data.Time}, Series{X: []float64{0, length}})
		if got != want {
			t.Errorf("%v seconds: %s, want %s", length, got, want)
		}
	}
	if _, got, _ := slopeUnit(Set{XKind: data.Number, XName: "kg"}, Series{}); got != "unit of kg" {
		t.Error(got)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{short(0.123456), "0.1235"}, {short(123456.7), "123,457"}, {short(0), "0"}, {short(math.NaN()), "–"},
		{number(12.5, data.Percent), "12.5%"}, {number(3, "€"), "€3"}, {signed(2, ""), "+2"}, {signed(-2, ""), "-2"},
		{pValue(0.0004), "p < 0.001"}, {pValue(0.0456), "p = 0.046"}, {pValue(math.NaN()), "p n/a"},
		{percent(0.1234), "12.3%"}, {signedPercent(0.5), "+50.0%"}, {signedPercent(-0.5), "-50.0%"},
		{words{true}.text("%[1]s", "%[2]s", "en", "zh"), "zh"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestFindings: small sets, and the sentence about each.
func TestFindings(t *testing.T) {
	days := func(n int, f func(i int) float64) Set {
		s := Series{Name: "load"}
		for i := range n {
			at := time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC)
			s.X, s.Y = append(s.X, float64(at.Unix())), append(s.Y, f(i))
		}
		return Set{Shape: Course, XKind: data.Time, XUnit: data.Day, YName: "load", Series: []Series{s}}
	}
	letters := func(y ...float64) Set {
		s := Series{}
		set := Set{Shape: Categories, YName: "sold"}
		for i, v := range y {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, v)
			set.Labels = append(set.Labels, string(rune('a'+i)))
		}
		set.Series = []Series{s}
		return set
	}
	cloud := func(f func(x float64) float64) Set {
		s := Series{}
		for i := range 30 {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, f(float64(i)))
		}
		return Set{Shape: Cloud, XName: "x", YName: "y", Series: []Series{s}}
	}
	zigzag := func(i int) float64 { return float64(i*7919%11) - 5 }
	for _, c := range []struct {
		set        Set
		kind, want string
	}{
		{days(30, func(i int) float64 { return 100 + 2*float64(i) }), Trend, "load: rising by 2 per day from 2024-01-01 to 2024-01-30, +58.0% over the whole span"},
		{days(30, func(i int) float64 { return 100 - 2*float64(i) + zigzag(i) }), Trend, "load: falling by"},
		{days(40, func(i int) float64 { return zigzag(i) }), Trend, "load: no significant trend"},
		{days(70, func(i int) float64 { return []float64{9, 1, 1, 1, 1, 1, 5}[i%7] }), Seasonality, "repeats every 7 days: highest in Monday"},
		{days(60, func(i int) float64 { return 50 + zigzag(i) + map[int]float64{40: 500}[i] }), Outliers, "load: one outlier, more than 4.5 robust standard deviations from the local level: 2024-02-10 ("},
		{days(60, func(i int) float64 { return 100 + math.Abs(float64(i)-30) }), TurningPoint, "load: turns at 2024-01-31: -1 per day before, +1 after"},
		{days(60, func(i int) float64 { return 100 * (1 + map[bool]float64{true: 0.3, false: 0.001}[i > 40]*float64(i%2)) }), Volatility, "load: changes from one value to the next have a standard deviation of"},
		{days(5, func(i int) float64 { return float64(i) }), Extremes, "load: highest 4 (2024-01-05), lowest 0 (2024-01-01)"},
		{letters(70, 20, 10), Majority, "sold: a has 70.0% of the total 100"},
		{letters(45, 40, 5, 4, 3, 3), Majority, "sold: 2 of 6 categories make up 85.0% of the total 100; a alone has 45.0%"},
		{letters(1, 2, 3, 2, 1, 2, 3, 99), Outliers, "sold: one outlier, more than 4.5 robust standard deviations from the median: h (99, "},
		{cloud(func(x float64) float64 { return -3 * x }), Correlation, "x and y are strongly correlated and move in opposite directions (Pearson r = -1.00"},
		{cloud(func(x float64) float64 { return zigzag(int(x)) }), Correlation, "x and y are not significantly correlated"},
		{Set{Shape: Groups, YName: "mpg", Series: []Series{{Name: "p", Y: []float64{1, 2, 3, 4, 5}}, {Name: "q", Y: []float64{11, 12, 13, 14, 15}}}}, Difference,
			"the groups differ in mpg: the median is highest for q (13) and lowest for p (3) (Kruskal-Wallis H = 6.8"},
		{Set{Shape: Groups, YName: "mpg", Series: []Series{{Name: "p", Y: []float64{1, 2, 3}}, {Name: "q", Y: []float64{1, 2, 3}}}}, Difference,
			"the groups do not differ significantly in mpg"},
		{letters(1, 2, 3, 4), Summary, "sold: 4 values, mean 2.5, median 2.5, standard deviation 1.291, middle half from 1.75 to 3.25, range 1 to 4"},
	} {
		if got := find(t, Find(c.set, "en"), c.kind).Text; !strings.Contains(got, c.want) {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
	// A share is no majority, and parts below 0 make no whole.
	none(t, Find(letters(30, 25, 25, 20), "en"), Majority)
	none(t, Find(letters(90, -5, 5), "en"), Majority)
}
