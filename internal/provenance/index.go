package provenance

import (
	"math/bits"
)

// gramLen is the length of the shortest run that is found, in symbols. Eight
// symbols of 36 have 41 bits, so that a key holds them without loss.
const gramLen = 8

// An Index knows texts by the number of their source. The zero value is empty
// and ready to use.
//
// Add and Find must not run at the same time; any number of Finds may.
//
// An Index holds no text. It takes 8 to 22 bytes for each byte of text that no
// source has had before, and next to nothing for other text.
type Index struct {
	slots    []uint64 // key<<listBits | list, in open addressing; 0 is empty
	used     int
	shift    int // 64 - log2(len(slots))
	sets     sets
	numbers  []int          // the caller's number of each source
	slot     map[int]uint32 // the reverse of numbers
	tails    []string       // the end of each source's text, which the next piece continues
	canon    canon          // memory for Add
	decoding decoding       // the same
	touched  uint64         // keeps insertAll's reads from being left out
}

const (
	listBits = 22
	listMask = 1<<listBits - 1
	asciiKey = 37 * 37 * 37 * 37 * 37 * 37 * 37 * 37 // keys below are 8 symbols or fewer of ASCII, exactly
	keySpan  = 1<<42 - asciiKey                      // keys from asciiKey on are hashes
	oldest   = asciiKey / 37                         // weight of the oldest symbol of a gram
)

// key turns the polynomial of up to 8 symbols into a key of 42 bits. Different
// symbols of ASCII have different keys.
func key(h uint64) uint64 {
	if h < asciiKey {
		return h
	}
	hi, _ := bits.Mul64(mix(h), keySpan)
	return asciiKey + hi
}

// keyOf returns the key of up to 8 symbols.
func keyOf(sym []uint64) uint64 {
	h := uint64(0)
	for _, s := range sym {
		h = h*37 + s
	}
	return key(h)
}

// lookup returns the set of sources that a key stands in, or 0.
func (x *Index) lookup(k uint64) uint32 {
	if len(x.slots) == 0 {
		return 0
	}
	mask := uint64(len(x.slots) - 1)
	for i := k * 0x9e3779b97f4a7c15 >> x.shift; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s>>listBits == k {
			return uint32(s & listMask)
		}
		if s == 0 {
			return 0
		}
	}
}

// reserve makes room for n more keys.
func (x *Index) reserve(n int) {
	for 4*(x.used+n) >= 3*len(x.slots) {
		x.grow()
	}
}

// insertAll adds source to the sets of keys. It touches all their slots before
// it needs the first, so that the processor fetches them at once.
func (x *Index) insertAll(keys []uint64, source uint32) {
	x.reserve(len(keys))
	for _, k := range keys {
		x.touched |= x.slots[k*0x9e3779b97f4a7c15>>x.shift]
	}
	for _, k := range keys {
		x.insert(k, source)
	}
}

// insert adds source to the set of a key.
func (x *Index) insert(k uint64, source uint32) {
	if 4*x.used >= 3*len(x.slots) {
		x.grow()
	}
	mask := uint64(len(x.slots) - 1)
	for i := k * 0x9e3779b97f4a7c15 >> x.shift; ; i = (i + 1) & mask {
		s := x.slots[i]
		if s>>listBits == k {
			if with := x.sets.with(uint32(s&listMask), source); with != uint32(s&listMask) {
				x.slots[i] = k<<listBits | uint64(with)
			}
			return
		}
		if s == 0 {
			x.slots[i] = k<<listBits | uint64(x.sets.with(0, source))
			x.used++
			return
		}
	}
}

func (x *Index) grow() {
	old := x.slots
	x.slots = make([]uint64, max(1<<10, 2*len(old)))
	x.shift = 64 - bits.TrailingZeros(uint(len(x.slots)))
	mask := uint64(len(x.slots) - 1)
	for _, s := range old {
		if s == 0 {
			continue
		}
		i := (s >> listBits) * 0x9e3779b97f4a7c15 >> x.shift
		for x.slots[i] != 0 {
			i = (i + 1) & mask
		}
		x.slots[i] = s
	}
}

// sets are sets of sources, each of which exists once. A set is a list whose
// tail is another set.
type sets struct {
	nodes []node   // nodes[0] is the empty set
	table []uint32 // where in nodes each set is, in open addressing; 0 is empty
	memo  [256]struct{ set, source, with uint32 }
}

