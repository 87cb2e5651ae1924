package chart

import (
	"cmp"
	"image/color"
	"maps"
	"math"
	"slices"

	"github.com/openmanus-go/openmanus/data"
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

// cartesian draws what has axes.
func (p *plot) cartesian() {
	xlo, xhi, ylo, yhi := p.ranges(false)
	rows := max(2, int((p.b-p.t)/60))
	yscale, ystep := numberScale(ylo, yhi, rows, p.Y.Log)
	yticks := yscale.numbers(ystep, p.Y.Unit)
	var y2ticks []tick
	if p.Kind == Dual {
		_, _, lo, hi := p.ranges(true)
		// Both axes have the same number of lines, so that one grid serves.
		n := max(1, len(yticks)-1)
		step := nice(hi-min(lo, 0), n)
		if lo > 0 && lo > 0.5*hi {
			step = nice((hi-lo)*1.1, n)
			lo = math.Floor(lo/step) * step
		} else {
			lo = math.Floor(min(lo, 0)/step) * step
		}
		for lo+float64(n)*step < hi {
			step = nice(step*1.2, 1)
			lo = math.Floor(lo/step) * step
		}
		p.y2 = scale{lo: lo, hi: lo + float64(n)*step}
		y2ticks = p.y2.numbers(step, p.Y2.Unit)
	}
	if p.Horizontal {
		p.horizontal(yscale, yticks)
		return
	}
	p.names(yticks, y2ticks)
	xticks := p.below(&xlo, &xhi)
	yscale.a, yscale.b = p.b, p.t
	p.y, p.y2.a, p.y2.b = yscale, p.b, p.t
	p.grid(xticks, yticks, y2ticks)
	p.marksBelow()
	p.data()
	p.marksAbove()
}

// ranges are the least and largest values of the series on one of the axes.
func (p *plot) ranges(second bool) (xlo, xhi, ylo, yhi float64) {
	xlo, xhi, ylo, yhi = math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	up, down := make(map[float64]float64), make(map[float64]float64)
	for _, s := range p.Series {
		if p.Kind == Dual && s.Second != second {
			continue
		}
		if s.Box != nil {
			ylo, yhi = min(ylo, s.Box.Low), max(yhi, s.Box.High)
			for _, v := range s.Box.Outliers {
				ylo, yhi = min(ylo, v), max(yhi, v)
			}
		}
		for i, v := range s.Y {
			x := s.X[i]
			if math.IsNaN(v) || math.IsNaN(x) || p.Y.Log && v <= 0 || p.X.Log && x <= 0 {
				continue
			}
			xlo, xhi = min(xlo, x), max(xhi, x+p.X.Step)
			if p.Stacked {
				if v >= 0 {
					up[x] += v
				} else {
					down[x] += v
				}
				v = up[x]
				ylo = min(ylo, down[x])
			}
			ylo, yhi = min(ylo, v), max(yhi, v)
		}
	}
	switch {
	case p.Y.Log:
	case p.Kind == Bar, p.Kind == Area, p.Kind == Histogram, p.Kind == Dual && !second:
		ylo, yhi = min(ylo, 0), max(yhi, 0)
	case p.Kind == Dual: // the second axis decides for itself
	case ylo > 0 && ylo < 0.4*yhi && p.Kind != Scatter:
		ylo = 0
	}
	return xlo, xhi, ylo, yhi
}

// names makes room on the left and right for the labels of the axes, and
// writes their names above them, where they are read without turning the head.
func (p *plot) names(yticks, y2ticks []tick) {
	if p.Y.Name != "" || p.Y2.Name != "" {
		half := (p.r - p.l) / 2
		p.c.text(p.l, p.t+10, p.fonts.fit(p.Y.Name, 12, false, half), style{size: 12, colour: soft})
		if p.Y2.Name != "" {
			p.c.text(p.r, p.t+10, p.fonts.fit(p.Y2.Name, 12, false, half), style{size: 12, colour: soft, at: end})
		}
		p.t += 24
	}
	left, right := 0.0, 0.0
	for _, t := range yticks {
		left = max(left, p.fonts.width(t.label, 12, false))
	}
	for _, t := range y2ticks {
		right = max(right, p.fonts.width(t.label, 12, false)+8)
	}
	p.l += left + 8
	p.r -= right + 6
}

// below writes the labels of the horizontal axis and makes room for them.
func (p *plot) below(lo, hi *float64) []tick {
	if p.X.Name != "" && !(p.X.Kind == data.Time && p.X.Unit != "") {
		p.c.text((p.l+p.r)/2, p.b, p.fonts.fit(p.X.Name, 12, false, p.r-p.l), style{size: 12, colour: soft, at: middle})
		p.b -= 20
	}
	width := p.r - p.l
	if p.Kind == Box {
		var labels []string
		for _, s := range p.Series {
			labels = append(labels, s.Name)
		}
		return p.categories(labels)
	}
	switch {
	case p.X.Kind == data.Text:
		return p.categories(p.X.Labels)
	case math.IsInf(*lo, 0):
		*lo, *hi = 0, 1
	}
	p.b -= 20
	if p.X.Kind == data.Time {
		pad := 0.0
		if p.Kind == Bar || p.Kind == Dual {
			pad = p.gap() / 2
		}
		if *lo == *hi {
			pad = 86400
		}
		p.x = scale{lo: *lo - pad, hi: *hi + pad, a: p.l, b: p.r}
		return timeTicks(*lo, *hi, max(2, int(width/80)))
	}
	n := max(2, int(width/90))
	if p.Kind == Histogram {
		p.x = scale{lo: *lo, hi: *hi, a: p.l, b: p.r}
		s, step := numberScale(*lo, *hi, n, false)
		return slices.DeleteFunc(s.numbers(step, p.X.Unit), func(t tick) bool { return t.v < *lo-1e-9*step || t.v > *hi+1e-9*step })
	}
	s, step := numberScale(*lo, *hi, n, p.X.Log)
	s.a, s.b = p.l, p.r
	p.x = s
	return s.numbers(step, p.X.Unit)
}

// gap is the least distance of two places.
func (p *plot) gap() float64 {
	var xs []float64
	for _, s := range p.Series {
		xs = append(xs, s.X...)
	}
	slices.Sort(xs)
	least := math.Inf(1)
	for i := 1; i < len(xs); i++ {
		if d := xs[i] - xs[i-1]; d > 0 {
			least = min(least, d)
		}
	}
	if math.IsInf(least, 1) {
		return 86400
	}
	return least
}

// categories makes room for labels below: side by side, else slanted, and if
// there are too many, every so manieth.
func (p *plot) categories(labels []string) []tick {
	n := len(labels)
	slot := (p.r - p.l) / float64(max(n, 1))
	p.x = scale{lo: -0.5, hi: float64(n) - 0.5, a: p.l, b: p.r}
	widest := 0.0
	for _, s := range labels {
		widest = max(widest, p.fonts.width(s, 12, false))
	}
	if widest <= slot-6 {
		p.b -= 20
		var ticks []tick
		for i, s := range labels {
			ticks = append(ticks, tick{float64(i), s})
		}
		return ticks
	}
	every := max(1, int(math.Ceil(22/slot)))
	long := min(widest, 130.0)
	p.b -= long*0.6 + 18
	for i := 0; i < n; i += every {
		s := p.fonts.fit(labels[i], 12, false, long)
		p.c.text(p.x.at(float64(i))+5, p.b+15, s, style{size: 12, colour: soft, at: end, turn: 38})
	}
	return nil
}

// grid draws lines and labels. Labels that would run into each other or out of
// the picture are left out.
func (p *plot) grid(xticks, yticks, y2ticks []tick) {
	for _, t := range yticks {
		y := p.y.at(t.v)
		p.c.stroke([]point{{p.l, y}, {p.r, y}}, 1, faint, false)
		p.c.text(p.l-8, y+4, t.label, style{size: 12, colour: soft, at: end})
	}
	for _, t := range y2ticks {
		p.c.text(p.r+8, p.y2.at(t.v)+4, t.label, style{size: 12, colour: soft})
	}
	last := math.Inf(-1)
	for _, t := range xticks {
		x, w := p.x.at(t.v), p.fonts.width(t.label, 12, false)
		if x-w/2 < last+8 || x < p.l-1 || x > p.r+1 {
			continue
		}
		if p.X.Kind != data.Text && p.Kind != Box {
			if p.Kind == Scatter {
				p.c.stroke([]point{{x, p.t}, {x, p.b}}, 1, faint, false)
			}
			p.c.stroke([]point{{x, p.b}, {x, p.b + 4}}, 1, axis, false)
		}
		tx := min(max(x, w/2+2), p.w-w/2-2)
		p.c.text(tx, p.b+17, t.label, style{size: 12, colour: soft, at: middle})
		last = tx + w/2
	}
	base := p.b
	if !p.y.log && p.y.lo < 0 && p.y.hi > 0 && p.Kind != Scatter {
		base = p.y.at(0)
	}
	p.c.stroke([]point{{p.l, base}, {p.r, base}}, 1, axis, false)
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

func (p *plot) line(i int, s Series, y scale) {
	pts := p.trace(s, y)
	for _, run := range pts {
		if len(run) == 1 {
			p.c.dots(run, 2.5, colourOf(i))
			continue
		}
		width := 2.2
		if len(run) > 2000 {
			width = 1.2
		}
		p.c.stroke(run, width, colourOf(i), false)
	}
	if len(pts) == 1 && len(pts[0]) <= 24 {
		p.c.dots(pts[0], 3, colourOf(i))
	}
}

// trace is a line in pixels, broken where values are missing. In each column
// of pixels with many points only the first, last, least and largest are kept:
// the picture is the same.
func (p *plot) trace(s Series, y scale) (runs [][]point) {
	var run []point
	flush := func() {
		if len(run) > 0 {
			runs = append(runs, thinned(run))
			run = nil
		}
	}
	for i, v := range s.Y {
		if math.IsNaN(v) || y.log && v <= 0 || p.x.log && s.X[i] <= 0 {
			flush()
			continue
		}
		run = append(run, point{p.x.at(s.X[i]), y.at(v)})
	}
	flush()
	return runs
}

func thinned(run []point) []point {
	if len(run) < 4000 {
		return run
	}
	const column = 0.5
	var out []point
	for i := 0; i < len(run); {
		lo, hi, j := i, i, i
		for ; j < len(run) && math.Floor(run[j].x/column) == math.Floor(run[i].x/column); j++ {
			if run[j].y < run[lo].y {
				lo = j
			}
			if run[j].y > run[hi].y {
				hi = j
			}
		}
		keep := []int{i, min(lo, hi), max(lo, hi), j - 1}
		for _, k := range slices.Compact(keep) {
			out = append(out, run[k])
		}
		i = j
	}
	return out
}

// areas fills what is below the lines, stacked or over each other.
func (p *plot) areas() {
	base := make(map[float64]float64)
	for i, s := range p.Series {
		if p.Stacked {
			s = p.everywhere(s)
		}
		var top, bottom []point
		for j, v := range s.Y {
			if math.IsNaN(v) {
				v = 0
			}
			from := 0.0
			if p.Stacked {
				from = base[s.X[j]]
				base[s.X[j]] += v
			}
			x := p.x.at(s.X[j])
			top, bottom = append(top, point{x, p.y.at(from + v)}), append(bottom, point{x, p.y.at(from)})
		}
		top, bottom = thinned(top), thinned(bottom)
		alpha := 0.35
		if p.Stacked {
			alpha = 0.85
		}
		slices.Reverse(bottom)
		p.c.fill(append(slices.Clone(top), bottom...), fade(colourOf(i), alpha))
		p.c.stroke(top, 1.6, colourOf(i), false)
	}
}

// everywhere gives a series a place wherever any has one: 0 where it has none.
// Otherwise what is stacked on it would lean into the gap.
func (p *plot) everywhere(s Series) Series {
	at := make(map[float64]float64)
	for _, o := range p.Series {
		for _, x := range o.X {
			at[x] = 0
		}
	}
	for j, v := range s.Y {
		if !math.IsNaN(v) {
			at[s.X[j]] = v
		}
	}
	out := Series{Name: s.Name, X: slices.Sorted(maps.Keys(at))}
	for _, x := range out.X {
		out.Y = append(out.Y, at[x])
	}
	return out
}

func (p *plot) scatter() {
	total := 0
	for _, s := range p.Series {
		total += len(s.Y)
	}
	r, alpha := 4.0, 0.7
	switch {
	case total > 20_000:
		r, alpha = 1.2, 0.12
	case total > 3000:
		r, alpha = 2, 0.3
	case total > 500:
		r, alpha = 3, 0.5
	}
	for i, s := range p.Series {
		var at []point
		for j, v := range s.Y {
			if !math.IsNaN(v) && !math.IsNaN(s.X[j]) && !(p.y.log && v <= 0) && !(p.x.log && s.X[j] <= 0) {
				at = append(at, point{p.x.at(s.X[j]), p.y.at(v)})
			}
		}
		p.c.dots(at, r, fade(colourOf(i), alpha))
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

// byValue is the order of a pie's slices.
func byValue(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}
