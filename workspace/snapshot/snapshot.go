package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"time"

	"github.com/openmanus-go/openmanus"
)

// A Sum is the SHA-256 of the content of a file, of the target of a link, or of
// the list of a directory's entries.
type Sum [sha256.Size]byte

// MarshalText returns the sum in hexadecimal digits.
func (s Sum) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText reads what MarshalText returned.
func (s *Sum) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(s) {
		return fmt.Errorf("%q is not the SHA-256 of anything", text)
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// An Object says where some content is: the bytes of its parts, one after the other.
type Object struct {
	Sum   Sum    `json:"sum"`
	Size  int64  `json:"size"`
	Parts []Part `json:"parts,omitempty"` // none: it is empty
}

// A Part is a piece of a frame of a pack.
type Part struct {
	Pack  openmanus.Ref `json:"pack"`
	Frame int           `json:"frame"` // counted from 0
	From  int           `json:"from"`  // the first byte in the decompressed frame
	Size  int           `json:"size"`  // in bytes
}

// A Tree is what a directory contained.
type Tree struct {
	Root  Object `json:"root"`  // the list of the directory's entries
	Files int    `json:"files"` // regular files in it, at any depth
	Bytes int64  `json:"bytes"` // their sizes
}

// IsZero reports whether t is no tree, which is not the tree of an empty directory.
func (t Tree) IsZero() bool { return t.Root.Sum == Sum{} }

// A Kind is what an [Entry] is.
type Kind string

// The kinds of entries.
const (
	File   Kind = "file"
	Dir    Kind = "dir"
	Link   Kind = "link"
	Device Kind = "device" // a pipe, a socket or a device, which is never put back
)

// An Entry is what a tree has under one name.
type Entry struct {
	Name    string // its last element; any bytes but "/" and NUL
	Kind    Kind
	Mode    fs.FileMode       // permissions, and the bits for set-user-ID, set-group-ID and sticky; 0 of a link
	ModTime time.Time         // of files and directories
	Size    int64             // of a file
	Target  string            // of a link
	Content *Object           // of a file or a directory; nil: it is not kept
	Sparse  bool              // the file has holes
	Owner   *Owner            // nil: the user that took the snapshot
	Attrs   map[string][]byte // extended attributes
	Left    string            // why the content is not kept; ""
}

// An Owner owns a file.
type Owner struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Same reports whether both entries stand for the same file: nil is one that does
// not exist. For directories only their kind and their permissions count. Times
// do not count, but for files whose content is not kept.
func (e *Entry) Same(o *Entry) bool {
	if e == nil || o == nil {
		return e == o
	}
	if e.Kind != o.Kind || e.Mode != o.Mode || e.Target != o.Target {
		return false
	}
	return e.Kind != File || e.hasContentOf(o)
}

// hasContentOf reports whether both are files with the same content. Where that is not
// known, size and time decide.
func (e *Entry) hasContentOf(o *Entry) bool {
	switch {
	case e == nil || e.Kind != File || o.Kind != File || e.Size != o.Size:
		return false
	case e.Content == nil || o.Content == nil:
		return e.ModTime.Equal(o.ModTime)
	}
	return e.Content.Sum == o.Content.Sum
}
