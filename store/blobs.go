package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
)

// linksDir is the directory of hard links, within that of the blobs.
const linksDir = "held"

// pinTime is how long a blob of [DB.Put] is kept for an event that refers to it.
// A hard link of staleAge was left behind by a crash.
const (
	pinTime  = time.Hour
	staleAge = 24 * time.Hour
)

// blobs are files named by the SHA-256 of their content, blobs/ab/cdef….
//
// A blob is removed as soon as the last session that refers to it is deleted,
// even though another append, of any process, may have stored the same content
// a moment ago without having committed the event that refers to it. That
// append loses nothing. From before it looks for the file until its commit, it
// has a hard link of its own to the content, blobs/held/…, and within its
// transaction it links the blob's own name again if it is gone. Blobs are
// removed within a transaction too, after a query for references. SQLite
// serialises the two transactions, so no clock is involved.
type blobs struct {
	dir string

	mu   sync.Mutex
	pins map[openmanus.Ref][]pin // a link for each call of DB.Put
}

// A pin is a hard link that keeps a blob for an event to come.
type pin struct {
	name  string
	since time.Time
}

// newBlobs returns the blobs in dir, which need not exist yet.
func newBlobs(dir string) *blobs { return &blobs{dir: dir, pins: make(map[openmanus.Ref][]pin)} }

// path returns the file of a blob. A malformed ref is an error like that for a
// blob that does not exist.
func (b *blobs) path(ref openmanus.Ref) (string, error) {
	digits, ok := strings.CutPrefix(string(ref), "sha256:")
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not a blob reference: %w", ref, fs.ErrNotExist)
	}
	return filepath.Join(b.dir, digits[:2], digits[2:]), nil
}

// link makes a new hard link to a blob, and returns its name. The error is
// [fs.ErrNotExist] if there is no such blob.
func (b *blobs) link(ref openmanus.Ref) (string, error) {
	path, err := b.path(ref)
	if err != nil {
		return "", err
	}
	name := b.newName()
	return name, os.Link(path, name)
}

// newName returns a new name for a hard link, which contains the time: see age.
func (b *blobs) newName() string {
	return filepath.Join(b.dir, linksDir, fmt.Sprintf("%d-%s", time.Now().Unix(), rand.Text()))
}

// put stores data, synced, and returns a hard link to it.
func (b *blobs) put(data []byte) (openmanus.Ref, string, error) {
	ref := openmanus.RefOf(data)
	name, err := b.link(ref)
	if err == nil {
		if there, err := os.ReadFile(name); err == nil && bytes.Equal(there, data) {
			return ref, name, b.sync(ref)
		}
		// The file is damaged.
		if err := b.remove(ref); err != nil {
			return "", "", errors.Join(err, os.Remove(name))
		}
		if err := os.Remove(name); err != nil {
			return "", "", err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", "", err
	}
	name = b.newName()
	if err := writeSynced(name, data); err != nil {
		return "", "", errors.Join(err, removeIfThere(name))
	}
	return ref, name, b.name(ref, name)
}

// writeSynced creates a file whose content is durable when it returns. Its name
// is not, until the directory is synced.
func writeSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// name links the content of a hard link under the blob's own name, unless that
// exists, and syncs the directory.
func (b *blobs) name(ref openmanus.Ref, second string) error {
	path, err := b.path(ref)
	if err != nil {
		return err
	}
	err = os.Link(second, path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := syncDir(b.dir); err != nil {
			return err
		}
		err = os.Link(second, path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("link the blob (the file system must support hard links): %w", err)
	}
	return b.sync(ref)
}

// sync makes the name of a blob durable, also if another process linked it.
func (b *blobs) sync(ref openmanus.Ref) error {
	path, err := b.path(ref)
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// remove removes a blob's own name. Hard links to it stay.
func (b *blobs) remove(ref openmanus.Ref) error {
	path, err := b.path(ref)
	if err != nil {
		return err
	}
	return removeIfThere(path)
}

// addPin keeps a hard link until an event that refers to the blob is appended,
// and removes pins that are older than pinTime.
func (b *blobs) addPin(ref openmanus.Ref, name string) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pins[ref] = append(b.pins[ref], pin{name, time.Now()})
	for ref, names := range b.pins {
		for len(names) > 0 && time.Since(names[0].since) > pinTime {
			err = errors.Join(err, removeIfThere(names[0].name))
			names = names[1:]
		}
		b.setPins(ref, names)
	}
	return err
}

// removePins removes one pin of each of these blobs, to which an event refers
// now. Sweep removes links that cannot be removed here.
func (b *blobs) removePins(refs []openmanus.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range refs {
		if names := b.pins[ref]; len(names) > 0 {
			_ = os.Remove(names[0].name)
			b.setPins(ref, names[1:])
		}
	}
}

// setPins replaces the pins of a blob. b.mu is held.
func (b *blobs) setPins(ref openmanus.Ref, names []pin) {
	if len(names) == 0 {
		delete(b.pins, ref)
		return
	}
	b.pins[ref] = names
}

// pinned returns the newest pin of a blob, or "".
func (b *blobs) pinned(ref openmanus.Ref) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names := b.pins[ref]; len(names) > 0 {
		return names[len(names)-1].name
	}
	return ""
}

// close removes all pins.
func (b *blobs) close() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, names := range b.pins {
		for _, h := range names {
			err = errors.Join(err, removeIfThere(h.name))
		}
	}
	clear(b.pins)
	return err
}

