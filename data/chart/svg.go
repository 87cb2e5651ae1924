package chart

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"image/color"
	"strconv"
)

// SVG draws the figure. Text is text: it can be searched, and whoever looks
// draws it with fonts of their own.
func (f *Figure) SVG(fonts *Fonts) ([]byte, error) {
	w, h := f.size()
	s := &svg{fonts: fonts, w: w, h: h}
	fmt.Fprintf(&s.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" font-family="'Noto Sans','Helvetica Neue',Arial,'Noto Sans CJK SC','PingFang SC','Microsoft YaHei','Noto Sans Arabic','Chart Fallback',sans-serif">`, w, h, w, h)
	s.b.WriteString("<title>")
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

// svg is a canvas of XML.
type svg struct {
	b     bytes.Buffer
	fonts *Fonts
	w, h  float64
	err   error
}

func (s *svg) escape(text string) {
	if err := xml.EscapeText(&s.b, []byte(text)); err != nil && s.err == nil {
		s.err = err
	}
}

func (s *svg) number(v float64) {
	s.b.Write(strconv.AppendFloat(s.b.AvailableBuffer(), float64(int64(v*100+0.5*sign(v)))/100, 'g', -1, 64))
}

func sign(v float64) float64 {
	if v < 0 {
		return -1
	}
	return 1
}

func (s *svg) points(path []point) {
	for i, p := range path {
		if i > 0 {
			s.b.WriteByte(' ')
		}
		s.number(p.x)
		s.b.WriteByte(',')
		s.number(p.y)
	}
}

func (s *svg) paint(attr string, c color.NRGBA) {
	fmt.Fprintf(&s.b, ` %s="%s"`, attr, hex(c))
	if c.A < 255 {
		fmt.Fprintf(&s.b, ` %s-opacity="%.2g"`, attr, float64(c.A)/255)
	}
}

func (s *svg) fill(shape []point, c color.NRGBA) {
	if len(shape) == 4 && shape[0].y == shape[1].y && shape[1].x == shape[2].x && shape[2].y == shape[3].y && shape[0].x == shape[3].x {
		s.b.WriteString(`<rect x="`)
		s.number(shape[0].x)
		s.b.WriteString(`" y="`)
		s.number(shape[0].y)
		s.b.WriteString(`" width="`)
		s.number(shape[2].x - shape[0].x)
		s.b.WriteString(`" height="`)
		s.number(shape[2].y - shape[0].y)
	} else {
		s.b.WriteString(`<polygon points="`)
		s.points(shape)
	}
	s.b.WriteByte('"')
	s.paint("fill", c)
	s.b.WriteString("/>\n")
}

func (s *svg) stroke(path []point, width float64, c color.NRGBA, dashed bool) {
	if len(path) < 2 {
		return
	}
	s.b.WriteString(`<polyline fill="none" stroke-linejoin="round" points="`)
	s.points(path)
	s.b.WriteByte('"')
	s.paint("stroke", c)
	fmt.Fprintf(&s.b, ` stroke-width="%g"`, width)
	if dashed {
		s.b.WriteString(` stroke-dasharray="6 4"`)
	}
	s.b.WriteString("/>\n")
}

// many is from how many dots on an SVG has them as a picture: it would take
// megabytes, and viewers minutes.
const many = 5000

func (s *svg) dots(at []point, radius float64, c color.NRGBA) {
	if len(at) > many {
		p := newPixels(int(s.w*pngScale), int(s.h*pngScale), pngScale, s.fonts)
		p.dots(at, radius, c)
		data, err := p.encode()
		if err != nil {
			s.err = err
			return
		}
		fmt.Fprintf(&s.b, `<image x="0" y="0" width="%g" height="%g" href="data:image/png;base64,%s"/>`+"\n", s.w, s.h, base64.StdEncoding.EncodeToString(data))
		return
	}
	s.b.WriteString("<g")
	s.paint("fill", c)
	s.b.WriteString(">\n")
	for _, p := range at {
		s.b.WriteString(`<circle cx="`)
		s.number(p.x)
		s.b.WriteString(`" cy="`)
		s.number(p.y)
		fmt.Fprintf(&s.b, `" r="%g"/>`, radius)
	}
	s.b.WriteString("</g>\n")
}

func (s *svg) text(x, y float64, text string, st style) {
	s.b.WriteString(`<text x="`)
	s.number(x)
	s.b.WriteString(`" y="`)
	s.number(y)
	fmt.Fprintf(&s.b, `" font-size="%g"`, st.size)
	s.paint("fill", st.colour)
	if st.bold {
		s.b.WriteString(` font-weight="bold"`)
	}
	rtl := rightToLeft([]rune(text))
	at := st.at
	if rtl { // the start of such text is its right end
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
