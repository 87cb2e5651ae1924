package provenance

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// An alphabet is an encoding of bytes in which each character stands for a
// fixed number of bits.
type alphabet struct {
	bits  uint
	group int        // after how many characters a byte begins at a character again
	least int        // the fewest characters that are decoded
	value [256]uint8 // of each character, or skip or stop
	// worth says whether characters of the text next to each other, or around
	// skipped ones, may be an encoded text and not ordinary words.
	worth func(text string, pos []int32, sources bool) bool
}

const (
	skip = 0xfe // may stand between two characters
	stop = 0xff
)

func newAlphabet(bits uint, group, least int, chars, skips string) *alphabet {
	a := &alphabet{bits: bits, group: group, least: least}
	for i := range a.value {
		a.value[i] = stop
		if i >= utf8.RuneSelf {
			a.value[i] = skip
		}
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
	blanks    = " \t\r\n\x00"
	marks     = "!\"#$%&'()*,.:;<=>?@[\\]^`{|}~"
)

var base64Alphabet = func() *alphabet {
	a := newAlphabet(6, 4, 2, upperCase+lowerCase+digits+"+/", blanks+marks)
	a.value['-'], a.value['_'] = 62, 63
	a.worth = worthBase64
	return a
}()

var base32Alphabet = func() *alphabet {
	a := newAlphabet(5, 8, 7, upperCase+"234567"+lowerCase+"234567", blanks+"=-\"'+.,")
	a.worth = worthBase32
	return a
}()

var hexAlphabet = func() *alphabet {
	a := newAlphabet(4, 2, 4, digits+"abcdef", blanks+":,-;\\%\"'+._()[]{}/=&#")
	for c := byte('A'); c <= 'F'; c++ {
		a.value[c] = c - 'A' + 10
	}
	return a
}()

var binaryAlphabet = newAlphabet(1, 8, 14, "01", blanks+",;:_-|\"'+.")

// worthBase64 wants, of a known text, both cases and digits that alternate, or
// padding at the end.
func worthBase64(text string, pos []int32, sources bool) bool {
	if !sources {
		return true
	}
	n := len(pos)
	end := int(pos[n-1]) + 1
	if n < 8 {
		return false
	}
	if end < len(text) && text[end] == '=' {
		return true
	}
	changes, last := 0, 0
	for _, p := range pos[:min(n, 64)] {
		kind := 0
		switch c := text[p]; {
		case 'a' <= c && c <= 'z':
			kind = 1
		case 'A' <= c && c <= 'Z':
			kind = 2
		case isDigit(c):
			kind = 3
		}
		if kind != last {
			changes++
		}
		last = kind
	}
	return changes >= 4 && changes*8 >= min(n, 64)
}

// worthBase32 wants a sequence of 7 characters or more, all of one case, with a
// digit or so long that it is no word; or characters that stand alone, or no
// lower-case letter at all.
func worthBase32(text string, pos []int32, _ bool) bool {
	start, alone, shouts := 0, 0, len(pos) >= 16
	upper, lower, digit := 0, 0, 0
	for i, p := range pos {
		shouts = shouts && text[p] <= 'Z'
		switch c := text[p]; {
		case isDigit(c):
			digit++
		case c <= 'Z':
			upper++
		default:
			lower++
		}
		if i+1 < len(pos) && pos[i+1] == p+1 {
			continue
		}
		n := i + 1 - start
		if n >= 7 && (upper == 0 || lower == 0) && (digit > 0 || upper > 0 || n > 20) {
			return true
		}
		if n == 1 {
			alone++
		}
		start, upper, lower, digit = i+1, 0, 0, 0
	}
	return alone >= 8 || shouts
}

// decode finds texts encoded in a at any place of a text, and at any character
// of a longer encoded text.
func (a *alphabet) decode(d *decoding, v *view) {
	text := v.text
	vals, pos := d.values[:0], d.pos[:0]
	flush := func() {
		if len(vals) >= a.least && (a.worth == nil || a.worth(text, pos, d.sources)) {
			a.segment(d, vals, pos)
		}
		vals, pos = vals[:0], pos[:0]
	}
	strict := d.sources && a == base64Alphabet
	hex := a == hexAlphabet
	for i := 0; i < len(text); i++ {
		k := a.value[text[i]]
		switch {
		case k < skip:
			if hex && text[i] == '0' && i+1 < len(text) && text[i+1]|0x20 == 'x' {
				i++ // the prefix 0x
				continue
			}
			vals = append(vals, k)
			pos = append(pos, int32(i))
		case k == skip:
			if strict && text[i] != '\n' && text[i] != '\r' {
				flush()
			}
		case hex && text[i]|0x20 == 'x' && i > 0 && (text[i-1] == '\\' || text[i-1] == '#'):
		default:
			flush()
		}
	}
	flush()
	d.values, d.pos = vals[:0], pos[:0]
}

// segment decodes characters that belong together: each word among them by
// itself, and all of them, beginning with each character of a group.
func (a *alphabet) segment(d *decoding, vals []uint8, pos []int32) {
	for i := 0; i < len(pos); {
		j := i + 1
		for j < len(pos) && pos[j] == pos[j-1]+1 {
			j++
		}
		if a.likely(d.v.text, int(pos[i]), int(pos[j-1])+1) {
			a.word(d, a.bytes(d, vals[i:j]), pos[i:j])
		}
		a.unpack(d, vals[i:], pos[i:])
		i = j
	}
	d.end()
	for skipped := 0; skipped < a.group && skipped < len(vals); skipped++ {
		a.runs(d, a.bytes(d, vals[skipped:]), pos[skipped:])
		d.end()
	}
}

// bytes returns the bytes that characters stand for, in memory that the next
// call takes back.
func (a *alphabet) bytes(d *decoding, vals []uint8) []byte {
	buf := d.bytes[:0]
	acc, n := uint(0), uint(0)
	for _, k := range vals {
		acc = acc<<a.bits | uint(k)
		if n += a.bits; n >= 8 {
			n -= 8
			buf = append(buf, byte(acc>>n))
		}
	}
	d.bytes = buf
	return buf
}

// likely reports whether a word of the text, which may be short, looks more
// like an encoded text than like a word of a language.
func (a *alphabet) likely(text string, from, to int) bool {
	word := text[from:to]
	if to < len(text) && text[to] == '=' {
		return true
	}
	if len(word) < 4 {
		return false
	}
	switch a {
	case base64Alphabet:
		return strings.ContainsAny(word[1:], upperCase+digits) && strings.ContainsAny(word, lowerCase)
	case base32Alphabet:
		return !strings.ContainsAny(word, lowerCase)
	}
	return len(word)%2 == 0
}

// readable says what a byte is in a text: 0 no part of it, 1 part of it, 2 the
// beginning of a rune beyond ASCII.
var readable = func() (t [256]uint8) {
	for i := range t {
		if i >= ' ' && i < 0x7f || i == 0 || i == '\n' || i == '\r' || i == '\t' {
			t[i] = 1
		}
		if i >= 0xc2 && i <= 0xf4 {
			t[i] = 2
		}
	}
	return t
}()

// text returns how many bytes at the beginning of b read as text.
func text(b []byte) int {
	i := 0
	for i < len(b) {
		switch readable[b[i]] {
		case 1:
			i++
			continue
		case 2:
			if i+1 < len(b) && b[i+1]&0xc0 == 0x80 {
				r, size := utf8.DecodeRune(b[i:])
				if size > 1 && (unicode.IsPrint(r) || unicode.Is(unicode.Cf, r)) {
					i += size
					continue
				}
			}
		}
		break
	}
	return i
}

// word puts a decoded word if all of it reads as text, in UTF-8 or UTF-16.
func (a *alphabet) word(d *decoding, buf []byte, pos []int32) {
	if len(buf) >= 2 && text(buf) == len(buf) {
		a.put(d, buf, pos, 0, len(buf))
	}
	if wide := fromUTF16(buf); wide != "" {
		mark := d.mark()
		d.putString(wide, int(pos[0]), int(pos[len(pos)-1])+1)
		d.cut(mark, 1)
	}
}

// unpack puts what gzip or zlib packed in the bytes that characters stand for.
func (a *alphabet) unpack(d *decoding, vals []uint8, pos []int32) {
	b := a.bytes(d, vals[:min(len(vals), 16/int(a.bits)+1)])
	if len(b) < 2 || !(b[0] == 0x1f && b[1] == 0x8b || b[0] == 0x78) {
		return // neither gzip (RFC 1952) nor zlib (RFC 1950)
	}
	if text := unpack(a.bytes(d, vals)); text != "" {
		mark := d.mark()
		d.putString(text, int(pos[0]), int(pos[len(pos)-1])+1)
		d.cut(mark, 1)
	}
}

// fromUTF16 returns the text that b has in UTF-16, or "", or those in both byte
// orders. A text is one in which three of ten units have the same upper byte.
func fromUTF16(b []byte) string {
	if len(b) < 8 || len(b)%2 == 1 {
		return ""
	}
	texts := ""
	for low := range 2 {
		units := make([]uint16, len(b)/2)
		var count [256]int
		most := 0
		for i := range units {
			units[i] = uint16(b[2*i+1-low])<<8 | uint16(b[2*i+low])
			count[units[i]>>8]++
			most = max(most, count[units[i]>>8])
		}
		if most*10 >= len(units)*3 && count[0] < len(units)-1 {
			texts += string(utf16.Decode(units)) + "\n"
		}
	}
	return texts
}

// runs puts the parts of decoded bytes that read as text, if they are long.
func (a *alphabet) runs(d *decoding, buf []byte, pos []int32) {
	for i := 0; i < len(buf); i++ {
		if readable[buf[i]] == 0 {
			continue
		}
		n := text(buf[i:])
		if n >= gramLen {
			a.put(d, buf, pos, i, i+n)
		}
		i += n
	}
}

// put puts the bytes i:j of buf. Byte k comes from the characters at
// pos[k*8/bits] up to that with its last bit. Of ASCII in UTF-16 only the ASCII
// is put.
func (a *alphabet) put(d *decoding, buf []byte, pos []int32, i, j int) {
	mark := d.mark()
	wide := bytes.Count(buf[i:j], []byte{0})*2 >= j-i-1 // every second byte is 0
	for k := i; k < j; k++ {
		if wide && buf[k] == 0 {
			continue
		}
		d.put(buf[k], int(pos[k*8/int(a.bits)]), int(pos[(k*8+7)/int(a.bits)])+1)
	}
	d.cut(mark, 1)
}

// maxUnpacked bounds what is unpacked of one packed text, in bytes. The text
// after it is ignored.
const maxUnpacked = 1 << 16

// unpack returns the text that gzip or zlib packed in b, or "".
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
