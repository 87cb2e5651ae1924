// Package ole reads compound files ([MS-CFB]), which hold the streams of Office files
// from before 2007 and of Outlook's messages.
//
// Files are untrusted. Nothing is believed about sizes: what is kept is never larger
// than the file, and chains of sectors that run in circles end with an error.
package ole

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
)

// Signature begins every compound file.
const Signature = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

// An Entry is a stream, or a storage, which has entries of its own.
type Entry struct {
	Name     string
	Children []*Entry // of a storage
	IsStream bool

	start uint32
	size  int
	file  *File
}

// A File is an open compound file. Its methods may be called concurrently.
type File struct {
	Root *Entry

	data   []byte
	sector int      // bytes
	fat    []uint32 // the next sector of each
	small  []uint32 // the next small sector of each
	pool   []byte   // of the small sectors
}

const (
	endOfChain  = 0xFFFFFFFA // and what is above it
	smallSector = 64
	smallLimit  = 4096 // a stream below it is in small sectors
	maxEntries  = 100_000
	maxDeep     = 100
)

var errBroken = errors.New("the compound file is broken")

// Open reads the directory of a file, and keeps data.
func Open(data []byte) (*File, error) {
	if len(data) < 512 || string(data[:8]) != Signature {
		return nil, errBroken
	}
	le := binary.LittleEndian
	shift := le.Uint16(data[30:])
	if shift != 9 && shift != 12 {
		return nil, errBroken
	}
	f := &File{data: data, sector: 1 << shift}
	if err := f.readFAT(); err != nil {
		return nil, err
	}
	directory, err := f.chain(le.Uint32(data[48:]), -1)
	if err != nil {
		return nil, err
	}
	table, err := f.chain(le.Uint32(data[60:]), -1)
	if err != nil {
		return nil, err
	}
	f.small = numbers(table)
	return f, f.readDirectory(directory)
}

// numbers reads 32-bit numbers.
func numbers(b []byte) []uint32 {
	all := make([]uint32, len(b)/4)
	for i := range all {
		all[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return all
}

// at returns a sector. The last one of a file may be short.
func (f *File) at(n uint32) ([]byte, bool) {
	start := (int64(n) + 1) * int64(f.sector)
	if n >= endOfChain || start >= int64(len(f.data)) {
		return nil, false
	}
	return f.data[start:min(start+int64(f.sector), int64(len(f.data)))], true
}

// readFAT reads the table of sectors: 109 of its sectors are in the header, and the
// others in a chain.
func (f *File) readFAT() error {
	list := numbers(f.data[76:512])
	limit := len(f.data)/f.sector + 1
	next := binary.LittleEndian.Uint32(f.data[68:])
	for range limit {
		b, ok := f.at(next)
		if !ok || len(b) < f.sector {
			break
		}
		more := numbers(b)
		list, next = append(list, more[:len(more)-1]...), more[len(more)-1]
	}
	for _, n := range list {
		if b, ok := f.at(n); ok && len(f.fat) <= limit {
			f.fat = append(f.fat, numbers(b)...)
		}
	}
	if len(f.fat) == 0 {
		return errBroken
	}
	return nil
}

// chain returns the bytes of a chain of sectors, at most size of them unless it is
// negative.
func (f *File) chain(n uint32, size int) ([]byte, error) {
	var all []byte
	for n < endOfChain && (size < 0 || len(all) < size) {
		b, ok := f.at(n)
		if !ok || int64(n) >= int64(len(f.fat)) || len(all) > len(f.data) {
			return all, errBroken
		}
		all = append(all, b...)
		n = f.fat[n]
	}
	if size >= 0 && len(all) > size {
		all = all[:size]
	}
	return all, nil
}

// smallChain is chain for small sectors.
func (f *File) smallChain(n uint32, size int) ([]byte, error) {
	var all []byte
	for n < endOfChain && len(all) < size {
		start := int64(n) * smallSector
		if int64(n) >= int64(len(f.small)) || start >= int64(len(f.pool)) || len(all) > len(f.pool) {
			return all, errBroken
		}
		all = append(all, f.pool[start:min(start+smallSector, int64(len(f.pool)))]...)
		n = f.small[n]
	}
	return all[:min(size, len(all))], nil
}

// readDirectory reads the tree of entries. Those of a storage are themselves a tree,
// by their siblings.
func (f *File) readDirectory(directory []byte) error {
	count := len(directory) / 128
	if count == 0 || count > maxEntries {
		return errBroken
	}
	le := binary.LittleEndian
	var read func(n uint32, into *Entry, deep int)
	seen := make([]bool, count)
	read = func(n uint32, into *Entry, deep int) {
		if n >= uint32(count) || seen[n] || deep > maxDeep*10 {
			return
		}
		seen[n] = true
		b := directory[128*n : 128*n+128]
		units := make([]uint16, 0, 32)
		for i := 0; i+1 < min(int(le.Uint16(b[64:]))-1, 64); i += 2 {
			units = append(units, le.Uint16(b[i:]))
		}
		e := &Entry{Name: string(utf16.Decode(units)), IsStream: b[66] == 2, start: le.Uint32(b[116:]),
			size: int(le.Uint32(b[120:])), file: f}
		read(le.Uint32(b[68:]), into, deep+1)
		into.Children = append(into.Children, e)
		if !e.IsStream {
			read(le.Uint32(b[76:]), e, deep+1)
		}
		read(le.Uint32(b[72:]), into, deep+1)
	}
	var top Entry
	read(0, &top, 0)
	if len(top.Children) == 0 {
		return errBroken
	}
	f.Root = top.Children[0]
	var err error
	f.pool, err = f.chain(f.Root.start, f.Root.size)
	if err != nil && len(f.pool) == 0 {
		return err
	}
	return nil
}

// Bytes returns the bytes of a stream. With an error come those before the fault.
func (e *Entry) Bytes() ([]byte, error) {
	switch {
	case !e.IsStream:
		return nil, fmt.Errorf("%q is no stream", e.Name)
	case e.size < smallLimit:
		return e.file.smallChain(e.start, e.size)
	}
	return e.file.chain(e.start, e.size)
}

// Size returns how many bytes a stream has by the directory, which may be wrong.
func (e *Entry) Size() int { return e.size }

// Find returns the entry of a storage with that name, or nil.
func (e *Entry) Find(name string) *Entry {
	for _, c := range e.Children {
		if strings.EqualFold(c.Name, name) { // [MS-CFB] 2.6.4 compares them so
			return c
		}
	}
	return nil
}
