package chart

import (
	"maps"
	"math"
	"slices"
)

func (p *plot) line(i int, s Series, y scale) {
	pts := p.trace(s, y)
	for _, run := range pts {
		if len(run) == 1 {
			p.c.dots(run, 2.5, colourOf(i))
			continue
		}
		width := 2.2
		if len(run) > 2000 {
			width = 1.2
		}
		p.c.stroke(run, width, colourOf(i), false)
	}
	if len(pts) == 1 && len(pts[0]) <= 24 {
		p.c.dots(pts[0], 3, colourOf(i))
	}
}

// trace is a line in pixels, broken where values are missing. In each column
// of pixels with many points only the first, last, least and largest are kept:
// the picture is the same.
func (p *plot) trace(s Series, y scale) (runs [][]point) {
	var run []point
	flush := func() {
		if len(run) > 0 {
			runs = append(runs, thinned(run))
			run = nil
		}
	}
	for i, v := range s.Y {
		if math.IsNaN(v) || y.log && v <= 0 || p.x.log && s.X[i] <= 0 {
			flush()
			continue
		}
		run = append(run, point{p.x.at(s.X[i]), y.at(v)})
	}
	flush()
	return runs
}

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
		keep := []int{i, min(lo, hi), max(lo, hi), j - 1}
		for _, k := range slices.Compact(keep) {
			out = append(out, run[k])
		}
		i = j
	}
	return out
}

// areas fills what is below the lines, stacked or over each other.
func (p *plot) areas() {
	base := make(map[float64]float64)
	for i, s := range p.Series {
		if p.Stacked {
			s = p.everywhere(s)
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
			top, bottom = append(top, point{x, p.y.at(from + v)}), append(bottom, point{x, p.y.at(from)})
		}
		top, bottom = thinned(top), thinned(bottom)
		alpha := 0.35
		if p.Stacked {
			alpha = 0.85
		}
		slices.Reverse(bottom)
		p.c.fill(append(slices.Clone(top), bottom...), fade(colourOf(i), alpha))
		p.c.stroke(top, 1.6, colourOf(i), false)
	}
}

// everywhere gives a series a place wherever any has one: 0 where it has none.
// Otherwise what is stacked on it would lean into the gap.
func (p *plot) everywhere(s Series) Series {
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

func (p *plot) scatter() {
	total := 0
	for _, s := range p.Series {
		total += len(s.Y)
	}
	r, alpha := 4.0, 0.7
	switch {
	case total > 20_000:
		r, alpha = 1.2, 0.12
	case total > 3000:
		r, alpha = 2, 0.3
	case total > 500:
		r, alpha = 3, 0.5
	}
	for i, s := range p.Series {
		var at []point
		for j, v := range s.Y {
			if !math.IsNaN(v) && !math.IsNaN(s.X[j]) && !(p.y.log && v <= 0) && !(p.x.log && s.X[j] <= 0) {
				at = append(at, point{p.x.at(s.X[j]), p.y.at(v)})
			}
		}
		p.c.dots(at, r, fade(colourOf(i), alpha))
	}
}
