package wire

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/openmanus-go/openmanus/llm"
)

// Sees says which images a provider takes. The zero Sees stands for [anySees].
type Sees struct {
	Side  int // the most pixels of a side
	Bytes int // the most bytes of the file
}

// A Seer is a [Format] whose provider has limits of its own for images.
type Seer interface{ Sees() Sees }

// anySees is what most providers take: Google's 20 MB are for the whole request, in base64.
var anySees = Sees{Side: 8000, Bytes: 14 << 20}

// Claude is what Anthropic takes, and Bedrock: 5 MB in base64, 8,000 pixels, and 2,000
// where a request has more than 20 images. Anthropic itself makes larger ones smaller.
var Claude = Sees{Side: 2000, Bytes: 3_932_160}

// maxPixels is how many pixels of an image are decoded, at most.
const maxPixels = 64 << 20

// shown returns messages with the images of messages[i] as the provider of f takes them:
// whole, and small enough. An image that cannot be read becomes words, because a provider
// would refuse the request, and with it all that follow. The result is messages itself if
// there is nothing to do.
func shown(f Format, messages []llm.Message, i int) []llm.Message {
	sees := anySees
	if s, ok := f.(Seer); ok {
		sees = s.Sees()
	}
	parts, changed := sees.parts(messages[i].Parts)
	if !changed {
		return messages
	}
	messages = slices.Clone(messages)
	messages[i].Parts = parts
	return messages
}

// parts returns parts, also those in results, with images that fit, and whether that
// changes anything.
func (s Sees) parts(parts llm.Parts) (fit llm.Parts, changed bool) {
	for i, p := range parts {
		same := true
		switch was := p.(type) {
		case llm.Blob:
			p, same = s.fit(was)
		case llm.Result:
			inner, some := s.parts(was.Parts)
			was.Parts, same = inner, !some
			p = was
		}
		if !same && !changed {
			fit, changed = slices.Clone(parts), true
		}
		if changed {
			fit[i] = p
		}
	}
	if !changed {
		return parts, false
	}
	return fit, true
}

// fit returns b, an image that takes its place, or words. same reports whether it is b.
func (s Sees) fit(b llm.Blob) (p llm.Part, same bool) {
	kind := KindOf(b)
	read, known := map[string]func([]byte) (image.Image, error){
		"image/png": reader(png.Decode), "image/jpeg": reader(jpeg.Decode), "image/webp": reader(webp.Decode),
		"image/gif": reader(gif.Decode), "image/bmp": reader(bmp.Decode), "image/tiff": reader(tiff.Decode)}[kind]
	if !known { // a file, or a format that only the provider can judge
		return b, true
	}
	words := func(why string) (llm.Part, bool) {
		return llm.Text{Text: fmt.Sprintf("[%s cannot be shown to you: %s]", Describe(b), why)}, false
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(b.Data))
	if err == nil && size.Width*size.Height > maxPixels {
		return words(fmt.Sprintf("%d x %d pixels are too many", size.Width, size.Height))
	}
	var img image.Image
	if err == nil {
		img, err = read(b.Data)
	}
	var exotic jpeg.UnsupportedError
	switch {
	case errors.As(err, &exotic), err != nil && animated(b.Data):
		return b, true // which the provider may know
	case err != nil:
		return words("it is damaged: " + err.Error())
	case kind != "image/bmp" && kind != "image/tiff" && !manyFrames(kind, b.Data) && s.takes(img, b.Data):
		return b, true
	}
	data, kind := s.encode(img, kind)
	if data == nil {
		return words("it cannot be made small enough")
	}
	b.Data, b.MIME = data, kind
	return b, false
}

// reader returns a decoder of bytes.
func reader(decode func(io.Reader) (image.Image, error)) func([]byte) (image.Image, error) {
	return func(data []byte) (image.Image, error) { return decode(bytes.NewReader(data)) }
}

// takes reports whether an image is small enough as it is.
func (s Sees) takes(img image.Image, data []byte) bool {
	return len(data) <= s.Bytes && max(img.Bounds().Dx(), img.Bounds().Dy()) <= s.Side
}

// encode returns img in a format that all providers take, as large as s allows; nil if
// nothing is small enough.
func (s Sees) encode(img image.Image, kind string) (data []byte, mime string) {
	for side := s.Side; side >= 64; side /= 2 {
		img = within(img, side)
		var b bytes.Buffer
		if kind != "image/jpeg" {
			if png.Encode(&b, img) == nil && b.Len() <= s.Bytes {
				return b.Bytes(), "image/png"
			}
		}
		b.Reset()
		if jpeg.Encode(&b, onWhite(img), &jpeg.Options{Quality: 85}) == nil && b.Len() <= s.Bytes {
			return b.Bytes(), "image/jpeg"
		}
	}
	return nil, ""
}

// within returns img with sides of at most so many pixels.
func within(img image.Image, side int) image.Image {
	w, h := img.Bounds().Dx(), img.Bounds().Dy()
	most := max(w, h)
	if most <= side {
		return img
	}
	small := image.NewNRGBA(image.Rect(0, 0, max(1, w*side/most), max(1, h*side/most)))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), img, img.Bounds(), draw.Src, nil)
	return small
}

// onWhite returns img on white, since JPEG knows no transparency.
func onWhite(img image.Image) image.Image {
	flat := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(flat, flat.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	draw.Draw(flat, flat.Bounds(), img, img.Bounds().Min, draw.Over)
	return flat
}

// manyFrames reports whether more than one picture is in a GIF: providers take only
// still ones, and the others may be damaged.
func manyFrames(kind string, data []byte) bool {
	if kind != "image/gif" {
		return false
	}
	r := bytes.NewReader(data)
	if _, err := gif.Decode(r); err != nil { // it stops after the first
		return false
	}
	rest := data[len(data)-r.Len():]
	return !bytes.HasPrefix(rest, []byte{0x3B}) // the trailer
}

// animated reports whether data is a WebP with more than one picture.
func animated(data []byte) bool {
	return strings.HasPrefix(string(data[:min(4, len(data))]), "RIFF") && bytes.Contains(data[:min(64, len(data))], []byte("ANIM"))
}
