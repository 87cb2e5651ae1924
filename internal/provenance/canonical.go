package provenance

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A canon is a text in canonical form. Its symbols are the letters and digits
// of the text: 1 to 36 are 0 to 9 and a to z, and a symbol of another script is
// a hash of its rune, above 1<<60.
type canon struct {
	text     string
	sym      []uint64
	from, to []int32 // the bytes of the text that a symbol came from
	word     []int32 // of which word each symbol is
	words    []unit  // letters and digits with nothing visible between them
	names    []unit  // words that a dot, a hyphen or an underscore joins
}

// A unit is a sequence of symbols that stands by itself in a text.
type unit struct {
	lo, hi int  // symbols lo:hi
	words  int  // how many words it consists of
	name   int  // the index of the name that a word is part of
	upper  bool // its first character is an upper-case letter
	dotted bool // two of its words are joined by a dot
}

// Classes of ASCII characters besides 1 to 36, which are symbols.
const (
	breaks    = 0   // ends a word and a name: white space and most punctuation
	joins     = 100 // ends a word, joins names: . - _
	digital   = 101 // joins names between digits: , :
	invisible = 102 // ends nothing: control characters
)

var class = func() (c [utf8.RuneSelf]uint8) {
	for i := range c {
		r := byte(i)
		switch {
		case '0' <= r && r <= '9':
			c[i] = r - '0' + 1
		case 'a' <= r && r <= 'z':
			c[i] = r - 'a' + 11
		case 'A' <= r && r <= 'Z':
			c[i] = r - 'A' + 11
		case r == '.' || r == '-' || r == '_':
			c[i] = joins
		case r == ',' || r == ':':
			c[i] = digital
		case r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0x7f:
			c[i] = invisible
		}
	}
	return c
}()

// set makes c the canonical form of text. It keeps the memory of c.
func (c *canon) set(text string) {
	c.text = text
	c.sym, c.from, c.to = c.sym[:0], c.from[:0], c.to[:0]
	c.word, c.words, c.names = c.word[:0], c.words[:0], c.names[:0]
	inWord, inName := false, false
	for i := 0; i < len(text); {
		b := text[i]
		if b < utf8.RuneSelf {
			switch k := class[b]; k {
			case breaks:
				inWord, inName = false, false
			case joins:
				if !inWord {
					inName = false // two in a row, or at the beginning
				}
				inWord = false
			case digital:
				inName = inName && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1])
				inWord = false
			case invisible:
			default:
				c.put(uint64(k), i, i+1, inWord, inName)
				inWord, inName = true, true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch s, kind := fold(r); kind {
		case folded:
			for j := range len(s) {
				c.put(uint64(class[s[j]]), i, i+size, inWord, inName)
				inWord, inName = true, true
			}
		case foreign:
			for _, r := range s {
				c.put(foreignSymbol(r), i, i+size, inWord, inName)
				inWord, inName = true, true
			}
		case nothing:
			if n := len(c.sym); inWord && n > 0 && int(c.to[n-1]) == i {
				c.to[n-1] = int32(i + size) // a mark belongs to what it is on
			}
		default:
			inWord, inName = false, false
		}
		i += size
	}
}

// put adds the symbol of the bytes from:to. inWord and inName say whether it continues the last ones.
func (c *canon) put(s uint64, from, to int, inWord, inName bool) {
	n := len(c.sym)
	c.sym = append(c.sym, s)
	c.from = append(c.from, int32(from))
	c.to = append(c.to, int32(to))
	if !inName {
		c.names = append(c.names, unit{lo: n})
	}
	if !inWord {
		c.words = append(c.words, unit{lo: n, words: 1, name: len(c.names) - 1, upper: isUpper(c.text[from:to])})
	}
	c.words[len(c.words)-1].hi = n + 1
	c.word = append(c.word, int32(len(c.words)-1))
	name := &c.names[len(c.names)-1]
	name.hi = n + 1
	if !inWord {
		name.words++
		name.dotted = name.dotted || inName && c.text[from-1] == '.'
	}
}

// edge reports whether a word begins or ends before the symbol i.
func (c *canon) edge(i int) bool {
	return i == 0 || i == len(c.sym) || c.word[i-1] != c.word[i]
}