// open opens a blob by its own name, or by a hard link if that is not "".
func (b *blobs) open(ref openmanus.Ref, second string) (io.ReadCloser, error) {
	path, err := b.path(ref)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && second != "" {
		f, err = os.Open(second)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", ref, err)
	}
	return &checked{f, sha256.New(), ref}, nil
}

// checked reads a blob. At the end it returns an error instead of [io.EOF] if
// the content does not have the hash.
type checked struct {
	file *os.File
	sum  hash.Hash
	ref  openmanus.Ref
}

// ReadAt implements [io.ReaderAt]. The content is not verified.
func (c *checked) ReadAt(p []byte, off int64) (int, error) { return c.file.ReadAt(p, off) }

// Size returns how many bytes the blob has, or 0 if that is not known. It may be called at
// any time until Close.
func (c *checked) Size() int64 {
	info, err := c.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// Close implements [io.Closer].
func (c *checked) Close() error { return c.file.Close() }

// Read implements [io.Reader]. At the end of the file it returns an error in place of
// [io.EOF] if the content is not that of the ref: the file was changed or damaged.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && fmt.Sprintf("sha256:%x", c.sum.Sum(nil)) != string(c.ref) {
		err = fmt.Errorf("blob %s: the file %s is damaged: restore it from a backup", c.ref, c.file.Name())
	}
	return n, err
}

// Put implements [openmanus.Blobs]. When it returns, the blob is as durable as
// events are. It is kept for an hour, or until Close, for an event that refers
// to it, and then for as long as a session refers to it.
func (db *DB) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ref, name, err := db.blobs.put(data)
	if err == nil {
		err = db.blobs.addPin(ref, name)
	}
	if err != nil {
		return "", fmt.Errorf("store a blob of %d bytes: %w", len(data), err)
	}
	return ref, nil
}

// Hold keeps a blob as Put does, for an event that is about to refer to it. The error is
// [fs.ErrNotExist] if there is no such blob.
func (db *DB) Hold(ctx context.Context, ref openmanus.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name, err := db.blobs.link(ref)
	if err == nil {
		err = db.blobs.addPin(ref, name)
	}
	if err != nil {
		return fmt.Errorf("keep blob %s: %w", ref, err)
	}
	return nil
}

// Get implements [openmanus.Blobs]. The end of a damaged blob is an error
// instead of [io.EOF].
func (db *DB) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return db.blobs.open(ref, db.blobs.pinned(ref))
}

// age returns the age of a hard link, by its name: its file times are shared with
// the other names of the file. ok is false if it is not a name of newName.
func age(name string) (d time.Duration, ok bool) {
	unix, _, ok := strings.Cut(filepath.Base(name), "-")
	sec, err := strconv.ParseInt(unix, 10, 64)
	return time.Since(time.Unix(sec, 0)), ok && err == nil
}
