package snapshot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
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

// The parts of a frame. A list is read without the content of files, so that each has
// frames of its own.
const (
	ofFiles = iota
	ofLists
)

// A packer writes packs. It is used by one goroutine; others compress frames and store
// packs meanwhile.
type packer struct {
	blobs openmanus.Blobs
	enc   *zstd.Encoder
	used  bool // enc has tables
	many  int  // frames that are compressed at the same time

	frames []*frame  // of the pack, in order
	open   [2]*frame // those that are filled: ofFiles, ofLists
	closed []*frame  // those that are full, in the order in which they became so
	waited int       // of closed, how many are compressed
	size   int       // bytes that these have
	spare  []*frame  // of packs that were stored

	pending []*Object              // with parts in this pack, whose Pack is "" until it is complete
	refs    []openmanus.Ref        // complete packs since the last call of take
	storing chan error             // gets the error of the pack that is being stored; nil: none is
	mine    map[openmanus.Ref]bool // refs
}

// A frame of a pack that is written.
type frame struct {
	raw, out []byte
	size     int           // of raw, as it was filled
	done     chan struct{} // closed when out is complete
}

func newPacker(blobs openmanus.Blobs) (*packer, error) {
	many := min(runtime.GOMAXPROCS(0), 4)
	enc, err := newEncoder(many)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	return &packer{blobs: blobs, enc: enc, many: many, mine: make(map[openmanus.Ref]bool)}, nil
}

// newEncoder returns an encoder for so many frames at once. It has no tables until it is used.
func newEncoder(many int) (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(many), zstd.WithEncoderLevel(zstd.SpeedFastest))
}

// rest gives up the memory of which the next snapshot makes its own: a few megabytes, which a server with many
// directories would hold for each. Nothing is being added.
func (p *packer) rest() {
	p.spare = nil
	if !p.used {
		return
	}
	if enc, err := newEncoder(p.many); err == nil {
		p.enc, p.used = enc, false
	}
}

// room stores the pack if it is complete, so that what is added now refers to it by
// its name, and what is added until the next call of room is in one pack.
func (p *packer) room(ctx context.Context) error {
	if p.size < packSize {
		return nil
	}
	return p.complete(ctx)
}

// add appends data, which has at most maxFrame bytes, as a part of o, which is one
// ofFiles or ofLists.
func (p *packer) add(o *Object, data []byte, of int) {
	if len(data) == 0 {
		return
	}
	if f := p.open[of]; f != nil && len(f.raw)+len(data) > frameSize {
		p.close(of)
	}
	f := p.open[of]
	if f == nil {
		f = p.newFrame()
		p.open[of] = f
		p.frames = append(p.frames, f)
	}
	at := len(p.frames) - 1
	for p.frames[at] != f { // it is one of the last two that are not full
		at--
	}
	o.Parts = append(o.Parts, Part{Frame: at, From: len(f.raw), Size: len(data)})
	f.raw = append(f.raw, data...)
	p.refers(o)
}

