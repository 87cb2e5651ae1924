package chart

import (
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// cartesian draws a chart that has axes: room for their labels first, then the
// grid, and on it the data between what insights draw below and above it.
func (p *plot) cartesian() {
	r := p.ranges(false)
	s, step := numberScale(r.ylo, r.yhi, max(2, int((p.b-p.t)/60)), p.Y.Log)
	p.y = s
	yticks := s.ticks(step, p.Y.Unit)
	if p.Horizontal {
		p.sideways(yticks)
		p.data()
		p.baseline()
		p.marksAbove()
		return
	}
	var y2ticks []tick
	if p.Kind == Dual {
		r2 := p.ranges(true)
		p.y2, step = secondScale(r2.ylo, r2.yhi, max(1, len(yticks)-1))
		y2ticks = p.y2.ticks(step, p.Y2.Unit)
	}
	p.axisNames(yticks, y2ticks)
	xticks := p.horizontalAxis(r.xlo, r.xhi)
	p.y.a, p.y.b = p.b, p.t
	p.y2.a, p.y2.b = p.b, p.t
	p.grid(xticks, yticks, y2ticks)
	p.baseline()
	p.marksBelow()
	p.data()
	p.marksAbove()
}

// extent is the least and largest of some places and values; without any, the
// least is above the largest.
type extent struct{ xlo, xhi, ylo, yhi float64 }

// x and y widen the extent to two more places or values.
func (e *extent) x(lo, hi float64) { e.xlo, e.xhi = min(e.xlo, lo), max(e.xhi, hi) }
func (e *extent) y(a, b float64)   { e.ylo, e.yhi = min(e.ylo, a, b), max(e.yhi, a, b) }

// ranges returns what the axes have to show of the series on the first or the
// second vertical axis: stacked values up to their sums, and 0 where the
// length of a shape stands for its value.
func (f *Figure) ranges(second bool) extent {
	e := extent{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	sums := newStack()
	for _, s := range f.Series {
		if f.Kind == Dual && s.Second != second {
			continue
		}
		if s.Box != nil {
			e.y(s.Box.Low, s.Box.High)
			for _, v := range s.Box.Outliers {
				e.y(v, v)
			}
		}
		for i, v := range s.Y {
			x := s.X[i]
			if math.IsNaN(v) || math.IsNaN(x) || f.Y.Log && v <= 0 || f.X.Log && x <= 0 {
				continue
			}
			e.x(x, x+f.X.Step)
			if f.Stacked {
				e.y(sums.add(x, v))
			} else {
				e.y(v, v)
			}
		}
	}
	switch {
	case f.Y.Log:
	case f.Kind == Bar, f.Kind == Area, f.Kind == Histogram, f.Kind == Dual && !second:
		e.y(0, 0)
	case f.Kind == Dual: // secondScale decides
	case e.ylo > 0 && e.ylo < 0.4*e.yhi && f.Kind != Scatter:
		e.ylo = 0
	}
	return e
}

// axisNames writes the names of the vertical axes above them, where they read
// without turning one's head, and makes room for their labels.
func (p *plot) axisNames(yticks, y2ticks []tick) {
	if p.Y.Name != "" || p.Y2.Name != "" {
		half := tickText.fitting((p.r - p.l) / 2)
		p.text(p.l, p.t+10, p.Y.Name, half)
		p.text(p.r, p.t+10, p.Y2.Name, half.anchored(end))
		p.t += 24
	}
	p.l += p.fonts.widest(labels(yticks), tickText) + 8
	p.r -= 6
	if len(y2ticks) > 0 {
		p.r -= p.fonts.widest(labels(y2ticks), tickText) + 8
	}
}

// labels returns the texts of ticks.
func labels(ticks []tick) (all []string) {
	for _, t := range ticks {
		all = append(all, t.label)
	}
	return all
}

// nameBelow writes a name in the middle below the field.
func (p *plot) nameBelow(name string) {
	if name == "" {
		return
	}
	p.text((p.l+p.r)/2, p.b, name, tickText.anchored(middle).fitting(p.r-p.l))
	p.b -= 20
}

// horizontalAxis sets p.x to a scale from lo to hi, makes room for the axis
// and returns its labels. Dates need no name.
func (p *plot) horizontalAxis(lo, hi float64) []tick {
	if p.X.Kind != data.Time || p.X.Unit == "" {
		p.nameBelow(p.X.Name)
	}
	switch {
	case p.Kind == Box:
		var names []string
		for _, s := range p.Series {
			names = append(names, s.Name)
		}
		return p.categories(names)
	case p.X.Kind == data.Text:
		return p.categories(p.X.Labels)
	}
	if math.IsInf(lo, 0) {
		lo, hi = 0, 1
	}
	p.b -= 20
	width := p.r - p.l
	if p.X.Kind == data.Time {
		pad := 0.0
		if p.Kind == Bar || p.Kind == Dual {
			pad = p.gap() / 2
		}
		if lo == hi {
			pad = 86400
		}
		p.x = scale{lo: lo - pad, hi: hi + pad, a: p.l, b: p.r}
		return timeTicks(lo, hi, max(2, int(width/80)))
	}
	s, step := numberScale(lo, hi, max(2, int(width/90)), p.X.Log)
	ticks := s.ticks(step, p.X.Unit)
	if p.Kind == Histogram { // its bins reach from edge to edge
		s.lo, s.hi = lo, hi
		ticks = without(ticks, lo, hi, 1e-9*step)
	}
	s.a, s.b = p.l, p.r
	p.x = s
	return ticks
}

// gap is the least distance between two places on the horizontal axis, or a
// day if there is only one.
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

// categories makes room for labels below the field: side by side if they fit,
// else slanted, and of very many only some. It returns those that are not
// written yet.
func (p *plot) categories(labels []string) (ticks []tick) {
	n := len(labels)
	slot := (p.r - p.l) / float64(max(n, 1))
	p.x = scale{lo: -0.5, hi: float64(n) - 0.5, a: p.l, b: p.r}
	widest := p.fonts.widest(labels, tickText)
	if widest <= slot-6 {
		p.b -= 20
		for i, s := range labels {
			ticks = append(ticks, tick{float64(i), s})
		}
		return ticks
	}
	every := max(1, int(math.Ceil(22/slot)))
	long := min(widest, 130.0)
	p.b -= long*0.6 + 18
	slanted := tickText.anchored(end).fitting(long)
	slanted.turn = 38
	for i := 0; i < n; i += every {
		p.text(p.x.at(float64(i))+5, p.b+15, labels[i], slanted)
	}
	return nil
}

// grid draws the lines of the grid and the labels of the axes. It leaves out
// labels that would touch each other or leave the picture.
func (p *plot) grid(xticks, yticks, y2ticks []tick) {
	for _, t := range yticks {
		y := p.y.at(t.v)
		p.c.stroke([]point{{p.l, y}, {p.r, y}}, 1, faint, false)
		p.text(p.l-8, y+4, t.label, tickText.anchored(end))
	}
	for _, t := range y2ticks {
		p.text(p.r+8, p.y2.at(t.v)+4, t.label, tickText)
	}
	last := math.Inf(-1)
	for _, t := range xticks {
		x, w := p.x.at(t.v), p.fonts.width(t.label, tickText)
		if x-w/2 < last+8 || x < p.l-1 || x > p.r+1 {
			continue
		}
		if p.X.Kind != data.Text && p.Kind != Box {
			if p.Kind == Scatter {
				p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, faint, false)
			}
			p.c.stroke([]point{{x, p.b}, {x, p.b + 4}}, 1, axis, false)
		}
		at := min(max(x, w/2+2), p.w-w/2-2)
		p.text(at, p.b+17, t.label, tickText.anchored(middle))
		last = at + w/2
	}
}

// sideways lays out a chart whose bars run from left to right, with room for
// long names on the left and for values on the right, and draws its grid.
func (p *plot) sideways(ticks []tick) {
	widest := min(p.fonts.widest(p.X.Labels, labelText), (p.r-p.l)*0.4)
	p.l += widest + 10
	p.r -= 50
	p.nameBelow(p.Y.Name)
	p.b -= 20
	p.y.a, p.y.b = p.l, p.r
	p.x = scale{lo: -0.5, hi: float64(max(1, len(p.X.Labels))) - 0.5, a: p.t, b: p.b}
	for _, t := range ticks {
		x := p.y.at(t.v)
		p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, faint, false)
		p.text(x, p.b+16, t.label, tickText.anchored(middle))
	}
	for i, s := range p.X.Labels {
		p.text(p.l-10, p.x.at(float64(i))+4.5, s, labelText.anchored(end).fitting(widest))
	}
}

// baseline draws the line from which values are read: at 0 if the axis has it
// inside, else at its edge.
func (p *plot) baseline() {
	inside := !p.y.log && p.y.lo < 0 && p.y.hi > 0
	switch {
	case p.Horizontal:
		x := p.y.at(max(0, p.y.lo))
		p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, axis, false)
	case inside && p.Kind != Scatter:
		p.c.stroke([]point{{p.l, p.y.at(0)}, {p.r, p.y.at(0)}}, 1, axis, false)
	default:
		p.c.stroke([]point{{p.l, p.b}, {p.r, p.b}}, 1, axis, false)
	}
}
