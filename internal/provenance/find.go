package provenance

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// A Match says that the bytes From:To of the text that was asked about stand in
// known texts.
type Match struct {
	From, To int    // on the boundaries of runes
	Sources  []int  // each of which holds it, ascending
	As       string // "" as it stands, or how it was encoded: "base64", "hex of base64"
	Bytes    int    // its length when decoded
	// Bits is its weight: about how improbable it is that two unrelated texts
	// have it in common. It is Telling or more, unless the match is all of the
	// text.
	Bits int
}

// Find returns the parts of text that stand in known texts, in order of From.
// Matches of different sources may overlap. A part that different sources hold
// different pieces of, such as the two words of a host name, has a match for
// each piece.
//
// It takes time in proportion to the length of the text, and does not depend on
// how much is known.
func (x *Index) Find(text string) []Match {
	if len(x.slots) == 0 || text == "" {
		return nil
	}
	f := finders.Get().(*finder)
	defer finders.Put(f)
	return f.find(x, text)
}

// FindAll is Find for the arguments of one call: also what is split over
// several of them, in order, is found. The matches at i are those of parts[i];
// As begins with "split" for a piece of something that goes on in another part.
func (x *Index) FindAll(parts []string) [][]Match {
	all := make([][]Match, len(parts))
	for i, p := range parts {
		all[i] = x.Find(p)
	}
	if len(parts) < 2 {
		return all
	}
	for _, m := range x.Find(strings.Join(parts, "")) {
		begin := 0
		for i, p := range parts {
			from, to := max(m.From, begin), min(m.To, begin+len(p))
			if from < to && (from > m.From || to < m.To) {
				piece := m
				piece.From, piece.To = from-begin, to-begin
				piece.As = strings.TrimSpace("split " + m.As)
				if !covered(all[i], piece) {
					all[i] = append(all[i], piece)
				}
			}
			begin += len(p)
		}
	}
	for _, matches := range all {
		slices.SortStableFunc(matches, func(a, b Match) int { return a.From - b.From })
	}
	return all
}

// covered reports whether one of matches says all that m says.
func covered(matches []Match, m Match) bool {
	return slices.ContainsFunc(matches, func(o Match) bool {
		return o.From <= m.From && m.To <= o.To && slices.Equal(o.Sources, m.Sources)
	})
}

// A finder is the memory of a Find.
type finder struct {
	x       *Index
	v       *view
	d       decoding
	canon   canon
	lists   []uint32 // of each gram of the canonical form, by its first symbol
	plain   []bool   // whether each word is a common one
	pieces  []piece
	other   []uint64 // the symbols in another order or alphabet
	order   []int32  // where in the canonical form they stand
	open    []int32  // by source: where its run began, plus 1
	seen    []int32  // by source: where it was seen last, plus 1
	active  []uint32 // the sources with a run
	found   []found
	first   int // the bytes first:last of the text are those of its symbols
	last    int
	free    int  // see otherBits
	letters int  // how many letters a match in another alphabet needs
	telling int  // the weight that a match in the view needs
	whole   bool // the view stands for all symbols of the text
}

var finders = sync.Pool{New: func() any { return new(finder) }}

// A piece is a sequence of symbols that one source has.
type piece struct {
	source uint32
	lo, hi int
	bits   int
}

// found is a match in one source.
type found struct {
	source   uint32
	from, to int
	as       string
	depth    int
	bytes    int
	bits     int
}

func (f *finder) find(x *Index, text string) []Match {
	f.x, f.found = x, f.found[:0]
	if n := len(x.numbers); len(f.open) < n {
		f.open, f.seen = make([]int32, n), make([]int32, n)
	}
	f.d.run(text, f.search)
	matches := f.matches(text)
	clear(f.d.views) // what lives on in the pool holds no text
	f.x, f.v, f.d.v, f.canon.text = nil, nil, nil, ""
	return matches
}

