package pdf

import (
	"bytes"
	"cmp"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A font says what codes mean and how wide they are (section 9.5 to 9.10). The shapes of
// its letters do not matter, but the font program's own tables do where nothing else says
// what a code means.
//
// A simple font has codes of one byte, whose glyphs have names. The codes of a composite font
// (Type 0) have up to four bytes; its encoding, a CMap, makes CIDs of them, by which widths are
// given. ToUnicode maps codes, in both kinds, and comes before all else (section 9.10.2).
type font struct {
	composite bool
	encoding  *cmap             // of a composite font
	toUnicode map[uint32]string // nil if the font has none
	glyphs    [256]string       // the names of a simple font's codes
	texts     [256]string       // what the names mean
	widths    map[int]float64   // in ems, by code or CID
	width     float64           // of all others
	vertical  map[int]float64   // heights of vertical writing
	scale     float64           // how large the letters of a Type 3 font are by its size
}

// glyph is what one code of a string shows.
type glyph struct {
	text  string
	known bool    // whether the font says what the code means
	width float64 // in ems; in vertical writing its height
	space bool    // whether it is the code 32 of one byte, which word spacing widens
}

// each calls show with the glyphs of a string in order. A code without a width has the font's
// default; one of .notdef is known to mean nothing.
func (f *font) each(s str, show func(glyph)) {
	if !f.composite {
		for i := range len(s) {
			code := s[i]
			g := glyph{space: code == 32, width: f.width}
			if w, ok := f.widths[int(code)]; ok {
				g.width = w
			}
			g.text, g.known = f.toUnicode[uint32(code)]
			if !meaning(g.text) {
				g.text, g.known = f.texts[code], f.texts[code] != "" || f.glyphs[code] == ".notdef"
			}
			show(g)
		}
		return
	}
	for len(s) > 0 {
		code, n := f.encoding.next(s)
		s = s[n:]
		cid := int(code)
		if f.encoding.cids != nil {
			cid = f.encoding.cids[code]
		}
		g := glyph{width: f.width, space: n == 1 && code == 32}
		if f.encoding.legacy != nil && n == 1 {
			g.width = f.width / 2
		}
		widths := f.widths
		if f.encoding.vertical {
			widths, g.width = f.vertical, 1
		}
		if w, ok := widths[cid]; ok {
			g.width = w
		}
		g.text, g.known = f.toUnicode[code]
		if !meaning(g.text) {
			g.text = f.encoding.text(code, n)
			g.known = g.text != ""
		}
		show(g)
	}
}

// meaning reports whether a text that a font gives for a code says something: some
// fonts map codes to 0, to the replacement character or to private use.
func meaning(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != 0 && r != 0xfffd && (r < 0xe000 || r > 0xf8ff) && r < 0xf0000 })
}

// font returns the font of an object, which is read once if it is given by a reference, as
// in nearly all files. An object that is none is a font of which nothing is known.
func (f *File) font(o object) *font {
	if r, ok := o.(ref); ok {
		if known, ok := f.fonts[r]; ok {
			return known
		}
		ft := f.readFont(f.dict(o))
		f.fonts[r] = ft
		return ft
	}
	return f.readFont(f.dict(o))
}

func (f *File) readFont(d dict) *font {
	ft := &font{widths: make(map[int]float64), scale: 1}
	if s, ok := f.resolve(d["ToUnicode"]).(*stream); ok {
		if data, err := f.decode(s); err == nil {
			ft.toUnicode = parseCMap(data, nil).texts
		}
	}
	if f.name(d["Subtype"]) == "Type0" {
		f.readComposite(ft, d)
	} else {
		f.readSimple(ft, d)
	}
	return ft
}

