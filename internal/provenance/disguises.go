package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// decodeForms replaces characters that look like those of ASCII by these, in
// their case, and drops what is not shown. The search needs neither, but other
// encodings do.
func decodeForms(d *decoding, v *view) {
	text := v.text
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			if text[i] != 0 {
				d.put(text[i], i, i+1)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		s, kind := form(r)
		switch {
		case s != "":
			d.putString(s, i, i+size)
		case kind != nothing:
			d.copy(i, i+size)
		}
		i += size
	}
	d.end()
}

// form returns the characters of ASCII that r looks like, or "".
func form(r rune) (string, foldKind) {
	if 0xE0020 <= r && r <= 0xE007E {
		return string(r - 0xE0000), folded
	}
	var buf [utf8.UTFMax]byte
	b := buf[:utf8.EncodeRune(buf[:], r)]
	if d := norm.NFKD.Properties(b).Decomposition(); d != nil && d[0] < utf8.RuneSelf {
		n := 1
		for n < len(d) && d[n] < utf8.RuneSelf {
			n++
		}
		return string(d[:n]), folded
	}
	s, kind := fold(r)
	if kind != folded {
		return "", kind
	}
	if unicode.IsUpper(r) {
		s = strings.ToUpper(s)
	}
	return s, kind
}

// decodeBlanks drops white space.
func decodeBlanks(d *decoding, v *view) {
	for i := range len(v.text) {
		if !isSpace(v.text[i]) {
			d.put(v.text[i], i, i+1)
		}
	}
	d.end()
}

// decodeConcatenation joins texts in quotes that an operator, white space or
// nothing joins: 'ev'+'il', "ev" "il", e”vil.
func decodeConcatenation(d *decoding, v *view) {
	text := v.text
	found := false
	for i := 0; i < len(text); {
		if isQuote(text[i]) {
			j := i + 1
			for j < len(text) && j-i < 16 && strings.IndexByte(" \t\r\n+.&|~", text[j]) >= 0 {
				j++
			}
			if j < len(text) && isQuote(text[j]) {
				found = true
				i = j + 1
				continue
			}
		}
		d.put(text[i], i, i+1)
		i++
	}
	if found {
		d.end()
	}
}

func isQuote(b byte) bool { return b == '"' || b == '\'' || b == '`' }

// decodeSeparated takes the characters that one and the same other character
// stands between, eight of them or more, with all that is in them: "%.4.1".
func decodeSeparated(d *decoding, v *view) {
	text := v.text
	for i := 0; i+2*gramLen < len(text); i++ {
		sep := text[i+1]
		if sep >= utf8.RuneSelf || isAlnum(sep) || text[i+3] != sep {
			continue
		}
		j := i + 1
		for j < len(text) && text[j] == sep && text[j-1] < utf8.RuneSelf {
			j += 2
		}
		if j-i < 2*gramLen {
			continue
		}
		for k := i; k < min(j, len(text)); k += 2 {
			d.put(text[k], k, k+1)
		}
		d.cut(0, 1)
		i = j - 1
	}
	d.end()
}

// decodeSpaced joins three single characters or more that something stands
// between: "e v i l", "e.v.i.l".
func decodeSpaced(d *decoding, v *view) {
	text := v.text
	mark, last := d.mark(), -16
	for i := 0; i < len(text); i++ {
		if !isAlnum(text[i]) {
			continue
		}
		if i+1 < len(text) && isAlnum(text[i+1]) { // not alone
			for i++; i+1 < len(text) && isAlnum(text[i+1]); i++ {
			}
			continue
		}
		if i-last > 8 || last+1 < i && hasAlnum(text[last+1:i]) {
			d.cut(mark, 3)
			mark = d.mark()
		}
		d.put(text[i], i, i+1)
		last = i
	}
	d.cut(mark, 3)
	d.end()
}

func hasAlnum(s string) bool {
	for i := range len(s) {
		if isAlnum(s[i]) {
			return true
		}
	}
	return false
}

func isAlnum(b byte) bool {
	return b < utf8.RuneSelf && class[b]-1 < 36
}

// decodeLeet undoes digits and marks that stand for letters, in words that have
// letters too. A 1 stands for an i or for an l.
func decodeLeet(d *decoding, v *view) {
	text := v.text
	mixed := false
	for i := 1; i < len(text) && !mixed; i++ {
		a, b := text[i-1], text[i]
		mixed = isLeet(a) && unicode.IsLetter(rune(b)) || isLeet(b) && unicode.IsLetter(rune(a))
	}
	if !mixed {
		return
	}
	for _, letters := range []string{"oieastbgasi", "oleastbgasl"} {
		for i := range len(text) {
			b := text[i]
			if k := strings.IndexByte("0134578"+"9@$!", b); k >= 0 {
				b = letters[k]
			}
			d.put(b, i, i+1)
		}
		d.end()
	}
}

func isLeet(b byte) bool { return strings.IndexByte("0134578@$!", b) >= 0 }

// decodeInterleaved takes every second character.
func decodeInterleaved(d *decoding, v *view) {
	text := v.text
	for parity := range 2 {
		for i, n := 0, 0; i < len(text); n++ {
			_, size := utf8.DecodeRuneInString(text[i:])
			if n%2 == parity {
				d.putString(text[i:i+size], i, i+size)
			}
			i += size
		}
		d.end()
	}
}

func decodeReversed(d *decoding, v *view) {
	for i := len(v.text); i > 0; {
		_, size := utf8.DecodeLastRuneInString(v.text[:i])
		for k := range size {
			d.put(v.text[i-size+k], i-size, i)
		}
		i -= size
	}
	d.end()
}

func decodeRot13(d *decoding, v *view) {
	for i := range len(v.text) {
		b := v.text[i]
		switch c := b | 0x20; {
		case 'a' <= c && c <= 'm':
			b += 13
		case 'n' <= c && c <= 'z':
			b -= 13
		}
		d.put(b, i, i+1)
	}
	d.end()
}
