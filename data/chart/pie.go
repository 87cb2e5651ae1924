package chart

import (
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// pie draws a ring with shares beside it, the largest first, from the top.
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
	at := -math.Pi / 2
	y := cy - float64(min(len(s.Y), 14))*13 + 10
	for i, v := range s.Y {
		if !(v > 0) || total == 0 {
			continue
		}
		c := colourOf(i)
		label := p.X.Labels[int(s.X[i])]
		if label == p.say("other", "其他") {
			c = grey
		}
		next := at + 2*math.Pi*v/total
		p.c.fill(wedge(cx, cy, r*0.56, r, at, next), c)
		if share := v / total; share >= 0.04 {
			sin, cos := math.Sincos((at + next) / 2)
			p.c.text(cx+r*0.78*cos, cy+r*0.78*sin+4, percent(share), style{size: 12, bold: true, colour: readable(c), at: middle})
		}
		if y < p.b {
			x := cx + r + 50
			p.c.fill(rect(x, y-10, 12, 12), c)
			line := label + "  " + brief(v, p.Y.Unit) + "  (" + percent(v/total) + ")"
			p.c.text(x+20, y, p.fonts.fit(line, textSize, false, p.r-x-20), style{size: textSize, colour: ink})
			y += 26
		}
		at = next
	}
	p.c.text(cx, cy+6, brief(total, p.Y.Unit), style{size: 20, bold: true, colour: ink, at: middle})
	p.c.text(cx, cy+24, p.fonts.fit(p.Y.Name, 12, false, r), style{size: 12, colour: soft, at: middle})
}

func percent(v float64) string { return brief(100*v, data.Percent) }

func wedge(cx, cy, inner, outer, from, to float64) []point {
	n := max(2, int(math.Ceil((to-from)*outer/3)))
	var out, in []point
	gap := min(0.006, (to-from)/4)
	for i := range n + 1 {
		a := from + gap + (to-from-2*gap)*float64(i)/float64(n)
		sin, cos := math.Sincos(a)
		out = append(out, point{cx + outer*cos, cy + outer*sin})
		in = append(in, point{cx + inner*cos, cy + inner*sin})
	}
	slices.Reverse(in)
	return append(out, in...)
}
