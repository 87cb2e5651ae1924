package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/zstd"

	"github.com/openmanus-go/openmanus"
)

// A pack is frames compressed by Zstandard (RFC 8878), one after the other, then
// the table: for each frame its stored and its decompressed length, then the number
// of frames, each as 4 bytes in little-endian order, and packMagic.
const (
	packMagic = "OMpack1\n"
	packSize  = 8 << 20   // a pack with as much is complete
	frameSize = 128 << 10 // a frame of several pieces has at most as much
	chunkSize = 1 << 20   // a file is cut into pieces of this size
	maxFrame  = 4 << 20   // what a frame may have when it is read
)

// A packer writes packs. It is used by one goroutine.
type packer struct {
	blobs openmanus.Blobs
	enc   *zstd.Encoder
	out   []byte // the frames of the pack
	raw   []byte // the frame being filled
	table []uint32

	pending []*Object       // with parts in this pack, whose Pack is "" until it is stored
	stored  []openmanus.Ref // since the last call of take
}

func newPacker(blobs openmanus.Blobs) (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return &packer{blobs: blobs, enc: enc}, nil
}

// room stores the pack if it is complete, so that what is added now refers to it by
// its name, and what is added until the next call of room is in one pack.
func (p *packer) room(ctx context.Context) error {
	if len(p.out) < packSize {
		return nil
	}
	return p.flush(ctx)
}

// add appends data, which has at most maxFrame bytes, as a part of o.
func (p *packer) add(o *Object, data []byte) {
	if len(data) == 0 {
		return
	}
	if len(p.raw) > 0 && len(p.raw)+len(data) > frameSize {
		p.endFrame()
	}
	o.Parts = append(o.Parts, Part{Frame: len(p.table) / 2, From: len(p.raw), Size: len(data)})
	p.raw = append(p.raw, data...)
	p.refers(o)
}

// refers notes that o has parts in this pack.
func (p *packer) refers(o *Object) {
	if n := len(p.pending); n == 0 || p.pending[n-1] != o {
		p.pending = append(p.pending, o)
	}
}

func (p *packer) endFrame() {
	if len(p.raw) == 0 {
		return
	}
	before := len(p.out)
	p.out = p.enc.EncodeAll(p.raw, p.out)
	p.table = append(p.table, uint32(len(p.out)-before), uint32(len(p.raw)))
	p.raw = p.raw[:0]
}

// flush stores the pack, and makes the objects in it refer to it.
func (p *packer) flush(ctx context.Context) error {
	p.endFrame()
	if len(p.table) == 0 {
		return nil
	}
	for _, n := range p.table {
		p.out = binary.LittleEndian.AppendUint32(p.out, n)
	}
	p.out = binary.LittleEndian.AppendUint32(p.out, uint32(len(p.table)/2))
	p.out = append(p.out, packMagic...)
	ref, err := p.blobs.Put(ctx, p.out)
	if err != nil {
		return fmt.Errorf("store a snapshot: %w", err)
	}
	for _, o := range p.pending {
		for i := range o.Parts {
			if o.Parts[i].Pack == "" {
				o.Parts[i].Pack = ref
			}
		}
	}
	p.stored = append(p.stored, ref)
	p.reset()
	return nil
}

// reset forgets a pack that was not stored.
func (p *packer) reset() {
	p.out, p.raw, p.table, p.pending = p.out[:0], p.raw[:0], p.table[:0], p.pending[:0]
}

// take returns the packs that were stored since the last call.
func (p *packer) take() []openmanus.Ref {
	refs := p.stored
	p.stored = nil
	return refs
}

// A packFile is a pack that was read.
type packFile struct {
	data   []byte
	frames []frameAt
	// decoded is the last frame that was decompressed.
	last    int
	decoded []byte
}

type frameAt struct {
	from, stored, size int
}

var errPack = errors.New("it is not a pack of a snapshot, or a damaged one")

// readPack reads the table of a pack.
func readPack(data []byte) (*packFile, error) {
	rest, ok := cutSuffix(data, packMagic)
	if !ok || len(rest) < 4 {
		return nil, errPack
	}
	n := int(binary.LittleEndian.Uint32(rest[len(rest)-4:]))
	rest = rest[:len(rest)-4]
	if n < 0 || n > len(rest)/8 {
		return nil, errPack
	}
	table := rest[len(rest)-8*n:]
	p := &packFile{data: data, last: -1}
	at := 0
	for range n {
		f := frameAt{at, int(binary.LittleEndian.Uint32(table)), int(binary.LittleEndian.Uint32(table[4:]))}
		if f.size > maxFrame || f.stored > len(rest)-8*n-at {
			return nil, errPack
		}
		table = table[8:]
		at += f.stored
		p.frames = append(p.frames, f)
	}
	return p, nil
}

func cutSuffix(data []byte, suffix string) ([]byte, bool) {
	n := len(data) - len(suffix)
	if n < 0 || string(data[n:]) != suffix {
		return nil, false
	}
	return data[:n], true
}

// part returns the bytes of a part, which are valid until the next call.
func (p *packFile) part(dec *zstd.Decoder, part Part) ([]byte, error) {
	if part.Frame < 0 || part.Frame >= len(p.frames) {
		return nil, errPack
	}
	if p.last != part.Frame {
		f := p.frames[part.Frame]
		raw, err := dec.DecodeAll(p.data[f.from:f.from+f.stored], slices.Grow(p.decoded[:0], f.size))
		if err != nil || len(raw) != f.size {
			p.last = -1
			return nil, errors.Join(errPack, err)
		}
		p.last, p.decoded = part.Frame, raw
	}
	if part.From < 0 || part.Size < 0 || part.From > len(p.decoded)-part.Size {
		return nil, errPack
	}
	return p.decoded[part.From : part.From+part.Size], nil
}

func sumOf(data []byte) Sum { return sha256.Sum256(data) }
