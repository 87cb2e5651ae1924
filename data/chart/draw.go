package chart

import (
	"cmp"
	"slices"
)

// A plot is a figure on its way onto a canvas.
type plot struct {
	*Figure
	c          canvas
	fonts      *Fonts
	w, h       float64
	l, t, r, b float64 // of the field in which the data is
	x, y, y2   scale
}

const textSize = 13

// draw draws all of the figure.
func (f *Figure) draw(c canvas, fonts *Fonts) {
	p := &plot{Figure: f, c: c, fonts: fonts}
	p.w, p.h = f.size()
	p.l, p.t, p.r, p.b = 24, 20, p.w-24, p.h-20
	p.head()
	if f.Note != "" {
		p.c.text(p.l, p.b, fonts.fit(f.Note, 11, false, p.w-48), style{size: 11, colour: soft})
		p.b -= 20
	}
	switch f.Kind {
	case Pie:
		p.pie()
	case Heatmap:
		p.heatmap()
	default:
		p.legend()
		p.cartesian()
	}
}

// head writes title and subtitle; of a right-to-left title, on the right.
func (p *plot) head() {
	x, at := p.l, start
	if rightToLeft([]rune(p.Title)) {
		x, at = p.r, end
	}
	if p.Title != "" {
		p.c.text(x, p.t+16, p.fonts.fit(p.Title, 20, true, p.r-p.l), style{size: 20, bold: true, colour: ink, at: at})
		p.t += 28
	}
	if p.Subtitle != "" {
		p.c.text(x, p.t+12, p.fonts.fit(p.Subtitle, textSize, false, p.r-p.l), style{size: textSize, colour: soft, at: at})
		p.t += 22
	}
	p.t += 8
}

// legend names the colours, in as many lines as it takes, at most three.
func (p *plot) legend() {
	if len(p.Series) < 2 || p.Kind == Box {
		return
	}
	x, lines := p.l, 1
	for i, s := range p.Series {
		name := p.fonts.fit(s.Name, textSize, false, 220)
		w := p.fonts.width(name, textSize, false) + 40
		if x+w > p.r && x > p.l {
			if lines++; lines > 3 {
				p.c.text(x, p.t+10, "…", style{size: textSize, colour: soft})
				break
			}
			x = p.l
			p.t += 20
		}
		if p.Kind == Line || p.Kind == Dual && s.Second {
			p.c.stroke([]point{{x, p.t + 6}, {x + 16, p.t + 6}}, 3, colourOf(i), false)
		} else {
			p.c.fill(rect(x+2, p.t, 12, 12), colourOf(i))
		}
		p.c.text(x+22, p.t+11, name, style{size: textSize, colour: ink})
		x += w
	}
	p.t += 26
}

// data draws the series.
func (p *plot) data() {
	switch p.Kind {
	case Bar, Histogram:
		p.bars(p.Series, 0)
	case Dual:
		var bars []Series
		for i, s := range p.Series {
			if !s.Second {
				bars = append(bars, s)
			} else {
				p.line(i, s, p.y2)
			}
		}
		p.bars(bars, 0)
		for i, s := range p.Series {
			if s.Second {
				p.line(i, s, p.y2)
			}
		}
	case Line:
		for i, s := range p.Series {
			p.line(i, s, p.y)
		}
	case Area:
		p.areas()
	case Scatter:
		p.scatter()
	case Box:
		for i, s := range p.Series {
			p.box(i, s.Box)
		}
	}
}

// byValue is the order of a pie's slices.
func byValue(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}
