package chart

import (
	"math"
)

// heatmap draws a row for each series and a column for each label.
func (p *plot) heatmap() {
	lo, hi := math.Inf(1), math.Inf(-1)
	widest := 0.0
	for _, s := range p.Series {
		widest = max(widest, p.fonts.width(s.Name, 12, false))
		for _, v := range s.Y {
			if !math.IsNaN(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	if math.IsInf(lo, 0) {
		return
	}
	p.ramp(lo, hi)
	widest = min(widest, (p.r-p.l)*0.3)
	p.l += widest + 8
	p.categoriesFor(p.X.Labels)
	rows, cols := float64(max(len(p.Series), 1)), float64(max(len(p.X.Labels), 1))
	ch, cw := (p.b-p.t)/rows, (p.r-p.l)/cols
	for i, s := range p.Series {
		y := p.t + float64(i)*ch
		if ch >= 11 || i%int(math.Ceil(13/ch)) == 0 {
			p.c.text(p.l-8, y+ch/2+4, p.fonts.fit(s.Name, 12, false, widest), style{size: 12, colour: soft, at: end})
		}
		for j, v := range s.Y {
			if math.IsNaN(v) {
				continue
			}
			c := heat(v, lo, hi)
			x := p.l + s.X[j]*cw
			p.c.fill(rect(x, y, cw-min(1, cw*0.1), ch-min(1, ch*0.1)), c)
			if t := brief(v, p.Y.Unit); cw > 34 && ch > 16 && p.fonts.width(t, 11, false) < cw-4 {
				p.c.text(x+cw/2, y+ch/2+4, t, style{size: 11, colour: readable(c), at: middle})
			}
		}
	}
}

func (p *plot) categoriesFor(labels []string) {
	for _, t := range p.categories(labels) {
		p.c.text(p.x.at(t.v), p.b+17, t.label, style{size: 12, colour: soft, at: middle})
	}
}

// ramp is the legend of colours, from the least to the largest value.
func (p *plot) ramp(lo, hi float64) {
	const w, n = 160.0, 40
	a, b := brief(lo, p.Y.Unit), brief(hi, p.Y.Unit)
	x := p.r - w - p.fonts.width(b, 12, false) - 8
	if p.Y.Name != "" {
		p.c.text(p.l, p.t+11, p.fonts.fit(p.Y.Name, 12, false, (p.r-p.l)/2), style{size: 12, colour: soft})
	}
	p.c.text(x-8, p.t+11, a, style{size: 12, colour: soft, at: end})
	for i := range n {
		v := lo + (hi-lo)*float64(i)/(n-1)
		p.c.fill(rect(x+w*float64(i)/n, p.t, w/n+0.5, 14), heat(v, lo, hi))
	}
	p.c.text(p.r, p.t+11, b, style{size: 12, colour: soft, at: end})
	p.t += 28
}
