package journal

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// A matcher finds any of many strings in a text. It reads a text once, however
// many strings there are: it is the algorithm of Wu and Manber ("A fast algorithm
// for multi-pattern searching", 1994) with blocks of three bytes. A matcher does
// not change after newMatcher.
type matcher struct {
	forms   []form    // by value
	longest int       // bytes of the longest value
	window  int       // bytes of the shortest value, or 255
	has     [256]bool // the bytes of all values

	// shift says how far the window may move if it ends with a block of that
	// hash: 0 if one of the values may begin with it.
	shift   [1 << blockBits]uint8
	buckets map[uint32][]int32 // the forms by the hash of the block that ends their window, the longest first
}

const (
	blockBits = 15
	blockSize = 3
)

// blockHash returns the hash of the block that begins text.
func blockHash(text []byte) uint32 {
	_ = text[blockSize-1]
	return (uint32(text[0])<<16 | uint32(text[1])<<8 | uint32(text[2])) * 2654435761 >> (32 - blockBits)
}

// newMatcher returns a matcher of forms, whose values have at least minSecret
// bytes, or nil if there are none.
func newMatcher(forms []form) *matcher {
	if len(forms) == 0 {
		return nil
	}
	m := &matcher{forms: forms, buckets: make(map[uint32][]int32)}
	slices.SortFunc(forms, func(a, b form) int { return bytes.Compare(a.value, b.value) })
	m.window = len(forms[0].value)
	for _, f := range forms {
		m.window, m.longest = min(m.window, len(f.value)), max(m.longest, len(f.value))
		for _, c := range f.value {
			m.has[c] = true
		}
	}
	m.window = min(m.window, 255)
	farthest := m.window - blockSize + 1
	for i := range m.shift {
		m.shift[i] = uint8(farthest)
	}
	for i, f := range forms {
		for end := blockSize; end <= m.window; end++ {
			h := blockHash(f.value[end-blockSize:])
			m.shift[h] = min(m.shift[h], uint8(m.window-end))
		}
		h := blockHash(f.value[m.window-blockSize:])
		m.buckets[h] = append(m.buckets[h], int32(i))
	}
	for _, b := range m.buckets {
		slices.SortStableFunc(b, func(x, y int32) int { return cmp.Compare(len(forms[y].value), len(forms[x].value)) })
	}
	return m
}

// A match is a place in a text where a form stands, or several that overlap.
type match struct {
	from, to    int
	placeholder []byte // of the first of them
}

// find calls yield with the longest match at each place, from left to right,
// until it returns false. work counts the steps of the search and the bytes that
// it compares; it grows no faster than the text does.
func (m *matcher) find(text []byte, yield func(match) bool) (work int) {
	for at := m.window; at <= len(text); {
		work++
		h := blockHash(text[at-blockSize:])
		if n := m.shift[h]; n > 0 {
			at += int(n)
			continue
		}
		from := at - m.window
		for _, i := range m.buckets[h] {
			v := m.forms[i].value
			work++
			if v[0] != text[from] {
				continue
			}
			work += len(v)
			if bytes.HasPrefix(text[from:], v) {
				if !yield(match{from, from + len(v), m.forms[i].placeholder}) {
					return work
				}
				break
			}
		}
		at++
	}
	return work
}

// begins reports whether text is the beginning of a longer value.
func (m *matcher) begins(text []byte) bool {
	i := sort.Search(len(m.forms), func(i int) bool { return bytes.Compare(m.forms[i].value, text) > 0 })
	return i < len(m.forms) && bytes.HasPrefix(m.forms[i].value, text)
}

// pending returns the place from which on text may be the beginning of a value
// that goes on after its end, or len(text).
func (m *matcher) pending(text []byte) int {
	for i := max(0, len(text)-m.longest+1); i < len(text); i++ {
		if m.begins(text[i:]) {
			return i
		}
	}
	return len(text)
}
