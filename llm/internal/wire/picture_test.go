package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/openmanus-go/openmanus/llm"
)

// An image that a provider would refuse is made to fit, or becomes words; one that it takes
// stays as it is.
func TestPictures(t *testing.T) {
	noise := image.NewRGBA(image.Rect(0, 0, 1100, 1100))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.Uint32())
	}
	flat := func(w, h int) image.Image {
		return image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.White})
	}
	encode := func(write func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	asPNG := func(m image.Image) []byte { return encode(func(b *bytes.Buffer) error { return png.Encode(b, m) }) }
	asJPEG := func(m image.Image) []byte {
		return encode(func(b *bytes.Buffer) error { return jpeg.Encode(b, m, nil) })
	}
	asGIF := func(n int) []byte {
		g := &gif.GIF{}
		for range n {
			g.Image, g.Delay = append(g.Image, flat(9, 9).(*image.Paletted)), append(g.Delay, 1)
		}
		return encode(func(b *bytes.Buffer) error { return gif.EncodeAll(b, g) })
	}
	huge := asPNG(flat(100, 100))
	copy(huge[16:24], "\x00\x01\x00\x00\x00\x01\x00\x00") // 65,536 x 65,536
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	cut := func(data []byte) []byte { return data[:len(data)*2/3] }
	for _, c := range []struct {
		name string
		mime string
		data []byte
		sees Sees
		want string // the format and size; the words; or "" if it stays
	}{
		{name: "a PNG", mime: "image/png", data: asPNG(flat(40, 30)), sees: Claude},
		{name: "a JPEG", mime: "image/jpeg", data: asJPEG(flat(40, 30)), sees: Claude},
		{name: "a still GIF", mime: "image/gif", data: asGIF(1), sees: Claude},
		{name: "a file", mime: "application/pdf", data: []byte("%PDF-1.7"), sees: Claude},
		{name: "what only a provider can read", mime: "image/heic", data: []byte("\x00\x00\x00\x18ftypheic"), sees: anySees},
		{name: "a PNG without its end", mime: "image/png", data: cut(asPNG(noise)), sees: anySees, want: "it is damaged"},
		{name: "a JPEG without its end", mime: "image/jpeg", data: cut(asJPEG(noise)), sees: anySees, want: "it is damaged"},
		{name: "a GIF without its end", mime: "image/gif", data: cut(asGIF(1)), sees: anySees, want: "it is damaged"},
		{name: "a GIF whose second frame is cut", mime: "image/gif", data: cut(asGIF(3)), sees: anySees, want: "png 9x9"},
		{name: "a film", mime: "image/gif", data: asGIF(3), sees: anySees, want: "png 9x9"},
		{name: "only a header", mime: "image/webp", data: []byte("RIFF\x10\x00\x00\x00WEBPVP8 "), sees: anySees, want: "it is damaged"},
		{name: "a bitmap", mime: "image/bmp", data: encode(func(b *bytes.Buffer) error { return bmp.Encode(b, flat(9, 9)) }), sees: anySees, want: "png 9x9"},
		{name: "wide", mime: "image/png", data: asPNG(flat(9000, 40)), sees: anySees, want: "png 8000x35"},
		{name: "wide, for Claude", mime: "image/png", data: asPNG(flat(9000, 40)), sees: Claude, want: "png 2000x8"},
		{name: "a line", mime: "image/png", data: asPNG(flat(1, 9000)), sees: Claude, want: "png 1x2000"},
		{name: "a large photo", mime: "image/jpeg", data: asJPEG(flat(2400, 1800)), sees: Claude, want: "jpeg 2000x1500"},
		{name: "many bytes", mime: "image/png", data: asPNG(noise), sees: Claude, want: "jpeg 1100x1100"},
		{name: "a bomb", mime: "image/png", data: huge, sees: anySees, want: "65536 x 65536 pixels are too many"},
	} {
		b := llm.Blob{MIME: c.mime, Name: "x", Data: c.data}
		p, same := c.sees.fit(b)
		if same != (c.want == "") {
			t.Errorf("%s: stays %v, %v", c.name, same, describePart(p))
			continue
		}
		got := describePart(p)
		if !same && got != c.want && !strings.Contains(got, "cannot be shown to you: "+c.want) {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
		inResult, changed := c.sees.parts(llm.Parts{llm.Text{Text: "a"}, llm.Result{ID: "r", Parts: llm.Parts{b}}})
		if changed == same || describePart(inResult[1].(llm.Result).Parts[0]) != got {
			t.Errorf("%s: in a result it is another", c.name)
		}
		if one, ok := p.(llm.Blob); ok {
			if _, same := c.sees.fit(one); !same {
				t.Errorf("%s: what was made of it does not fit", c.name)
			}
		}
	}
}

// describePart returns the format and size of an image, or the words.
func describePart(p llm.Part) string {
	switch p := p.(type) {
	case llm.Blob:
		size, format, err := image.DecodeConfig(bytes.NewReader(p.Data))
		if err != nil {
			return err.Error()
		}
		if p.MIME != "image/"+format {
			return format + " that is called " + p.MIME
		}
		return fmt.Sprintf("%s %dx%d", format, size.Width, size.Height)
	case llm.Text:
		return p.Text
	}
	return ""
}
