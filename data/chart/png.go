package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
	"golang.org/x/image/vector"
)

// pngScale is how many pixels of a PNG one pixel of the figure has, for
// screens of high density.
const pngScale = 2

// PNG draws the figure as a picture of twice its size in pixels.
func (f *Figure) PNG(fonts *Fonts) ([]byte, error) {
	w, h := f.size()
	p := newRaster(w, h, fonts)
	draw.Draw(p.img, p.img.Bounds(), image.White, image.Point{}, draw.Src)
	f.draw(p, fonts)
	if fonts.broken != nil {
		return nil, fonts.broken
	}
	return p.encode()
}

// A raster is a canvas of pixels.
type raster struct {
	img   *image.RGBA
	fonts *Fonts
	z     vector.Rasterizer
}

// newRaster returns a transparent canvas for a figure of a size. fonts may be
// nil if no text is drawn.
func newRaster(w, h float64, fonts *Fonts) *raster {
	return &raster{img: image.NewRGBA(image.Rect(0, 0, int(w*pngScale), int(h*pngScale))), fonts: fonts}
}

// encode returns the canvas as a PNG. A very large one is compressed less, as
// that takes most of the time.
func (p *raster) encode() ([]byte, error) {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.DefaultCompression}
	if p.img.Bounds().Dx() >= 4000 {
		e.CompressionLevel = png.BestSpeed
	}
	err := e.Encode(&b, p.img)
	return b.Bytes(), err
}

// paint fills the outlines that add draws, which lie within box, in pixels of
// the figure. It rasterises no more than that box. Overlapping outlines count
// once if they run the same way round.
func (p *raster) paint(box [2]point, c color.NRGBA, add func(outlines)) {
	r := image.Rect(
		int(math.Floor(box[0].x*pngScale)), int(math.Floor(box[0].y*pngScale)),
		int(math.Ceil(box[1].x*pngScale))+1, int(math.Ceil(box[1].y*pngScale))+1,
	).Intersect(p.img.Bounds())
	if r.Empty() {
		return
	}
	p.z.Reset(r.Dx(), r.Dy())
	add(outlines{&p.z, r.Min})
	p.z.Draw(p.img, r, image.NewUniform(c), image.Point{})
}

// outlines takes paths from the figure's coordinates to those of a rasterizer
// whose first pixel is origin.
type outlines struct {
	z      *vector.Rasterizer
	origin image.Point
}

func (o outlines) at(p point) (x, y float32) {
	return float32(p.x*pngScale - float64(o.origin.X)), float32(p.y*pngScale - float64(o.origin.Y))
}

// polygon adds a closed path.
func (o outlines) polygon(shape []point) {
	for i, q := range shape {
		x, y := o.at(q)
		if i == 0 {
			o.z.MoveTo(x, y)
		} else {
			o.z.LineTo(x, y)
		}
	}
	o.z.ClosePath()
}

// bounds is the smallest box around a path, extended by margin on every side.
func bounds(path []point, margin float64) [2]point {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, q := range path {
		lo, hi = point{min(lo.x, q.x), min(lo.y, q.y)}, point{max(hi.x, q.x), max(hi.y, q.y)}
	}
	return [2]point{{lo.x - margin, lo.y - margin}, {hi.x + margin, hi.y + margin}}
}

func (p *raster) fill(shape []point, c color.NRGBA) {
	if len(shape) >= 3 {
		p.paint(bounds(shape, 0), c, func(o outlines) { o.polygon(shape) })
	}
}

// stroke draws every segment as a rectangle and every joint as a disc, all of
// them the same way round.
func (p *raster) stroke(path []point, width float64, c color.NRGBA, dashed bool) {
	if dashed {
		for _, part := range dashes(path, 6, 4) {
			p.stroke(part, width, c, false)
		}
		return
	}
	if len(path) < 2 {
		return
	}
	r := width / 2
	p.paint(bounds(path, r), c, func(o outlines) {
		for i := 1; i < len(path); i++ {
			a, b := path[i-1], path[i]
			l := math.Hypot(b.x-a.x, b.y-a.y)
			if l == 0 {
				continue
			}
			nx, ny := -(b.y-a.y)/l*r, (b.x-a.x)/l*r
			o.polygon([]point{{a.x + nx, a.y + ny}, {a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}})
			if i > 1 && width > 1 {
				o.polygon(disc(a, r, 12))
			}
		}
	})
}

