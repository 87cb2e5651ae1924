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

// scale is how many pixels of a PNG one of the figure has.
const pngScale = 2

// PNG draws the figure, at twice its size in pixels.
func (f *Figure) PNG(fonts *Fonts) ([]byte, error) {
	w, h := f.size()
	p := newPixels(int(w*pngScale), int(h*pngScale), pngScale, fonts)
	draw.Draw(p.img, p.img.Bounds(), image.White, image.Point{}, draw.Src)
	f.draw(p, fonts)
	if fonts.broken != nil {
		return nil, fonts.broken
	}
	return p.encode()
}

// pixels is a canvas of an image.
type pixels struct {
	img   *image.RGBA
	scale float64
	fonts *Fonts
	z     vector.Rasterizer
}

func newPixels(w, h int, scale float64, fonts *Fonts) *pixels {
	return &pixels{img: image.NewRGBA(image.Rect(0, 0, w, h)), scale: scale, fonts: fonts}
}

func (p *pixels) encode() ([]byte, error) {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed}
	if p.img.Bounds().Dx() < 4000 {
		e.CompressionLevel = png.DefaultCompression
	}
	err := e.Encode(&b, p.img)
	return b.Bytes(), err
}

// paths fills what add draws into a box of pixels. Parts that overlap count
// once, if all go round the same way.
func (p *pixels) paths(x0, y0, x1, y1 float64, c color.NRGBA, add func(z *vector.Rasterizer, dx, dy float32)) {
	box := image.Rect(int(math.Floor(x0)), int(math.Floor(y0)), int(math.Ceil(x1))+1, int(math.Ceil(y1))+1).Intersect(p.img.Bounds())
	if box.Empty() {
		return
	}
	p.z.Reset(box.Dx(), box.Dy())
	add(&p.z, float32(-box.Min.X), float32(-box.Min.Y))
	p.z.Draw(p.img, box, image.NewUniform(c), image.Point{})
}

func (p *pixels) fill(shape []point, c color.NRGBA) {
	if len(shape) < 3 {
		return
	}
	x0, y0, x1, y1 := bounds(shape)
	s := p.scale
	p.paths(x0*s, y0*s, x1*s, y1*s, c, func(z *vector.Rasterizer, dx, dy float32) {
		addShape(z, shape, s, dx, dy)
	})
}

func addShape(z *vector.Rasterizer, shape []point, s float64, dx, dy float32) {
	for i, q := range shape {
		x, y := float32(q.x*s)+dx, float32(q.y*s)+dy
		if i == 0 {
			z.MoveTo(x, y)
		} else {
			z.LineTo(x, y)
		}
	}
	z.ClosePath()
}

func bounds(shape []point) (x0, y0, x1, y1 float64) {
	x0, y0, x1, y1 = math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, q := range shape {
		x0, y0, x1, y1 = min(x0, q.x), min(y0, q.y), max(x1, q.x), max(y1, q.y)
	}
	return x0, y0, x1, y1
}

// stroke draws every segment as a box and every joint as a disc, all of them
// going round the same way.
func (p *pixels) stroke(path []point, width float64, c color.NRGBA, dashed bool) {
	if dashed {
		for _, part := range dashes(path, 6, 4) {
			p.stroke(part, width, c, false)
		}
		return
	}
	if len(path) < 2 {
		return
	}
	x0, y0, x1, y1 := bounds(path)
	s, r := p.scale, width/2
	p.paths((x0-r)*s, (y0-r)*s, (x1+r)*s, (y1+r)*s, c, func(z *vector.Rasterizer, dx, dy float32) {
		for i := 1; i < len(path); i++ {
			a, b := path[i-1], path[i]
			l := math.Hypot(b.x-a.x, b.y-a.y)
			if l == 0 {
				continue
			}
			nx, ny := -(b.y-a.y)/l*r, (b.x-a.x)/l*r
			addShape(z, []point{{a.x + nx, a.y + ny}, {a.x - nx, a.y - ny}, {b.x - nx, b.y - ny}, {b.x + nx, b.y + ny}}, s, dx, dy)
			if i > 1 && width > 1 {
				addShape(z, disc(a, r), s, dx, dy)
			}
		}
	})
}

// disc goes round as the boxes of stroke do.
func disc(at point, r float64) []point {
	const n = 12
	out := make([]point, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		out[i] = point{at.x + r*cos, at.y + r*sin}
	}
	return out
}