// upper reports whether the symbol i is an upper-case letter in the text.
func (c *canon) upper(i int) bool {
	b := c.text[c.from[i]]
	return 'A' <= b && b <= 'Z' || b >= utf8.RuneSelf && isUpper(c.text[c.from[i]:])
}

// beginsSentence reports whether nothing but quotes and blanks stands between
// the symbol i and the end of a sentence or a line, or the beginning of the text.
func (c *canon) beginsSentence(i int) bool {
	for at := int(c.from[i]) - 1; at >= 0; at-- {
		switch c.text[at] {
		case ' ', '\t', '"', '\'', '(', '*', '`', '#', '-', '|', '/':
			continue
		case '.', '!', '?', '\n':
			return true
		}
		return false
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r)
}

// The kinds of runes beyond ASCII.
type foldKind int

const (
	separator foldKind = iota // white space, punctuation, pictures
	folded                    // looks like letters and digits of ASCII
	foreign                   // a letter or digit of another script
	nothing                   // a mark, or invisible
)

// fold returns what a rune beyond ASCII is in canonical form.
func fold(r rune) (string, foldKind) {
	if r < rune(len(folds)) {
		f := &folds[r]
		return f.text, f.kind
	}
	return foldSlow(r)
}

// folds are the runes that most texts beyond ASCII are made of.
var folds = func() (t [0x600]struct {
	text string
	kind foldKind
}) {
	for r := rune(utf8.RuneSelf); int(r) < len(t); r++ {
		t[r].text, t[r].kind = foldSlow(r)
	}
	return t
}()

func foldSlow(r rune) (string, foldKind) {
	if s, ok := skeletons[r]; ok {
		return s, folded
	}
	switch {
	case 0xE0020 <= r && r <= 0xE007E: // tags: ASCII that is not shown
		if k := class[r-0xE0000]; 1 <= k && k <= 36 {
			return string(unicode.ToLower(r - 0xE0000)), folded
		}
		return "", separator
	case 0x1F1E6 <= r && r <= 0x1F1FF: // regional indicators
		return string('a' + r - 0x1F1E6), folded
	case 0x1F150 <= r && r <= 0x1F169: // negative circled letters
		return string('a' + r - 0x1F150), folded
	case 0x1F170 <= r && r <= 0x1F189: // negative squared letters
		return string('a' + r - 0x1F170), folded
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Cc, unicode.Variation_Selector) || isFiller(r):
		return "", nothing
	case unicode.IsSpace(r):
		return "", separator
	}
	var buf [utf8.UTFMax]byte
	decomposed := norm.NFKD.Properties(buf[:utf8.EncodeRune(buf[:], r)]).Decomposition()
	if decomposed == nil {
		decomposed = buf[:utf8.RuneLen(r)]
	}
	var out []rune
	kind := folded
	for _, d := range string(decomposed) {
		if s, ok := skeletons[d]; ok {
			out = append(out, []rune(s)...)
			continue
		}
		d = unicode.ToLower(d)
		if s, ok := skeletons[d]; ok {
			out = append(out, []rune(s)...)
			continue
		}
		switch {
		case d < utf8.RuneSelf:
			if k := class[d]; 1 <= k && k <= 36 {
				out = append(out, d)
			}
		case unicode.Is(unicode.Mn, d):
		case unicode.Is(unicode.Nd, d):
			out = append(out, '0'+digitOf(d))
		case unicode.IsLetter(d) || unicode.IsNumber(d) || unicode.Is(unicode.Mc, d):
			out = append(out, d)
			kind = foreign
		}
	}
	if len(out) == 0 {
		return "", separator
	}
	return string(out), kind
}

// digitOf returns the value of a decimal digit of any script. Each range of
// such digits begins with a zero.
func digitOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if rune(t.Lo) <= r && r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}

// isFiller reports whether r is a letter that is shown as nothing.
func isFiller(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, 0x2800, 0xFFFC:
		return true
	}
	return false
}

func foreignSymbol(r rune) uint64 {
	if r < utf8.RuneSelf {
		return uint64(class[r])
	}
	return mix(uint64(r)) | 1<<60
}

// mix is a bijection that spreads its argument over 64 bits (the finalizer of
// SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
