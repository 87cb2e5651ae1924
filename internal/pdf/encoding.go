package pdf

import (
	"embed"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
)

// tableFiles has the tables that the format takes for granted: glyphs.txt has what
// names of glyphs mean, encodings.txt a line for each encoding of simple fonts with
// its 256 names (appendix D of ISO 32000-1), and widths.txt a line for each of the
// standard fonts, which files need not describe (section 9.6.2.2).
//
//go:embed tables
var tableFiles embed.FS

// table returns the lines of a table, without those of comments.
func table(file string) (lines []string) {
	data, err := tableFiles.ReadFile("tables/" + file)
	if err != nil {
		panic(err) // the file is part of the program
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			lines = append(lines, line)
		}
	}
	return lines
}

// glyphTexts is what the names of glyphs mean (the Adobe Glyph List).
var glyphTexts = sync.OnceValue(func() map[string]string {
	texts := make(map[string]string, 4400)
	for _, line := range table("glyphs.txt") {
		glyph, codes, _ := strings.Cut(line, ";")
		texts[glyph] = hexText(strings.Fields(codes)...)
	}
	return texts
})

// dingbatTexts is what the names of the font ZapfDingbats mean, such as a12. In other
// fonts such names have another meaning, if any.
var dingbatTexts = sync.OnceValue(func() map[string]string {
	texts := make(map[string]string, 200)
	for _, line := range table("dingbats.txt") {
		glyph, code, _ := strings.Cut(line, ";")
		texts[glyph] = hexText(code)
	}
	return texts
})

// texLow are the low codes of TeX's fonts OT1 and T1 that have no letter in ASCII.
var texLow = map[int]string{11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl", 16: "“", 17: "”", 18: "„", 19: "«",
	20: "»", 21: "–", 22: "—", 27: "ff", 28: "fi", 29: "fl", 30: "ffi", 31: "ffl", 127: "-"}

// texText returns what a name such as a65 means, which TeX gives to the code 65 of a
// font of pictures, or "".
func texText(glyph string) string {
	if len(glyph) < 2 || glyph[0] != 'a' {
		return ""
	}
	n, err := strconv.Atoi(glyph[1:])
	if err != nil || n > 255 || n < 0 {
		return ""
	}
	if t := texLow[n]; t != "" {
		return t
	}
	if n > 32 && n < 127 || n >= 192 {
		return string(rune(n))
	}
	return ""
}

// encodings are the encodings of simple fonts by the names that files give them: for each code
// the name of a glyph, or "".
var encodings = sync.OnceValue(func() map[name]*[256]string {
	all := make(map[name]*[256]string)
	for _, line := range table("encodings.txt") {
		fields := strings.Fields(line)
		var names [256]string
		for i, n := range fields[1:] {
			if n != "." {
				names[i] = n
			}
		}
		all[name(fields[0])] = &names
	}
	return all
})

// standardWidths are the widths of the 14 standard fonts in thousandths of an em, by the names
// of fonts and glyphs. Those of Courier are all 600 and not in the table.
var standardWidths = sync.OnceValue(func() map[string]map[string]float64 {
	all := make(map[string]map[string]float64)
	for _, line := range table("widths.txt") {
		fields := strings.Fields(line)
		widths := make(map[string]float64, len(fields)/2)
		for i := 1; i+1 < len(fields); i += 2 {
			widths[fields[i]], _ = strconv.ParseFloat(fields[i+1], 64)
		}
		all[fields[0]] = widths
	}
	return all
})

// standardFont returns the widths of the standard font that a font's name stands for, by the
// names of glyphs; nil for fonts of which all letters are equally wide. They are a guess for a
// font that is like none. Six letters and a plus before the name say that it is a part of a font
// (section 9.6.4).
func standardFont(base string) map[string]float64 {
	if i := strings.IndexByte(base, '+'); i == 6 {
		base = base[7:]
	}
	lower := strings.ToLower(base)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(lower, p) })
	}
	bold, italic := has("bold", "black", "heavy"), has("italic", "oblique")
	switch all := standardWidths(); {
	case has("courier", "mono", "consol", "typewriter"):
		return nil
	case has("dingbats"):
		return all["ZapfDingbats"]
	case has("symbol"):
		return all["Symbol"]
	case has("times", "serif", "roman", "georgia") && !has("sans"):
		switch {
		case bold && italic:
			return all["Times-BoldItalic"]
		case bold:
			return all["Times-Bold"]
		case italic:
			return all["Times-Italic"]
		}
		return all["Times-Roman"]
	case bold:
		return all["Helvetica-Bold"]
	default:
		return all["Helvetica"]
	}
}

// hexText returns the text of code points, each of hexadecimal digits; "" if one is
// none.
func hexText(codes ...string) string {
	var b strings.Builder
	for _, c := range codes {
		n, err := strconv.ParseUint(c, 16, 32)
		if err != nil || n > 0x10ffff || utf16.IsSurrogate(rune(n)) {
			return ""
		}
		b.WriteRune(rune(n))
	}
	return b.String()
}

// glyphText returns what the name of a glyph means, or "". By the specification of the Adobe
// Glyph List, what follows a dot is a variant, underscores join the parts of a ligature, and
// uni with groups of four digits, or u with four to six, are code points.
func glyphText(glyph string) string {
	if t, ok := glyphTexts()[glyph]; ok {
		return t
	}
	if i := strings.IndexByte(glyph, '.'); i >= 0 {
		glyph = glyph[:i]
	}
	var b strings.Builder
	for part := range strings.SplitSeq(glyph, "_") {
		t := glyphTexts()[part]
		switch hex := strings.TrimPrefix(part, "uni"); {
		case t != "":
		case hex != part && len(hex)%4 == 0 && len(hex) <= 64:
			var codes []string
			for ; hex != ""; hex = hex[4:] {
				codes = append(codes, hex[:4])
			}
			t = hexText(codes...)
		case len(part) >= 5 && len(part) <= 7 && part[0] == 'u':
			t = hexText(part[1:])
		}
		if t == "" {
			return ""
		}
		b.WriteString(t)
	}
	return b.String()
}
