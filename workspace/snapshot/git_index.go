package snapshot

import (
	"bytes"
	"encoding/binary"
	"path"
	"strings"

	"github.com/openmanus-go/openmanus/internal/gitindex"
)

// Git writes what it knows of the times and the inodes of files into its index whenever
// someone asks for the status. That is no change of what is to be committed, so two
// states of an index that differ in it alone are the same to an undo.

// maxIndex bounds the indexes that are compared.
const maxIndex = 64 << 20

// same reports whether two states of a name are the same to an undo.
func (u *undo) same(name string, a, b *Entry) bool {
	if a.Same(b) {
		return true
	}
	if path.Base(name) != "index" || !strings.Contains(name, ".git/") || a == nil || b == nil || a.Kind != File || b.Kind != File || a.Mode != b.Mode {
		return false
	}
	x, ok := u.index(a)
	if !ok {
		return false
	}
	y, ok := u.index(b)
	return ok && bytes.Equal(x, y)
}

// index returns what an index of git says of files, without what is only known of the
// file system.
func (u *undo) index(e *Entry) ([]byte, bool) {
	if e.Content == nil || e.Size > maxIndex {
		return nil, false
	}
	var b bytes.Buffer
	if u.r.WriteTo(u.ctx, &b, e) != nil {
		return nil, false
	}
	for _, hash := range []int{20, 32} { // SHA-1 and SHA-256: the index does not say which
		if plain, ok := plainIndex(b.Bytes(), hash); ok {
			return plain, true
		}
	}
	return nil, false
}

// plainIndex returns the entries of an index, as gitformat-index(5) has it, without
// the times, inodes, owners and sizes in them, and without the extensions, which can
// be worked out. hash is the length of a hash. It is false for what it does not
// understand, and for an index that says that another file has a part of it.
func plainIndex(data []byte, hash int) (plain []byte, ok bool) {
	const stat, mode = 40, 24
	if len(data) < 12+hash {
		return nil, false
	}
	if version := binary.BigEndian.Uint32(data[4:]); version < 2 || version > 4 {
		return nil, false
	}
	own := len(data) - hash // its own hash is at the end
	rest, ok := gitindex.Read(data[:own], hash, func(e gitindex.Entry) bool {
		plain = append(append(plain, e.Fixed[mode:mode+4]...), e.Fixed[stat:]...)
		plain = append(append(plain, e.Name...), 0)
		flags := binary.BigEndian.Uint16(e.Fixed[stat+hash:])
		return int(flags&0xfff) == min(len(e.Name), 0xfff) && len(bytes.Trim(e.Pad, "\x00")) == 0 &&
			len(plain) <= 4*len(data)+1<<20 // format 4 shares the beginnings of names
	})
	if !ok {
		return nil, false
	}
	for len(rest) > 0 { // extensions: a name, a length and so many bytes
		if len(rest) < 8 || rest[0] < 'A' || rest[0] > 'Z' { // others must be understood
			return nil, false
		}
		size := binary.BigEndian.Uint32(rest[4:])
		if uint64(size) > uint64(len(rest)-8) {
			return nil, false
		}
		rest = rest[8+size:]
	}
	return plain, true
}
