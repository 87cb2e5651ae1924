package chart

import (
	"image/color"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// bars draws bars side by side, or on top of each other.
func (p *plot) bars(series []Series, first int) {
	var slot float64
	switch {
	case p.X.Step > 0:
		slot = p.x.at(p.x.lo+p.X.Step) - p.x.at(p.x.lo)
	case p.X.Kind == data.Text:
		slot = p.x.at(1) - p.x.at(0)
	default:
		slot = p.x.at(p.x.lo+p.gap()) - p.x.at(p.x.lo)
	}
	inner := slot * 0.76
	if p.X.Step > 0 {
		inner = max(slot-1, 0.5)
	}
	n := float64(max(len(series), 1))
	each := inner / n
	if p.Stacked {
		each = inner
	}
	up, down := make(map[float64]float64), make(map[float64]float64)
	zero := 0.0
	if p.y.log {
		zero = p.y.lo
	}
	for i, s := range series {
		for j, v := range s.Y {
			if math.IsNaN(v) || p.y.log && v <= 0 {
				continue
			}
			x, from, to := s.X[j], zero, v
			left := p.x.at(x) - inner/2 + float64(i)*each
			if p.X.Step > 0 {
				left = p.x.at(x) + 0.5
			}
			if p.Stacked {
				left = p.x.at(x) - inner/2
				sum := up
				if v < 0 {
					sum = down
				}
				from = sum[x]
				sum[x] += v
				to = sum[x]
			}
			p.c.fill(rect(left, p.y.at(from), max(each, 0.5), p.y.at(to)-p.y.at(from)), p.barColour(first+i, x))
			if len(series) == 1 && p.X.Step == 0 && slot > 44 && len(s.Y) <= 16 {
				p.barLabel(left+each/2, p.y.at(to), v)
			}
		}
	}
}

// barColour is grey for the rest that was put together.
func (p *plot) barColour(i int, x float64) color.NRGBA {
	if p.X.Kind == data.Text && len(p.Series) == 1 && int(x) < len(p.X.Labels) && p.X.Labels[int(x)] == p.say("other", "其他") {
		return grey
	}
	return colourOf(i)
}

func (p *plot) barLabel(x, y, v float64) {
	y -= 5
	if v < 0 {
		y += 19
	}
	p.c.text(x, y, brief(v, p.Y.Unit), style{size: 11, colour: soft, at: middle})
}

// brief is a value to three digits.
func brief(v float64, u data.Unit) string {
	if v == 0 {
		return numeral(0, 1, u)
	}
	a := math.Abs(v)
	if v == math.Trunc(v) && a < 1e4 {
		return numeral(v, 1, u)
	}
	p := math.Pow(10, math.Floor(math.Log10(a))-2)
	v = math.Round(v/p) * p
	for s := p; ; s *= 10 {
		if r := v / (s * 10); math.Abs(r-math.Round(r)) > 1e-6 || s > a {
			return numeral(v, s, u)
		}
	}
}

func (p *plot) box(i int, q *Quartile) {
	if q == nil {
		return
	}
	slot := p.x.at(1) - p.x.at(0)
	half := min(slot*0.3, 50)
	x, c := p.x.at(float64(i)), colourOf(i)
	p.c.stroke([]point{{x, p.y.at(q.Low)}, {x, p.y.at(q.Q1)}}, 1.5, c, false)
	p.c.stroke([]point{{x, p.y.at(q.Q3)}, {x, p.y.at(q.High)}}, 1.5, c, false)
	for _, v := range []float64{q.Low, q.High} {
		p.c.stroke([]point{{x - half/2, p.y.at(v)}, {x + half/2, p.y.at(v)}}, 1.5, c, false)
	}
	body := rect(x-half, p.y.at(q.Q3), 2*half, p.y.at(q.Q1)-p.y.at(q.Q3))
	p.c.fill(body, fade(c, 0.3))
	p.c.stroke(append(slices.Clone(body), body[0]), 1.5, c, false)
	p.c.stroke([]point{{x - half, p.y.at(q.Median)}, {x + half, p.y.at(q.Median)}}, 3, c, false)
	var at []point
	for _, v := range q.Outliers {
		at = append(at, point{x, p.y.at(v)})
	}
	p.c.dots(at, 2.5, fade(c, 0.6))
}

// horizontal draws bars from left to right: there is room for long names.
func (p *plot) horizontal(vs scale, ticks []tick) {
	widest := 0.0
	for _, s := range p.X.Labels {
		widest = max(widest, p.fonts.width(s, textSize, false))
	}
	widest = min(widest, (p.r-p.l)*0.4)
	p.l += widest + 10
	p.r -= 50
	if p.Y.Name != "" {
		p.c.text((p.l+p.r)/2, p.b, p.fonts.fit(p.Y.Name, 12, false, p.r-p.l), style{size: 12, colour: soft, at: middle})
		p.b -= 20
	}
	p.b -= 20
	vs.a, vs.b = p.l, p.r
	for _, t := range ticks {
		x := vs.at(t.v)
		p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, faint, false)
		p.c.text(x, p.b+16, t.label, style{size: 12, colour: soft, at: middle})
	}
	slot := (p.b - p.t) / float64(max(1, len(p.X.Labels)))
	each := slot * 0.72
	if !p.Stacked {
		each /= float64(max(1, len(p.Series)))
	}
	for i, s := range p.X.Labels {
		p.c.text(p.l-10, p.t+(float64(i)+0.5)*slot+4.5, p.fonts.fit(s, textSize, false, widest), style{size: textSize, colour: ink, at: end})
	}
	sums := make(map[float64]float64)
	for i, s := range p.Series {
		for j, v := range s.Y {
			if math.IsNaN(v) {
				continue
			}
			from, top := 0.0, p.t+s.X[j]*slot+slot*0.14
			if p.Stacked {
				from = sums[s.X[j]]
				sums[s.X[j]] += v
			} else {
				top += float64(i) * each
			}
			a, b := vs.at(from), vs.at(from+v)
			p.c.fill(rect(a, top, b-a, each), p.barColour(i, s.X[j]))
			if !p.Stacked && each >= 11 {
				p.c.text(max(a, b)+5, top+each/2+4, brief(v, p.Y.Unit), style{size: 11, colour: soft})
			}
		}
	}
	p.c.stroke([]point{{vs.at(max(0, vs.lo)), p.t}, {vs.at(max(0, vs.lo)), p.b}}, 1, axis, false)
}
