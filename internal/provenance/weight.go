package provenance

import (
	_ "embed"
	"strings"
	"sync"
)

// Telling is the weight in bits from which on a match is reported, wherever it
// stands. A match that is all of the text needs less, one in a cipher more.
const Telling = 24

// Weights in bits. They are estimates of how improbable it is that two texts of
// the same language, one of them as long as a book, have something in common.
const (
	letterBits  = 4  // of a letter of a word that is not common
	shortBits   = 2  // of a letter of a word of three or less
	wordBits    = 16 // of a word of letters that may be one of a language
	digitBits   = 3  // of a digit
	partialBits = 1  // of a letter of a word that is not there as a whole, six at most
	commonBits  = 1  // of a common word that stands alone
	phraseBits  = 4  // of a common word in a run, where it stands in its order
	freeWords   = 3  // how many of these weigh nothing
	upperBits   = 18 // of a capital letter: names of people
	hostBits    = 24 // of a dot within a name: hosts
	wholeBits   = 18 // enough for a match of several words that is all of a text
	cipherBits  = 8  // what a shifted alphabet needs more, since there are 24
	doubtBits   = 12 // what needs more after a decoding that is possible for any text
)

//go:embed common.txt
var commonText string

// common has the words that occur in many unrelated texts, by polynomial.
var common = sync.OnceValue(func() map[uint64]bool {
	m := map[uint64]bool{}
	for w := range strings.FieldsSeq(commonText) {
		h := uint64(0)
		for i := range len(w) {
			h = h*37 + uint64(class[w[i]])
		}
		m[h] = true
	}
	return m
})

// topLevel has the endings of the names of hosts, by key. Those that are also
// endings of the names of files are left out.
var topLevel = func() map[uint64]bool {
	m := map[uint64]bool{}
	for w := range strings.FieldsSeq(`com net org edu gov mil int biz io ai dev cloud site online top xyz club
		shop store tech news me tv cc to co us uk eu de fr it es pt nl be ch at se no fi dk pl cz ru
		ua cn jp kr in br mx ar au nz za ca ie gr tr ro hu sk si hr bg lt lv ee is il ir vn th my sg hk tw ph
		example test invalid localhost onion arpa`) {
		h := uint64(0)
		for i := range min(len(w), gramLen) {
			h = h*37 + uint64(class[w[i]])
		}
		m[key(h)] = true
	}
	return m
}()

// isCommon reports whether symbols are a common word, or a single character.
func isCommon(sym []uint64) bool {
	if len(sym) < 2 {
		return true
	}
	h := uint64(0)
	for _, s := range sym {
		h = h*37 + s
	}
	return common()[h]
}

// weighPart returns the weight of a part of a word. Words of one language have
// parts in common, numbers have not.
func weighPart(sym []uint64) int {
	letters, numbers := 0, 0
	for i, s := range sym {
		switch {
		case s > 10:
			letters += partialBits
		case i > 0 && sym[i-1] == s || i > 1 && sym[i-2] == s:
			numbers++
		default:
			numbers += digitBits
		}
	}
	return min(letters, 6) + numbers
}

// weighWord returns the weight of a word that is not common. A word of letters
// has no more than one of a language, unless it cannot be one: it is too long,
// or it has five consonants in a row.
func weighWord(sym []uint64) int {
	if len(sym) <= 3 {
		return weigh(sym, 0, len(sym), shortBits)
	}
	bits := weigh(sym, 0, len(sym), letterBits)
	if bits <= wordBits || len(sym) > 16 {
		return bits
	}
	consonants := 0
	for _, s := range sym {
		switch s {
		case 11, 'e' - 'a' + 11, 'i' - 'a' + 11, 'o' - 'a' + 11, 'u' - 'a' + 11, 'y' - 'a' + 11: // vowels
			consonants = 0
			continue
		}
		if consonants++; s <= 10 || consonants == 5 {
			return bits
		}
	}
	return wordBits
}

// weigh returns the weights of the symbols lo:hi, as they stand. Repetition
// weighs less.
func weigh(sym []uint64, lo, hi, letter int) int {
	n := 0
	for i := lo; i < hi; i++ {
		switch {
		case i > lo && sym[i] == sym[i-1] || i > lo+1 && sym[i] == sym[i-2]:
			n++
		case sym[i] <= 10:
			n += digitBits
		default:
			n += letter
		}
	}
	return n
}

// isCommonText reports whether letters and digits of ASCII are a common word.
func isCommonText(word string) bool {
	h := uint64(0)
	for i := range len(word) {
		h = h*37 + uint64(class[word[i]])
	}
	return common()[h]
}
