package chart

import (
	"fmt"
	"image/color"
	"math"
)

// palette is the palette of Okabe and Ito (https://jfly.uni-koeln.de/color/),
// ordered by contrast on white: their yellow comes last and darker, and a grey
// stands in for their black.
var palette = [...]color.NRGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF},
	{0xCC, 0x79, 0xA7, 0xFF}, {0x56, 0xB4, 0xE9, 0xFF}, {0x5B, 0x5B, 0x5B, 0xFF}, {0xB8, 0xA9, 0x00, 0xFF},
}

// sequential are the colours of a heat map from its least to its largest value.
var sequential = [...]color.NRGBA{
	{0xEE, 0xF4, 0xFA, 0xFF}, {0x9E, 0xC9, 0xE2, 0xFF}, {0x3D, 0x8D, 0xC3, 0xFF},
	{0x08, 0x4B, 0x94, 0xFF}, {0x06, 0x24, 0x56, 0xFF},
}

var (
	ink     = color.NRGBA{0x1F, 0x29, 0x37, 0xFF} // titles and labels
	soft    = color.NRGBA{0x4B, 0x55, 0x63, 0xFF} // numbers and names of axes
	faint   = color.NRGBA{0xE5, 0xE7, 0xEB, 0xFF} // the grid
	axis    = color.NRGBA{0x9C, 0xA3, 0xAF, 0xFF}
	white   = color.NRGBA{0xFF, 0xFF, 0xFF, 0xFF}
	marking = color.NRGBA{0xB9, 0x1C, 0x1C, 0xFF} // what insights draw
	grey    = color.NRGBA{0xB8, 0xBE, 0xC7, 0xFF} // the category "other"

	zero     = color.NRGBA{0xF7, 0xF7, 0xF7, 0xFF} // of a heat map with both signs
	negative = color.NRGBA{0xB3, 0x58, 0x06, 0xFF}
	positive = color.NRGBA{0x05, 0x4A, 0x8C, 0xFF}
)

// colourOf is the colour of series i. Beyond the palette its colours repeat,
// lighter each time.
func colourOf(i int) color.NRGBA {
	c := palette[i%len(palette)]
	for range min(i/len(palette), 2) {
		c = mix(c, white, 0.45)
	}
	return c
}

// mix is the colour between a (t = 0) and b (t = 1).
func mix(a, b color.NRGBA, t float64) color.NRGBA {
	m := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.NRGBA{m(a.R, b.R), m(a.G, b.G), m(a.B, b.B), m(a.A, b.A)}
}

// fade is c with an opacity from 0 to 1.
func fade(c color.NRGBA, alpha float64) color.NRGBA {
	c.A = uint8(math.Round(255 * alpha))
	return c
}

// hex writes a colour for SVG and CSS, without its opacity.
func hex(c color.NRGBA) string { return fmt.Sprintf("#%02X%02X%02X", c.R, c.G, c.B) }

// heat is the colour of a heat map's cell: from light to dark between lo and
// hi, or, if values have both signs, from orange through white to blue with
// white at 0.
func heat(v, lo, hi float64) color.NRGBA {
	if lo < 0 && hi > 0 {
		if t := v / max(-lo, hi); t >= 0 {
			return mix(zero, positive, t)
		} else {
			return mix(zero, negative, -t)
		}
	}
	t := 0.5
	if hi > lo {
		t = (v - lo) / (hi - lo)
	}
	p := t * float64(len(sequential)-1)
	i := min(int(p), len(sequential)-2)
	return mix(sequential[i], sequential[i+1], p-float64(i))
}

// readable is the colour of text on the background c: dark on light colours,
// white on dark ones, by their luma (Rec. 601).
func readable(c color.NRGBA) color.NRGBA {
	if 0.299*float64(c.R)+0.587*float64(c.G)+0.114*float64(c.B) > 145 {
		return ink
	}
	return white
}