// disc is a circle as a polygon of n corners.
func disc(at point, r float64, n int) []point {
	out := make([]point, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = point{at.x + r*cos, at.y + r*sin}
	}
	return out
}

// dashes cuts a path into pieces of length on, with gaps of length off.
func dashes(path []point, on, off float64) (parts [][]point) {
	if len(path) == 0 {
		return nil
	}
	drawing, left := true, on // what is left of the current dash or gap
	part := []point{path[0]}
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		for rest := math.Hypot(b.x-a.x, b.y-a.y); rest > 1e-9; {
			step := min(left, rest)
			a = point{a.x + (b.x-a.x)*step/rest, a.y + (b.y-a.y)*step/rest}
			rest, left = rest-step, left-step
			if drawing {
				part = append(part, a)
			}
			if left > 1e-9 {
				continue
			}
			if drawing {
				parts, left = append(parts, part), off
			} else {
				part, left = []point{a}, on
			}
			drawing = !drawing
		}
	}
	if drawing && len(part) > 1 {
		parts = append(parts, part)
	}
	return parts
}

// dots stamps a disc that is rasterised once, at whole pixels.
func (p *raster) dots(at []point, radius float64, c color.NRGBA) {
	n := int(math.Ceil(radius*pngScale))*2 + 3
	mid := float64(n) / 2
	mask := image.NewAlpha(image.Rect(0, 0, n, n))
	p.z.Reset(n, n)
	outlines{&p.z, image.Point{}}.polygon(disc(point{mid / pngScale, mid / pngScale}, radius, 32))
	p.z.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	src := image.NewUniform(c)
	for _, q := range at {
		x, y := int(math.Round(q.x*pngScale-mid)), int(math.Round(q.y*pngScale-mid))
		draw.DrawMask(p.img, image.Rect(x, y, x+n, y+n), src, image.Point{}, mask, image.Point{}, draw.Over)
	}
}

// text fills the outlines of all glyphs at once. Unlike a canvas that draws
// bitmaps of letters, it can turn text by any angle.
func (p *raster) text(x, y float64, s string, st style) {
	glyphs, width := p.fonts.shape(s, st.size, st.bold)
	shift := map[anchor]float64{middle: -width / 2, end: -width}[st.at]
	sin, cos := math.Sincos(-st.turn * math.Pi / 180)
	place := func(at point) point { // from the text's own coordinates
		at.x += shift
		return point{x + at.x*cos - at.y*sin, y + at.x*sin + at.y*cos}
	}
	box := rect(-2, -st.size*0.85, width+4, st.size*1.1)
	for i := range box {
		box[i] = place(box[i])
	}
	if st.halo {
		p.fill(box, fade(white, 0.8))
	}
	p.paint(bounds(box, st.size), st.colour, func(o outlines) {
		for _, g := range glyphs {
			p.fonts.outline(g, o, place)
		}
	})
}

// outline adds the contours of a glyph.
func (f *Fonts) outline(g glyph, o outlines, place func(point) point) {
	f.mu.Lock()
	data := g.face.GlyphData(g.id)
	f.mu.Unlock()
	contours, ok := data.(font.GlyphOutline)
	if !ok {
		return // a bitmap or nothing, such as a space
	}
	open := false
	for _, s := range contours.Segments {
		var x, y [3]float32
		for i, q := range s.Args {
			x[i], y[i] = o.at(place(point{g.x + float64(q.X)*g.scale, g.y - float64(q.Y)*g.scale}))
		}
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			if open {
				o.z.ClosePath()
			}
			o.z.MoveTo(x[0], y[0])
			open = true
		case opentype.SegmentOpLineTo:
			o.z.LineTo(x[0], y[0])
		case opentype.SegmentOpQuadTo:
			o.z.QuadTo(x[0], y[0], x[1], y[1])
		case opentype.SegmentOpCubeTo:
			o.z.CubeTo(x[0], y[0], x[1], y[1], x[2], y[2])
		}
	}
	if open {
		o.z.ClosePath()
	}
}
