package provenance

import (
	"slices"
	"strconv"
)

// ciphers finds what is written backwards, with the words or the letters of
// each word in the opposite order, in an alphabet that is shifted (rot13, Caesar)
// or turned (atbash), or both. All of them apply to symbols, so that nothing is
// decoded for it.
func (f *finder) ciphers() {
	c := &f.canon
	n := len(c.sym)
	f.order = f.order[:0]
	for i := range n {
		f.order = append(f.order, int32(i))
	}
	f.alphabets("")
	slices.Reverse(f.order)
	f.alphabets("reversed")
	if len(c.words) < 2 {
		return
	}
	f.order = f.order[:0]
	for _, w := range slices.Backward(c.words) {
		for i := w.lo; i < w.hi; i++ {
			f.order = append(f.order, int32(i))
		}
	}
	f.cipher("words reversed", 5)
	slices.Reverse(f.order)
	f.cipher("letters of words reversed", 1)
}

// alphabets tries all shifts of the alphabet on the symbols in their order.
func (f *finder) alphabets(name string) {
	with := func(alphabet string) string {
		if name == "" {
			return alphabet
		}
		return name + " of " + alphabet
	}
	f.set(func(s uint64) uint64 { return s })
	if name != "" {
		f.probe(name, 1)
	}
	f.set(func(s uint64) uint64 {
		if 11 <= s && s <= 36 {
			return 47 - s
		}
		return s
	})
	f.probe(with("atbash"), 1)
	for shift := uint64(1); shift < 26; shift++ {
		stride, alphabet := 5, "caesar"
		if shift == 13 {
			stride, alphabet = 1, "rot13"
		} else {
			alphabet += strconv.Itoa(int(shift))
		}
		f.set(func(s uint64) uint64 {
			if 11 <= s && s <= 36 {
				return (s-11+shift)%26 + 11
			}
			return s
		})
		f.probe(with(alphabet), stride)
	}
}

// set makes f.other the symbols in their order, in another alphabet.
func (f *finder) set(of func(uint64) uint64) {
	f.other = f.other[:0]
	for _, i := range f.order {
		f.other = append(f.other, of(f.canon.sym[i]))
	}
}

func (f *finder) cipher(name string, stride int) {
	f.set(func(s uint64) uint64 { return s })
	f.probe(name, stride)
}

// probe finds the runs of f.other, trying each stride-th gram: those of
// 7+stride symbols or more, and short words for stride 1.
func (f *finder) probe(name string, stride int) {
	n := len(f.other) - gramLen + 1
	at := func(i int) uint32 { return f.x.lookup(keyOf(f.other[i : i+gramLen])) }
	done := 0
	for i := 0; i < n; i += stride {
		if i < done || at(i) == 0 {
			continue
		}
		lo, hi := i, i+1
		for lo > done && at(lo-1) != 0 {
			lo--
		}
		for hi < n && at(hi) != 0 {
			hi++
		}
		done = hi
		f.lists = f.lists[:0]
		for j := lo; j < hi; j++ {
			f.lists = append(f.lists, at(j))
		}
		f.bySource(f.lists, lo, func(s uint32, lo, hi int) { f.keepOther(s, lo, hi, name) })
	}
	if stride > 1 {
		return
	}
	for _, w := range f.canon.names {
		size := w.hi - w.lo
		if size < 5 || size >= gramLen || isCommon(f.canon.sym[w.lo:w.hi]) {
			continue
		}
		lo := slices.Index(f.order, int32(w.lo))
		if f.order[0] > f.order[len(f.order)-1] {
			lo = slices.Index(f.order, int32(w.hi-1))
		}
		sym := f.other[lo:min(lo+size, len(f.other))]
		if len(sym) == size && !isCommon(sym) {
			f.x.sources(f.x.lookup(keyOf(sym)), func(s uint32) { f.keepOther(s, lo, lo+size, name) })
		}
	}
}

// keepOther adds a match of f.other[lo:hi] if it is telling: 12 symbols or
// more, or all of a name.
func (f *finder) keepOther(source uint32, lo, hi int, name string) {
	c := &f.canon
	bits := weigh(f.other, lo, hi, letterBits)
	first, last := slices.Min(f.order[lo:hi]), slices.Max(f.order[lo:hi])
	letters := 0
	for _, s := range f.other[lo:hi] {
		if s > 10 {
			letters++
		}
	}
	if bits < Telling || letters < 4 {
		return
	}
	if hi-lo < 12 {
		begins := slices.ContainsFunc(c.words, func(w unit) bool { return w.lo == int(first) })
		ends := slices.ContainsFunc(c.words, func(w unit) bool { return w.hi == int(last)+1 })
		if !begins || !ends || isCommon(f.other[lo:hi]) {
			return
		}
	}
	f.keepBytes(piece{source: source, bits: bits}, int(c.from[first]), int(c.to[last]), name)
}
