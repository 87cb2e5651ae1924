package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"slices"
	"strconv"

	"github.com/chromedp/cdproto/dom"
	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

const (
	viewQuality  = 70  // of the JPEG that a model sees
	smallQuality = 60  // of pictures for people
	smallWidth   = 640 // of pictures for people, in pixels at most
	smallBytes   = 30 << 10
)

// A picture is a picture of the view, or of a part of it.
type picture struct {
	*image.RGBA
	scale float64 // pixels of the picture in a CSS pixel
}

// Marked returns a picture of the view, as JPEG, on which the elements of p are
// framed and labelled with their indexes.
func (t *Tab) Marked(ctx context.Context, p *Page) ([]byte, error) {
	pic, err := t.shot(ctx)
	if err != nil {
		return nil, err
	}
	pic.mark(p, p.Elements)
	return pic.encode(viewQuality)
}

// shot returns a picture of the view.
func (t *Tab) shot(ctx context.Context) (*picture, error) {
	data, err := t.Screenshot(ctx, false)
	if err != nil {
		return nil, err
	}
	return decodePicture(data)
}

func decodePicture(data []byte) (*picture, error) {
	src, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(image.Rect(0, 0, src.Bounds().Dx(), src.Bounds().Dy()))
	draw.Draw(img, img.Bounds(), src, src.Bounds().Min, draw.Src)
	return &picture{RGBA: img, scale: 1}, nil
}

// picture returns a picture of the view that page describes, or nil if there is
// nothing in it: no element, no text, and one colour only.
func (t *Tab) picture(ctx context.Context, page *Page) (*picture, error) {
	pic, err := t.shot(ctx)
	if err != nil {
		return nil, err
	}
	some := slices.ContainsFunc(page.items, func(it item) bool { return it.inView })
	if !some && pic.plain() {
		return nil, nil
	}
	return pic, nil
}

// plain reports whether all pixels have the same colour.
func (p *picture) plain() bool {
	first := p.Pix[:4]
	for i := 4; i < len(p.Pix); i += 4 {
		if !bytes.Equal(p.Pix[i:i+4], first) {
			return false
		}
	}
	return true
}

// encode returns the picture as JPEG.
func (p *picture) encode(quality int) ([]byte, error) {
	var out bytes.Buffer
	err := jpeg.Encode(&out, p, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}

// small returns the picture as a JPEG for people, of about smallBytes at most, or nil.
func (p *picture) small() []byte {
	width, height := p.Bounds().Dx(), p.Bounds().Dy()
	if width > smallWidth {
		width, height = smallWidth, max(1, height*smallWidth/width)
	}
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	xdraw.ApproxBiLinear.Scale(img, img.Bounds(), p, p.Bounds(), draw.Src, nil)
	less := &picture{RGBA: img}
	for quality := smallQuality; ; quality -= 20 {
		data, err := less.encode(quality)
		if err != nil {
			return nil
		}
		if len(data) <= smallBytes || quality <= 20 {
			return data
		}
	}
}

// mark frames elements, and labels them with their indexes. page says how wide the
// view is.
func (p *picture) mark(page *Page, elements []*Element) {
	if page.Width > 0 {
		p.scale = float64(p.Bounds().Dx()) / page.Width
	}
	for _, e := range elements {
		if e.InView {
			p.frame(e)
		}
	}
}

// markColors are used in turn, so that neighbours can be told apart.
var markColors = []color.RGBA{
	{200, 0, 0, 255}, {0, 90, 200, 255}, {0, 120, 0, 255},
	{150, 0, 150, 255}, {160, 80, 0, 255}, {0, 110, 120, 255},
}

// frame draws the frame of an element, and its index in the upper left corner.
func (p *picture) frame(e *Element) {
	ink := image.NewUniform(markColors[e.Index%len(markColors)])
	fill := func(x0, y0, x1, y1 int) {
		draw.Draw(p, image.Rect(x0, y0, x1, y1).Intersect(p.Bounds()), ink, image.Point{}, draw.Src)
	}
	left, top := int(e.Box.X*p.scale), int(e.Box.Y*p.scale)
	right, bottom := int((e.Box.X+e.Box.W)*p.scale), int((e.Box.Y+e.Box.H)*p.scale)
	fill(left, top, right, top+1)
	fill(left, bottom-1, right, bottom)
	fill(left, top, left+1, bottom)
	fill(right-1, top, right, bottom)

	face, text := basicfont.Face7x13, strconv.Itoa(e.Index)
	left, top = max(0, left), max(0, top)
	fill(left, top, left+len(text)*face.Advance+4, top+face.Height)
	label := font.Drawer{Dst: p, Src: image.White, Face: face, Dot: fixed.P(left+2, top+face.Ascent)}
	label.DrawString(text)
}

// margin is around elements in a picture of their surroundings, in CSS pixels.
const margin = 120

// surroundings returns a small picture of elements, framed, with what is around them:
// as much of it as fits into the view, into which it scrolls the last of them, as an
// act on it would. Without elements it is a picture of the view. It is nil if there is
// nothing to see.
func (t *Tab) surroundings(ctx context.Context, elements []*Element) ([]byte, error) {
	if n := len(elements); n > 0 && !elements[n-1].InView {
		_, err := viewing(ctx, t, func(ctx context.Context) (struct{}, error) {
			p := dom.ScrollIntoViewIfNeededParams{BackendNodeID: elements[n-1].node}
			return struct{}{}, elements[n-1].s.Call(ctx, dom.CommandScrollIntoViewIfNeeded, p, nil)
		})
		if err != nil {
			return nil, err
		}
	}
	page, err := t.State(ctx)
	if err != nil {
		return nil, err
	}
	pic, err := t.picture(ctx, page)
	if err != nil || pic == nil {
		return nil, err
	}
	var now []*Element
	for _, e := range elements {
		if e = page.Element(e.Index); e != nil {
			now = append(now, e)
		}
	}
	pic.mark(page, now)
	if area, ok := around(now); ok {
		r := image.Rect(int(area.X*pic.scale), int(area.Y*pic.scale), int((area.X+area.W)*pic.scale), int((area.Y+area.H)*pic.scale))
		if r = r.Intersect(pic.Bounds()); !r.Empty() {
			part := image.NewRGBA(image.Rect(0, 0, r.Dx(), r.Dy()))
			draw.Draw(part, part.Bounds(), pic, r.Min, draw.Src)
			pic = &picture{RGBA: part}
		}
	}
	return pic.small(), nil
}

// around returns the rectangle of the view that elements are in, with a margin; ok is
// false if none of them is in view.
func around(elements []*Element) (area Rect, ok bool) {
	for _, e := range elements {
		if e.Box.W <= 0 || e.Box.H <= 0 || !e.InView {
			continue
		}
		b := Rect{e.Box.X - margin, e.Box.Y - margin, e.Box.W + 2*margin, e.Box.H + 2*margin}
		if ok {
			right, bottom := max(area.X+area.W, b.X+b.W), max(area.Y+area.H, b.Y+b.H)
			b.X, b.Y = min(area.X, b.X), min(area.Y, b.Y)
			b.W, b.H = right-b.X, bottom-b.Y
		}
		area, ok = b, true
	}
	return area, ok
}
