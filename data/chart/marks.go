package chart

import (
	"slices"

	"github.com/openmanus-go/openmanus/data"
	"github.com/openmanus-go/openmanus/data/insight"
)

// marksBelow draws the spans that insights mark, behind the data.
func (p *plot) marksBelow() {
	for _, m := range p.marks() {
		if m.Kind == "span" {
			x0, x1 := p.x.at(m.X), p.x.at(m.X2)
			p.c.fill(rect(x0, p.t, max(x1-x0, 1), p.b-p.t), fade(marking, 0.08))
			mid := min(max((x0+x1)/2, p.l+40), p.r-40)
			p.text(mid, p.t+13, m.Label, smallText.in(marking).anchored(middle))
		}
	}
}

// marksAbove draws the points and lines that insights mark, with labels that
// avoid each other.
func (p *plot) marksAbove() {
	var taken [][]point
	for _, m := range p.marks() {
		y := p.y
		if slices.ContainsFunc(p.Series, func(s Series) bool { return s.Second && s.Name == m.Series }) {
			y = p.y2
		}
		switch m.Kind {
		case "line":
			a, b := point{p.x.at(m.X), y.at(m.Y)}, point{p.x.at(m.X2), y.at(m.Y2)}
			if a, b, ok := p.clip(a, b); ok {
				p.c.stroke([]point{a, b}, 1.8, marking, true)
				p.label(&taken, b.x-4, b.y-8, m.Label, end)
			}
		case "point":
			p.markPoint(&taken, m, y)
		}
	}
}

// markPoint draws a dot with a label above it. At a bar it writes only the
// label, beyond the bar's own: above it, or to its right if it lies.
func (p *plot) markPoint(taken *[][]point, m insight.Mark, y scale) {
	at := point{p.x.at(m.X), y.at(m.Y)}
	if p.Horizontal {
		at = point{y.at(m.Y), p.x.at(m.X)}
	}
	if !(at.x >= p.l-2 && at.x <= p.r+2 && at.y >= p.t-2 && at.y <= p.b+2) { // outside, or NaN
		return
	}
	switch {
	case p.Horizontal:
		x := at.x + 13 + p.fonts.width(brief(m.Y, p.Y.Unit), smallText)
		p.label(taken, x, at.y+4, m.Label, start)
	case p.X.Kind == data.Text:
		p.label(taken, at.x, at.y-20, m.Label, middle)
	default:
		p.c.dots([]point{at}, 6, fade(marking, 0.25))
		p.c.dots([]point{at}, 3.2, marking)
		p.label(taken, at.x, at.y-11, m.Label, middle)
	}
}

// clip cuts the line from a to b to the field (Liang and Barsky's algorithm).
// It reports whether any of it is inside.
func (p *plot) clip(a, b point) (point, point, bool) {
	t0, t1 := 0.0, 1.0
	dx, dy := b.x-a.x, b.y-a.y
	for _, e := range [][2]float64{{-dx, a.x - p.l}, {dx, p.r - a.x}, {-dy, a.y - p.t}, {dy, p.b - a.y}} {
		switch {
		case e[0] == 0 && e[1] < 0:
			return a, b, false
		case e[0] < 0:
			t0 = max(t0, e[1]/e[0])
		case e[0] > 0:
			t1 = min(t1, e[1]/e[0])
		}
	}
	if !(t0 < t1) {
		return a, b, false
	}
	return point{a.x + t0*dx, a.y + t0*dy}, point{a.x + t1*dx, a.y + t1*dy}, true
}

// label writes s at its place, or where that is taken some lines below or
// above. If every place is taken it writes nothing.
func (p *plot) label(taken *[][]point, x, y float64, s string, at anchor) {
	if s == "" {
		return
	}
	w := p.fonts.width(s, markText)
	left := x - map[anchor]float64{middle: w / 2, end: w}[at]
	right := p.r
	if at == start { // beside a lying bar there is room up to the edge of the picture
		right = p.w - 4
	}
	left = min(max(left, p.l+2), right-w-2)
	for _, dy := range []float64{0, 30, -16, 46, -32} {
		box := rect(left, y+dy-11, w, 14)
		if box[0].y < p.t-10 || box[2].y > p.b ||
			slices.ContainsFunc(*taken, func(o []point) bool { return overlap(box, o) }) {
			continue
		}
		*taken = append(*taken, box)
		p.text(left, y+dy, s, markText)
		return
	}
}

// overlap reports whether two rectangles share any area.
func overlap(a, b []point) bool {
	return a[0].x < b[2].x && b[0].x < a[2].x && a[0].y < b[2].y && b[0].y < a[2].y
}
