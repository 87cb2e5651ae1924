package chart

import (
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// marksBelow draws what lies behind the data.
func (p *plot) marksBelow() {
	for _, m := range p.marks() {
		if m.Kind == "span" {
			x0, x1 := p.x.at(m.X), p.x.at(m.X2)
			p.c.fill(rect(x0, p.t, max(x1-x0, 1), p.b-p.t), fade(marking, 0.08))
			p.c.text(min(max((x0+x1)/2, p.l+40), p.r-40), p.t+13, m.Label, style{size: 11, colour: marking, at: middle})
		}
	}
}

// marksAbove draws points, lines and their labels, which keep out of each
// other's way.
func (p *plot) marksAbove() {
	var taken [][]point
	for _, m := range p.marks() {
		y := p.y
		if i := slices.IndexFunc(p.Series, func(s Series) bool { return s.Name == m.Series && s.Second }); i >= 0 {
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
			at := point{p.x.at(m.X), y.at(m.Y)}
			if math.IsNaN(at.x) || math.IsNaN(at.y) || at.x < p.l-2 || at.x > p.r+2 || at.y < p.t-2 || at.y > p.b+2 {
				continue
			}
			if p.X.Kind != data.Text {
				p.c.dots([]point{at}, 6, fade(marking, 0.25))
				p.c.dots([]point{at}, 3.2, marking)
			}
			up := 11.0
			if p.X.Kind == data.Text { // above the bar's own label
				up = 20
			}
			p.label(&taken, at.x, at.y-up, m.Label, middle)
		}
	}
}

// clip cuts a line to the field.
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

// label writes where nothing else was written: above, else below.
func (p *plot) label(taken *[][]point, x, y float64, s string, at anchor) {
	if s == "" {
		return
	}
	w := p.fonts.width(s, 12, true)
	left := x - w/2
	if at == end {
		left = x - w
	}
	left = min(max(left, p.l+2), p.r-w-2)
	for _, dy := range []float64{0, 30, -16, 46, -32} {
		box := rect(left, y+dy-11, w, 14)
		if box[0].y < p.t-10 || box[2].y > p.b || slices.ContainsFunc(*taken, func(o []point) bool { return overlap(box, o) }) {
			continue
		}
		*taken = append(*taken, box)
		p.c.text(left, y+dy, s, style{size: 12, bold: true, colour: marking, halo: true})
		return
	}
}

func overlap(a, b []point) bool {
	return a[0].x < b[2].x && b[0].x < a[2].x && a[0].y < b[2].y && b[0].y < a[2].y
}