// search finds what v has in common with known texts.
func (f *finder) search(v *view) {
	f.v = v
	c := &f.canon
	c.set(v.text)
	if len(c.sym) < 2 {
		return
	}
	from, to := v.span(int(c.from[0]), int(c.to[len(c.to)-1]))
	if v.kind == first {
		f.first, f.last = from, to
	}
	f.whole = from <= f.first && to >= f.last
	f.telling = Telling
	if v.doubt {
		f.telling += doubtBits
	}
	f.plain = f.plain[:0]
	for _, w := range c.words {
		f.plain = append(f.plain, isCommon(c.sym[w.lo:w.hi]))
	}
	f.pieces = f.pieces[:0]
	f.runs()
	f.tokens()
	f.chains()
	f.split()
	if len(c.sym) >= 5 {
		f.ciphers()
	}
}

// runs finds the runs of 8 symbols or more.
func (f *finder) runs() {
	c := &f.canon
	n := max(0, len(c.sym)-gramLen+1)
	f.lists = f.lists[:0]
	h := uint64(0)
	for i, s := range c.sym {
		if i >= gramLen {
			h -= c.sym[i-gramLen] * oldest
		}
		h = h*37 + s
		if i >= gramLen-1 {
			f.lists = append(f.lists, f.x.lookup(key(h)))
		}
	}
	for i := 0; i < n; i++ {
		if f.lists[i] == 0 {
			continue
		}
		j := i + 1
		for j < n && f.lists[j] != 0 {
			j++
		}
		if f.runBits(i, j+gramLen-1) >= 8 || f.whole && j+gramLen-1-i == len(c.sym) {
			f.bySource(f.lists[i:j], i, func(source uint32, lo, hi int) {
				if b := f.runBits(lo, hi); b >= 8 || f.whole && hi-lo == len(c.sym) {
					f.pieces = append(f.pieces, piece{source, lo, hi, b})
				}
			})
		}
		i = j
	}
}

// bySource tells apart what each source has of a sequence of grams, the first of
// which begins at symbol base, and calls run for the symbols lo:hi of each. A
// source has a run as long as it is in the set of each gram. That is as good as
// having the text, since neighbouring grams share 7 of their 8 symbols.
func (f *finder) bySource(lists []uint32, base int, run func(source uint32, lo, hi int)) {
	f.active = f.active[:0]
	last := uint32(0)
	for i, list := range lists {
		if list == last {
			continue
		}
		last = list
		stamp := int32(i + 1)
		f.x.sources(list, func(s uint32) {
			f.seen[s] = stamp
			if f.open[s] == 0 {
				f.open[s] = stamp
				f.active = append(f.active, s)
			}
		})
		f.active = slices.DeleteFunc(f.active, func(s uint32) bool {
			if f.seen[s] == stamp {
				return false
			}
			run(s, base+int(f.open[s])-1, base+i-1+gramLen)
			f.open[s] = 0
			return true
		})
	}
	for _, s := range f.active {
		run(s, base+int(f.open[s])-1, base+len(lists)-1+gramLen)
		f.open[s] = 0
	}
}

// sources calls each for the sources of a set.
func (x *Index) sources(set uint32, each func(uint32)) {
	if set == everything {
		for s := range x.numbers {
			each(uint32(s))
		}
		return
	}
	for ; set != 0; set = x.sets.nodes[set].rest {
		each(x.sets.nodes[set].source)
	}
}

// runBits returns the weight of a run. Its first three common words count for
// nothing, and the names of hosts for much.
func (f *finder) runBits(lo, hi int) int {
	c, bits, plain := &f.canon, 0, 0
	for i := int(c.word[lo]); i < len(c.words) && c.words[i].lo < hi; i++ {
		w := c.words[i]
		switch {
		case w.lo < lo || hi < w.hi:
			bits += weighPart(c.sym[max(lo, w.lo):min(hi, w.hi)])
		case f.plain[i]:
			plain++
		default:
			bits += f.wordBits(i)
		}
	}
	for i := c.words[c.word[lo]].name; i < len(c.names) && c.names[i].hi <= hi; i++ {
		if c.names[i].lo >= lo && f.isHost(c.names[i]) {
			bits += hostBits
		}
	}
	return bits + phraseBits*max(0, plain-freeWords)
}

