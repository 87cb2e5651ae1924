package provenance

import (
	"slices"
	"strconv"
)

// ciphers finds what is written backwards, with the words or the letters of
// each word in the opposite order, in an alphabet that is shifted (rot13,
// Caesar) or turned (atbash), or both. All of them apply to symbols, so that
// nothing is decoded for it. Common words of five letters or more, and shorter
// ones next to others, are no ciphers: only what stands between them is tried.
func (f *finder) ciphers() {
	c := &f.canon
	begin := 0
	for i, w := range c.words {
		long := w.hi-w.lo > 4
		beside := i > 0 && f.plain[i-1] || i+1 < len(c.words) && f.plain[i+1]
		if f.plain[i] && w.hi-w.lo > 2 && (long || beside) {
			f.between(begin, w.lo)
			begin = w.hi
		}
	}
	f.between(begin, len(c.sym))
	if len(c.words) > 2 {
		f.order = f.order[:0]
		for _, w := range slices.Backward(c.words) {
			for i := w.lo; i < w.hi; i++ {
				f.order = append(f.order, int32(i))
			}
		}
		f.turn(same)
		f.free = freeWords // the words are those of a language
		f.runsOf("words reversed", longRun)
		f.free = 0
	}
}

// between tries the ciphers on the symbols lo:hi.
func (f *finder) between(lo, hi int) {
	if hi-lo < 5 {
		return
	}
	f.order = f.order[:0]
	letters := 0
	for i := lo; i < hi; i++ {
		f.order = append(f.order, int32(i))
		if f.canon.sym[i] > 10 {
			letters++
		}
	}
	f.alphabets(0, letters)
	slices.Reverse(f.order)
	f.turn(same)
	f.words("reversed")
	f.runsOf("reversed", longRun)
	f.alphabets(1, letters)

	f.order = f.order[:0]
	n := 0
	for _, w := range f.canon.words {
		if lo <= w.lo && w.hi <= hi {
			for i := w.hi - 1; i >= w.lo; i-- {
				f.order = append(f.order, int32(i))
			}
			n++
		}
	}
	if n > 1 {
		f.turn(same)
		f.words("letters of words reversed")
		f.runsOf("letters of words reversed", longRun)
	}
}

// A turning is a way to replace letters by others.
type turning struct {
	names   [2]string // in order, and backwards
	symbols [37]uint64
	least   int // the shortest run that is found, unless it is whole words
}

var (
	same     = new(turning)
	turnings []*turning
)

func init() {
	add := func(name string, least int, of func(letter uint64) uint64) {
		t := &turning{names: [2]string{name, "reversed of " + name}, least: least}
		for s := range t.symbols {
			t.symbols[s] = uint64(s)
			same.symbols[s] = uint64(s)
			if s > 10 {
				t.symbols[s] = of(uint64(s)-11) + 11
			}
		}
		turnings = append(turnings, t)
	}
	add("atbash", longRun, func(l uint64) uint64 { return 25 - l })
	add("rot13", longRun, func(l uint64) uint64 { return (l + 13) % 26 })
	for shift := uint64(1); shift < 26; shift++ {
		if shift != 13 {
			// The text was shifted by what is missing to 26.
			add("caesar "+strconv.Itoa(int(26-shift)), longRun+4, func(l uint64) uint64 { return (l + shift) % 26 })
		}
	}
}

// alphabets tries all turnings on the symbols in their order.
func (f *finder) alphabets(direction, letters int) {
	if letters < leastLetters {
		return
	}
	if direction == 0 { // what is no letter stands there as it is, which is no cipher
		f.letters = leastLetters
		defer func() { f.letters = 0 }()
	}
	for _, t := range turnings {
		usual := t.least == longRun
		if !usual && (len(f.order) < t.least || f.v.kind == woven) {
			return
		}
		f.turn(t)
		if !usual {
			f.telling += cipherBits
			f.runsOf(t.names[direction], t.least)
			f.telling -= cipherBits
			continue
		}
		f.words(t.names[direction])
		f.runsOf(t.names[direction], t.least)
	}
}

// turn makes f.other the symbols in their order, in another alphabet.
func (f *finder) turn(t *turning) {
	f.other = f.other[:0]
	for _, i := range f.order {
		s := f.canon.sym[i]
		if s < uint64(len(t.symbols)) {
			s = t.symbols[s]
		}
		f.other = append(f.other, s)
	}
}

