package chart

import (
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// pie draws the first series as a ring, clockwise from the top, with its total
// in the middle and a list of the slices beside it. A value that is not above
// 0 has no slice.
func (p *plot) pie() {
	if len(p.Series) == 0 {
		return
	}
	s, total := p.Series[0], 0.0
	for _, v := range s.Y {
		if v > 0 {
			total += v
		}
	}
	cx, cy := p.l+(p.r-p.l)*0.32, (p.t+p.b)/2
	r := min((p.r-p.l)*0.30, (p.b-p.t)/2-6)
	angle := -math.Pi / 2
	y := cy - float64(min(len(s.Y), 14))*13 + 10
	for i, v := range s.Y {
		if !(v > 0) {
			continue
		}
		c, label := colourOf(i), p.X.Labels[int(s.X[i])]
		if label == p.other() {
			c = grey
		}
		share := v / total
		next := angle + 2*math.Pi*share
		p.c.fill(wedge(cx, cy, r*0.56, r, angle, next), c)
		if share >= 0.04 {
			sin, cos := math.Sincos((angle + next) / 2)
			bold := style{size: 12, bold: true, colour: readable(c), at: middle}
			p.text(cx+r*0.78*cos, cy+r*0.78*sin+4, percent(share), bold)
		}
		if y < p.b {
			x := cx + r + 50
			p.c.fill(rect(x, y-10, 12, 12), c)
			line := label + "  " + brief(v, p.Y.Unit) + "  (" + percent(share) + ")"
			p.text(x+20, y, line, labelText.fitting(p.r-x-20))
			y += 26
		}
		angle = next
	}
	p.text(cx, cy+6, brief(total, p.Y.Unit), titleText.anchored(middle))
	p.text(cx, cy+24, p.Y.Name, tickText.anchored(middle).fitting(r))
}

// percent writes a share with three digits.
func percent(share float64) string { return brief(100*share, data.Percent) }

// wedge is a piece of a ring between two angles, with a small gap on each
// side.
func wedge(cx, cy, inner, outer, from, to float64) []point {
	n := max(2, int(math.Ceil((to-from)*outer/3)))
	var out, in []point
	gap := min(0.006, (to-from)/4)
	for i := range n + 1 {
		sin, cos := math.Sincos(from + gap + (to-from-2*gap)*float64(i)/float64(n))
		out = append(out, point{cx + outer*cos, cy + outer*sin})
		in = append(in, point{cx + inner*cos, cy + inner*sin})
	}
	slices.Reverse(in)
	return append(out, in...)
}
