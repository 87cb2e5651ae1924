package charset

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	gogs "github.com/gogs/chardet"
	"github.com/wlynxg/chardet"
)

// sampleSize is how much of a text the detectors look at, from its first byte that is not ASCII.
const sampleSize = 64 << 10

// guess reads a text that declares nothing.
func guess(data []byte) Text {
	utf8s, _ := find("utf-8")
	if marked(data) != "" {
		return utf8s.read(data)
	}
	if name := wide(data[:min(len(data), 8000)]); name != "" {
		set, _ := find(name)
		t := set.read(data)
		t.Guessed = true
		return t
	}
	if escapes := switches.Match(data[:min(len(data), sampleSize)]); !escapes {
		if valid(data) {
			return utf8s.read(data)
		}
		if t := utf8s.read(data); t.Lost*50 <= letters(t.UTF8) {
			return t // damaged UTF-8
		}
	}
	t := read(data, sampleOf(data))
	t.Guessed = t.Set != utf8s.name
	return t
}

// switches are the escapes by which a text in seven bits switches sets, as ISO 2022 has it.
var switches = regexp.MustCompile(`\x1b(\$[@B]|\(J|\$\)C)`)

// letters counts the characters that are not ASCII, and are whole.
func letters(text []byte) (n int) {
	for _, r := range string(text) {
		if r >= utf8.RuneSelf && r != utf8.RuneError {
			n++
		}
	}
	return n
}

// sampleOf returns what the detectors look at.
func sampleOf(data []byte) []byte {
	first := 0
	for first < len(data) && data[first] < utf8.RuneSelf && data[first] != 0x1b {
		first++
	}
	first = max(0, first-100)
	return data[first:min(len(data), first+sampleSize)]
}

// asian are the sets of many bytes a character. A text in another set is rarely valid in one
// of them.
var asian = map[string]bool{"shift_jis": true, "euc-jp": true, "iso-2022-jp": true, "gb18030": true, "big5": true, "euc-kr": true}

// read reads a text in the set that is likeliest: that of the first detector for Asian and
// other letters than Latin ones, if it is sure, that of the second for what is left of
// these, and else the Latin set in which the letters are those of some language. Each detector
// is weak where the other is strong, and both take the sets of central Europe for those of
// the west.
func read(data, sample []byte) Text {
	// A few bytes help where the first detector takes many for a set that is hardly used.
	for _, some := range [][]byte{sample, sample[:min(len(sample), 150)]} {
		for _, r := range chardet.DetectAll(some) {
			set, err := find(r.Encoding)
			if err != nil || isLatin(set.name) || !asian[set.name] && r.Confidence < 0.75 {
				continue
			}
			if t := set.read(data); !asian[set.name] || t.isAsian() {
				return t
			}
		}
	}
	if r, err := gogs.NewTextDetector().DetectBest(sample); err == nil {
		if set, err := find(r.Charset); err == nil && !isLatin(set.name) {
			if t := set.read(data); t.Lost == 0 && (!asian[set.name] || t.isAsian()) {
				return t
			}
		}
	}
	return latin(sample).read(data)
}

// isAsian reports whether all of the text is in its set, and most of what is not ASCII are characters of
// two bytes, not the katakana of half the width, which the signs of Latin sets look like.
func (t Text) isAsian() bool {
	half, all := 0, 0
	for _, r := range string(t.UTF8[:min(len(t.UTF8), sampleSize)]) {
		if r >= utf8.RuneSelf {
			all++
		}
		if r >= 0xff61 && r <= 0xff9f {
			half++
		}
	}
	return t.Lost == 0 && half*2 <= all
}

// languages are the letters beside a to z of languages, by the sets in which they are written.
// The first set is taken where two are equally good.
var languages = []struct {
	sets    string
	letters string // of languages
}{
	{"windows-1252 iso-8859-15", "äöüß éèêàâçîïôûùœëÿæ áéíóúñü ãõáéíóúâêôçà åäöæøé áéíóúýþæöð àèéìòù éëïóèü"},
	{"windows-1250 iso-8859-2", "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű ăâîşţ čćđšž"},
	{"windows-1254", "çğıiöşüâî"},
	{"windows-1257", "ąčęėįšųūž āčēģīķļņšūž õäöüšž"},
}

// isLatin reports whether a set is one of western and central Europe.
func isLatin(name string) bool {
	for _, l := range languages {
		for set := range strings.FieldsSeq(l.sets) {
			if set == name {
				return true
			}
		}
	}
	return name == "macintosh" || name == "iso-8859-9" || name == "iso-8859-3" || name == "iso-8859-4" || name == "iso-8859-10" || name == "iso-8859-13"
}

// latin returns the set in which the letters of the sample are most like those of a language.
func latin(sample []byte) (best set) {
	most := -1 << 30
	for _, l := range languages {
		for name := range strings.FieldsSeq(l.sets) {
			set, err := find(name)
			if err != nil {
				continue
			}
			text := set.read(sample)
			for of := range strings.FieldsSeq(l.letters) {
				if n := fit(string(text.UTF8), of) - 3*text.Lost; n > most {
					most, best = n, set
				}
			}
		}
	}
	return best
}

// fit says how well a text fits the letters of a language: in a word, a letter of it is worth one,
// another costs one, and a sign that touches a word two, but for the signs of sentences.
func fit(text, letters string) (n int) {
	runes := append([]rune(text), ' ')
	before := ' '
	for i, r := range runes {
		inWord := unicode.IsLetter(before) || i+1 < len(runes) && unicode.IsLetter(runes[i+1])
		before = r
		switch {
		case r < utf8.RuneSelf || strings.ContainsRune("’‘“”„–—…«»€£§°¿¡\u00a0", r):
		case r == '¤' || unicode.IsControl(r):
			n -= 2
		case !inWord:
		case strings.ContainsRune(letters, unicode.ToLower(r)):
			n++
		case unicode.IsLetter(r):
			n--
		default:
			n -= 2
		}
	}
	return n
}
