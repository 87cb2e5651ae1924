package chart

import (
	"fmt"
	"strings"
	"testing"
)

func TestFontFor(t *testing.T) {
	for text, want := range map[string]string{
		"aéЖΩ1…": regular, "שלום": "NotoSansHebrew-Regular", "مدينة": "NotoSansArabic-Regular",
		"नमस्ते": "NotoSansDevanagari-Regular", "กรุงเทพ": "NotoSansThai-Regular", "北京かな한글ＡＢ": "DroidSansFallback",
	} {
		for _, r := range text {
			if got := fontFor(r, false); got != want {
				t.Errorf("%c: %s, want %s", r, got, want)
			}
		}
	}
	if fontFor('a', true) != bold || fontFor('北', true) != "DroidSansFallback" {
		t.Error("bold letters")
	}
}

func TestRightToLeft(t *testing.T) {
	for text, want := range map[string]bool{"": false, "abc": false, "123": false, "2024 שלום": true, "abc שלום": false, "(المدينة)": true, "北京": false} {
		if got := rightToLeft(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestShape: every letter has a glyph of its font, and texts of both
// directions keep each part readable.
func TestShape(t *testing.T) {
	var f Fonts
	for _, text := range []string{"Größe Ω Ж", "北京", "שלום", "กรุง", "नमस्ते", "مدينة"} {
		glyphs, width := f.shape(text, 12, false)
		if len(glyphs) == 0 || width <= 0 {
			t.Errorf("%q has no shape", text)
		}
		for _, g := range glyphs {
			if g.id == 0 {
				t.Errorf("%q has a letter that its font lacks", text)
			}
		}
	}
	// In a text from right to left, the number stands on the left.
	glyphs, width := f.shape("אב 12", 12, false)
	_, digits := f.shape("12", 12, false)
	if first := glyphs[0]; first.face != f.faces[regular] || first.x != 0 || width <= digits {
		t.Errorf("%+v of %v", first, width)
	}
	// The second of two scripts from right to left stands on the left.
	if glyphs, _ = f.shape("אب", 12, false); glyphs[0].face != f.faces["NotoSansArabic-Regular"] {
		t.Error("runs of one direction are not in the order of that direction")
	}
	if f.width("W", style{size: 20}) <= f.width("W", style{size: 10}) || f.width("W", style{size: 20, bold: true}) <= f.width("W", style{size: 20}) {
		t.Error("a larger or bolder letter is not wider")
	}
}

func TestTruncate(t *testing.T) {
	var f Fonts
	const text = "a text that is far too long for its place"
	short := f.truncate(text, tickText, 80)
	if !strings.HasSuffix(short, "…") || !strings.HasPrefix(text, strings.TrimSuffix(short, "…")) || f.width(short, style{size: 12}) > 80 {
		t.Errorf("%q is %v wide", short, f.width(short, style{size: 12}))
	}
	if one := f.truncate(text, tickText, f.width(short, style{size: 12})); one != short {
		t.Errorf("%q, want %q", one, short)
	}
	if got := f.truncate("fits", tickText, 100); got != "fits" {
		t.Errorf("%q", got)
	}
	if got := f.truncate("abc", tickText, 0); got != "…" {
		t.Errorf("%q", got)
	}
}

func TestFontFaces(t *testing.T) {
	css, err := FontFaces("Größe שלום 北京")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"unicode-range:U+0590-05FF,U+FB1D-FB4F}", "unicode-range:U+1100-11FF,U+2E80-FAFF,U+FE30-FE4F,U+FF00-FFEF}"} {
		if !strings.Contains(css, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if n := strings.Count(css, "@font-face"); n != 2 {
		t.Errorf("%d fonts, want 2", n)
	}
	if css, err := FontFaces("Größe Ω"); css != "" || err != nil {
		t.Errorf("%d bytes for text that needs none: %v", len(css), err)
	}
	for _, s := range scripts {
		if _, err := unpackFont(s.font); err != nil {
			t.Error(fmt.Sprint(s.font), err)
		}
	}
}