type node struct {
	source, rest uint32
	most         uint32 // the largest source of the set
}

// everything is the set that stands for all sources. It takes the place of new
// sets when there are four million different ones.
const everything = listMask

// with returns the set with source in it. It takes long only if source is not
// the newest one, and the set is large.
func (s *sets) with(set, source uint32) uint32 {
	if set == everything {
		return set
	}
	m := &s.memo[(set*31+source)%256]
	if m.with == 0 || m.set != set || m.source != source {
		m.set, m.source, m.with = set, source, s.find(set, source)
	}
	return m.with
}

// find returns the set with source in it, and makes it if there is none.
func (s *sets) find(set, source uint32) uint32 {
	if len(s.nodes) == 0 {
		s.nodes = append(s.nodes, node{})
	}
	if 4*len(s.nodes) >= 3*len(s.table) {
		s.table = make([]uint32, max(64, 2*len(s.table)))
		for id := 1; id < len(s.nodes); id++ {
			s.table[s.place(s.nodes[id].rest, s.nodes[id].source)] = uint32(id)
		}
	}
	if set != 0 && source <= s.nodes[set].most {
		for at := set; at != 0; at = s.nodes[at].rest {
			if s.nodes[at].source == source {
				return set
			}
		}
	}
	i := s.place(set, source)
	if s.table[i] == 0 {
		if len(s.nodes) == everything {
			return everything
		}
		s.table[i] = uint32(len(s.nodes))
		s.nodes = append(s.nodes, node{source, set, max(source, s.nodes[set].most)})
	}
	return s.table[i]
}

// place returns where in the table the set of source and the set rest is, or
// will be.
func (s *sets) place(rest, source uint32) int {
	mask := len(s.table) - 1
	for i := int(mix(uint64(rest)<<32|uint64(source))) & mask; ; i = (i + 1) & mask {
		id := s.table[i]
		if id == 0 || s.nodes[id].rest == rest && s.nodes[id].source == source {
			return i
		}
	}
}

// Add makes text known as a text of source. A text may be added in pieces: a
// text continues what was last added for the same source.
func (x *Index) Add(source int, text string) {
	if text == "" {
		return
	}
	id, ok := x.slot[source]
	if !ok {
		if x.slot == nil {
			x.slot = map[int]uint32{}
		}
		id = uint32(len(x.numbers))
		x.numbers = append(x.numbers, source)
		x.tails = append(x.tails, "")
		x.slot[source] = id
	}
	for len(text) > 0 {
		n := min(len(text), pieceLen)
		piece := x.tails[id] + text[:n]
		text = text[n:]
		x.addText(id, piece)
		x.decoding.decodeSource(piece, func(decoded string) { x.addText(id, decoded) })
		x.tails[id] = tail(piece)
	}
}

// pieceLen is how much of a text is looked at together, so that what Add needs
// for it stays in the caches of the processor.
const pieceLen = 1 << 15

// addText adds the runs and tokens of a text.
func (x *Index) addText(id uint32, text string) {
	c := &x.canon
	c.set(text)
	x.reserve(len(c.sym) / 2)
	var keys [64]uint64
	n, h := 0, uint64(0)
	for i, s := range c.sym {
		if i >= gramLen {
			h -= c.sym[i-gramLen] * oldest
		}
		h = h*37 + s
		if i >= gramLen-1 {
			keys[n] = key(h)
			if n++; n == len(keys) {
				x.insertAll(keys[:], id)
				n = 0
			}
		}
	}
	x.insertAll(keys[:n], id)
	for i, w := range c.words {
		for j := i; j < len(c.words) && c.words[j].hi-w.lo < gramLen; j++ {
			x.insert(keyOf(c.sym[w.lo:c.words[j].hi]), id)
		}
	}
}

// tail returns the end of a text that must be looked at again when the text is
// continued: more than a run, and the word or the encoded text that may go on.
func tail(text string) string {
	const least, most = 64, 1024
	i := max(0, len(text)-least)
	for i > 0 && i > len(text)-most && !isSpace(text[i-1]) {
		i--
	}
	return string([]byte(text[i:])) // not to keep the whole text
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' || b == '\r' }
