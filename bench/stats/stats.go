// Package stats has what the tables need: medians, ratios of pairs, and
// bootstrap intervals. Nothing in it is random: the same numbers always give
// the same interval.
package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Median returns the middle of xs, or NaN if there is none.
func Median(xs []float64) float64 { return Quantile(xs, 0.5) }

// Quantile returns the q-quantile of xs (0 <= q <= 1), linear between
// neighbours, or NaN if xs is empty.
func Quantile(xs []float64, q float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	return quantileSorted(slices.Sorted(slices.Values(xs)), q)
}

func quantileSorted(s []float64, q float64) float64 {
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (at-float64(i))*(s[i+1]-s[i])
}

// Micros returns ds in microseconds.
func Micros(ds []time.Duration) []float64 {
	us := make([]float64, len(ds))
	for i, d := range ds {
		us[i] = float64(d) / float64(time.Microsecond)
	}
	return us
}

// An Estimate is a median with the bounds of its 95 % interval.
type Estimate struct{ Mid, Lo, Hi float64 }

// resamples is how often Estimated draws.
const resamples = 10_000

// Estimated returns the median of xs and the percentile bootstrap interval of
// it. With fewer than two values the interval is everything.
func Estimated(xs []float64) Estimate { return bootstrap(xs, resamples) }

func bootstrap(xs []float64, resamples int) Estimate {
	e := Estimate{Median(xs), math.Inf(-1), math.Inf(1)}
	if len(xs) < 2 {
		return e
	}
	rng := rand.New(rand.NewPCG(1, 2))
	medians, draw := make([]float64, resamples), make([]float64, len(xs))
	for i := range medians {
		for j := range draw {
			draw[j] = xs[rng.IntN(len(xs))]
		}
		slices.Sort(draw)
		medians[i] = quantileSorted(draw, 0.5)
	}
	slices.Sort(medians)
	e.Lo, e.Hi = quantileSorted(medians, 0.025), quantileSorted(medians, 0.975)
	return e
}

// Ratios returns a[i]/b[i]. It panics if there are not as many of one as of
// the other.
func Ratios(a, b []float64) []float64 { return zip(a, b, func(x, y float64) float64 { return x / y }) }

// Differences returns a[i]-b[i], likewise.
func Differences(a, b []float64) []float64 {
	return zip(a, b, func(x, y float64) float64 { return x - y })
}

func zip(a, b []float64, f func(x, y float64) float64) []float64 {
	if len(a) != len(b) {
		panic("stats: pairs of unequal number")
	}
	out := make([]float64, len(a))
	for i := range a {
		out[i] = f(a[i], b[i])
	}
	return out
}

// AtMost says whether e is at or below a target, in the words of the tables:
// "yes" and "no" if the whole interval says so, with "(noise)" if the target
// lies within it and only the median decides.
func (e Estimate) AtMost(target float64) string {
	switch {
	case math.IsNaN(e.Mid):
		return "not measured"
	case e.Hi <= target:
		return "yes"
	case e.Mid <= target:
		return "yes (noise)"
	case e.Lo <= target:
		return "no (noise)"
	}
	return "no"
}