// readComposite reads a Type 0 font (section 9.7.6): its encoding, the name of a predefined
// CMap or a stream with one, and its only descendant, which has the widths by CID: W and DW,
// and for vertical writing W2. A font without ToUnicode whose CIDs are not those of a known
// collection is looked up in its embedded program.
func (f *File) readComposite(ft *font, d dict) {
	ft.composite, ft.width = true, 1
	switch e := f.resolve(d["Encoding"]).(type) {
	case *stream:
		if data, err := f.decode(e); err == nil {
			ft.encoding = parseCMap(data, predefined)
		}
		if ft.encoding != nil && f.name(e.dict["UseCMap"]) != "" && len(ft.encoding.spaces) == 0 {
			ft.encoding = predefined(f.name(e.dict["UseCMap"]))
		}
	case name:
		ft.encoding = predefined(e)
	}
	if ft.encoding == nil {
		ft.encoding = predefined("Identity-H")
	}
	var cid dict
	if all := f.array(d["DescendantFonts"]); len(all) > 0 {
		cid = f.dict(all[0])
	}
	if w, ok := f.number(cid["DW"]); ok {
		ft.width = w / 1000
	}
	f.cidWidths(cid["W"], 1, ft.widths)
	if ft.encoding.vertical {
		ft.vertical = make(map[int]float64)
		f.cidWidths(cid["W2"], 3, ft.vertical)
	}
	if ft.toUnicode == nil && ft.encoding.cids == nil {
		ft.toUnicode = f.trueTypeTexts(f.dict(cid["FontDescriptor"]), cid)
	}
}

// cidWidths reads the array W, or W2, whose entries have three numbers of which the first
// counts (section 9.7.4.3). Both have two forms: "first [w w w]" for CIDs one after another,
// and "first last w" for a range. They are in thousandths of an em.
func (f *File) cidWidths(o object, size int, widths map[int]float64) {
	all := f.array(o)
	for len(all) >= 2 {
		first, ok := f.number(all[0])
		if !ok {
			return
		}
		if list, ok := f.resolve(all[1]).(array); ok {
			for i := 0; i+size <= len(list); i += size {
				if w, ok := f.number(list[i]); ok {
					widths[int(first)+i/size] = math.Abs(w) / 1000
				}
			}
			all = all[2:]
			continue
		}
		if len(all) < 2+size {
			return
		}
		end, _ := f.number(all[1])
		w, _ := f.number(all[2])
		for i := int(first); i <= int(end) && i-int(first) < 1<<16 && len(widths) < maxMapped; i++ {
			widths[i] = math.Abs(w) / 1000
		}
		all = all[2+size:]
	}
}

// readSimple reads a font whose codes have one byte: Type 1, TrueType or Type 3 (section 9.6).
// Widths are from FirstChar on. The 14 standard fonts need not have any (section 9.6.2.2), and
// files of before PDF 1.5 often leave them out; then they come from the tables, or are a guess,
// which is good enough for telling words apart.
func (f *File) readSimple(ft *font, d dict) {
	descriptor := f.dict(d["FontDescriptor"])
	base := string(f.name(d["BaseFont"]))
	type3 := f.name(d["Subtype"]) == "Type3"
	f.readEncoding(ft, d, descriptor, base)
	unit := 0.001
	if type3 {
		unit = f.type3Size(ft, d)
	}
	ft.width = 0
	if w, ok := f.number(descriptor["MissingWidth"]); ok {
		ft.width = w * unit
	}
	widths := f.array(d["Widths"])
	first, _ := f.number(d["FirstChar"])
	for i, o := range widths[:min(len(widths), 256)] {
		if w, ok := f.number(o); ok {
			ft.widths[int(first)+i] = math.Abs(w) * unit
		}
	}
	if len(widths) > 0 || type3 {
		return
	}
	standard := standardFont(base)
	if standard == nil {
		ft.width = 0.6
		return
	}
	ft.width = cmp.Or(ft.width, 0.5)
	for code, glyph := range ft.glyphs {
		if w, ok := standard[glyph]; ok {
			ft.widths[code] = w / 1000
		}
	}
}

