package provenance

import (
	"strings"
	"unicode/utf8"
)

// codes calls run for each list of numbers in the text. Between two numbers
// there are at most 24 other characters, such as ")+chr(".
func codes(text string, run func(list []code)) {
	var list []code
	flush := func() {
		if len(list) > 1 {
			run(list)
		}
		list = list[:0]
	}
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		j := i
		for j < len(text) && isDigit(text[j]) {
			j++
		}
		if n := len(list); n > 0 && i-list[n-1].to > 24 {
			flush()
		}
		list = append(list, code{i, j, text[i:j]})
		i = j
	}
	flush()
}

// A code is a number that may stand for a character, at from:to of a text.
type code struct {
	from, to int
	digits   string
}

// putCodes puts the characters of codes, six of them or more next to each
// other, or all; value returns that of a code, or -1.
func putCodes(d *decoding, list []code, value func(string) int) {
	least := min(6, len(list))
	mark := d.mark()
	for _, c := range list {
		switch n := value(c.digits); {
		case n < 0:
			d.cut(mark, least)
			mark = d.mark()
		case n < 0x100:
			d.put(byte(n), c.from, c.to)
		default:
			d.putRune(rune(n), c.from, c.to)
		}
	}
	d.cut(mark, least)
}

// decodeDecimal undoes lists of the decimal codes of characters, and such codes
// without anything between them.
func decodeDecimal(d *decoding, v *view) {
	codes(v.text, func(list []code) {
		putCodes(d, list, func(s string) int {
			n := -1
			if len(s) <= 6 {
				n = number(s, len(s), 10)
			}
			if n < ' ' && n != '\n' && n != '\t' && n != 0 || n == 0x7f || n > utf8.MaxRune {
				return -1
			}
			return n
		})
	})
	d.end()
	for i := 0; i < len(v.text); i++ {
		if !isDigit(v.text[i]) {
			continue
		}
		end := i
		for end < len(v.text) && isDigit(v.text[end]) {
			end++
		}
		mark := d.mark()
		for at := i; end-i >= 8 && at < end; {
			n := 2
			if v.text[at] == '1' {
				n = 3
			}
			c := number(v.text[at:end], n, 10)
			if c < ' ' || c > '~' {
				break
			}
			d.put(byte(c), at, at+n)
			at += n
		}
		d.cut(mark, 3)
		i = end
	}
	d.end()
}

// decodeOctal undoes lists of the octal codes of characters.
func decodeOctal(d *decoding, v *view) {
	codes(v.text, func(list []code) {
		putCodes(d, list, func(s string) int {
			if s = strings.TrimLeft(s, "0"); s == "" {
				return 0
			}
			if len(s) != 2 && len(s) != 3 {
				return -1
			}
			if n := number(s, len(s), 8); ' ' <= n && n <= 0xff && n != 0x7f {
				return n
			}
			return -1
		})
	})
	d.end()
}

// decodeLetterNumbers undoes lists of the numbers of letters in the alphabet.
func decodeLetterNumbers(d *decoding, v *view) {
	codes(v.text, func(list []code) {
		putCodes(d, list, func(s string) int {
			if n := number(s, len(s), 10); len(s) <= 2 && 1 <= n && n <= 26 {
				return 'a' + n - 1
			}
			return -1
		})
	})
	d.end()
}

var morse = func() map[string]byte {
	m := map[string]byte{}
	const table = "a.- b-... c-.-. d-.. e. f..-. g--. h.... i.. j.--- k-.- l.-.. m-- n-. o--- p.--. q--.- r.-. s... t- " +
		"u..- v...- w.-- x-..- y-.-- z--.. 0----- 1.---- 2..--- 3...-- 4....- 5..... 6-.... 7--... 8---.. 9----. " +
		"..-.-.- ,--..-- ?..--.. /-..-. @.--.-. :---... --....- _..--.- =-...- +.-.-."
	for _, entry := range strings.Fields(table) {
		m[entry[1:]] = entry[0]
	}
	return m
}()

// decodeMorse undoes Morse code of dots and hyphens, letters apart by white
// space, words by a slash.
func decodeMorse(d *decoding, v *view) {
	text := v.text
	mark := d.mark()
	for i := 0; i < len(text); {
		if text[i] != '.' && text[i] != '-' && len(d.out) == mark {
			i++
			continue
		}
		j := i
		for j < len(text) && j-i < 8 && (text[j] == '.' || text[j] == '-') {
			j++
		}
		if j > i {
			if c, ok := morse[text[i:j]]; ok {
				d.put(c, i, j)
				i = j
				continue
			}
		} else if isSpace(text[i]) || text[i] == '/' || text[i] == '|' || text[i] == '+' {
			if text[i] == '/' || text[i] == '|' {
				d.put(' ', i, i+1)
			}
			i++
			continue
		}
		d.cut(mark, 3)
		mark = d.mark()
		i = max(j, i+1)
	}
	d.cut(mark, 3)
	d.end()
}