// wordBits returns the weight of a whole word. Each word of several that a
// change of case joins counts by itself.
func (f *finder) wordBits(i int) int {
	c, w := &f.canon, f.canon.words[i]
	if f.plain[i] {
		return commonBits
	}
	bits, begin := 0, w.lo
	for at := w.lo + 1; at <= w.hi; at++ {
		if at < w.hi && !(c.upper(at) && !c.upper(at-1)) {
			continue
		}
		if isCommon(c.sym[begin:at]) {
			bits += phraseBits
		} else {
			bits += weighWord(c.sym[begin:at])
		}
		begin = at
	}
	if w.upper && w.hi-w.lo > 2 && !c.upper(w.lo+1) && !c.beginsSentence(w.lo) {
		bits += upperBits
	}
	return bits
}

// tokens finds words and names that are too short for a run.
func (f *finder) tokens() {
	c := &f.canon
	short := f.whole && len(c.words) <= 4 && !f.v.doubt // then also words that tell nothing by themselves
	add := func(lo, hi, bits int) {
		if hi-lo >= gramLen {
			return
		}
		f.x.sources(f.x.lookup(keyOf(c.sym[lo:hi])), func(s uint32) {
			f.pieces = append(f.pieces, piece{s, lo, hi, bits})
		})
	}
	for i, w := range c.words {
		if b := f.wordBits(i); short || b > 3 && (!f.v.doubt || w.hi-w.lo > 4) {
			add(w.lo, w.hi, b)
		}
	}
	i := 0
	for _, n := range c.names {
		bits := 0
		for ; i < len(c.words) && c.words[i].lo < n.hi; i++ {
			bits += f.wordBits(i)
		}
		if n.words == 1 {
			continue
		}
		if f.isHost(n) {
			bits += hostBits
		}
		add(n.lo, n.hi, bits)
	}
	if f.whole && len(c.names) > 1 {
		add(0, len(c.sym), wholeBits)
	}
}

// chains joins the pieces of each source that stand next to each other, and
// keeps those that are telling.
func (f *finder) chains() {
	slices.SortFunc(f.pieces, func(a, b piece) int {
		return cmp.Or(cmp.Compare(a.source, b.source), a.lo-b.lo, b.hi-a.hi)
	})
	n := len(f.canon.sym)
	for i := 0; i < len(f.pieces); {
		chain := f.pieces[i]
		one := chain.hi == n // whether a single piece covers all
		for i++; i < len(f.pieces) && f.pieces[i].source == chain.source && f.pieces[i].lo <= chain.hi; i++ {
			p := f.pieces[i]
			one = one || p.lo == 0 && p.hi == n
			switch {
			case p.hi > chain.hi:
				chain.hi = p.hi
				chain.bits += p.bits
			case p.lo == chain.lo && p.hi == chain.hi:
				chain.bits = max(chain.bits, p.bits)
			}
		}
		whole := f.whole && chain.lo == 0 && chain.hi == n
		if chain.bits >= f.telling || whole && (one || chain.bits >= wholeBits) {
			f.keep(chain, "")
		}
	}
}

// keep adds a match of the symbols of p.
func (f *finder) keep(p piece, as string) {
	c := &f.canon
	f.keepBytes(p, int(c.from[p.lo]), int(c.to[p.hi-1]), as)
}

// keepBytes adds a match of the bytes i:j of the view.
func (f *finder) keepBytes(p piece, i, j int, as string) {
	from, to := f.v.span(i, j)
	depth := f.v.depth
	of := f.d.as(f.v)
	switch {
	case as == "":
		as = of
	case of != "":
		as = of + " of " + as
		depth++
	default:
		depth++
	}
	f.found = append(f.found, found{p.source, from, to, as, depth, j - i, p.bits})
}

