package browser

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"strconv"
)

// Marked returns a picture of the view, as JPEG, in which the elements of page
// have a frame and their index.
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
	scale := 1.0
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

// mark draws the frame of an element, and its index in the upper left corner.
func mark(img *image.RGBA, e *Element, scale float64) {
	c := markColors[e.Index%len(markColors)]
	r := image.Rect(int(e.Box.X*scale), int(e.Box.Y*scale), int((e.Box.X+e.Box.W)*scale), int((e.Box.Y+e.Box.H)*scale))
	for _, side := range []image.Rectangle{
		{r.Min, image.Pt(r.Max.X, r.Min.Y+1)}, {image.Pt(r.Min.X, r.Max.Y-1), r.Max},
		{r.Min, image.Pt(r.Min.X+1, r.Max.Y)}, {image.Pt(r.Max.X-1, r.Min.Y), r.Max},
	} {
		draw.Draw(img, side.Intersect(img.Bounds()), image.NewUniform(c), image.Point{}, draw.Src)
	}
	text := strconv.Itoa(e.Index)
	at := r.Min
	at.X, at.Y = max(0, at.X), max(0, at.Y)
	box := image.Rect(at.X, at.Y, at.X+len(text)*digitW+2, at.Y+digitH+4)
	draw.Draw(img, box.Intersect(img.Bounds()), image.NewUniform(c), image.Point{}, draw.Src)
	for i, d := range text {
		digit(img, image.Pt(at.X+2+i*digitW, at.Y+2), int(d-'0'))
	}
}

var markColors = []color.RGBA{{200, 0, 0, 255}, {0, 90, 200, 255}, {0, 120, 0, 255}, {150, 0, 150, 255}, {160, 80, 0, 255}, {0, 110, 120, 255}}

const (
	digitW = 8  // of a digit, with the space behind it
	digitH = 10 // of a digit
)

// digits are the ten digits, five rows of three points each.
var digits = [10][5]uint8{
	{7, 5, 5, 5, 7}, {2, 6, 2, 2, 7}, {7, 1, 7, 4, 7}, {7, 1, 7, 1, 7}, {5, 5, 7, 1, 1},
	{7, 4, 7, 1, 7}, {7, 4, 7, 5, 7}, {7, 1, 1, 2, 2}, {7, 5, 7, 5, 7}, {7, 5, 7, 1, 7},
}

func digit(img *image.RGBA, at image.Point, d int) {
	for y, row := range digits[d] {
		for x := range 3 {
			if row&(4>>x) != 0 {
				dot := image.Rect(at.X+2*x, at.Y+2*y, at.X+2*x+2, at.Y+2*y+2)
				draw.Draw(img, dot.Intersect(img.Bounds()), image.White, image.Point{}, draw.Src)
			}
		}
	}
}
