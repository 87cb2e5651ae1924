package bpe

import "iter"

// A merger merges the bytes of one piece after the other into tokens: always
// the two neighbours whose token has the lowest rank, the first of them if
// there are several. It keeps its memory from piece to piece.
type merger struct {
	// Short pieces. ranks[i] is that of parts i and i+1 together.
	starts, ranks []uint32

	// Long ones.
	nodes []node
	queue queue

	long bool // which of them the last piece was
}

// longPiece is how many bytes of a piece are merged by a queue. Shorter ones
// are faster by looking at all of their pairs each time.
const longPiece = 128

// merge merges piece, of two bytes or more, and returns how many tokens there are.
func (v *Vocabulary) merge(m *merger, piece string) int {
	if m.long = len(piece) >= longPiece; m.long {
		return v.mergeLong(m, piece)
	}
	m.starts, m.ranks = m.starts[:0], m.ranks[:0]
	for i := range len(piece) {
		m.starts = append(m.starts, uint32(i))
		rank := none
		if i+1 < len(piece) {
			rank = v.pairs[int(piece[i])<<8|int(piece[i+1])]
		}
		m.ranks = append(m.ranks, rank)
	}
	for {
		least := entry(none, 0)
		for i, rank := range m.ranks {
			least = min(least, entry(rank, int32(i)))
		}
		at := int(uint32(least))
		if least >= entry(none, 0) {
			return len(m.starts)
		}
		m.starts = append(m.starts[:at+1], m.starts[at+2:]...)
		m.ranks = append(m.ranks[:at+1], m.ranks[at+2:]...)
		m.ranks[at] = v.rankAt(m, piece, at)
		if at > 0 {
			m.ranks[at-1] = v.rankAt(m, piece, at-1)
		}
	}
}

// rankAt is the rank of the parts i and i+1 together.
func (v *Vocabulary) rankAt(m *merger, piece string, i int) uint32 {
	switch n := len(m.starts); {
	case i+2 < n:
		return v.rank(piece[m.starts[i]:m.starts[i+2]])
	case i+2 == n:
		return v.rank(piece[m.starts[i]:])
	}
	return none
}

// tokens yields what the last piece was merged into.
func (m *merger) tokens(piece string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if m.long {
			for i := 0; i < len(piece); i = int(m.nodes[i].next) {
				if !yield(piece[i:m.nodes[i].next]) {
					return
				}
			}
			return
		}
		for i, start := range m.starts {
			end := len(piece)
			if i+1 < len(m.starts) {
				end = int(m.starts[i+1])
			}
			if !yield(piece[start:end]) {
				return
			}
		}
	}
}

// A node is a part of a long piece, at the place where it begins: where the one
// before and the one after begin, and the rank of it and the next together.
type node struct {
	prev, next int32
	rank       uint32
}

// mergeLong merges a long piece in n log n.
func (v *Vocabulary) mergeLong(m *merger, piece string) int {
	n := len(piece)
	m.nodes, m.queue = m.nodes[:0], m.queue[:0]
	for i := range n {
		rank := none
		if i+1 < n {
			rank = v.pairs[int(piece[i])<<8|int(piece[i+1])]
		}
		m.nodes = append(m.nodes, node{prev: int32(i) - 1, next: int32(i) + 1, rank: rank})
		if rank != none {
			m.queue = append(m.queue, entry(rank, int32(i)))
		}
	}
	m.queue.order()
	parts := n
	for len(m.queue) > 0 {
		rank, i := m.queue.pop()
		if m.nodes[i].rank != rank { // it was merged otherwise meanwhile
			continue
		}
		m.join(i, n)
		parts--
		v.renew(m, piece, i)
		if prev := m.nodes[i].prev; prev >= 0 {
			v.renew(m, piece, prev)
		}
	}
	return parts
}

// join makes one part of the one at i and the next one, in a piece of n bytes.
func (m *merger) join(i int32, n int) {
	gone := m.nodes[i].next
	next := m.nodes[gone].next
	m.nodes[gone].rank = none
	m.nodes[i].next = next
	if int(next) < n {
		m.nodes[next].prev = i
	}
}

// renew finds the rank of the part at i and the next one anew.
func (v *Vocabulary) renew(m *merger, piece string, i int32) {
	rank := none
	if next := m.nodes[i].next; int(next) < len(piece) {
		rank = v.rank(piece[i:m.nodes[next].next])
	}
	if m.nodes[i].rank = rank; rank != none {
		m.queue.push(entry(rank, i))
	}
}

// A queue is a heap of pairs, each as rank<<32 | place, the least first.
type queue []uint64

// entry returns the entry of a pair in the queue.
func entry(rank uint32, at int32) uint64 { return uint64(rank)<<32 | uint64(at) }

// pop removes the pair of the lowest rank, the first if there are several.
func (q *queue) pop() (rank uint32, at int32) {
	old := *q
	top, last := old[0], len(old)-1
	old[0] = old[last]
	*q = old[:last]
	q.down(0)
	return uint32(top >> 32), int32(uint32(top))
}

// push adds an entry.
func (q *queue) push(e uint64) {
	*q = append(*q, e)
	h, i := *q, len(*q)-1
	for i > 0 && h[(i-1)/2] > e {
		h[i] = h[(i-1)/2]
		i = (i - 1) / 2
	}
	h[i] = e
}

// order makes a heap of the entries.
func (q queue) order() {
	for i := len(q)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

// down moves entry i down to its place in the heap.
func (q queue) down(i int) {
	if i >= len(q) {
		return
	}
	e := q[i]
	for {
		child := 2*i + 1
		if child >= len(q) {
			break
		}
		if child+1 < len(q) && q[child+1] < q[child] {
			child++
		}
		if q[child] >= e {
			break
		}
		q[i] = q[child]
		i = child
	}
	q[i] = e
}
