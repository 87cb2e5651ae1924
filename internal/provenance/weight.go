package provenance

import (
	_ "embed"
	"strings"
	"sync"
)

// Telling is the weight in bits from which on a match is reported, wherever it
// stands. A match that is all of the text needs less.
const Telling = 20

// Weights in bits.
const (
	letterBits  = 4  // of a letter of a word that is not common
	digitBits   = 3  // of a digit
	partialBits = 2  // of a letter of a word that is not there as a whole
	commonBits  = 1  // of a common word that stands alone
	phraseBits  = 4  // of a common word in a run, where it stands in its order
	upperBits   = 8  // of a capital letter: names of people
	hostBits    = 12 // of a dot within a name: hosts
	wholeBits   = 12 // enough for a match of several words that is all of a text
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
	return min(letters, 12) + numbers
}

// weigh returns the weights of the symbols lo:hi, as they stand. What repeats
// itself weighs less.
func weigh(sym []uint64, lo, hi, letter int) int {
	n := 0
	for i := lo; i < hi; i++ {
		switch {
		case i > lo && sym[i] == sym[i-1] || i > lo+1 && sym[i] == sym[i-2]:
			n++
		case sym[i] <= 10:
			n += min(letter, digitBits)
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
