package provenance

import (
	"slices"
	"unicode/utf8"
)

// maxDepth is how many encodings, one inside the other, are undone.
const maxDepth = 3

// An encoding is one way to disguise a text.
type encoding struct {
	name string
	// decode hands each text that it finds decoded in v.text to d, byte by byte
	// (see decoding.put). It need not be sure: what makes no sense is found in no
	// source. It takes time in proportion to the length of v.text.
	decode func(d *decoding, v *view)
	// inSources says that known texts are decoded too, when they are added.
	// Ciphers need not be: what undoes them also applies them.
	inSources bool
	// cipher says that decode only prepares v for other encodings, since the
	// search itself sees through it.
	cipher bool
}

// encodings are all that is undone before the search. The search itself sees
// through what the canonical form removes, and through the disguises of find.go.
var encodings = []encoding{
	{name: "url", decode: decodeURL, inSources: true},
	{name: "escapes", decode: decodeEscapes, inSources: true},
	{name: "html", decode: decodeEntities, inSources: true},
	{name: "quoted-printable", decode: decodeQuotedPrintable, inSources: true},
	{name: "punycode", decode: decodePunycode, inSources: true},
	{name: "variation selectors", decode: decodeSelectors, inSources: true},
	{name: "base64", decode: base64Alphabet.decode, inSources: true},
	{name: "base32", decode: base32Alphabet.decode, inSources: true},
	{name: "hex", decode: hexAlphabet.decode, inSources: true},
	{name: "binary", decode: binaryAlphabet.decode, inSources: true},
	{name: "decimal codes", decode: decodeDecimal, inSources: true},
	{name: "octal codes", decode: decodeOctal, inSources: true},
	{name: "letter numbers", decode: decodeLetterNumbers, inSources: true},
	{name: "morse", decode: decodeMorse, inSources: true},
	{name: "concatenated", decode: decodeConcatenation, inSources: true},
	{name: "spaced", decode: decodeSpaced, inSources: true},
	{name: "leet", decode: decodeLeet},
	{name: "interleaved", decode: decodeInterleaved},
	{name: "reversed", decode: decodeReversed, cipher: true},
	{name: "rot13", decode: decodeRot13, cipher: true},
}

// A view is a text that was decoded from the text that was asked about.
type view struct {
	text     string
	from, to []int32 // the bytes of the first text that each byte came from; nil in the first text
	as       string  // what was undone, the outermost first
	depth    int
	step     *encoding // the last that was undone
	cipher   bool      // the search has seen this text
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
	sources bool // the text is a known one: be strict, and do not keep positions
	budget  int  // bytes that may yet be decoded
	step    *encoding
	v       *view
	out     []byte // what is being put
	from    []int32
	to      []int32
}

// put adds a byte that is encoded in the bytes i:j of the text being decoded.
func (d *decoding) put(b byte, i, j int) {
	d.out = append(d.out, b)
	if !d.sources {
		from, to := d.v.span(i, j)
		d.from = append(d.from, int32(from))
		d.to = append(d.to, int32(to))
	}
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

// end makes a view of what was put since the last end.
func (d *decoding) end() { d.endAs(d.step.name) }

func (d *decoding) endAs(name string) {
	text := string(d.out)
	drop := len(text) == 0 || text == d.v.text || d.budget < len(text)
	for i := range d.views {
		drop = drop || d.views[i].text == text
	}
	if !drop {
		d.budget -= len(text) + 64
		as := name
		if d.v.as != "" {
			as = d.v.as + " of " + name
		}
		d.views = append(d.views, view{
			text: text, from: slices.Clone(d.from), to: slices.Clone(d.to),
			as: as, depth: d.v.depth + 1, step: d.step, cipher: d.step.cipher && (d.v.cipher || d.v.depth == 0 || true),
		})
	}
	d.drop()
}

// drop forgets what was put since the last end.
func (d *decoding) drop() { d.out, d.from, d.to = d.out[:0], d.from[:0], d.to[:0] }

// run undoes all encodings of all views, the first of which is the text.
func (d *decoding) run(text string, each func(*view)) {
	d.budget = 32*len(text) + 1<<12
	d.views = append(d.views[:0], view{text: text})
	for i := 0; i < len(d.views); i++ {
		v := d.views[i] // a copy: views may move
		if !v.cipher {
			each(&v)
		}
		if v.depth == maxDepth {
			continue
		}
		d.v = &v
		for e := range encodings {
			d.step = &encodings[e]
			if d.sources && !d.step.inSources || d.step.cipher && v.step == d.step {
				continue
			}
			d.step.decode(d, &v)
			d.drop()
		}
	}
}

// decodeSource returns what is encoded in a known text.
func decodeSource(text string) (decoded []string) {
	d := decoding{sources: true}
	d.run(text, func(v *view) {
		if v.depth > 0 {
			decoded = append(decoded, v.text)
		}
	})
	return decoded
}

// substitute puts v.text with each escape in its place. At each byte that is
// start, match returns how many bytes the escape there has, and what it means;
// 0 if there is none.
func (d *decoding) substitute(v *view, start byte, match func(s string) (int, string)) {
	text, found, last := v.text, false, 0
	for i := 0; i < len(text); {
		if text[i] == start {
			if n, s := match(text[i:]); n > 0 {
				if !found {
					d.copy(last, i)
				}
				found = true
				d.putString(s, i, i+n)
				i += n
				continue
			}
		}
		if found {
			d.put(text[i], i, i+1)
		}
		i++
	}
	if found {
		d.end()
	}
}

// copy puts the bytes i:j as they stand.
func (d *decoding) copy(i, j int) {
	for ; i < j; i++ {
		d.put(d.v.text[i], i, i+1)
	}
}