func dashes(path []point, on, off float64) (parts [][]point) {
	left, drawing := on, true
	var cur []point
	for i := 1; i < len(path); i++ {
		a, b := path[i-1], path[i]
		l := math.Hypot(b.x-a.x, b.y-a.y)
		for at := 0.0; at < l; {
			step := min(left, l-at)
			p0 := point{a.x + (b.x-a.x)*at/l, a.y + (b.y-a.y)*at/l}
			at += step
			p1 := point{a.x + (b.x-a.x)*at/l, a.y + (b.y-a.y)*at/l}
			if drawing {
				if cur == nil {
					cur = []point{p0}
				}
				cur = append(cur, p1)
			}
			if left -= step; left <= 1e-9 {
				if drawing {
					parts, cur, left = append(parts, cur), nil, off
				} else {
					left = on
				}
				drawing = !drawing
			}
		}
	}
	if len(cur) > 1 {
		parts = append(parts, cur)
	}
	return parts
}

// dots stamps discs, which are made once.
func (p *pixels) dots(at []point, radius float64, c color.NRGBA) {
	r := radius * p.scale
	n := int(math.Ceil(r))*2 + 3
	mask := image.NewAlpha(image.Rect(0, 0, n, n))
	p.z.Reset(n, n)
	mid := float64(n) / 2
	shape := make([]point, 32)
	for i := range shape {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(len(shape)))
		shape[i] = point{mid + r*cos, mid + r*sin}
	}
	addShape(&p.z, shape, 1, 0, 0)
	p.z.Draw(mask, mask.Bounds(), image.Opaque, image.Point{})
	src := image.NewUniform(c)
	for _, q := range at {
		x, y := int(math.Round(q.x*p.scale-mid)), int(math.Round(q.y*p.scale-mid))
		draw.DrawMask(p.img, image.Rect(x, y, x+n, y+n), src, image.Point{}, mask, image.Point{}, draw.Over)
	}
}

func (p *pixels) text(x, y float64, s string, st style) {
	glyphs, width := p.fonts.shape(s, st.size, st.bold)
	shift := 0.0
	switch st.at {
	case middle:
		shift = -width / 2
	case end:
		shift = -width
	}
	sin, cos := math.Sincos(-st.turn * math.Pi / 180)
	place := func(gx, gy float64) (float32, float32) {
		gx += shift
		return float32((x + gx*cos - gy*sin) * p.scale), float32((y + gx*sin + gy*cos) * p.scale)
	}
	if st.halo {
		w, h := width+4, st.size*1.1
		bx := rect(shift-2, -st.size*0.85, w, h)
		for i, q := range bx {
			bx[i] = point{x + q.x*cos - q.y*sin, y + q.x*sin + q.y*cos}
		}
		p.fill(bx, fade(white, 0.8))
	}
	reach := (width + 2*st.size) * p.scale
	x0, y0 := place(width/2, -st.size/3)
	p.paths(float64(x0)-reach, float64(y0)-reach, float64(x0)+reach, float64(y0)+reach, st.colour, func(z *vector.Rasterizer, dx, dy float32) {
		for _, g := range glyphs {
			p.outline(z, g, place, dx, dy)
		}
	})
}

func (p *pixels) outline(z *vector.Rasterizer, g glyph, place func(x, y float64) (float32, float32), dx, dy float32) {
	p.fonts.mu.Lock()
	data := g.face.GlyphData(g.id)
	p.fonts.mu.Unlock()
	o, ok := data.(font.GlyphOutline)
	if !ok {
		return
	}
	at := func(s opentype.SegmentPoint) (float32, float32) {
		x, y := place(g.x+float64(s.X)*g.scale, g.y-float64(s.Y)*g.scale)
		return x + dx, y + dy
	}
	open := false
	for _, s := range o.Segments {
		ax, ay := at(s.Args[0])
		bx, by := at(s.Args[1])
		cx, cy := at(s.Args[2])
		switch s.Op {
		case opentype.SegmentOpMoveTo:
			if open {
				z.ClosePath()
			}
			z.MoveTo(ax, ay)
			open = true
		case opentype.SegmentOpLineTo:
			z.LineTo(ax, ay)
		case opentype.SegmentOpQuadTo:
			z.QuadTo(ax, ay, bx, by)
		case opentype.SegmentOpCubeTo:
			z.CubeTo(ax, ay, bx, by, cx, cy)
		}
	}
	if open {
		z.ClosePath()
	}
}