func (p *packer) newFrame() *frame {
	f := new(frame)
	if n := len(p.spare); n > 0 {
		f, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	f.done = make(chan struct{})
	return f
}

// refers notes that o has parts in this pack.
func (p *packer) refers(o *Object) {
	if n := len(p.pending); n == 0 || p.pending[n-1] != o {
		p.pending = append(p.pending, o)
	}
}

// close compresses the frame that is filled, while others are.
func (p *packer) close(of int) {
	f := p.open[of]
	if f == nil {
		return
	}
	p.open[of], p.used = nil, true
	p.closed = append(p.closed, f)
	enc := p.enc
	go func() {
		defer close(f.done)
		f.size, f.out = len(f.raw), enc.EncodeAll(f.raw, f.out[:0])
	}()
	p.wait(2 * p.many)
}

// wait waits until all frames but the last few are compressed.
func (p *packer) wait(but int) {
	for ; p.waited < len(p.closed)-but; p.waited++ {
		f := p.closed[p.waited]
		<-f.done
		p.size += len(f.out)
	}
}

// complete makes a pack of the frames, and the objects in it refer to it. It is stored
// when flush returns.
func (p *packer) complete(ctx context.Context) error {
	p.close(ofFiles)
	p.close(ofLists)
	p.wait(0)
	if len(p.frames) == 0 {
		return nil
	}
	data := make([]byte, 0, p.size+8*len(p.frames)+4+len(packMagic))
	for _, f := range p.frames {
		data = append(data, f.out...)
	}
	for _, f := range p.frames {
		data = binary.LittleEndian.AppendUint32(data, uint32(len(f.out)))
		data = binary.LittleEndian.AppendUint32(data, uint32(f.size))
	}
	data = binary.LittleEndian.AppendUint32(data, uint32(len(p.frames)))
	data = append(data, packMagic...)
	if err := p.stored(); err != nil { // one at a time
		return err
	}
	ref := openmanus.RefOf(data)
	p.storing = make(chan error, 1)
	go func(stored chan<- error) {
		is, err := p.blobs.Put(ctx, data)
		if err == nil && is != ref {
			err = fmt.Errorf("the store calls %s %s", ref, is)
		}
		stored <- err
	}(p.storing)
	for _, o := range p.pending {
		for i := range o.Parts {
			o.Parts[i].Pack = cmp.Or(o.Parts[i].Pack, ref)
		}
	}
	p.refs = append(p.refs, ref)
	p.mine[ref] = true
	p.empty()
	return nil
}

// stored waits for the pack that is being stored.
func (p *packer) stored() error {
	if p.storing == nil {
		return nil
	}
	err := <-p.storing
	p.storing = nil
	if err != nil {
		return fmt.Errorf("store a snapshot: %w", err)
	}
	return nil
}

// flush stores what was added.
func (p *packer) flush(ctx context.Context) error {
	if err := p.complete(ctx); err != nil {
		return err
	}
	return p.stored()
}

// empty begins a new pack. All frames are compressed.
func (p *packer) empty() {
	for _, f := range p.frames {
		if f.raw = f.raw[:0]; cap(f.raw) <= 2*frameSize && len(p.spare) < 2*p.many {
			p.spare = append(p.spare, f)
		}
	}
	clear(p.frames)
	clear(p.closed)
	clear(p.pending)
	p.frames, p.closed, p.pending = p.frames[:0], p.closed[:0], p.pending[:0]
	p.waited, p.size = 0, 0
}

// reset forgets what was added since the last call of take, also what is stored. It
// returns the packs of that.
func (p *packer) reset() map[openmanus.Ref]bool {
	p.close(ofFiles)
	p.close(ofLists)
	p.wait(0)
	_ = p.stored() // it is forgotten
	p.empty()
	forgotten := p.mine
	p.refs, p.mine = nil, make(map[openmanus.Ref]bool)
	return forgotten
}

// take returns the packs that were stored since the last call.
func (p *packer) take() []openmanus.Ref {
	refs := p.refs
	p.refs = nil
	clear(p.mine)
	return refs
}

// A packFile is a pack whose table was read. Its frames are read when they are needed:
// their own check sums, and the hash of each file, say whether they are damaged.
type packFile struct {
	ref    openmanus.Ref
	data   []byte // all of it, if the blobs read no parts
	frames []frameAt
	// decoded is the last frame that was decompressed.
	last    int
	decoded []byte
	stored  []byte // room for what a frame is compressed to
}

type frameAt struct {
	from   int64
	stored int
	size   int
}

var errPack = errors.New("it is not a pack of a snapshot, or a damaged one")

// A parted is a blob of which parts can be read.
type parted interface {
	io.ReaderAt
	Size() int64
}

// openPack reads the table of a pack.
func openPack(ctx context.Context, blobs openmanus.Blobs, ref openmanus.Ref) (_ *packFile, err error) {
	blob, err := blobs.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	p := &packFile{ref: ref, last: -1}
	in, ok := blob.(parted)
	if !ok {
		if p.data, err = io.ReadAll(blob); err != nil {
			return nil, err
		}
		in = bytes.NewReader(p.data)
	}
	p.frames, err = readTable(in)
	return p, err
}

// readTable reads the table of a pack.
func readTable(in parted) ([]frameAt, error) {
	const end = int64(4 + len(packMagic))
	tail := make([]byte, end)
	size := in.Size() - end
	if size < 0 {
		return nil, errPack
	}
	if _, err := in.ReadAt(tail, size); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if string(tail[4:]) != packMagic || n > size/8 {
		return nil, errPack
	}
	table := make([]byte, 8*n)
	size -= 8 * n
	if _, err := in.ReadAt(table, size); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var frames []frameAt
	at := int64(0)
	for ; len(table) > 0; table = table[8:] {
		f := frameAt{at, int(binary.LittleEndian.Uint32(table)), int(binary.LittleEndian.Uint32(table[4:]))}
		if f.size > maxFrame || int64(f.stored) > size-at {
			return nil, errPack
		}
		at += int64(f.stored)
		frames = append(frames, f)
	}
	return frames, nil
}

// frame returns what a frame is compressed to, which is valid until the next call.
func (p *packFile) frame(ctx context.Context, blobs openmanus.Blobs, f frameAt) ([]byte, error) {
	if p.data != nil {
		return p.data[f.from : f.from+int64(f.stored)], nil
	}
	blob, err := blobs.Get(ctx, p.ref)
	if err != nil {
		return nil, err
	}
	defer blob.Close()
	in, ok := blob.(parted)
	if !ok {
		return nil, errPack
	}
	p.stored = slices.Grow(p.stored[:0], f.stored)[:f.stored]
	if n, err := in.ReadAt(p.stored, f.from); n < f.stored {
		return nil, errors.Join(errPack, err)
	}
	return p.stored, nil
}

// part returns the bytes of a part, which are valid until the next call.
func (p *packFile) part(ctx context.Context, blobs openmanus.Blobs, dec *zstd.Decoder, part Part) ([]byte, error) {
	if part.Frame < 0 || part.Frame >= len(p.frames) {
		return nil, errPack
	}
	if p.last != part.Frame {
		f := p.frames[part.Frame]
		p.last = -1
		data, err := p.frame(ctx, blobs, f)
		if err != nil {
			return nil, err
		}
		raw, err := dec.DecodeAll(data, slices.Grow(p.decoded[:0], f.size))
		if err != nil || len(raw) != f.size {
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
