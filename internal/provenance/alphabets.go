package provenance

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An alphabet is an encoding of bytes in which each character stands for a
// fixed number of bits.
type alphabet struct {
	bits  uint
	group int        // after how many characters a byte begins at a character again
	least int        // the fewest characters that are decoded
	value [256]uint8 // of each character, or skip or stop
	// accept says whether a sequence of such characters, which stand next to each
	// other in the text, may be encoded. It keeps most ordinary words away.
	accept func(word string, sources bool) bool
	// join says that accepted words are decoded together with what follows.
	join bool
}

const (
	skip = 0xfe // may stand between two characters
	stop = 0xff
)

func newAlphabet(bits uint, group, least int, chars, skips string) *alphabet {
	a := &alphabet{bits: bits, group: group, least: least}
	for i := range a.value {
		a.value[i] = stop
	}
	for i := range len(skips) {
		a.value[skips[i]] = skip
	}
	for i := range len(chars) {
		a.value[chars[i]] = uint8(i % (1 << bits))
	}
	return a
}

const (
	upperCase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowerCase = "abcdefghijklmnopqrstuvwxyz"
	blanks    = " \t\r\n"
	marks     = "!\"#$%&'()*,.:;<=>?@[\\]^`{|}~"
)

var base64Alphabet = func() *alphabet {
	a := newAlphabet(6, 4, 4, upperCase+lowerCase+"0123456789+/", blanks+marks)
	a.value['-'], a.value['_'] = 62, 63
	return a
}()

var base32Alphabet = newAlphabet(5, 8, 7, upperCase+"234567"+lowerCase+"234567", blanks+"=-\"'+.,")

var hexAlphabet = func() *alphabet {
	a := newAlphabet(4, 2, 4, "0123456789abcdef", blanks+":,-;\\%\"'+._()[]{}/")
	for c := byte('A'); c <= 'F'; c++ {
		a.value[c] = c - 'A' + 10
	}
	return a
}()

var binaryAlphabet = newAlphabet(1, 8, 14, "01", blanks+",;:_-|\"'+.")

// decode finds texts encoded in a at any place of a text, and at any character
// of a longer encoded text.
func (a *alphabet) decode(d *decoding, v *view) {
	text := v.text
	var vals []uint8
	var pos []int32
	flush := func() {
		if len(vals) >= a.least {
			a.segment(d, vals, pos)
		}
		vals, pos = vals[:0], pos[:0]
	}
	for i := 0; i < len(text); i++ {
		switch k := a.value[text[i]]; {
		case k < skip:
			if a == hexAlphabet && text[i] == '0' && i+1 < len(text) && text[i+1]|0x20 == 'x' {
				i++ // the prefix 0x
				continue
			}
			vals = append(vals, k)
			pos = append(pos, int32(i))
		case k == skip || text[i] >= utf8.RuneSelf:
			if d.sources && text[i] != '\n' && text[i] != '\r' && a == base64Alphabet {
				flush()
			}
		case a == hexAlphabet && text[i]|0x20 == 'x' && i > 0 && text[i-1] == '\\':
		default:
			flush()
		}
	}
	flush()
}

// segment decodes characters that belong together, beginning with each
// character of a group.
func (a *alphabet) segment(d *decoding, vals []uint8, pos []int32) {
	if d.sources && !a.looksEncoded(d.v.text, pos) {
		return
	}
	buf := make([]byte, 0, len(vals)*int(a.bits)/8+1)
	for skipped := 0; skipped < a.group && skipped < len(vals); skipped++ {
		buf = buf[:0]
		acc, n := uint(0), uint(0)
		for _, k := range vals[skipped:] {
			acc = acc<<a.bits | uint(k)
			if n += a.bits; n >= 8 {
				n -= 8
				buf = append(buf, byte(acc>>n))
			}
		}
		a.texts(d, buf, pos[skipped:])
		if unpacked := unpack(buf); unpacked != "" && (skipped == 0 || pos[skipped-1]+1 < pos[skipped]) {
			d.putString(unpacked, int(pos[skipped]), int(pos[len(pos)-1])+1)
			d.endAs(d.step.name + " of gzip")
		}
	}
}

// looksEncoded reports whether a segment of a known text is worth decoding:
// whether it has both cases and digits, or ends as base64 does.
func (a *alphabet) looksEncoded(text string, pos []int32) bool {
	if a != base64Alphabet && a != base32Alphabet {
		return true
	}
	if len(pos) < 8 {
		return false
	}
	end := int(pos[len(pos)-1]) + 1
	if end < len(text) && text[end] == '=' {
		return true
	}
	var lower, upper, digit, changes int
	last := 0
	for _, p := range pos[:min(len(pos), 64)] {
		kind := 0
		switch c := text[p]; {
		case 'a' <= c && c <= 'z':
			lower++
			kind = 1
		case 'A' <= c && c <= 'Z':
			upper++
			kind = 2
		case isDigit(c):
			digit++
			kind = 3
		}
		if kind != last {
			changes++
		}
		last = kind
	}
	n := min(len(pos), 64)
	if a == base32Alphabet {
		return (lower == 0 || upper == 0) && digit > 0 && n >= 8
	}
	return changes >= 4 && changes*8 >= n
}

// texts puts each part of decoded bytes that reads as text: six bytes or more,
// or all of a word of the text. Byte i comes from the characters at
// pos[i*8/bits] and up to the one that holds its last bit.
func (a *alphabet) texts(d *decoding, buf []byte, pos []int32) {
	span := func(i, j int) (int, int) { // the characters of the bytes i:j
		return i * 8 / int(a.bits), (j*8 - 1) / int(a.bits)
	}
	take := func(i, j int) {
		if i == j {
			return
		}
		lo, hi := span(i, j)
		whole := (i == 0 && (lo == 0) || lo > 0 && pos[lo-1]+1 < pos[lo]) &&
			(hi+1 >= len(pos) || pos[hi]+1 < pos[hi+1] || j == len(buf)) && j-i >= 2
		if j-i < 6 && !whole {
			return
		}
		for k := i; k < j; k++ {
			lo, hi := span(k, k+1)
			d.put(buf[k], int(pos[lo]), int(pos[hi])+1)
		}
		d.end()
	}
	start := 0
	for i := 0; i < len(buf); {
		size := 1
		ok := buf[i] >= ' ' && buf[i] < 0x7f || buf[i] == 0 || buf[i] == '\n' || buf[i] == '\r' || buf[i] == '\t'
		if buf[i] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(buf[i:])
			ok = size > 1 && (unicode.IsPrint(r) || unicode.Is(unicode.Cf, r))
		}
		if !ok {
			take(start, i)
			start = i + size
		}
		i += size
	}
	take(start, len(buf))
}

// maxUnpacked bounds what is unpacked.
const maxUnpacked = 1 << 16

// unpack returns what gzip or zlib packed, or "".
func unpack(b []byte) string {
	var r io.Reader
	var err error
	switch {
	case len(b) > 18 && b[0] == 0x1f && b[1] == 0x8b && b[2] == 8:
		r, err = gzip.NewReader(bytes.NewReader(b))
	case len(b) > 8 && b[0] == 0x78 && strings.IndexByte("\x01\x5e\x9c\xda", b[1]) >= 0:
		r, err = zlib.NewReader(bytes.NewReader(b))
	default:
		return ""
	}
	if err != nil {
		return ""
	}
	out, _ := io.ReadAll(io.LimitReader(r, maxUnpacked)) // what comes before an error counts
	if !utf8.Valid(out) {
		return ""
	}
	return string(out)
}
