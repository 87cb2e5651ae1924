package chart

import (
	"image/color"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
)

// A stack sums values per place, those above 0 upwards and those below 0
// downwards.
type stack struct{ up, down map[float64]float64 }

func newStack() stack { return stack{make(map[float64]float64), make(map[float64]float64)} }

// add puts v on top of what is at x and returns where it begins and ends.
func (s stack) add(x, v float64) (from, to float64) {
	sums := s.up
	if v < 0 {
		sums = s.down
	}
	from = sums[x]
	sums[x] += v
	return from, sums[x]
}

// bars draws the bars of some series beside each other, or on top of each
// other, standing or lying.
func (p *plot) bars(series []Series) {
	slot := p.slot()
	inner := slot * 0.76
	if p.Horizontal {
		inner = slot * 0.72
	}
	if p.X.Step > 0 { // the bins of a histogram touch
		inner = max(slot-1, 0.5)
	}
	each := inner
	if !p.Stacked {
		each = inner / float64(max(len(series), 1))
	}
	base := 0.0
	if p.y.log {
		base = p.y.lo
	}
	sums := newStack()
	for i, s := range series {
		for j, v := range s.Y {
			if math.IsNaN(v) || p.y.log && v <= 0 {
				continue
			}
			from, to := base, v
			begin := p.x.at(s.X[j]) - inner/2
			switch {
			case p.X.Step > 0:
				begin = p.x.at(s.X[j]) + 0.5
			case p.Stacked:
				from, to = sums.add(s.X[j], v)
			default:
				begin += float64(i) * each
			}
			p.bar(begin, max(each, 0.5), p.y.at(from), p.y.at(to), p.barColour(i, s.X[j]))
			if p.labelled(series, slot, each) {
				p.barLabel(begin+each/2, p.y.at(from), p.y.at(to), v)
			}
		}
	}
}

// slot is the room that the axis has for the bars at one place, in pixels.
func (p *plot) slot() float64 {
	width := 1.0
	switch {
	case p.X.Step > 0:
		width = p.X.Step
	case p.X.Kind != data.Text:
		width = p.gap()
	}
	return p.x.at(p.x.lo+width) - p.x.at(p.x.lo)
}

// bar draws a bar that is so thick from begin on, between two values' pixels.
func (p *plot) bar(begin, thick, from, to float64, c color.NRGBA) {
	if p.Horizontal {
		p.c.fill(rect(from, begin, to-from, thick), c)
	} else {
		p.c.fill(rect(begin, from, thick, to-from), c)
	}
}

// barColour is the colour of a bar of series i: grey for the category "other".
func (p *plot) barColour(i int, x float64) color.NRGBA {
	if p.X.Kind == data.Text && len(p.Series) == 1 && p.X.Labels[int(x)] == p.other() {
		return grey
	}
	return colourOf(i)
}

// labelled reports whether there is room to write its value at each bar.
func (p *plot) labelled(series []Series, slot, each float64) bool {
	if p.Horizontal {
		return !p.Stacked && each >= 11
	}
	return len(series) == 1 && p.X.Step == 0 && slot > 44 && len(series[0].Y) <= 16
}

// barLabel writes the value at the end of a bar, mid being its middle.
func (p *plot) barLabel(mid, from, to, v float64) {
	s := brief(v, p.Y.Unit)
	switch {
	case p.Horizontal:
		p.text(max(from, to)+5, mid+4, s, smallText)
	case v < 0:
		p.text(mid, to+14, s, smallText.anchored(middle))
	default:
		p.text(mid, to-5, s, smallText.anchored(middle))
	}
}

// box draws a box plot of one group: the middle half as a box with the median
// in it, whiskers, and outliers as dots.
func (p *plot) box(i int, q *Quartile) {
	if q == nil {
		return
	}
	half := min((p.x.at(1)-p.x.at(0))*0.3, 50)
	x, c := p.x.at(float64(i)), colourOf(i)
	across := func(v, half, width float64) {
		p.c.stroke([]point{{x - half, p.y.at(v)}, {x + half, p.y.at(v)}}, width, c, false)
	}
	p.c.stroke([]point{{x, p.y.at(q.Low)}, {x, p.y.at(q.Q1)}}, 1.5, c, false)
	p.c.stroke([]point{{x, p.y.at(q.Q3)}, {x, p.y.at(q.High)}}, 1.5, c, false)
	across(q.Low, half/2, 1.5)
	across(q.High, half/2, 1.5)
	body := rect(x-half, p.y.at(q.Q3), 2*half, p.y.at(q.Q1)-p.y.at(q.Q3))
	p.c.fill(body, fade(c, 0.3))
	p.c.stroke(append(slices.Clone(body), body[0]), 1.5, c, false)
	across(q.Median, half, 3)
	var at []point
	for _, v := range q.Outliers {
		at = append(at, point{x, p.y.at(v)})
	}
	p.c.dots(at, 2.5, fade(c, 0.6))
}
