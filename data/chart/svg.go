package chart

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"strconv"
)

// svgFonts is the font list of an SVG: a viewer draws the text with its own
// fonts, or with those of [FontFaces].
const svgFonts = "'Noto Sans','Helvetica Neue',Arial,'Noto Sans CJK SC','PingFang SC'," +
	"'Microsoft YaHei','Noto Sans Arabic','Chart Fallback',sans-serif"

// SVG draws the figure as a scalable picture. Its text stays text, which can
// be selected and searched.
func (f *Figure) SVG(fonts *Fonts) ([]byte, error) {
	w, h := f.size()
	s := &svg{w: w, h: h}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g"`, w, h)
	fmt.Fprintf(&s.b, ` viewBox="0 0 %g %g" role="img" font-family="%s"><title>`, w, h, svgFonts)
	s.escape(f.Title)
	s.b.WriteString("</title>\n")
	s.fill(rect(0, 0, w, h), white)
	f.draw(s, fonts)
	s.b.WriteString("</svg>\n")
	if s.err == nil {
		s.err = fonts.broken
	}
	return s.b.Bytes(), s.err
}

// An svg is a canvas of XML elements.
type svg struct {
	b    bytes.Buffer
	w, h float64
	err  error
}

// escape writes text as XML. Characters that XML does not allow are replaced.
func (s *svg) escape(text string) {
	if err := xml.EscapeText(&s.b, []byte(text)); err != nil && s.err == nil {
		s.err = err
	}
}

// number writes a coordinate with at most two decimals.
func (s *svg) number(v float64) {
	s.b.Write(strconv.AppendFloat(s.b.AvailableBuffer(), math.Round(v*100)/100, 'g', -1, 64))
}

func (s *svg) attr(name string, v float64) {
	s.b.WriteString(" " + name + `="`)
	s.number(v)
	s.b.WriteByte('"')
}

func (s *svg) points(path []point) {
	s.b.WriteString(` points="`)
	for i, p := range path {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.number(p.x)
		s.b.WriteByte(',')
		s.number(p.y)
	}
	s.b.WriteByte('"')
}

// paint writes a colour as the attribute "fill" or "stroke".
func (s *svg) paint(attr string, c color.NRGBA) {
	fmt.Fprintf(&s.b, ` %s="%s"`, attr, hex(c))
	if c.A < 255 {
		fmt.Fprintf(&s.b, ` %s-opacity="%.2g"`, attr, float64(c.A)/255)
	}
}

// fill writes a rectangle as a rect element and any other shape as a polygon:
// most shapes are rectangles, and a rect is shorter.
func (s *svg) fill(shape []point, c color.NRGBA) {
	if len(shape) == 4 && shape[0].y == shape[1].y && shape[1].x == shape[2].x &&
		shape[2].y == shape[3].y && shape[0].x == shape[3].x {
		s.b.WriteString("<rect")
		s.attr("x", shape[0].x)
		s.attr("y", shape[0].y)
		s.attr("width", shape[2].x-shape[0].x)
		s.attr("height", shape[2].y-shape[0].y)
	} else {
		s.b.WriteString("<polygon")
		s.points(shape)
	}
	s.paint("fill", c)
	s.b.WriteString("/>\n")
}

func (s *svg) stroke(path []point, width float64, c color.NRGBA, dashed bool) {
	if len(path) < 2 {
		return
	}
	s.b.WriteString(`<polyline fill="none" stroke-linejoin="round"`)
	s.points(path)
	s.paint("stroke", c)
	fmt.Fprintf(&s.b, ` stroke-width="%g"`, width)
	if dashed {
		s.b.WriteString(` stroke-dasharray="6 4"`)
	}
	s.b.WriteString("/>\n")
}

// manyDots is from how many dots on an SVG holds them as an embedded PNG: as
// elements they would take megabytes, and a viewer minutes.
const manyDots = 5000

func (s *svg) dots(at []point, radius float64, c color.NRGBA) {
	if len(at) > manyDots {
		p := newRaster(s.w, s.h, nil)
		p.dots(at, radius, c)
		picture, err := p.encode()
		if err != nil {
			s.err = err
			return
		}
		fmt.Fprintf(&s.b, `<image x="0" y="0" width="%g" height="%g" href="data:image/png;base64,%s"/>`+"\n",
			s.w, s.h, base64.StdEncoding.EncodeToString(picture))
		return
	}
	s.b.WriteString("<g")
	s.paint("fill", c)
	s.b.WriteString(">\n")
	for _, p := range at {
		s.b.WriteString("<circle")
		s.attr("cx", p.x)
		s.attr("cy", p.y)
		s.attr("r", radius)
		s.b.WriteString("/>")
	}
	s.b.WriteString("</g>\n")
}

func (s *svg) text(x, y float64, text string, st style) {
	s.b.WriteString("<text")
	s.attr("x", x)
	s.attr("y", y)
	s.attr("font-size", st.size)
	s.paint("fill", st.colour)
	if st.bold {
		s.b.WriteString(` font-weight="bold"`)
	}
	at := st.at
	if rightToLeft(text) { // SVG counts from where reading starts, a style from the left
		s.b.WriteString(` direction="rtl"`)
		at = map[anchor]anchor{start: end, middle: middle, end: start}[at]
	}
	switch at {
	case middle:
		s.b.WriteString(` text-anchor="middle"`)
	case end:
		s.b.WriteString(` text-anchor="end"`)
	}
	if st.turn != 0 {
		fmt.Fprintf(&s.b, ` transform="rotate(%g %.6g %.6g)"`, -st.turn, x, y)
	}
	if st.halo {
		s.b.WriteString(` paint-order="stroke" stroke="#FFFFFF" stroke-width="3" stroke-opacity="0.85"`)
	}
	s.b.WriteByte('>')
	s.escape(text)
	s.b.WriteString("</text>\n")
}
