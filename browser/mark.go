package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"strconv"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// Marked returns a picture of the view, as JPEG, on which the elements of p are
// framed and labelled with their indexes.
func (t *Tab) Marked(ctx context.Context, p *Page) ([]byte, error) {
	data, err := t.Screenshot(ctx, false)
	if err != nil {
		return nil, err
	}
	src, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	img := image.NewRGBA(src.Bounds())
	draw.Draw(img, img.Bounds(), src, src.Bounds().Min, draw.Src)
	scale := 1.0 // pixels of the picture in a CSS pixel
	if p.Width > 0 {
		scale = float64(img.Bounds().Dx()) / p.Width
	}
	for _, e := range p.Elements {
		if e.InView {
			mark(img, e, scale)
		}
	}
	var out bytes.Buffer
	if err := jpeg.Encode(&out, img, &jpeg.Options{Quality: 70}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// markColors are used in turn, so that neighbours can be told apart.
var markColors = []color.RGBA{
	{200, 0, 0, 255}, {0, 90, 200, 255}, {0, 120, 0, 255},
	{150, 0, 150, 255}, {160, 80, 0, 255}, {0, 110, 120, 255},
}

// mark draws the frame of an element, and its index in the upper left corner.
func mark(img draw.Image, e *Element, scale float64) {
	ink := image.NewUniform(markColors[e.Index%len(markColors)])
	fill := func(x0, y0, x1, y1 int) {
		draw.Draw(img, image.Rect(x0, y0, x1, y1).Intersect(img.Bounds()), ink, image.Point{}, draw.Src)
	}
	left, top := int(e.Box.X*scale), int(e.Box.Y*scale)
	right, bottom := int((e.Box.X+e.Box.W)*scale), int((e.Box.Y+e.Box.H)*scale)
	fill(left, top, right, top+1)
	fill(left, bottom-1, right, bottom)
	fill(left, top, left+1, bottom)
	fill(right-1, top, right, bottom)

	face, text := basicfont.Face7x13, strconv.Itoa(e.Index)
	left, top = max(0, left), max(0, top)
	fill(left, top, left+len(text)*face.Advance+4, top+face.Height)
	label := font.Drawer{Dst: img, Src: image.White, Face: face, Dot: fixed.P(left+2, top+face.Ascent)}
	label.DrawString(text)
}
