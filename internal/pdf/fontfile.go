package pdf

import (
	"encoding/binary"
	"sync"
)

// cffStrings are the names that fonts of the Compact Font Format share (Adobe
// Technical Note 5176, appendix A).
var cffStrings = sync.OnceValue(func() []string { return table("cff.txt") })

// A bin reads big-endian numbers. After the end of the data it is broken, and all
// numbers are 0.
type bin struct {
	data   []byte
	broken bool
}

// at returns what follows offset.
func (b *bin) at(offset int) *bin {
	if offset < 0 || offset > len(b.data) {
		return &bin{broken: true}
	}
	return &bin{data: b.data[offset:], broken: b.broken}
}

// uint reads a number of n bytes.
func (b *bin) uint(n int) int {
	if b.broken || n < 0 || n > 4 || len(b.data) < n {
		b.broken = true
		return 0
	}
	v := 0
	for _, c := range b.data[:n] {
		v = v<<8 | int(c)
	}
	b.data = b.data[n:]
	return v
}

// index reads an INDEX and moves past it (Technical Note 5176, section 5): a count, the size of
// offsets, one more offset than objects, counted from 1, and the objects. The results are parts
// of the data.
func (b *bin) index() [][]byte {
	count := b.uint(2)
	if count == 0 || b.broken {
		return nil
	}
	size := b.uint(1)
	if size < 1 || size > 4 || (count+1)*size > len(b.data) {
		b.broken = true
		return nil
	}
	offsets := make([]int, count+1)
	for i := range offsets {
		offsets[i] = b.uint(size) - 1
	}
	all := make([][]byte, count)
	for i := range all {
		if offsets[i] < 0 || offsets[i] > offsets[i+1] || offsets[i+1] > len(b.data) {
			b.broken = true
			return nil
		}
		all[i] = b.data[offsets[i]:offsets[i+1]]
	}
	*b = *b.at(offsets[count])
	return all
}

// cffDict reads the integers of a DICT (section 4 of the note): the last operand of each
// operator. An operator of two bytes, of which the first is 12, has 1200 added to the second.
// Real numbers are passed over: no operator that matters here has one.
func cffDict(data []byte) map[int]int {
	all := make(map[int]int)
	operand := 0
	for b := (&bin{data: data}); len(b.data) > 0 && !b.broken; {
		switch c := b.uint(1); {
		case c == 12:
			all[1200+b.uint(1)] = operand
		case c <= 21:
			all[c] = operand
		case c == 28:
			operand = int(int16(b.uint(2)))
		case c == 29:
			operand = int(int32(b.uint(4)))
		case c == 30: // a real number, of which the last half byte is 15
			for !b.broken && b.uint(1)&15 != 15 {
			}
		case c >= 32 && c <= 246:
			operand = c - 139
		case c >= 247 && c <= 250:
			operand = (c-247)*256 + b.uint(1) + 108
		case c >= 251 && c <= 254:
			operand = -(c-251)*256 - b.uint(1) - 108
		}
	}
	return all
}

// cffEncoding returns the encoding in a font program of the Compact Font Format, or nil. The
// file is a header, and the INDEXes of names, of top DICTs and of strings; the top DICT says
// where the charset (15), the encoding (16) and the glyphs (17) are. A font by CIDs (12 30) has
// no names, and is never a simple font.
func cffEncoding(data []byte) *[256]string {
	file := &bin{data: data}
	head := file.at(2)
	b := file.at(head.uint(1))
	b.index() // names
	tops, own := b.index(), b.index()
	if b.broken || len(tops) == 0 {
		return nil
	}
	top := cffDict(tops[0])
	glyphs := file.at(top[17]).uint(2)
	if _, isCID := top[1230]; isCID || glyphs == 0 {
		return nil
	}
	name := func(sid int) string {
		standard := cffStrings()
		if sid < len(standard) {
			return standard[sid]
		}
		if sid -= len(standard); sid < len(own) {
			return string(own[sid])
		}
		return ""
	}
	names := make([]string, glyphs) // by glyph
	for i, sid := range cffCharset(file, top[15], glyphs) {
		names[i] = name(sid)
	}
	if top[16] < 2 { // the standard encoding, or that of experts
		return nil
	}
	return cffCodes(file.at(top[16]), names, name)
}

// cffCharset returns the number of the string that each glyph is called by (section 13). Format
// 0 lists them; 1 and 2 have ranges, with counts of one and two bytes. Glyph 0 is .notdef and
// not listed.
func cffCharset(file *bin, offset, glyphs int) []int {
	sids := make([]int, glyphs)
	if offset < 3 { // ISOAdobe; the two for experts are rare
		for i := range sids {
			sids[i] = i
		}
		return sids
	}
	b := file.at(offset)
	format := b.uint(1)
	for i := 1; i < glyphs && !b.broken; {
		first, more := b.uint(2), 0
		if format > 0 {
			more = b.uint(format)
		}
		for j := 0; j <= more && i < glyphs; j++ {
			sids[i] = first + j
			i++
		}
	}
	return sids
}

