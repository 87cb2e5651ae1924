package provenance

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// decodeConcatenation joins texts in quotes that an operator, white space or
// nothing joins: 'ev'+'il', "ev" "il", e”vil.
func decodeConcatenation(d *decoding, v *view) {
	text := v.text
	if strings.Count(text, `"`)+strings.Count(text, "'")+strings.Count(text, "`") < 2 {
		return
	}
	found := false
	for i := 0; i < len(text); {
		if isQuote(text[i]) {
			j := i + 1
			for j < len(text) && j-i < 16 && strings.IndexByte(" \t\r\n+.&,|~", text[j]) >= 0 {
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

// decodeSpaced joins single characters that something stands between: "e v i l",
// "e.v.i.l".
func decodeSpaced(d *decoding, v *view) {
	text := v.text
	found := 0
	alone := func(i int) bool { // whether a letter or digit has none beside it
		return class[text[i]&0x7f]-1 < 36 && text[i] < utf8.RuneSelf &&
			(i == 0 || !isAlnum(text[i-1])) && (i+1 == len(text) || !isAlnum(text[i+1]))
	}
	for i := 0; i < len(text); i++ {
		d.put(text[i], i, i+1)
		if !alone(i) {
			continue
		}
		j := i + 1
		for j < len(text) && j-i < 8 && !isAlnum(text[j]) {
			j++
		}
		if j < len(text) && j-i < 8 && alone(j) {
			found++
			i = j - 1
		}
	}
	if found > 1 {
		d.end()
	}
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
		mixed = isLeet(text[i-1]) && unicode.IsLetter(rune(text[i])) || isLeet(text[i]) && unicode.IsLetter(rune(text[i-1]))
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

// decodeInterleaved takes every second character of each word of 8 characters
// or more.
func decodeInterleaved(d *decoding, v *view) {
	text := v.text
	long := false
	for i, n := 0, 0; i < len(text); i++ {
		if n++; isSpace(text[i]) {
			n = 0
		}
		long = long || n >= 12
	}
	if !long {
		return
	}
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
