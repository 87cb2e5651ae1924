package chart

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
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

// Fonts measure and shape text: Latin, Greek, Cyrillic, Arabic, Hebrew,
// Devanagari, Thai, Chinese, Japanese and Korean, from left to right and from
// right to left. A font is unpacked when the first letter needs it. The zero
// value is ready to use, by many at once.
type Fonts struct {
	mu     sync.Mutex
	faces  map[string]*font.Face
	broken error
	shaper shaping.HarfbuzzShaper
	seg    shaping.Segmenter
}

// fontFor is the font that has r.
func fontFor(r rune, bold bool) string {
	switch {
	case r >= 0x0590 && r < 0x0600 || r >= 0xFB1D && r < 0xFB50:
		return "NotoSansHebrew-Regular"
	case r >= 0x0600 && r < 0x0780 || r >= 0x08A0 && r < 0x0900 || r >= 0xFB50 && r < 0xFE00 || r >= 0xFE70 && r < 0xFEFF:
		return "NotoSansArabic-Regular"
	case r >= 0x0900 && r < 0x0980:
		return "NotoSansDevanagari-Regular"
	case r >= 0x0E00 && r < 0x0E80:
		return "NotoSansThai-Regular"
	case r >= 0x1100 && r < 0x1200 || r >= 0x2E80 && r < 0xFB00 || r >= 0xFE30 && r < 0xFE50 || r >= 0xFF00 && r < 0xFFF0:
		return "DroidSansFallback"
	case bold:
		return "NotoSans-Bold"
	}
	return "NotoSans-Regular"
}

// face returns the font of that name. The lock is held.
func (f *Fonts) face(name string) *font.Face {
	if face, ok := f.faces[name]; ok {
		return face
	}
	face, err := loadFont(name)
	if err != nil {
		f.broken = fmt.Errorf("the font %s: %w", name, err)
		return f.faces["NotoSans-Regular"]
	}
	if f.faces == nil {
		f.faces = make(map[string]*font.Face)
	}
	f.faces[name] = face
	return face
}

func loadFont(name string) (*font.Face, error) {
	ttf, err := unpackFont(name)
	if err != nil {
		return nil, err
	}
	return font.ParseTTF(bytes.NewReader(ttf))
}

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

// faceOf chooses the font of each letter.
type faceOf struct {
	f    *Fonts
	bold bool
}

func (c faceOf) ResolveFace(r rune) *font.Face { return c.f.face(fontFor(r, c.bold)) }

// A glyph is one to draw, with its place relative to the start of the text.
type glyph struct {
	face  *font.Face
	id    font.GID
	x, y  float64 // y grows down
	scale float64 // of font units
}

// shape lays text out on one line, in the order in which it is seen.
func (f *Fonts) shape(text string, size float64, bold bool) (glyphs []glyph, width float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	runes := []rune(text)
	if len(runes) == 0 {
		return nil, 0
	}
	f.face("NotoSans-Regular")
	dir := di.DirectionLTR
	if rightToLeft(runes) {
		dir = di.DirectionRTL
	}
	in := shaping.Input{Text: runes, RunEnd: len(runes), Direction: dir, Size: fixed.Int26_6(size * 64), Language: language.NewLanguage("en")}
	var runs []shaping.Output
	for _, part := range f.seg.Split(in, faceOf{f, bold}) {
		runs = append(runs, f.shaper.Shape(part))
	}
	for _, run := range inSight(runs, dir) {
		scale := size / float64(run.Face.Upem())
		for _, g := range run.Glyphs {
			glyphs = append(glyphs, glyph{run.Face, g.GlyphID, width + float(g.XOffset), -float(g.YOffset), scale})
			width += float(g.Advance)
		}
	}
	return glyphs, width
}

func float(v fixed.Int26_6) float64 { return float64(v) / 64 }

// inSight orders runs as they are seen: those against the direction of the
// text keep their places among each other the other way round.
func inSight(runs []shaping.Output, dir di.Direction) []shaping.Output {
	var out []shaping.Output
	for i := 0; i < len(runs); {
		j := i + 1
		for j < len(runs) && runs[j].Direction == runs[i].Direction {
			j++
		}
		group := append([]shaping.Output(nil), runs[i:j]...)
		if runs[i].Direction == di.DirectionRTL {
			for a, b := 0, len(group)-1; a < b; a, b = a+1, b-1 {
				group[a], group[b] = group[b], group[a]
			}
		}
		if dir == di.DirectionRTL {
			out = append(group, out...)
		} else {
			out = append(out, group...)
		}
		i = j
	}
	return out
}

// rightToLeft reports whether the first letter that has a direction has that.
func rightToLeft(text []rune) bool {
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

// width is that of text on one line.
func (f *Fonts) width(text string, size float64, bold bool) float64 {
	_, w := f.shape(text, size, bold)
	return w
}

// fit cuts text so that it is no wider than most.
func (f *Fonts) fit(text string, size float64, bold bool, most float64) string {
	if f.width(text, size, bold) <= most {
		return text
	}
	r := []rune(text)
	lo, hi := 0, len(r)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		if f.width(string(r[:mid])+"…", size, bold) <= most {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return string(r[:lo]) + "…"
}

// FontFaces is a style sheet with the fonts that text needs beyond Latin,
// Greek and Cyrillic, in itself: for pages that are printed on machines that
// may not have them. It is empty for most texts.
func FontFaces(text string) (string, error) {
	needed := make(map[string]bool)
	for _, r := range text {
		if name := fontFor(r, false); r > 0x7F && name != "NotoSans-Regular" {
			needed[name] = true
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		ttf, err := unpackFont(name)
		if err != nil {
			return "", fmt.Errorf("the font %s: %w", name, err)
		}
		fmt.Fprintf(&b, "@font-face{font-family:\"Chart Fallback\";src:url(data:font/ttf;base64,%s);unicode-range:%s}\n", base64.StdEncoding.EncodeToString(ttf), unicodeRanges[name])
	}
	return b.String(), nil
}

var unicodeRanges = map[string]string{
	"NotoSansHebrew-Regular":     "U+0590-05FF,U+FB1D-FB4F",
	"NotoSansArabic-Regular":     "U+0600-077F,U+08A0-08FF,U+FB50-FDFF,U+FE70-FEFF",
	"NotoSansDevanagari-Regular": "U+0900-097F",
	"NotoSansThai-Regular":       "U+0E00-0E7F",
	"DroidSansFallback":          "U+1100-11FF,U+2E80-FAFF,U+FE30-FE4F,U+FF00-FFEF",
}