// type3Size returns the unit of a Type 3 font's widths, and finds out how large its letters
// are: its matrix and its box may have any size (section 9.6.5). Chromium writes such fonts for
// glyphs in colour and for variable fonts. A matrix near the usual thousandth means that the
// size in the page is that of the letters; else the height of the box says it.
func (f *File) type3Size(ft *font, d dict) (unit float64) {
	unit = 0.001
	high := 0.001
	if m := f.array(d["FontMatrix"]); len(m) == 6 {
		a, _ := f.number(m[0])
		b, _ := f.number(m[1])
		c, _ := f.number(m[2])
		e, _ := f.number(m[3])
		unit, high = math.Hypot(a, b), math.Hypot(c, e)
	}
	if ft.scale = high * 1000; ft.scale > 0.4 && ft.scale < 2.5 {
		ft.scale = 1
		return unit
	}
	if box := f.array(d["FontBBox"]); len(box) == 4 {
		bottom, _ := f.number(box[1])
		top, _ := f.number(box[3])
		if h := math.Abs(top-bottom) * high; h > 0 {
			ft.scale = h
		}
	}
	return unit
}

// readEncoding finds the names of a simple font's glyphs and what they mean (section 9.6.6). The
// base is the named encoding, else the font program's own, else that of the kind of font; then
// come Differences: numbers, each followed by the names from that code on. Glyphs of Type 3
// fonts have any names, so that those which TeX's programs give are tried last.
func (f *File) readEncoding(ft *font, d, descriptor dict, base string) {
	all := encodings()
	var names *[256]string
	var differences array
	switch e := f.resolve(d["Encoding"]).(type) {
	case name:
		names = all[e]
	case dict:
		names = all[f.name(e["BaseEncoding"])]
		differences = f.array(e["Differences"])
	}
	if names == nil {
		names = f.builtIn(descriptor)
	}
	switch lower := strings.ToLower(base); {
	case names != nil:
	case strings.Contains(lower, "dingbats"):
		names = all["ZapfDingbats"]
	case strings.HasSuffix(lower, "symbol"):
		names = all["Symbol"]
	case f.name(d["Subtype"]) == "TrueType":
		names = all["WinAnsiEncoding"]
	case f.name(d["Subtype"]) == "Type3":
		names = &[256]string{}
	default:
		names = all["StandardEncoding"]
	}
	ft.glyphs = *names
	code := 0
	for _, o := range differences {
		switch v := f.resolve(o).(type) {
		case int:
			code = v
		case name:
			if code >= 0 && code < 256 {
				ft.glyphs[code] = string(v)
			}
			code++
		}
	}
	dingbats := names == all["ZapfDingbats"]
	for i, g := range ft.glyphs {
		switch {
		case g == "":
		case dingbats:
			ft.texts[i] = dingbatTexts()[g]
		default:
			ft.texts[i] = glyphText(g)
		}
		if g != "" && ft.texts[i] == "" && f.name(d["Subtype"]) == "Type3" {
			ft.texts[i] = texText(g)
		}
	}
}

// put matches an entry of a Type 1 font program's encoding, as "dup 65 /A put" (Adobe Type 1
// Font Format, section 2.2). Programs write it in this form, although it is PostScript.
var put = regexp.MustCompile(`dup\s+(\d{1,3})\s*/([^\s/]+)\s+put`)

// builtIn returns the encoding in the program of an embedded font, or nil: the clear text of a
// Type 1 program, up to eexec, or a CFF program (Type1C). Programs of TrueType have none that
// gives names.
func (f *File) builtIn(descriptor dict) *[256]string {
	if s, ok := f.resolve(descriptor["FontFile"]).(*stream); ok {
		data, err := f.decode(s)
		if err != nil {
			return nil
		}
		if i := bytes.Index(data, []byte("eexec")); i >= 0 {
			data = data[:i]
		}
		found := put.FindAllSubmatch(data, 256)
		if len(found) == 0 {
			return nil
		}
		var names [256]string
		for _, m := range found {
			if n, err := strconv.Atoi(string(m[1])); err == nil && n < 256 {
				names[n] = string(m[2])
			}
		}
		return &names
	}
	if s, ok := f.resolve(descriptor["FontFile3"]).(*stream); ok && f.name(s.dict["Subtype"]) == "Type1C" {
		if data, err := f.decode(s); err == nil {
			return cffEncoding(data)
		}
	}
	return nil
}
