// Package gitindex reads the index of a git repository, as gitformat-index(5) describes
// it.
package gitindex

import (
	"bytes"
	"encoding/binary"
)

// An Entry is a file of an index. Its slices are valid until the next one is read.
type Entry struct {
	// Fixed is what is before the name: 40 bytes of what the file system said of the
	// file, the hash of its content, two bytes of flags, and two more if these say so.
	Fixed []byte
	Name  []byte // the whole name, with slashes
	Pad   []byte // what is after the name and the zero at its end, none in format 4
}

// Read calls f for the entries of an index whose hashes have so many bytes: 20 or 32,
// the index does not say which. It returns what follows the entries, extensions and the
// index's own hash. It returns false if there are fewer entries than the index says, or
// f returns false. Whether flags and paddings are right is left to f.
func Read(data []byte, hash int, f func(Entry) bool) (rest []byte, ok bool) {
	const head, stat = 12, 40
	if len(data) < head || string(data[:4]) != "DIRC" {
		return nil, false
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	at, name := head, []byte(nil)
	for range count {
		begin, fixed := at, stat+hash+2
		if at+fixed > len(data) {
			return nil, false
		}
		if flags := binary.BigEndian.Uint16(data[at+fixed-2:]); flags&0x4000 != 0 {
			fixed += 2 // extended flags, from version 3 on
		}
		if at += fixed; at > len(data) {
			return nil, false
		}
		e, keep := Entry{Fixed: data[begin:at]}, 0
		if version == 4 { // what to cut from the end of the name before
			cut, n := offsetInPack(data[at:])
			if n == 0 || cut > len(name) {
				return nil, false
			}
			keep, at = len(name)-cut, at+n
		}
		end := bytes.IndexByte(data[at:], 0)
		if end < 0 {
			return nil, false
		}
		name = append(name[:keep], data[at:at+end]...)
		if at += end + 1; version != 4 {
			next := begin + (at-1-begin+8)&^7 // padded with one to eight zeros
			e.Pad, at = data[at:min(next, len(data))], next
		}
		if e.Name = name; !f(e) {
			return nil, false
		}
	}
	return data[min(at, len(data)):], true
}

// offsetInPack reads a number as gitformat-pack(5) writes offsets, and returns it
// with its length; 0 means that there is none.
func offsetInPack(data []byte) (value, n int) {
	for n < len(data) && n < 6 {
		b := data[n]
		value = value<<7 | int(b&0x7f)
		if n++; b&0x80 == 0 {
			return value, n
		}
		value++
	}
	return 0, 0
}
