package insight

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/openmanus-go/openmanus/data"
)

// volatility states how much values over time change from one to the next, as
// a share, and when most. For values that come near 0 shares mean nothing.
func volatility(w words, set Set, s Series) []Insight {
	if len(s.Y) < 20 || set.XKind != data.Time {
		return nil
	}
	if least := slices.Min(s.Y); !(least > 0 && least > 0.1*stat.Mean(s.Y, nil)) {
		return nil
	}
	changes := make([]float64, len(s.Y)-1)
	for i := range changes {
		changes[i] = s.Y[i+1]/s.Y[i] - 1
	}
	sd := stat.StdDev(changes, nil)
	window := max(6, len(changes)/10)
	from, most := wildest(changes, window)
	fall, top, bottom := drawdown(s.Y)
	half := len(changes) / 2
	spread := BrownForsythe(changes[:half], changes[half:])
	first, second := stat.StdDev(changes[:half], nil), stat.StdDev(changes[half:], nil)
	ins := Insight{Kind: Volatility, Series: s.Name, weight: 0.5, Stats: map[string]float64{
		"sd": sd, "largest_sd": most, "drawdown": fall, "first_half": first, "second_half": second, "p": spread.P}}
	ins.Text = w.about(s, set) + w.text(
		"changes from one value to the next have a standard deviation of %s, the most (%s) from %s to %s; "+
			"largest fall from a peak %s (%s to %s)",
		"相邻变化的标准差为%s，最高（%s）在%s至%s；最大回撤%s（%s至%s）",
		percent(sd), percent(most), set.place(s.X[from]), set.place(s.X[from+window]),
		percent(fall), set.place(s.X[top]), set.place(s.X[bottom]))
	if spread.P < significant {
		ins.weight = 0.7
		ins.Text += w.text("; first half %s, second half %s (Brown-Forsythe, %s)",
			"；前半期%s，后半期%s（Brown-Forsythe，%s）", percent(first), percent(second), pValue(spread.P))
	}
	if most > 1.5*sd {
		ins.Marks = []Mark{{Kind: "span", Series: s.Name, X: s.X[from], X2: s.X[from+window],
			Label: w.text("most volatile", "波动最大")}}
	}
	return []Insight{ins}
}

// wildest returns the beginning of the window with the largest standard
// deviation, and that deviation.
func wildest(v []float64, window int) (from int, most float64) {
	n := float64(window)
	sum, squares := 0.0, 0.0
	for i, x := range v {
		sum, squares = sum+x, squares+x*x
		if i >= window {
			old := v[i-window]
			sum, squares = sum-old, squares-old*old
		}
		if i < window-1 {
			continue
		}
		if sd := math.Sqrt(max(0, (squares-sum*sum/n)/(n-1))); sd > most {
			from, most = i-window+1, sd
		}
	}
	return from, most
}

// drawdown returns the largest fall from a peak, as a share of the peak, and
// where it begins and ends.
func drawdown(y []float64) (fall float64, top, bottom int) {
	peak := 0
	for i, v := range y {
		if v > y[peak] {
			peak = i
		}
		if d := 1 - v/y[peak]; d > fall {
			fall, top, bottom = d, peak, i
		}
	}
	return fall, top, bottom
}