// at returns the sources of the gram at a symbol of f.other.
func (f *finder) at(i int) uint32 { return f.x.lookup(keyOf(f.other[i : i+gramLen])) }

// runsOf finds the runs of f.other that have least symbols.
func (f *finder) runsOf(name string, least int) {
	done := 0
	for i := 0; i+gramLen <= len(f.other); i += least - gramLen + 1 {
		if i >= done && f.at(i) != 0 {
			done = f.extend(i, done, name)
		}
	}
}

// extend keeps the matches around the gram at the symbol i, none of which
// begins before the symbol done. It returns where they end.
func (f *finder) extend(i, done int, name string) int {
	n := len(f.other) - gramLen + 1
	lo, hi := i, i+1
	for lo > done && f.at(lo-1) != 0 {
		lo--
	}
	for hi < n && f.at(hi) != 0 {
		hi++
	}
	if f.otherBits(lo, hi+gramLen-1) < f.telling && hi+gramLen-1-lo < len(f.canon.sym) {
		return hi
	}
	f.lists = f.lists[:0]
	for j := lo; j < hi; j++ {
		f.lists = append(f.lists, f.at(j))
	}
	f.bySource(f.lists, lo, func(s uint32, lo, hi int) { f.keepOther(s, lo, hi, name) })
	return hi
}

// words finds names of f.other, and runs that begin with a word.
func (f *finder) words(name string) {
	c := &f.canon
	done := 0
	for lo := 0; lo < len(f.order); {
		w := c.words[c.word[f.order[lo]]]
		if lo >= done && lo+gramLen <= len(f.other) && f.at(lo) != 0 {
			done = f.extend(lo, done, name)
		}
		n := c.names[w.name]
		hi := lo + n.hi - n.lo
		if hi <= len(f.order) && hi-lo >= 5 && hi-lo < gramLen &&
			min(f.order[lo], f.order[hi-1]) == int32(n.lo) && max(f.order[lo], f.order[hi-1]) == int32(n.hi-1) &&
			!isCommon(c.sym[n.lo:n.hi]) && !isCommon(f.other[lo:hi]) {
			f.x.sources(f.x.lookup(keyOf(f.other[lo:hi])), func(s uint32) { f.keepOther(s, lo, hi, name) })
		}
		lo += w.hi - w.lo
	}
}

// leastLetters is how many letters a text in another alphabet has.
const leastLetters = 5

// longRun is the length from which on a run in a cipher is telling anywhere.
const longRun = 12

// otherBits returns the weight of f.other[lo:hi], of which f.free common words
// count for nothing.
func (f *finder) otherBits(lo, hi int) int {
	c, bits, plain := &f.canon, 0, 0
	for i := lo; i < hi; {
		w := c.words[c.word[f.order[i]]]
		j := i + 1
		for j < hi && c.word[f.order[j]] == c.word[f.order[i]] {
			j++
		}
		switch {
		case j-i < w.hi-w.lo:
			bits += weighPart(f.other[i:j])
		case isCommon(f.other[i:j]):
			plain++
		default:
			bits += weighWord(f.other[i:j])
		}
		i = j
	}
	return bits + phraseBits*max(0, plain-f.free)
}

// keepOther adds a match of f.other[lo:hi] if it is telling: 12 symbols or
// more, or whole words, with as many letters as f.letters.
func (f *finder) keepOther(source uint32, lo, hi int, name string) {
	c := &f.canon
	if f.letters > 0 {
		letters := 0
		for _, s := range f.other[lo:hi] {
			if s > 10 {
				letters++
			}
		}
		if letters < f.letters {
			return
		}
	}
	bits := f.otherBits(lo, hi)
	first, last := int(slices.Min(f.order[lo:hi])), int(slices.Max(f.order[lo:hi]))
	all := f.whole && hi-lo == len(c.sym)
	if bits < f.telling && !all {
		return
	}
	if hi-lo < longRun && (!c.edge(first) || !c.edge(last+1)) {
		return
	}
	f.keepBytes(piece{source: source, bits: bits}, int(c.from[first]), int(c.to[last]), name)
}
