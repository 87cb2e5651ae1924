package sight

import (
	"fmt"
	"maps"
	"slices"
)

// A Memory is what a session has seen of files so far. The zero Memory is empty. It is not
// safe for use by several goroutines.
type Memory struct {
	whole, paths map[string]bool
	parts        map[string][]span // by the hash of the content, in order, apart from each other
}

// A span is the lines from one to another.
type span struct{ from, to int }

// Note adds what was seen.
func (m *Memory) Note(f File) {
	if m.whole == nil {
		m.whole, m.paths, m.parts = make(map[string]bool), make(map[string]bool), make(map[string][]span)
	}
	m.paths[f.Path] = true
	if f.Lines == "" {
		m.whole[f.Sum] = true
		return
	}
	var s span
	var of int
	if n, err := fmt.Sscanf(f.Lines, "%d-%d/%d", &s.from, &s.to, &of); n != 3 || err != nil || m.whole[f.Sum] {
		return
	}
	var all []span
	for _, p := range m.parts[f.Sum] {
		if p.to+1 < s.from || s.to+1 < p.from {
			all = append(all, p)
			continue
		}
		s = span{min(s.from, p.from), max(s.to, p.to)}
	}
	m.parts[f.Sum] = append(all, s)
	if s.from <= 1 && s.to >= of && of > 0 {
		m.whole[f.Sum] = true
		delete(m.parts, f.Sum)
	}
}

// Knows reports whether all of a content was seen.
func (m *Memory) Knows(sum string) bool { return m.whole[sum] }

// Partly reports whether a part of a content was seen, and the rest was not.
func (m *Memory) Partly(sum string) bool { return len(m.parts[sum]) > 0 }

// KnowsPath reports whether something of a file with this name was seen.
func (m *Memory) KnowsPath(path string) bool { return m.paths[path] }

// Clone returns a copy.
func (m *Memory) Clone() Memory {
	c := Memory{maps.Clone(m.whole), maps.Clone(m.paths), maps.Clone(m.parts)}
	for sum, spans := range c.parts {
		c.parts[sum] = slices.Clone(spans)
	}
	return c
}
