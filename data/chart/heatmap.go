package chart

import (
	"image/color"
	"math"
)

// heatmap draws a row of cells for each series and a column for each label.
func (p *plot) heatmap() {
	lo, hi, ok := p.cellRange()
	if !ok {
		return
	}
	p.ramp(lo, hi)
	var names []string
	for _, s := range p.Series {
		names = append(names, s.Name)
	}
	widest := min(p.fonts.widest(names, tickText), (p.r-p.l)*0.3)
	p.l += widest + 8
	for _, t := range p.categories(p.X.Labels) {
		p.text(p.x.at(t.v), p.b+17, t.label, tickText.anchored(middle))
	}
	ch := (p.b - p.t) / float64(max(len(p.Series), 1))
	cw := (p.r - p.l) / float64(max(len(p.X.Labels), 1))
	for i, s := range p.Series {
		y := p.t + float64(i)*ch
		if ch >= 11 || i%int(math.Ceil(13/ch)) == 0 {
			p.text(p.l-8, y+ch/2+4, s.Name, tickText.anchored(end).fitting(widest))
		}
		for j, v := range s.Y {
			if !math.IsNaN(v) {
				p.cell(p.l+s.X[j]*cw, y, cw, ch, v, heat(v, lo, hi))
			}
		}
	}
}

// cellRange returns the least and the largest value of all cells; ok is false
// if there is none.
func (f *Figure) cellRange() (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, s := range f.Series {
		for _, v := range s.Y {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	return lo, hi, lo <= hi
}

// cell draws one cell, with its value if it fits.
func (p *plot) cell(x, y, w, h, v float64, c color.NRGBA) {
	p.c.fill(rect(x, y, w-min(1, w*0.1), h-min(1, h*0.1)), c)
	if s := brief(v, p.Y.Unit); w > 34 && h > 16 && p.fonts.width(s, smallText) < w-4 {
		p.text(x+w/2, y+h/2+4, s, smallText.in(readable(c)).anchored(middle))
	}
}

// ramp draws the key to the colours, from the least to the largest value.
func (p *plot) ramp(lo, hi float64) {
	const w, n = 160.0, 40
	least, largest := brief(lo, p.Y.Unit), brief(hi, p.Y.Unit)
	x := p.r - w - p.fonts.width(largest, tickText) - 8
	p.text(p.l, p.t+11, p.Y.Name, tickText.fitting((p.r-p.l)/2))
	p.text(x-8, p.t+11, least, tickText.anchored(end))
	for i := range n {
		v := lo + (hi-lo)*float64(i)/(n-1)
		p.c.fill(rect(x+w*float64(i)/n, p.t, w/n+0.5, 14), heat(v, lo, hi))
	}
	p.text(p.r, p.t+11, largest, tickText.anchored(end))
	p.t += 28
}