// cffCodes reads an encoding (section 12): the code of each glyph in format 0, ranges of codes
// in format 1, and, if the highest bit of the format is set, more codes for glyphs by name.
func cffCodes(b *bin, names []string, name func(sid int) string) *[256]string {
	var all [256]string
	set := func(code, glyph int) {
		if code < 256 && glyph < len(names) {
			all[code] = names[glyph]
		}
	}
	format := b.uint(1)
	count := b.uint(1)
	for glyph := 1; count > 0 && !b.broken; count-- {
		code, more := b.uint(1), 0
		if format&127 == 1 {
			more = b.uint(1)
		}
		for j := 0; j <= more; j++ {
			set(code+j, glyph)
			glyph++
		}
	}
	if format&128 != 0 {
		for count = b.uint(1); count > 0 && !b.broken; count-- {
			code := b.uint(1)
			all[code] = name(b.uint(2))
		}
	}
	return &all
}

// trueTypeTexts returns the texts of CIDs by the character map of the embedded font program,
// turned round; nil if it has none. It is for fonts that do not say what their codes mean, as
// some programs write them for printing. CIDs are numbers of glyphs, unless CIDToGIDMap has two
// bytes for each that say which glyph it is (section 9.7.4.2).
func (f *File) trueTypeTexts(descriptor, cid dict) map[uint32]string {
	s, ok := f.resolve(descriptor["FontFile2"]).(*stream)
	if !ok {
		return nil
	}
	data, err := f.decode(s)
	if err != nil {
		return nil
	}
	runes := trueTypeRunes(data)
	if len(runes) == 0 {
		return nil
	}
	texts := make(map[uint32]string, len(runes))
	if m, ok := f.resolve(cid["CIDToGIDMap"]).(*stream); ok {
		if table, err := f.decode(m); err == nil {
			for i := 0; i+1 < len(table); i += 2 {
				if r := runes[int(table[i])<<8|int(table[i+1])]; r != 0 {
					texts[uint32(i/2)] = string(r)
				}
			}
			return texts
		}
	}
	for gid, r := range runes {
		texts[uint32(gid)] = string(r)
	}
	return texts
}

// trueTypeRunes returns the code points of glyphs by the table cmap (OpenType 1.9).
// Where several have one glyph, the smallest counts.
func trueTypeRunes(data []byte) map[int]rune {
	file := &bin{data: data}
	head := file.at(4)
	tables := head.uint(2)
	head = file.at(12)
	var table *bin
	for range tables {
		tag := head.uint(4)
		head.uint(4)
		offset := head.uint(4)
		head.uint(4)
		if tag == int(binary.BigEndian.Uint32([]byte("cmap"))) {
			table = file.at(offset)
		}
	}
	if table == nil {
		return nil
	}
	runes := make(map[int]rune)
	left := maxMapped
	set := func(gid int, r rune) bool {
		if old := runes[gid]; gid != 0 && r != 0 && (old == 0 || r < old) {
			runes[gid] = r
		}
		left--
		return left > 0
	}
	list := table.at(2)
	for range min(list.uint(2), 100) {
		platform, kind := list.uint(2), list.uint(2)
		sub := table.at(list.uint(4))
		if platform == 0 || platform == 3 && (kind == 1 || kind == 10) {
			readCmapTable(sub, set)
		}
	}
	return runes
}

// readCmapTable reads a subtable of the formats 4 and 12, until set returns false. Format 4 has
// four arrays of segments, after one another with two bytes of padding after the first: ends,
// starts, deltas, and offsets, which count from their own place. Format 12 has groups of first
// and last character and the first glyph. Other formats are for what no reader needs today.
func readCmapTable(sub *bin, set func(gid int, r rune) bool) {
	at := *sub
	switch at.uint(2) {
	case 12:
		list := sub.at(12)
		for range min(list.uint(4), 1<<16) {
			first, end, gid := list.uint(4), list.uint(4), list.uint(4)
			for i := first; i <= end; i++ {
				if list.broken || !set(gid+i-first, rune(i)) {
					return
				}
			}
		}
	case 4:
		n := sub.at(6).uint(2) / 2
		ends, starts := sub.at(14), sub.at(16+2*n)
		deltas, offsets := sub.at(16+4*n), sub.at(16+6*n)
		for i := range n {
			end, start, delta := ends.uint(2), starts.uint(2), deltas.uint(2)
			offset := offsets.uint(2)
			if offsets.broken {
				return
			}
			for c := start; c <= end && c < 0xffff; c++ {
				gid := c
				known := true
				if offset != 0 {
					gid = sub.at(16 + 6*n + 2*i + offset + 2*(c-start)).uint(2)
					known = gid != 0
				}
				if gid = (gid + delta) & 0xffff; !known {
					gid = 0
				}
				if !set(gid, rune(c)) {
					return
				}
			}
		}
	}
}
