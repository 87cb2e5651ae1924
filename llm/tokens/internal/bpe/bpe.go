// Package bpe cuts text into tokens by byte-pair encoding, as OpenAI's models
// do: exactly, in time that grows as n log n at worst, and without a regular
// expression.
//
// Text is first cut into pieces (words with the space before them, numbers,
// punctuation, white space), see split.go; a piece that is not a token itself
// is merged out of its bytes, see merge.go. The vocabularies are in the
// program, compressed; [O200k] and [Cl100k] open theirs once.
package bpe

import (
	"bytes"
	"compress/flate"
	_ "embed" // the vocabularies
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"unicode/utf8"
)

//go:generate go run ./gen

//go:embed o200k_base.bin
var o200k []byte

//go:embed cl100k_base.bin
var cl100k []byte

// O200k returns the vocabulary of GPT-4o and all later models.
var O200k = sync.OnceValue(func() *Vocabulary { return mustOpen(o200k, splitO200k) })

// Cl100k returns the vocabulary of GPT-4 and GPT-3.5.
var Cl100k = sync.OnceValue(func() *Vocabulary { return mustOpen(cl100k, splitCl100k) })

// A Vocabulary is the tokens of a model, each with a rank: of two pairs of
// neighbours the one of the lower rank is merged first. It does not change,
// and is safe for concurrent use.
type Vocabulary struct {
	split   func(c *classes, text string) int // length of the first piece of text that is not ""
	classes *classes

	text  string   // all tokens in the order of their ranks
	ends  []uint32 // where in text each of them ends
	pairs []uint32 // by two bytes, first<<8 | second: the rank, or none

	// An open hash table: 0, or above tagShift the rank and below it a few
	// bits of the hash that the place in the table does not tell, plus 1.
	slots []uint32
	mask  uint64
}

const (
	none = ^uint32(0) // no rank

	tagShift = 13
	tagMask  = 1<<tagShift - 1
	mostRank = 1<<(32-tagShift) - 1
)

// mustOpen opens a vocabulary that is part of the program.
func mustOpen(data []byte, split func(*classes, string) int) *Vocabulary {
	v, err := open(data)
	if err != nil {
		panic("bpe: the vocabulary in this program: " + err.Error()) // it was built wrong
	}
	v.split = split
	return v
}

// open reads what gen writes: deflated, how many tokens there are in four
// bytes, the length of each in one byte, and their texts.
func open(data []byte) (*Vocabulary, error) {
	r := flate.NewReader(bytes.NewReader(data))
	var n [4]byte
	if _, err := io.ReadFull(r, n[:]); err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint32(n[:])
	if count > mostRank {
		return nil, fmt.Errorf("%d tokens are more than there can be", count)
	}
	lengths := make([]byte, count)
	if _, err := io.ReadFull(r, lengths); err != nil {
		return nil, err
	}
	v := &Vocabulary{classes: characters(), ends: make([]uint32, count)}
	end := uint32(0)
	for i, n := range lengths {
		end += uint32(n)
		v.ends[i] = end
	}
	text := make([]byte, end)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, err
	}
	v.text = string(text)
	v.index()
	return v, nil
}

// index makes the tables that find a token's rank.
func (v *Vocabulary) index() {
	size := 1
	for size < 2*len(v.ends) {
		size *= 2
	}
	v.slots, v.mask = make([]uint32, size), uint64(size-1)
	v.pairs = make([]uint32, 1<<16)
	for i := range v.pairs {
		v.pairs[i] = none
	}
	for rank := range uint32(len(v.ends)) {
		token := v.token(rank)
		if len(token) == 2 {
			v.pairs[int(token[0])<<8|int(token[1])] = rank
		}
		h := hash(token)
		i := h & v.mask
		for v.slots[i] != 0 {
			i = (i + 1) & v.mask
		}
		v.slots[i] = rank<<tagShift | tag(h)
	}
}

// hash is as good as the table needs, and fast on a few bytes. It has no seed:
// what is in the table is known, and so are its longest runs.
func hash(s string) uint64 {
	const k0, k1 = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
	h := uint64(len(s)) * k0
	for ; len(s) > 8; s = s[8:] {
		h = mix(h^le64(s), k1)
	}
	switch n := len(s); {
	case n >= 4:
		h ^= le32(s) | le32(s[n-4:])<<32
	case n > 0:
		h ^= uint64(s[0]) | uint64(s[n/2])<<8 | uint64(s[n-1])<<16
	}
	return mix(h, k1)
}

// mix multiplies two numbers and folds the product.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// le32 returns the first four bytes of s as a number.
func le32(s string) uint64 {
	_ = s[3]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// le64 returns the first eight bytes of s as a number.
func le64(s string) uint64 {
	_ = s[7]
	return le32(s) | le32(s[4:])<<32
}

// tag is the part of a hash that is kept in the table; it is not 0.
func tag(hash uint64) uint32 { return uint32(hash>>(64-tagShift)) | 1 }

// token returns the text of the token with a rank.
func (v *Vocabulary) token(rank uint32) string {
	start := uint32(0)
	if rank > 0 {
		start = v.ends[rank-1]
	}
	return v.text[start:v.ends[rank]]
}

// rank returns the rank of a token, or none.
func (v *Vocabulary) rank(s string) uint32 {
	h := hash(s)
	t := tag(h)
	for i := h & v.mask; v.slots[i] != 0; i = (i + 1) & v.mask {
		if slot := v.slots[i]; slot&tagMask == t && v.token(slot>>tagShift) == s {
			return slot >> tagShift
		}
	}
	return none
}

// Count returns how many tokens text has. Invalid UTF-8 counts as the
// replacement character, once for each byte.
func (v *Vocabulary) Count(text string) (n int) {
	var m merger
	for piece := range v.pieces(text) {
		if v.rank(piece) != none {
			n++
			continue
		}
		n += v.merge(&m, piece)
	}
	return n
}

// Encode returns the ranks of the tokens of text.
func (v *Vocabulary) Encode(text string) (ranks []uint32) {
	var m merger
	for piece := range v.pieces(text) {
		if rank := v.rank(piece); rank != none {
			ranks = append(ranks, rank)
			continue
		}
		v.merge(&m, piece)
		for token := range m.tokens(piece) {
			ranks = append(ranks, v.rank(token))
		}
	}
	return ranks
}

// pieces cuts text into what is merged by itself.
func (v *Vocabulary) pieces(text string) func(yield func(string) bool) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	return func(yield func(string) bool) {
		for text != "" {
			n := v.split(v.classes, text)
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
	}
}
