package stats

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		q    float64
		want float64
	}{
		{[]float64{3}, 0.5, 3},
		{[]float64{3, 1, 2}, 0.5, 2},
		{[]float64{4, 1, 2, 3}, 0.5, 2.5},
		{[]float64{1, 2, 3, 4, 5}, 0, 1},
		{[]float64{1, 2, 3, 4, 5}, 1, 5},
		{[]float64{0, 10}, 0.9, 9},
	} {
		if got := Quantile(c.xs, c.q); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Quantile(%v, %v) = %v, want %v", c.xs, c.q, got, c.want)
		}
	}
	if !math.IsNaN(Median(nil)) {
		t.Error("the median of nothing is a number")
	}
	xs := []float64{3, 1, 2}
	Median(xs)
	if !slices.Equal(xs, []float64{3, 1, 2}) {
		t.Error("Median changed its argument")
	}
}

func TestEstimated(t *testing.T) {
	same := Estimated([]float64{2, 2, 2, 2, 2, 2, 2})
	if same != (Estimate{2, 2, 2}) {
		t.Errorf("seven equal values: %v", same)
	}
	one := Estimated([]float64{2})
	if one.Mid != 2 || !math.IsInf(one.Lo, -1) || !math.IsInf(one.Hi, 1) {
		t.Errorf("one value: %v", one)
	}
	xs := []float64{0.9, 0.95, 1, 1.02, 1.05, 1.1, 5}
	e := Estimated(xs)
	if e.Mid != 1.02 || e.Lo < 0.9 || e.Lo >= e.Mid || e.Hi <= e.Mid || e.Hi > 5 {
		t.Errorf("an outlier among seven: %v", e)
	}
	if e != Estimated(xs) {
		t.Error("the interval is not the same the second time")
	}
	narrow := make([]float64, 0, 70)
	for range 10 {
		narrow = append(narrow, xs...)
	}
	if n := Estimated(narrow); n.Hi-n.Lo >= e.Hi-e.Lo {
		t.Errorf("ten times the values, and the interval is not narrower: %v, %v", n, e)
	}
}

// TestInterval95 draws from a known distribution: about 95 of 100 intervals
// contain its median.
func TestInterval95(t *testing.T) {
	hits := 0
	state := uint64(7)
	uniform := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>11) / (1 << 53)
	}
	for range 100 {
		xs := make([]float64, 15)
		for i := range xs {
			xs[i] = uniform()
		}
		if e := bootstrap(xs, 500); e.Lo <= 0.5 && 0.5 <= e.Hi {
			hits++
		}
	}
	if hits < 88 || hits == 100 {
		t.Errorf("%d of 100 intervals contain the median", hits)
	}
}

func TestAtMost(t *testing.T) {
	for _, c := range []struct {
		e    Estimate
		want string
	}{
		{Estimate{0.8, 0.7, 0.9}, "yes"},
		{Estimate{0.8, 0.7, 1.1}, "yes (noise)"},
		{Estimate{1.1, 0.9, 1.2}, "no (noise)"},
		{Estimate{1.2, 1.1, 1.3}, "no"},
		{Estimate{1, 1, 1}, "yes"},
		{Estimate{math.NaN(), 0, 0}, "not measured"},
	} {
		if got := c.e.AtMost(1); got != c.want {
			t.Errorf("%v: %s, want %s", c.e, got, c.want)
		}
	}
}

func TestPairs(t *testing.T) {
	a, b := []float64{2, 9}, []float64{4, 3}
	if got := Ratios(a, b); !slices.Equal(got, []float64{0.5, 3}) {
		t.Error(got)
	}
	if got := Differences(a, b); !slices.Equal(got, []float64{-2, 6}) {
		t.Error(got)
	}
	if got := Micros([]time.Duration{1500 * time.Nanosecond}); !slices.Equal(got, []float64{1.5}) {
		t.Error(got)
	}
	defer func() {
		if recover() == nil {
			t.Error("pairs of unequal number")
		}
	}()
	Ratios(a, b[:1])
}
