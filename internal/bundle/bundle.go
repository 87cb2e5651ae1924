// Package bundle reads and writes one file with a session and the files of its
// workspace, so that the session can go on at another machine.
//
// The file is a tar archive (PAX) compressed by Zstandard, which people can open with
// other programs. Its first member is "session.jsonl", what journal.Export wrote; then
// come the files, below "files/", a directory before what is in it; the last is
// "end.json" with a hash of everything before.
//
// Anyone may have made such a file. [Extract] refuses one that is cut off, changed or
// too large, that names anything outside the directory, or that has links that lead
// outside. It gives no file an owner, special permissions or extended attributes.
package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// The names in the archive.
const (
	sessionName = "session.jsonl"
	filesDir    = "files/"
	endName     = "end.json"
)

// Limits bound what is read or written.
type Limits struct {
	Bytes int64 // of all files
	Files int   // names
}

// maxSession is how many bytes of a session are read: it is held in memory.
const maxSession = 1 << 30

// Left is a name that was left out, and everything below it.
type Left struct {
	Name, Why string
}

// Done describes what was written or read.
type Done struct {
	Files int   // regular files and links
	Bytes int64 // the sizes of the files
	// Left are the first names that were left out, and LeftOut is how many there are.
	Left    []Left
	LeftOut int
}

// maxLeft is how many names that were left out are told apart.
const maxLeft = 50

func (d *Done) leave(name, why string) {
	if d.LeftOut++; len(d.Left) < maxLeft {
		d.Left = append(d.Left, Left{name, why})
	}
}

// TooLarge is the error for files beyond [Limits].
type TooLarge struct {
	Limit string // such as "1,024 MiB"
}

// Error implements error.
func (e *TooLarge) Error() string { return "the files are more than " + e.Limit }

func (l Limits) check(d *Done, names int) error {
	switch {
	case d.Bytes > l.Bytes:
		return &TooLarge{fmt.Sprintf("%d MiB", l.Bytes>>20)}
	case names > l.Files:
		return &TooLarge{fmt.Sprintf("%d names", l.Files)}
	}
	return nil
}

// An end is the last member.
type end struct {
	SHA256 string `json:"sha256"`
	Files  int    `json:"files"` // regular files and links
}

// A digest hashes members: for each its name, type, permissions, time, size and target,
// then the content.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) member(name string, mode fs.FileMode, t time.Time, size int64, target string) {
	head, err := json.Marshal([]any{[]byte(name), mode, t.Unix(), size, []byte(target)})
	if err != nil {
		panic(err) // of no value of these types
	}
	d.Write(append(head, '\n'))
}

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

// ErrNot is the error for a file that is no bundle at all.
var ErrNot = errors.New("it is no session with files: openmanus sessions export --files writes such a file")

// Is reports whether a file that begins like head may be a bundle: it is compressed by
// Zstandard. Four bytes are enough.
func Is(head []byte) bool { return strings.HasPrefix(string(head), "\x28\xb5\x2f\xfd") }

// validName reports whether name, with slashes, is that of something in a directory.
// It may have any bytes.
func validName(name string) bool {
	if name == "" || len(name) > 4096 || strings.Contains(name, "\x00") {
		return false
	}
	for base := range strings.SplitSeq(name, "/") {
		if base == "" || base == "." || base == ".." || len(base) > 255 {
			return false
		}
	}
	return true
}

// staysInside reports whether the link name, in a directory that is no link, stays in
// the root: ".." may only stand at its beginning, because after the name of another
// link it means something else.
func staysInside(name, target string) bool {
	if target == "" || len(target) > 4096 || strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\x00\\") {
		return false
	}
	depth := strings.Count(name, "/")
	down := false
	for base := range strings.SplitSeq(target, "/") {
		switch {
		case base == ".." && (down || depth == 0):
			return false
		case base == "..":
			depth--
		case base != "" && base != ".":
			down = true
		}
	}
	return true
}

// readEnd reads the last member, and compares it with what was read.
func readEnd(r io.Reader, sum string, files int) error {
	data, err := io.ReadAll(io.LimitReader(r, 1<<10))
	if err != nil {
		return err
	}
	var e end
	if err := json.Unmarshal(data, &e); err != nil || e.SHA256 != sum || e.Files != files {
		return errors.New("the file was changed: its checksum is not that of what it has")
	}
	return nil
}

func join(dir, base string) string {
	if dir == "." {
		return base
	}
	return path.Join(dir, base)
}
