package wire

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A Block is a part of a reply that a server announces, extends and ends in events of its
// own: a block of Messages and of Converse, an item of Responses.
type Block struct {
	Index   *int   // as the server has it; nil: it has none
	ID      string // as the server has it, or ""
	Call    string // the id of a call, or ""
	Kind    string
	Part    int  // the index of its part; -1: it has none yet
	Said    bool // a fragment of it has arrived
	Closed  bool
	Foreign bool            // nothing comes of it
	Input   json.RawMessage // the arguments that a call began with
	Section int             // the number of the section that arrived last, where it has some
}

// at reports whether b may be the block with an index.
func (b *Block) at(index *int) bool { return index == nil || b.Index == nil || *index == *b.Index }

// A Key is what an event says of the block that it is about. Some servers use an index
// again, give fragments another one than the beginning had, give the events of one block
// several ids, or leave them out.
type Key struct {
	Index *int
	ID    string
	Call  string // the id of a call
	Kind  string
}

// Blocks are those of a reply that have begun, in that order.
type Blocks []*Block

// Begin adds a block.
func (bs *Blocks) Begin(k Key) *Block {
	b := &Block{Index: k.Index, ID: k.ID, Call: k.Call, Kind: k.Kind, Part: -1}
	*bs = append(*bs, b)
	return b
}

// Announced returns the block that an announcement repeats; nil if it is of another one,
// even if that has an index that was there before.
func (bs Blocks) Announced(k Key) *Block {
	for _, b := range slices.Backward(bs) {
		known := k.Call != "" || k.ID != ""
		if b.Kind == k.Kind && b.at(k.Index) && b.Call == k.Call && b.ID == k.ID && (known || !b.Closed && !b.Said) {
			return b
		}
	}
	return nil
}

// Open returns the last block with an index that is open; nil if there is none.
func (bs Blocks) Open(index *int) *Block {
	for _, b := range slices.Backward(bs) {
		if !b.Closed && b.at(index) {
			return b
		}
	}
	return nil
}

// Find returns the block that a fragment extends: its id leads to it, or its index, or else
// it is the last one of the kind that is open. It is nil if there is none; stray reports
// whether the index has blocks, and none of the kind.
func (bs Blocks) Find(k Key) (b *Block, stray bool) {
	var named, here, open *Block
	for _, b := range slices.Backward(bs) {
		other := k.Call != "" && b.Call != "" && k.Call != b.Call
		fits := !other && b.Kind == k.Kind
		if fits && (k.ID != "" && k.ID == b.ID || k.Call != "" && k.Call == b.Call) {
			if b.at(k.Index) {
				return b, false
			}
			named = cmp.Or(named, b)
		}
		stray = stray || b.at(k.Index)
		if here == nil && b.at(k.Index) && (fits || b.Foreign && !b.Closed) {
			here = b
		}
		if open == nil && fits && !b.Closed {
			open = b
		}
	}
	switch {
	case named != nil:
		return named, false
	case here != nil && (!here.Closed || open == nil):
		return here, false
	case !stray && (open == nil || open.Call == ""): // its beginning was left out; that of a call never is
		return nil, false
	}
	return open, open == nil
}
