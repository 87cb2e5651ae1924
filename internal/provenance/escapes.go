package provenance

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// number parses exactly n digits of base at the beginning of s, or returns -1.
func number(s string, n, base int) int {
	if len(s) < n {
		return -1
	}
	v, err := strconv.ParseUint(s[:n], base, 32)
	if err != nil {
		return -1
	}
	return int(v)
}

// decodeURL undoes %2e and %u002e.
func decodeURL(d *decoding, v *view) {
	d.substitute(v, '%', func(s string) (int, string) {
		if b := number(s[1:], 2, 16); b >= 0 {
			return 3, string([]byte{byte(b)})
		}
		if len(s) > 1 && s[1]|0x20 == 'u' {
			if r := number(s[2:], 4, 16); r >= 0 {
				return 6, string(rune(r))
			}
		}
		return 0, ""
	})
}

// decodeEscapes undoes the escapes of JSON, JavaScript, C and shells: \u002e,
// \u{2e}, \U0000002e, \x2e, \56. A backslash before any other character is
// dropped, as shells do.
func decodeEscapes(d *decoding, v *view) {
	d.substitute(v, '\\', func(s string) (int, string) {
		if len(s) < 2 {
			return 0, ""
		}
		switch c := s[1]; {
		case c == 'u' && len(s) > 2 && s[2] == '{':
			if i := strings.IndexByte(s[:min(len(s), 12)], '}'); i > 3 {
				if r := number(s[3:], i-3, 16); r >= 0 {
					return i + 1, string(rune(r))
				}
			}
		case c == 'u':
			r := number(s[2:], 4, 16)
			if utf16.IsSurrogate(rune(r)) && len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
				if low := number(s[8:], 4, 16); low >= 0 {
					return 12, string(utf16.DecodeRune(rune(r), rune(low)))
				}
			}
			if r >= 0 {
				return 6, string(rune(r))
			}
		case c == 'U':
			if r := number(s[2:], 8, 16); r >= 0 {
				return 10, string(rune(r))
			}
		case c == 'x':
			if b := number(s[2:], 2, 16); b >= 0 {
				return 4, string([]byte{byte(b)})
			}
		case '0' <= c && c <= '7':
			n := 1
			for n < 3 && n+1 < len(s) && '0' <= s[n+1] && s[n+1] <= '7' {
				n++
			}
			return n + 1, string([]byte{byte(number(s[1:], n, 8))})
		case c == 'n' || c == 't' || c == 'r':
			return 2, " "
		case c < utf8.RuneSelf:
			return 2, s[1:2]
		}
		return 0, ""
	})
}

// decodeEntities undoes &amp; &#46; and &#x2e;.
func decodeEntities(d *decoding, v *view) {
	d.substitute(v, '&', func(s string) (int, string) {
		end := strings.IndexByte(s[:min(len(s), 34)], ';')
		if end < 2 {
			if len(s) < 4 || s[1] != '#' {
				return 0, ""
			}
			hex := s[2]|0x20 == 'x' // without the semicolon, as browsers read it, too
			for end = 3; end < len(s) && end < 9 && (isDigit(s[end]) || hex && isHex(s[end])); end++ {
			}
			end--
		}
		if c := html.UnescapeString(s[:end+1]); c != s[:end+1] {
			return end + 1, c
		}
		return 0, ""
	})
}

func isHex(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

// decodeQuotedPrintable undoes =2E, and = at the end of a line (RFC 2045).
func decodeQuotedPrintable(d *decoding, v *view) {
	d.substitute(v, '=', func(s string) (int, string) {
		if b := number(s[1:], 2, 16); b >= 0 && s[1] < 'a' && s[2] < 'a' {
			return 3, string([]byte{byte(b)})
		}
		if strings.HasPrefix(s, "=\r\n") {
			return 3, ""
		}
		if strings.HasPrefix(s, "=\n") {
			return 2, ""
		}
		return 0, ""
	})
}

// decodePunycode undoes the form in which DNS has labels beyond ASCII.
func decodePunycode(d *decoding, v *view) {
	if !strings.Contains(v.text, "xn--") && !strings.Contains(v.text, "XN--") {
		return
	}
	for _, start := range []byte("xX") {
		d.substitute(v, start, func(s string) (int, string) {
			if len(s) < 5 || !strings.EqualFold(s[:4], "xn--") {
				return 0, ""
			}
			n := 4
			for n < len(s) && n < 64 && (s[n] == '-' || class[s[n]&0x7f]-1 < 36 && s[n] < utf8.RuneSelf) {
				n++
			}
			label, err := idna.Punycode.ToUnicode(strings.ToLower(s[:n]))
			if err != nil {
				return 0, ""
			}
			return n, label
		})
	}
}

// decodeSelectors undoes a way to hide bytes behind any character: each of the
// 256 variation selectors, which are not shown, stands for a byte.
func decodeSelectors(d *decoding, v *view) {
	for i, r := range v.text {
		switch {
		case 0xFE00 <= r && r <= 0xFE0F:
			d.put(byte(r-0xFE00), i, i+utf8.RuneLen(r))
		case 0xE0100 <= r && r <= 0xE01EF:
			d.put(byte(r-0xE0100+16), i, i+utf8.RuneLen(r))
		}
	}
	if len(d.out) > 3 {
		d.end()
	}
}
