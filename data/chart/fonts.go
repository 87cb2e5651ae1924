package chart

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/language"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
)

//go:embed fonts/*.gz
var fontFiles embed.FS

// The fonts for Latin, Greek and Cyrillic.
const (
	regular = "NotoSans-Regular"
	bold    = "NotoSans-Bold"
)

// scripts are the fonts for what Noto Sans lacks, with the code points that
// each is used for, both ends included. They have one weight.
var scripts = []struct {
	font   string
	ranges [][2]rune
}{
	{"NotoSansHebrew-Regular", [][2]rune{{0x0590, 0x05FF}, {0xFB1D, 0xFB4F}}},
	{"NotoSansArabic-Regular", [][2]rune{
		{0x0600, 0x077F}, {0x08A0, 0x08FF}, {0xFB50, 0xFDFF}, {0xFE70, 0xFEFE}}},
	{"NotoSansDevanagari-Regular", [][2]rune{{0x0900, 0x097F}}},
	{"NotoSansThai-Regular", [][2]rune{{0x0E00, 0x0E7F}}},
	{"DroidSansFallback", [][2]rune{{0x1100, 0x11FF}, {0x2E80, 0xFAFF}, {0xFE30, 0xFE4F}, {0xFF00, 0xFFEF}}},
}

// Fonts measure and shape text: Latin, Greek, Cyrillic, Arabic, Hebrew,
// Devanagari, Thai, Chinese, Japanese and Korean, from left to right and from
// right to left. A font is unpacked when a letter first needs it, so one value
// should serve all charts of a program. The zero value is ready to use, by
// several goroutines at once.
type Fonts struct {
	mu     sync.Mutex
	faces  map[string]*font.Face
	broken error // the first font that could not be read; PNG and SVG return it
	shaper shaping.HarfbuzzShaper
	seg    shaping.Segmenter
}

// fontFor returns the name of the font that has r.
func fontFor(r rune, heavy bool) string {
	for _, s := range scripts {
		for _, span := range s.ranges {
			if r >= span[0] && r <= span[1] {
				return s.font
			}
		}
	}
	if heavy {
		return bold
	}
	return regular
}

// face returns the font of that name, or the regular one if it is broken.
// f.mu is held.
func (f *Fonts) face(name string) *font.Face {
	if face, ok := f.faces[name]; ok {
		return face
	}
	ttf, err := unpackFont(name)
	var face *font.Face
	if err == nil {
		face, err = font.ParseTTF(bytes.NewReader(ttf))
	}
	if err != nil {
		f.broken = fmt.Errorf("the font %s: %w", name, err)
		return f.faces[regular]
	}
	if f.faces == nil {
		f.faces = make(map[string]*font.Face)
	}
	f.faces[name] = face
	return face
}

// unpackFont returns an embedded font as a TrueType file.
func unpackFont(name string) ([]byte, error) {
	packed, err := fontFiles.Open("fonts/" + name + ".ttf.gz")
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// A resolver implements [shaping.Fontmap]: it picks the font of each letter.
type resolver struct {
	fonts *Fonts
	heavy bool
}

// ResolveFace implements [shaping.Fontmap]. The lock of the Fonts is held.
func (c resolver) ResolveFace(r rune) *font.Face { return c.fonts.face(fontFor(r, c.heavy)) }

// A glyph is a shape of a font, at a place relative to the start of its text.
type glyph struct {
	face  *font.Face
	id    font.GID
	x, y  float64 // y grows downwards
	scale float64 // pixels per font unit
}

// shape sets text on one line and returns its glyphs from left to right.
func (f *Fonts) shape(text string, size float64, heavy bool) (glyphs []glyph, width float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runes := []rune(text)
	if len(runes) == 0 {
		return nil, 0
	}
	f.face(regular) // what face falls back to
	dir := di.DirectionLTR
	if rightToLeft(text) {
		dir = di.DirectionRTL
	}
	in := shaping.Input{Text: runes, RunEnd: len(runes), Direction: dir, Size: fixed.Int26_6(size * 64),
		Language: language.NewLanguage("en")}
	var runs []shaping.Output
	for _, part := range f.seg.Split(in, resolver{f, heavy}) {
		runs = append(runs, f.shaper.Shape(part))
	}
	pixels := func(v fixed.Int26_6) float64 { return float64(v) / 64 }
	for _, run := range visualOrder(runs, dir) {
		scale := size / float64(run.Face.Upem())
		for _, g := range run.Glyphs {
			x, y := width+pixels(g.XOffset), -pixels(g.YOffset)
			glyphs = append(glyphs, glyph{run.Face, g.GlyphID, x, y, scale})
			width += pixels(g.Advance)
		}
	}
	return glyphs, width
}

// visualOrder sorts runs from the order in which they are read to the order in
// which they stand from left to right, for a text whose direction is dir. It
// handles two levels of direction, which is what labels have.
func visualOrder(runs []shaping.Output, dir di.Direction) []shaping.Output {
	var out []shaping.Output
	for len(runs) > 0 {
		n := 1
		for n < len(runs) && runs[n].Direction == runs[0].Direction {
			n++
		}
		group := slices.Clone(runs[:n])
		if group[0].Direction == di.DirectionRTL {
			slices.Reverse(group)
		}
		if dir == di.DirectionRTL {
			out = append(group, out...)
		} else {
			out = append(out, group...)
		}
		runs = runs[n:]
	}
	return out
}

// rightToLeft reports whether text reads from right to left: whether its first
// letter with a direction does.
func rightToLeft(text string) bool {
	for _, r := range text {
		switch {
		case r >= 0x0590 && r < 0x0900 || r >= 0xFB1D && r < 0xFE00 || r >= 0xFE70 && r < 0xFEFF:
			return true
		case r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= 0x00C0:
			return false
		}
	}
	return false
}

// width measures text on one line.
func (f *Fonts) width(text string, st style) float64 {
	_, w := f.shape(text, st.size, st.bold)
	return w
}

// widest measures the widest of some texts.
func (f *Fonts) widest(texts []string, st style) (w float64) {
	for _, s := range texts {
		w = max(w, f.width(s, st))
	}
	return w
}

// truncate shortens text, with an ellipsis, to at most so many pixels.
func (f *Fonts) truncate(text string, st style, most float64) string {
	if f.width(text, st) <= most {
		return text
	}
	r := []rune(text)
	lo, hi := 0, len(r)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if f.width(string(r[:mid])+"…", st) <= most {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return string(r[:lo]) + "…"
}

// FontFaces returns a style sheet that embeds the fonts that text needs beyond
// Latin, Greek and Cyrillic, as the family "Chart Fallback": for pages that are
// printed on machines without such fonts. It is empty for most texts.
func FontFaces(text string) (string, error) {
	needed := make(map[string]bool)
	for _, r := range text {
		if r > 0x7F {
			needed[fontFor(r, false)] = true
		}
	}
	var b strings.Builder
	for _, s := range scripts {
		if !needed[s.font] {
			continue
		}
		ttf, err := unpackFont(s.font)
		if err != nil {
			return "", fmt.Errorf("the font %s: %w", s.font, err)
		}
		var ranges []string
		for _, span := range s.ranges {
			ranges = append(ranges, fmt.Sprintf("U+%04X-%04X", span[0], span[1]))
		}
		fmt.Fprintf(&b, "@font-face{font-family:\"Chart Fallback\";src:url(data:font/ttf;base64,%s);",
			base64.StdEncoding.EncodeToString(ttf))
		fmt.Fprintf(&b, "unicode-range:%s}\n", strings.Join(ranges, ","))
	}
	return b.String(), nil
}
