package chart

import (
	"fmt"
	"image/color"
	"math"
)

// palette is Okabe and Ito's, which people with any kind of colour blindness
// can tell apart, in the order of contrast on white; yellow is last.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF},
	{0xCC, 0x79, 0xA7, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x5B, 0x5B, 0x5B, 0xFF}, {0xB8, 0xA9, 0x00, 0xFF},
}

var (
	ink     = color.NRGBA{0x1F, 0x29, 0x37, 0xFF}
	soft    = color.NRGBA{0x4B, 0x55, 0x63, 0xFF}
	faint   = color.NRGBA{0xE5, 0xE7, 0xEB, 0xFF}
	axis    = color.NRGBA{0x9C, 0xA3, 0xAF, 0xFF}
	white   = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	marking = color.NRGBA{0xB9, 0x1C, 0x1C, 0xFF}
	grey    = color.NRGBA{0xB8, 0xBE, 0xC7, 0xFF}
)

// colourOf is that of series i: beyond the palette it comes again, lighter.
func colourOf(i int) color.NRGBA {
	c := palette[i%len(palette)]
	for range min(i/len(palette), 2) {
		c = mix(c, white, 0.45)
	}
	return c
}

func mix(a, b color.NRGBA, t float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
}

func fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(math.Round(255 * alpha))
	return c
}

func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// heat is the colour of a value: light to dark, or, if values are on both
// sides of 0, orange over white to blue.
func heat(v, lo, hi float64) color.NRGBA {
	if lo < 0 && hi > 0 {
		t := v / max(-lo, hi)
		if t < 0 {
			return mix(color.NRGBA{0xF7, 0xF7, 0xF7, 0xFF}, color.NRGBA{0xB3, 0x58, 0x06, 0xFF}, -t)
		}
		return mix(color.NRGBA{0xF7, 0xF7, 0xF7, 0xFF}, color.NRGBA{0x05, 0x4A, 0x8C, 0xFF}, t)
	}
	t := 0.5
	if hi > lo {
		t = (v - lo) / (hi - lo)
	}
	stops := [...]color.NRGBA{{0xEE, 0xF4, 0xFA, 0xFF}, {0x9E, 0xC9, 0xE2, 0xFF}, {0x3D, 0x8D, 0xC3, 0xFF}, {0x08, 0x4B, 0x94, 0xFF}, {0x06, 0x24, 0x56, 0xFF}}
	p := t * float64(len(stops)-1)
	i := min(int(p), len(stops)-2)
	return mix(stops[i], stops[i+1], p-float64(i))
}

// readable is the colour of text on c.
func readable(c color.NRGBA) color.NRGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) > 145 {
		return ink
	}
	return white
}
