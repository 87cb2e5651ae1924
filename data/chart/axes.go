package chart

import (
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// cartesian draws what has axes.
func (p *plot) cartesian() {
	xlo, xhi, ylo, yhi := p.ranges(false)
	rows := max(2, int((p.b-p.t)/60))
	yscale, ystep := numberScale(ylo, yhi, rows, p.Y.Log)
	yticks := yscale.numbers(ystep, p.Y.Unit)
	var y2ticks []tick
	if p.Kind == Dual {
		_, _, lo, hi := p.ranges(true)
		// Both axes have the same number of lines, so that one grid serves.
		n := max(1, len(yticks)-1)
		step := nice(hi-min(lo, 0), n)
		if lo > 0 && lo > 0.5*hi {
			step = nice((hi-lo)*1.1, n)
			lo = math.Floor(lo/step) * step
		} else {
			lo = math.Floor(min(lo, 0)/step) * step
		}
		for lo+float64(n)*step < hi {
			step = nice(step*1.2, 1)
			lo = math.Floor(lo/step) * step
		}
		p.y2 = scale{lo: lo, hi: lo + float64(n)*step}
		y2ticks = p.y2.numbers(step, p.Y2.Unit)
	}
	if p.Horizontal {
		p.horizontal(yscale, yticks)
		return
	}
	p.names(yticks, y2ticks)
	xticks := p.below(&xlo, &xhi)
	yscale.a, yscale.b = p.b, p.t
	p.y, p.y2.a, p.y2.b = yscale, p.b, p.t
	p.grid(xticks, yticks, y2ticks)
	p.marksBelow()
	p.data()
	p.marksAbove()
}

// ranges are the least and largest values of the series on one of the axes.
func (p *plot) ranges(second bool) (xlo, xhi, ylo, yhi float64) {
	xlo, xhi, ylo, yhi = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	up, down := make(map[float64]float64), make(map[float64]float64)
	for _, s := range p.Series {
		if p.Kind == Dual && s.Second != second {
			continue
		}
		if s.Box != nil {
			ylo, yhi = min(ylo, s.Box.Low), max(yhi, s.Box.High)
			for _, v := range s.Box.Outliers {
				ylo, yhi = min(ylo, v), max(yhi, v)
			}
		}
		for i, v := range s.Y {
			x := s.X[i]
			if math.IsNaN(v) || math.IsNaN(x) || p.Y.Log && v <= 0 || p.X.Log && x <= 0 {
				continue
			}
			xlo, xhi = min(xlo, x), max(xhi, x+p.X.Step)
			if p.Stacked {
				if v >= 0 {
					up[x] += v
				} else {
					down[x] += v
				}
				v = up[x]
				ylo = min(ylo, down[x])
			}
			ylo, yhi = min(ylo, v), max(yhi, v)
		}
	}
	switch {
	case p.Y.Log:
	case p.Kind == Bar, p.Kind == Area, p.Kind == Histogram, p.Kind == Dual && !second:
		ylo, yhi = min(ylo, 0), max(yhi, 0)
	case p.Kind == Dual: // the second axis decides for itself
	case ylo > 0 && ylo < 0.4*yhi && p.Kind != Scatter:
		ylo = 0
	}
	return xlo, xhi, ylo, yhi
}

// names makes room on the left and right for the labels of the axes, and
// writes their names above them, where they are read without turning the head.
func (p *plot) names(yticks, y2ticks []tick) {
	if p.Y.Name != "" || p.Y2.Name != "" {
		half := (p.r - p.l) / 2
		p.c.text(p.l, p.t+10, p.fonts.fit(p.Y.Name, 12, false, half), style{size: 12, colour: soft})
		if p.Y2.Name != "" {
			p.c.text(p.r, p.t+10, p.fonts.fit(p.Y2.Name, 12, false, half), style{size: 12, colour: soft, at: end})
		}
		p.t += 24
	}
	left, right := 0.0, 0.0
	for _, t := range yticks {
		left = max(left, p.fonts.width(t.label, 12, false))
	}
	for _, t := range y2ticks {
		right = max(right, p.fonts.width(t.label, 12, false)+8)
	}
	p.l += left + 8
	p.r -= right + 6
}

// below writes the labels of the horizontal axis and makes room for them.
func (p *plot) below(lo, hi *float64) []tick {
	if p.X.Name != "" && !(p.X.Kind == data.Time && p.X.Unit != "") {
		p.c.text((p.l+p.r)/2, p.b, p.fonts.fit(p.X.Name, 12, false, p.r-p.l), style{size: 12, colour: soft, at: middle})
		p.b -= 20
	}
	width := p.r - p.l
	if p.Kind == Box {
		var labels []string
		for _, s := range p.Series {
			labels = append(labels, s.Name)
		}
		return p.categories(labels)
	}
	switch {
	case p.X.Kind == data.Text:
		return p.categories(p.X.Labels)
	case math.IsInf(*lo, 0):
		*lo, *hi = 0, 1
	}
	p.b -= 20
	if p.X.Kind == data.Time {
		pad := 0.0
		if p.Kind == Bar || p.Kind == Dual {
			pad = p.gap() / 2
		}
		if *lo == *hi {
			pad = 86400
		}
		p.x = scale{lo: *lo - pad, hi: *hi + pad, a: p.l, b: p.r}
		return timeTicks(*lo, *hi, max(2, int(width/80)))
	}
	n := max(2, int(width/90))
	if p.Kind == Histogram {
		p.x = scale{lo: *lo, hi: *hi, a: p.l, b: p.r}
		s, step := numberScale(*lo, *hi, n, false)
		return slices.DeleteFunc(s.numbers(step, p.X.Unit), func(t tick) bool { return t.v < *lo-1e-9*step || t.v > *hi+1e-9*step })
	}
	s, step := numberScale(*lo, *hi, n, p.X.Log)
	s.a, s.b = p.l, p.r
	p.x = s
	return s.numbers(step, p.X.Unit)
}

// gap is the least distance of two places.
func (p *plot) gap() float64 {
	var xs []float64
	for _, s := range p.Series {
		xs = append(xs, s.X...)
	}
	slices.Sort(xs)
	least := math.Inf(1)
	for i := 1; i < len(xs); i++ {
		if d := xs[i] - xs[i-1]; d > 0 {
			least = min(least, d)
		}
	}
	if math.IsInf(least, 1) {
		return 86400
	}
	return least
}

// categories makes room for labels below: side by side, else slanted, and if
// there are too many, every so manieth.
func (p *plot) categories(labels []string) []tick {
	n := len(labels)
	slot := (p.r - p.l) / float64(max(n, 1))
	p.x = scale{lo: -0.5, hi: float64(n) - 0.5, a: p.l, b: p.r}
	widest := 0.0
	for _, s := range labels {
		widest = max(widest, p.fonts.width(s, 12, false))
	}
	if widest <= slot-6 {
		p.b -= 20
		var ticks []tick
		for i, s := range labels {
			ticks = append(ticks, tick{float64(i), s})
		}
		return ticks
	}
	every := max(1, int(math.Ceil(22/slot)))
	long := min(widest, 130.0)
	p.b -= long*0.6 + 18
	for i := 0; i < n; i += every {
		s := p.fonts.fit(labels[i], 12, false, long)
		p.c.text(p.x.at(float64(i))+5, p.b+15, s, style{size: 12, colour: soft, at: end, turn: 38})
	}
	return nil
}

// grid draws lines and labels. Labels that would run into each other or out of
// the picture are left out.
func (p *plot) grid(xticks, yticks, y2ticks []tick) {
	for _, t := range yticks {
		y := p.y.at(t.v)
		p.c.stroke([]point{{p.l, y}, {p.r, y}}, 1, faint, false)
		p.c.text(p.l-8, y+4, t.label, style{size: 12, colour: soft, at: end})
	}
	for _, t := range y2ticks {
		p.c.text(p.r+8, p.y2.at(t.v)+4, t.label, style{size: 12, colour: soft})
	}
	last := math.Inf(-1)
	for _, t := range xticks {
		x, w := p.x.at(t.v), p.fonts.width(t.label, 12, false)
		if x-w/2 < last+8 || x < p.l-1 || x > p.r+1 {
			continue
		}
		if p.X.Kind != data.Text && p.Kind != Box {
			if p.Kind == Scatter {
				p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, faint, false)
			}
			p.c.stroke([]point{{x, p.b}, {x, p.b + 4}}, 1, axis, false)
		}
		tx := min(max(x, w/2+2), p.w-w/2-2)
		p.c.text(tx, p.b+17, t.label, style{size: 12, colour: soft, at: middle})
		last = tx + w/2
	}
	base := p.b
	if !p.y.log && p.y.lo < 0 && p.y.hi > 0 && p.Kind != Scatter {
		base = p.y.at(0)
	}
	p.c.stroke([]point{{p.l, base}, {p.r, base}}, 1, axis, false)
}