// split finds names whose pieces stand in different sources, and cuts words in
// two for it.
func (f *finder) split() {
	c := &f.canon
	for _, n := range c.names {
		whole := f.whole && n.lo == 0 && n.hi == len(c.sym)
		if n.words < 2 && !whole || !(whole || f.isHost(n)) || n.hi-n.lo > 64 {
			continue
		}
		pieces, bits := f.cut(n)
		if len(pieces) < 2 || bits < wholeBits || bits < f.telling && !whole {
			continue
		}
		for _, p := range pieces {
			set := uint32(0)
			if p.hi-p.lo < gramLen {
				set = f.x.lookup(keyOf(c.sym[p.lo:p.hi]))
				f.x.sources(set, func(s uint32) { f.keep(piece{s, p.lo, p.hi, bits}, "") })
				continue
			}
			f.bySource(f.lists[p.lo:p.hi-gramLen+1], p.lo, func(s uint32, lo, hi int) {
				f.keep(piece{s, lo, hi, bits}, "")
			})
		}
	}
}

// isHost reports whether a name ends as the name of a host does.
func (f *finder) isHost(n unit) bool {
	c := &f.canon
	if !n.dotted {
		return false
	}
	last := c.words[c.word[n.hi-1]]
	return topLevel[keyOf(c.sym[last.lo:min(last.hi, last.lo+gramLen)])]
}

// cut covers a name with as few tokens and runs as possible. It returns none if
// they do not cover all of it.
func (f *finder) cut(n unit) ([]piece, int) {
	c := &f.canon
	type step struct {
		pieces, from, bits int
	}
	best := make([]step, n.hi-n.lo+1)
	for i := n.lo; i < n.hi; i++ {
		at := best[i-n.lo]
		if i > n.lo && at.pieces == 0 {
			continue
		}
		longest := i // how far a run goes
		for j := i; j < len(f.lists) && j+gramLen <= n.hi && f.lists[j] != 0; j++ {
			longest = j + gramLen
		}
		for j := i + 2; j <= n.hi; j++ {
			if j-i < gramLen {
				if f.x.lookup(keyOf(c.sym[i:j])) == 0 {
					continue
				}
			} else if j > longest {
				break
			}
			bits := at.bits + commonBits
			if !isCommon(c.sym[i:j]) {
				bits = at.bits + weighWord(c.sym[i:j])
			}
			if !c.edge(j) {
				bits -= 6
			}
			to := &best[j-n.lo]
			if to.pieces == 0 || at.pieces+1 < to.pieces || at.pieces+1 == to.pieces && bits > to.bits {
				*to = step{at.pieces + 1, i, bits}
			}
		}
	}
	end := best[n.hi-n.lo]
	if end.pieces == 0 {
		return nil, 0
	}
	if f.isHost(n) {
		end.bits += hostBits / 2
	}
	var pieces []piece
	for j := n.hi; j > n.lo; j = best[j-n.lo].from {
		pieces = append(pieces, piece{lo: best[j-n.lo].from, hi: j})
	}
	return pieces, end.bits
}

// matches joins what was found in several sources.
func (f *finder) matches(text string) []Match {
	// By source and place, that with the fewest encodings first.
	slices.SortFunc(f.found, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.source, b.source), a.from-b.from, b.to-a.to, a.depth-b.depth)
	})
	kept := f.found[:0]
	for _, m := range f.found {
		redundant := false
		for i := len(kept) - 1; i >= 0 && i >= len(kept)-8 && kept[i].source == m.source; i-- {
			redundant = redundant || kept[i].to >= m.to
		}
		if !redundant {
			kept = append(kept, m)
		}
	}
	slices.SortFunc(kept, func(a, b found) int {
		return cmp.Or(a.from-b.from, a.to-b.to, strings.Compare(a.as, b.as), b.bits-a.bits)
	})
	var out []Match
	for _, m := range kept {
		for m.from > 0 && !utf8.RuneStart(text[m.from]) {
			m.from--
		}
		for m.to < len(text) && !utf8.RuneStart(text[m.to]) {
			m.to++
		}
		number := f.x.numbers[m.source]
		if n := len(out); n > 0 && out[n-1].From == m.from && out[n-1].To == m.to && out[n-1].As == m.as {
			out[n-1].Sources = append(out[n-1].Sources, number)
			continue
		}
		out = append(out, Match{m.from, m.to, []int{number}, m.as, m.bytes, m.bits})
	}
	for i := range out {
		slices.Sort(out[i].Sources)
		out[i].Sources = slices.Compact(out[i].Sources)
	}
	return out
}
