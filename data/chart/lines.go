package chart

import (
	"maps"
	"math"
	"slices"
)

// line draws series i against the vertical scale y. A value between missing
// ones is a dot, and a short line has a dot at every value.
func (p *plot) line(i int, s Series, y scale) {
	runs := p.runs(s, y)
	for _, run := range runs {
		switch n := len(run); {
		case n == 1:
			p.c.dots(run, 2.5, colourOf(i))
		case n > 2000:
			p.c.stroke(run, 1.2, colourOf(i), false)
		default:
			p.c.stroke(run, 2.2, colourOf(i), false)
		}
	}
	if len(runs) == 1 && len(runs[0]) <= 24 {
		p.c.dots(runs[0], 3, colourOf(i))
	}
}

// visible reports whether a value has a place on its axes: a missing one has
// none, and on a logarithmic axis neither has one that is not above 0.
func (p *plot) visible(x, v float64, y scale) bool {
	return !math.IsNaN(v) && !math.IsNaN(x) && !(y.log && v <= 0) && !(p.x.log && x <= 0)
}

// runs are the points of a line, in pixels, cut where a value is missing.
func (p *plot) runs(s Series, y scale) (runs [][]point) {
	var run []point
	for i, v := range s.Y {
		if p.visible(s.X[i], v, y) {
			run = append(run, point{p.x.at(s.X[i]), y.at(v)})
		} else if run != nil {
			runs = append(runs, thinned(run))
			run = nil
		}
	}
	if run != nil {
		runs = append(runs, thinned(run))
	}
	return runs
}

// thinned keeps of a path with thousands of points only the first, the least,
// the largest and the last in each half pixel of its width. The picture stays
// the same.
func thinned(run []point) []point {
	if len(run) < 4000 {
		return run
	}
	const column = 0.5
	var out []point
	for i := 0; i < len(run); {
		lo, hi, j := i, i, i
		for ; j < len(run) && math.Floor(run[j].x/column) == math.Floor(run[i].x/column); j++ {
			if run[j].y < run[lo].y {
				lo = j
			}
			if run[j].y > run[hi].y {
				hi = j
			}
		}
		for _, k := range slices.Compact([]int{i, min(lo, hi), max(lo, hi), j - 1}) {
			out = append(out, run[k])
		}
		i = j
	}
	return out
}

// areas fills the space below the lines: stacked, or translucent over each
// other.
func (p *plot) areas() {
	alpha := 0.35
	if p.Stacked {
		alpha = 0.85
	}
	base := make(map[float64]float64)
	for i, s := range p.Series {
		if p.Stacked {
			s = p.completed(s)
		}
		var top, bottom []point
		for j, v := range s.Y {
			if math.IsNaN(v) {
				v = 0
			}
			from := 0.0
			if p.Stacked {
				from = base[s.X[j]]
				base[s.X[j]] += v
			}
			x := p.x.at(s.X[j])
			top = append(top, point{x, p.y.at(from + v)})
			bottom = append(bottom, point{x, p.y.at(from)})
		}
		top, bottom = thinned(top), thinned(bottom)
		slices.Reverse(bottom)
		p.c.fill(append(slices.Clone(top), bottom...), fade(colourOf(i), alpha))
		p.c.stroke(top, 1.6, colourOf(i), false)
	}
}

// completed gives s the value 0 wherever only other series have one. Without
// it, what is stacked above s would lean into the gap.
func (p *plot) completed(s Series) Series {
	at := make(map[float64]float64)
	for _, o := range p.Series {
		for _, x := range o.X {
			at[x] = 0
		}
	}
	for j, v := range s.Y {
		if !math.IsNaN(v) {
			at[s.X[j]] = v
		}
	}
	out := Series{Name: s.Name, X: slices.Sorted(maps.Keys(at))}
	for _, x := range out.X {
		out.Y = append(out.Y, at[x])
	}
	return out
}

// scatter draws dots that get smaller and fainter the more there are.
func (p *plot) scatter() {
	r, alpha := 4.0, 0.7
	switch n := p.points(); {
	case n > 20_000:
		r, alpha = 1.2, 0.12
	case n > 3000:
		r, alpha = 2, 0.3
	case n > 500:
		r, alpha = 3, 0.5
	}
	for i, s := range p.Series {
		var at []point
		for j, v := range s.Y {
			if p.visible(s.X[j], v, p.y) {
				at = append(at, point{p.x.at(s.X[j]), p.y.at(v)})
			}
		}
		p.c.dots(at, r, fade(colourOf(i), alpha))
	}
}
