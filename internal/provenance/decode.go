package provenance

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxDepth is how many encodings, one inside the other, are undone.
const maxDepth = 3

// maxViews bounds the texts that are decoded from one. An ordinary one has ten.
const maxViews = 1000

// An encoding is one way to disguise a text.
type encoding struct {
	name string
	kind kind
	// needs are the bytes of which a text must contain one; "" if any text will do.
	needs string
	// decode hands the texts that it finds decoded in v.text to d, byte by byte
	// (see decoding.put). It need not be sure: what makes no sense is found in no
	// source. It takes time in proportion to the length of v.text.
	decode func(d *decoding, v *view)
	// inSources says that known texts are decoded too, when they are added.
	// Ciphers need not be: what undoes them also applies them.
	inSources bool
}

// The kinds of encodings say which may follow which.
type kind int

const (
	first    kind = iota // the text that was asked about
	exact                // can be told from other text, and may hold any other
	joined               // pieces that were put together: may hold exact ones
	woven                // hidden among other characters: may hold exact ones
	turned               // a cipher that the search sees through: undone for exact ones in it
	spelling             // holds nothing else
)

// encodings are all that is undone before the search. The search itself sees
// through what the canonical form removes, and through the disguises of
// ciphers.go.
var encodings = []encoding{
	{"url", exact, "%", decodeURL, true},
	{"escapes", exact, `\`, decodeEscapes, true},
	{"html", exact, "&", decodeEntities, true},
	{"quoted-printable", exact, "=", decodeQuotedPrintable, true},
	{"punycode", exact, "-", decodePunycode, true},
	{"variation selectors", exact, "\xef\xf3", decodeSelectors, true},
	{"base64", exact, "", base64Alphabet.decode, true},
	{"base32", exact, "", base32Alphabet.decode, true},
	{"hex", exact, digits, hexAlphabet.decode, true},
	{"binary", exact, "01", binaryAlphabet.decode, true},
	{"decimal codes", exact, digits, decodeDecimal, true},
	{"octal codes", exact, digits, decodeOctal, true},
	{"letter numbers", exact, digits, decodeLetterNumbers, true},
	{"morse", exact, ".-", decodeMorse, true},
	{"letter forms", joined, nonASCII + "\x00", decodeForms, true},
	{"white space", turned, "%\\&=" + digits, decodeBlanks, false},
	{"concatenated", joined, `"'` + "`", decodeConcatenation, false},
	{"separated", joined, "", decodeSeparated, true},
	{"spaced", joined, "", decodeSpaced, true},
	{"leet", spelling, digits + "@$!", decodeLeet, false},
	{"interleaved", woven, "", decodeInterleaved, false},
	{"reversed", turned, "", decodeReversed, false},
	{"rot13", turned, "", decodeRot13, false},
}

const (
	digits   = "0123456789"
	nonASCII = "\xc2\xc3\xc4\xc5\xc6\xc7\xc8\xc9\xca\xcb\xcc\xcd\xce\xcf" +
		"\xd0\xd1\xd2\xd3\xd4\xd5\xd6\xd7\xd8\xd9\xda\xdb\xdc\xdd\xde\xdf" +
		"\xe0\xe1\xe2\xe3\xe4\xe5\xe6\xe7\xe8\xe9\xea\xeb\xec\xed\xee\xef\xf0\xf1\xf2\xf3\xf4"
)

// applies reports whether e may be looked for in v. Encodings that any text may
// be taken for (turned, woven) are only looked for where something is left to be
// explained, since they double the work.
func (e *encoding) applies(v *view) bool {
	switch {
	case v.kind == spelling || !v.bytes.any(e.needs):
		return false
	case e.kind == exact:
		return true
	case v.kind == turned:
		return e.name == "rot13" && v.name == "reversed" && v.coded
	case e.kind == woven && !v.odd, v.kind == exact && e.kind >= woven && len(v.text) < 2*gramLen:
		return false
	case v.kind == woven:
		return false
	case e.kind == turned:
		return v.coded
	case e.kind == joined && v.kind == joined:
		return v.name != e.name && !v.twice
	}
	return true
}

// A view is a text that was decoded from the text that was asked about.
type view struct {
	text     string
	from, to []int32 // the bytes of the first text that each byte came from; nil in the first text
	parent   int     // the view it was decoded from
	name     string  // the encoding that was undone
	kind     kind
	depth    int
	guess    bool // a cipher or so was undone on the way to it
	twice    bool // joined, of a joined one
	doubt    bool // letters were left out or replaced on the way to it
	bytes    byteSet
	odd      bool // has a word that may be anything
	coded    bool // has something in it that may be encoded
}

// A byteSet has the bytes that occur in a text.
type byteSet [256 / 64]uint64

func bytesOf(text string) (s byteSet) {
	for i := range len(text) {
		s[text[i]/64] |= 1 << (text[i] % 64)
	}
	return s
}

// any reports whether one of the bytes is in s, or there are none.
func (s *byteSet) any(bytes string) bool {
	for i := range len(bytes) {
		if s[bytes[i]/64]&(1<<(bytes[i]%64)) != 0 {
			return true
		}
	}
	return bytes == ""
}

// span returns the bytes of the first text that the bytes i:j of v came from.
func (v *view) span(i, j int) (int, int) {
	if v.from == nil {
		return i, j
	}
	return int(slices.Min(v.from[i:j])), int(slices.Max(v.to[i:j]))
}

// A decoding is the work on one text: the views that were found in it.
type decoding struct {
	views   []view
	sources bool   // the text is a known one: be strict, and do not keep positions
	budget  [2]int // bytes that may yet be decoded, with certainty and by guess
	step    *encoding
	at      int // the view being decoded, a copy of which is v
	v       *view
	out     []byte // what is being put
	from    []int32
	to      []int32
	values  []uint8 // memory for alphabets
	pos     []int32
	bytes   []byte
}

// put adds a byte that is encoded in the bytes i:j of the text being decoded.
func (d *decoding) put(b byte, i, j int) {
	d.out = append(d.out, b)
	if d.sources {
		return
	}
	from, to := int32(i), int32(j)
	if d.v.from != nil { // which goes up or down from i to j
		from, to = min(d.v.from[i], d.v.from[j-1]), max(d.v.to[i], d.v.to[j-1])
	}
	d.from = append(d.from, from)
	d.to = append(d.to, to)
}

func (d *decoding) putString(s string, i, j int) {
	for k := range len(s) {
		d.put(s[k], i, j)
	}
}

func (d *decoding) putRune(r rune, i, j int) {
	var buf [utf8.UTFMax]byte
	d.putString(string(buf[:utf8.EncodeRune(buf[:], r)]), i, j)
}

// copy puts the bytes i:j as they stand.
func (d *decoding) copy(i, j int) {
	for ; i < j; i++ {
		d.put(d.v.text[i], i, i+1)
	}
}

// mark returns where the next byte goes, for cut.
func (d *decoding) mark() int { return len(d.out) }

// cut forgets what was put since mark, unless it is least bytes or more, and
// separates it from what comes.
func (d *decoding) cut(mark, least int) {
	if len(d.out)-mark >= least && len(d.out) > mark {
		n := len(d.out)
		d.out = append(d.out, '\n')
		if !d.sources {
			d.from = append(d.from, d.from[n-1])
			d.to = append(d.to, d.to[n-1])
		}
		return
	}
	d.out = d.out[:mark]
	if !d.sources {
		d.from, d.to = d.from[:mark], d.to[:mark]
	}
}

// end makes a view of what was put since the last end.
func (d *decoding) end() {
	guess := d.v.guess || d.step.kind == turned || d.step.kind == woven
	budget := &d.budget[0]
	if guess {
		budget = &d.budget[1]
	}
	drop := len(d.out) == 0 || len(d.views) == maxViews || string(d.out) == d.v.text || *budget < len(d.out)
	for i := range d.views {
		drop = drop || d.views[i].text == string(d.out)
	}
	if !drop {
		*budget -= len(d.out) + 64
		w := view{text: string(d.out), parent: d.at, name: d.step.name, kind: d.step.kind, depth: d.v.depth}
		w.guess = guess
		if w.kind != joined {
			w.depth++
		}
		w.doubt = d.v.doubt || w.kind == woven || w.kind == spelling
		w.twice = w.kind == joined && d.v.kind == joined
		if !d.sources {
			w.from, w.to = slices.Clone(d.from), slices.Clone(d.to)
		}
		d.views = append(d.views, w)
	}
	d.drop()
}

// drop forgets what was put since the last end.
func (d *decoding) drop() { d.out, d.from, d.to = d.out[:0], d.from[:0], d.to[:0] }

// run undoes all encodings of all views, the first of which is the text, and
// calls search for each view whose symbols are not those of a view before it.
// Views with fewer encodings come first, so that whatever the budget is, all that
// is encoded once is seen: each encoding makes a few views at most of one text.
func (d *decoding) run(text string, search func(*view)) {
	d.budget = [2]int{16*len(text) + 1<<12, 48*len(text) + 1<<12}
	d.views = append(d.views[:0], view{text: text})
	for i := 0; i < len(d.views); i++ {
		d.views[i].odd, d.views[i].coded = looks(d.views[i].text)
		d.views[i].bytes = bytesOf(d.views[i].text)
		v := d.views[i] // a copy: views may move
		if v.kind != turned {
			search(&v)
		}
		if v.depth == maxDepth || v.kind != first && len(v.text) < gramLen {
			continue
		}
		d.at, d.v = i, &v
		for e := range encodings {
			d.step = &encodings[e]
			if (!d.sources || d.step.inSources) && d.step.applies(&v) {
				d.step.decode(d, &v)
				d.drop()
			}
		}
	}
}

// as returns what was undone, the outermost first.
func (d *decoding) as(v *view) string {
	as := v.name
	for v.kind != first {
		if v = &d.views[v.parent]; v.kind != first {
			as = v.name + " of " + as
		}
	}
	return as
}

// looks reports whether 16 characters of a text, other than white space, are in
// no common word, and whether something in it may be encoded when it has
// been turned round: an escape, nine words with digits, or eight letters and digits
// that mix cases and digits as no identifier does.
func looks(text string) (odd, coded bool) {
	numbers, start, changes, last := 0, 0, 0, uint8(0)
	strange, hasDigit := 0, false
	for i := 0; i <= len(text); i++ {
		k := uint8(0)
		if i < len(text) {
			k = looksLike[text[i]]
		}
		if k > 1 {
			hasDigit = hasDigit || k == 2
			if k != last {
				changes++
			}
			last = k
			continue
		}
		coded = coded || k == 1
		if i < len(text) && text[i] > ' ' {
			strange++
		}
		if n := i - start; n > 0 {
			if hasDigit {
				numbers++
			}
			if strange < 16 && (n < 3 || !isCommonText(text[start:i])) {
				strange += n
			}
			if n >= gramLen {
				coded = coded || (changes-1)*3 > n || n >= 16 && !isCommonText(text[start:i])
			}
		}
		start, changes, last, hasDigit = i+1, 0, 0, false
	}
	return strange >= 16, coded || numbers > gramLen
}

// looksLike has the classes of bytes of looks: 1 an escape, 2 a digit, 3 a lower
// and 4 an upper-case letter, 0 others.
var looksLike = func() (t [256]uint8) {
	for c := range t {
		switch b := byte(c); {
		case b == '%' || b == '\\' || b == '#':
			t[c] = 1
		case isDigit(b):
			t[c] = 2
		case 'a' <= b && b <= 'z':
			t[c] = 3
		case 'A' <= b && b <= 'Z':
			t[c] = 4
		}
	}
	return t
}()

// decodeSource returns what is encoded in a known text.
func (d *decoding) decodeSource(text string, add func(string)) {
	d.sources = true
	d.run(text, func(v *view) {
		if v.kind != first {
			add(v.text)
		}
	})
}

// around is how much of a known text is decoded before and after an escape.
const around = 64

// substitute puts v.text with each escape in its place. At each byte that is
// start, match returns how many bytes the escape there has, and what it means;
// 0 if there is none. It puts only the parts of a known text that are around
// escapes.
func (d *decoding) substitute(v *view, start byte, match func(s string) (int, string)) {
	text, last := v.text, 0
	for i := strings.IndexByte(text, start); i >= 0; {
		next := i + 1
		if n, s := match(text[i:]); n > 0 {
			switch {
			case !d.sources || i-last <= 2*around:
				d.copy(last, i)
			case last == 0:
				d.copy(i-around, i)
			default:
				d.copy(last, last+around)
				d.put('\n', i, i+1)
				d.copy(i-around, i)
			}
			d.putString(s, i, i+n)
			last, next = i+n, i+n
		}
		n := strings.IndexByte(text[next:], start)
		if n < 0 {
			break
		}
		i = next + n
	}
	if last == 0 {
		return
	}
	if d.sources {
		text = text[:min(len(text), last+around)]
	}
	d.copy(last, len(text))
	d.end()
}
