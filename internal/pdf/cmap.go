package pdf

import (
	"slices"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// maxMapped is how many codes a CMap may map: there are 65,536 of two bytes, and a map of those
// of four is made to keep a reader busy.
const maxMapped = 1 << 18

// A cmap is a CMap (section 9.7.5): how strings divide into codes, and what the
// codes stand for.
type cmap struct {
	spaces   []codespace
	texts    map[uint32]string // of a ToUnicode CMap
	cids     map[uint32]int    // of an encoding; nil where each code is its own CID
	vertical bool
	// legacy, if it is not nil, is the character set of the codes.
	legacy encoding.Encoding
	// unicode says that the codes are UTF-16.
	unicode bool
}

// A codespace is a range of codes of n bytes, byte by byte.
type codespace struct {
	n      int
	lo, hi uint32
}

// has reports whether each byte of the code is in the range of its place: a range of codes is
// a box and not an interval (section 9.7.6.2).
func (c codespace) has(code uint32) bool {
	for i := range c.n {
		shift := 8 * i
		if b := code >> shift & 255; b < c.lo>>shift&255 || b > c.hi>>shift&255 {
			return false
		}
	}
	return true
}

// next divides the first code, of n bytes, from a string that is not empty. A code that is in no
// range has as many bytes as those of the first range, so that reading goes on behind it.
func (c *cmap) next(s str) (code uint32, n int) {
	for n = 1; n <= 4 && n <= len(s); n++ {
		code = code<<8 | uint32(s[n-1])
		for _, space := range c.spaces {
			if space.n == n && space.has(code) {
				return code, n
			}
		}
	}
	n = 2
	if len(c.spaces) > 0 {
		n = c.spaces[0].n
	}
	n, code = min(n, len(s)), 0
	for i := range n {
		code = code<<8 | uint32(s[i])
	}
	return code, n
}

// legacySets are the character sets of the predefined CMaps, by a part of their
// names.
var legacySets = []struct {
	part string
	set  encoding.Encoding
	lead [2]byte // the first bytes of codes with two bytes, but for the gap
	gap  [2]byte
}{
	{"RKSJ", japanese.ShiftJIS, [2]byte{0x81, 0xfc}, [2]byte{0xa0, 0xdf}},
	{"GB", simplifiedchinese.GBK, [2]byte{0x81, 0xfe}, [2]byte{}},
	{"B5", traditionalchinese.Big5, [2]byte{0x81, 0xfe}, [2]byte{}},
	{"KSC", korean.EUCKR, [2]byte{0x81, 0xfe}, [2]byte{}},
	{"EUC", japanese.EUCJP, [2]byte{0x8e, 0xfe}, [2]byte{}},
}

// predefined returns a CMap by its name (section 9.7.5.2). Those for which there is
// no table are taken for Identity.
func predefined(n name) *cmap {
	s := string(n)
	c := &cmap{vertical: strings.HasSuffix(s, "-V") || s == "V"}
	two := codespace{2, 0, 0xffff}
	switch {
	case strings.HasPrefix(s, "Identity"):
		c.spaces = []codespace{two}
		return c
	case strings.Contains(s, "UCS2"), strings.Contains(s, "UTF16"):
		c.spaces, c.unicode, c.cids = []codespace{two}, true, map[uint32]int{}
		return c
	}
	for _, l := range legacySets {
		if !strings.Contains(s, l.part) {
			continue
		}
		c.legacy, c.cids = l.set, map[uint32]int{}
		lo, hi := uint32(l.lead[0]), uint32(l.lead[1])
		if l.gap[1] == 0 {
			c.spaces = []codespace{{1, 0, lo - 1}, {2, lo << 8, hi<<8 | 0xff}}
			return c
		}
		from, to := uint32(l.gap[0]), uint32(l.gap[1])
		c.spaces = []codespace{{1, 0, lo - 1}, {1, from, to}, {2, lo << 8, (from-1)<<8 | 0xff},
			{2, (to + 1) << 8, hi<<8 | 0xff}}
		return c
	}
	c.spaces = []codespace{two}
	return c
}

// text returns what a code of n bytes stands for by the CMap itself, or "".
func (c *cmap) text(code uint32, n int) string {
	switch {
	case c.unicode && n == 2 && !utf16.IsSurrogate(rune(code)):
		return string(rune(code))
	case c.legacy != nil:
		b := []byte{byte(code)}
		if n == 2 {
			b = []byte{byte(code >> 8), byte(code)}
		}
		if t, err := c.legacy.NewDecoder().Bytes(b); err == nil && !strings.ContainsRune(string(t), '\uFFFD') {
			return string(t)
		}
	}
	return ""
}

// parseCMap reads a CMap (section 9.7.5.4, and 9.10.3 for ToUnicode; Adobe Technical Note 5014).
// use, which may be nil, returns the one that it extends by its name. A CMap is a PostScript
// program, of which all programs write the same few forms: the operands between "beginbfchar"
// and "endbfchar" are read as a list, and the counts before are not believed.
func parseCMap(data []byte, use func(name) *cmap) *cmap {
	c := &cmap{texts: make(map[uint32]string)}
	l := lexer{data: data}
	var args []object
	for {
		o, ok := l.next()
		if !ok {
			return c
		}
		k, isKeyword := o.(keyword)
		if !isKeyword {
			if args = append(args, o); len(args) > 4*maxMapped {
				return c
			}
			continue
		}
		switch k {
		case "usecmap":
			if n, ok := last(args).(name); ok && use != nil {
				base := use(n)
				c.spaces, c.cids = append(c.spaces, base.spaces...), base.cids
			}
		case "def":
			if n := len(args); n >= 2 && args[n-2] == name("WMode") {
				c.vertical = args[n-1] == 1
			}
		case "endcodespacerange":
			for ; len(args) >= 2; args = args[2:] {
				lo, n := code(args[0])
				hi, _ := code(args[1])
				if n > 0 && len(c.spaces) < 1000 {
					c.spaces = append(c.spaces, codespace{n, lo, hi})
				}
			}
		case "endbfchar":
			for ; len(args) >= 2; args = args[2:] {
				from, _ := code(args[0])
				c.mapText(from, target(args[1]))
			}
		case "endbfrange":
			for ; len(args) >= 3; args = args[3:] {
				c.bfRange(args[0], args[1], args[2])
			}
		case "endcidchar":
			for ; len(args) >= 2; args = args[2:] {
				from, _ := code(args[0])
				if cid, ok := args[1].(int); ok {
					c.mapCID(from, cid)
				}
			}
		case "endcidrange":
			for ; len(args) >= 3; args = args[3:] {
				lo, _ := code(args[0])
				hi, _ := code(args[1])
				cid, ok := args[2].(int)
				for i := lo; ok && i <= hi && i-lo < 1<<16; i++ {
					c.mapCID(i, cid+int(i-lo))
				}
			}
		}
		args = args[:0]
	}
}

func last(args []object) object {
	if len(args) == 0 {
		return nil
	}
	return args[len(args)-1]
}

// code returns the value of a code, and how many bytes it has.
func code(o object) (code uint32, n int) {
	s, _ := o.(str)
	for i := range min(len(s), 4) {
		code = code<<8 | uint32(s[i])
	}
	return code, min(len(s), 4)
}

// target returns the text that a code is mapped to: UTF-16, which may be several characters, or
// the name of a glyph.
func target(o object) string {
	switch v := o.(type) {
	case str:
		return utf16Text(v)
	case name:
		return glyphText(string(v))
	}
	return ""
}

// utf16Text decodes UTF-16, the higher byte first. A single byte is a code point.
func utf16Text(s str) string {
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, len(s)/2)
	for i := range units {
		units[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(units))
}

func (c *cmap) mapText(code uint32, text string) {
	if len(c.texts) < maxMapped {
		c.texts[code] = text
	}
}

func (c *cmap) mapCID(code uint32, cid int) {
	if c.cids == nil {
		c.cids = make(map[uint32]int)
	}
	if len(c.cids) < maxMapped {
		c.cids[code] = cid
	}
}

// bfRange maps a range of codes to texts: those of an array, or one that counts up in its last
// character. The specification lets only the last byte count, so that no range crosses 0xFF;
// programs write longer ones and mean them.
func (c *cmap) bfRange(from, to, dest object) {
	lo, _ := code(from)
	hi, _ := code(to)
	if all, ok := dest.(array); ok {
		for i, o := range all {
			if lo+uint32(i) <= hi {
				c.mapText(lo+uint32(i), target(o))
			}
		}
		return
	}
	text := []rune(target(dest))
	if len(text) == 0 {
		return
	}
	for i := lo; i <= hi && i-lo < 1<<16; i++ {
		next := slices.Clone(text)
		next[len(next)-1] += rune(i - lo)
		c.mapText(i, string(next))
		if i == ^uint32(0) {
			return
		}
	}
}
