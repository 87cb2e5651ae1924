package chart

// A plot is a figure on its way onto a canvas. The edges of the field, in
// which the data is drawn, start at the edges of the picture; each part of the
// chart that is drawn outside the field moves them inwards to make room.
type plot struct {
	*Figure
	c          canvas
	fonts      *Fonts
	w, h       float64
	l, t, r, b float64 // the edges of the field: left, top, right, bottom
	x, y, y2   scale   // of a horizontal chart, x runs down and y to the right
}

// draw draws the whole figure.
func (f *Figure) draw(c canvas, fonts *Fonts) {
	p := &plot{Figure: f, c: c, fonts: fonts}
	p.w, p.h = f.size()
	p.l, p.t, p.r, p.b = 24, 20, p.w-24, p.h-20
	p.heading()
	if f.Note != "" {
		p.text(p.l, p.b, f.Note, smallText.fitting(p.w-48))
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

// text writes s, shortened to what its style allows.
func (p *plot) text(x, y float64, s string, st style) {
	if st.within > 0 {
		s = p.fonts.truncate(s, st, st.within)
	}
	if s != "" {
		p.c.text(x, y, s, st)
	}
}

// heading writes title and subtitle, on the right if the title reads from
// right to left.
func (p *plot) heading() {
	x, at := p.l, start
	if rightToLeft(p.Title) {
		x, at = p.r, end
	}
	if p.Title != "" {
		p.text(x, p.t+16, p.Title, titleText.anchored(at).fitting(p.r-p.l))
		p.t += 28
	}
	if p.Subtitle != "" {
		p.text(x, p.t+12, p.Subtitle, labelText.in(soft).anchored(at).fitting(p.r-p.l))
		p.t += 22
	}
	p.t += 8
}

// legend names the colours of the series, in at most three lines. The labels
// of boxes stand below them instead.
func (p *plot) legend() {
	if len(p.Series) < 2 || p.Kind == Box {
		return
	}
	x, lines := p.l, 1
	for i, s := range p.Series {
		name := p.fonts.truncate(s.Name, labelText, 220)
		w := p.fonts.width(name, labelText) + 40
		if x+w > p.r && x > p.l {
			if lines++; lines > 3 {
				p.text(x, p.t+10, "…", labelText.in(soft))
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
		p.text(x+22, p.t+11, name, labelText)
		x += w
	}
	p.t += 26
}

// data draws the series of a chart with axes.
func (p *plot) data() {
	switch p.Kind {
	case Bar, Histogram:
		p.bars(p.Series)
	case Dual:
		var bars []Series // which Build puts before the line
		for _, s := range p.Series {
			if !s.Second {
				bars = append(bars, s)
			}
		}
		p.bars(bars)
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
