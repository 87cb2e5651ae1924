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

// heldDir is the directory of second names, within that of the blobs.
const heldDir = "held"

// holding is how long what [DB.Put] put may wait for the event that speaks of
// it, and stale the age from which on a second name was left by a crash.
const (
	holding = time.Hour
	stale   = 24 * time.Hour
)

// blobs are files named by the SHA-256 of their content, blobs/ab/cdef….
//
// A blob is collected when its last session is deleted, at once, though some
// writer, of whatever process, may have put the same content a moment ago and
// not yet appended the event that speaks of it. That writer loses nothing:
// from before it looks for the file until its append is committed it has a
// hard link of its own to the content, blobs/held/…, and within the
// transaction of its append it gives the blob its name back if that is gone.
// Collecting, too, happens in a transaction that has the database to itself,
// after a look at who speaks of the blob. So the one is wholly before the
// other, and no clock is asked.
type blobs struct {
	dir string

	mu   sync.Mutex
	pins map[openmanus.Ref][]held // what was put by itself: a name each time
}

// A held is a second name of a blob.
type held struct {
	name  string
	since time.Time
}

func newBlobs(dir string) *blobs { return &blobs{dir: dir, pins: make(map[openmanus.Ref][]held)} }

// path returns the file of a blob.
func (b *blobs) path(ref openmanus.Ref) (string, error) {
	digits, ok := strings.CutPrefix(string(ref), "sha256:")
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is not the name of a blob: %w", ref, fs.ErrNotExist)
	}
	return filepath.Join(b.dir, digits[:2], digits[2:]), nil
}

// hold gives a blob that is there a second name.
func (b *blobs) hold(ref openmanus.Ref) (string, error) {
	path, err := b.path(ref)
	if err != nil {
		return "", err
	}
	name := b.newName()
	return name, os.Link(path, name)
}

func (b *blobs) newName() string {
	return filepath.Join(b.dir, heldDir, fmt.Sprintf("%d-%s", time.Now().Unix(), rand.Text()))
}

// put stores data, synced, and returns a second name of it.
func (b *blobs) put(data []byte) (openmanus.Ref, string, error) {
	ref := openmanus.RefOf(data)
	name, err := b.hold(ref)
	if err == nil {
		if there, err := os.ReadFile(name); err == nil && bytes.Equal(there, data) {
			return ref, name, b.sync(ref)
		}
		// It is damaged, and worth nothing as it is.
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

func writeSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// name gives the content that is held by a second name its own, unless it has
// it, and reports what went wrong. It never replaces a file.
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
		return fmt.Errorf("name it (the file system must allow hard links): %w", err)
	}
	return b.sync(ref)
}

// sync sees to it that the name of a blob survives a power cut, whoever gave
// it.
func (b *blobs) sync(ref openmanus.Ref) error {
	path, err := b.path(ref)
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// remove removes a blob. Its second names stay.
func (b *blobs) remove(ref openmanus.Ref) error {
	path, err := b.path(ref)
	if err != nil {
		return err
	}
	return removeIfThere(path)
}

// pin keeps a second name until an event comes that speaks of the blob, and
// lets go of those that have waited for too long.
func (b *blobs) pin(ref openmanus.Ref, name string) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pins[ref] = append(b.pins[ref], held{name, time.Now()})
	for ref, names := range b.pins {
		for len(names) > 0 && time.Since(names[0].since) > holding {
			err = errors.Join(err, removeIfThere(names[0].name))
			names = names[1:]
		}
		b.setPins(ref, names)
	}
	return err
}

// unpin lets go of one name of each of these blobs, for an event now speaks of
// them. What cannot be removed is swept up later.
func (b *blobs) unpin(refs []openmanus.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, ref := range refs {
		if names := b.pins[ref]; len(names) > 0 {
			_ = os.Remove(names[0].name)
			b.setPins(ref, names[1:])
		}
	}
}

func (b *blobs) setPins(ref openmanus.Ref, names []held) {
	if len(names) == 0 {
		delete(b.pins, ref)
		return
	}
	b.pins[ref] = names
}

// pinned returns a second name of a blob that was put by itself, or "".
func (b *blobs) pinned(ref openmanus.Ref) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names := b.pins[ref]; len(names) > 0 {
		return names[len(names)-1].name
	}
	return ""
}

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

// open returns the content of a blob by its own name or one of these.
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

// checked is a blob being read. Its end is an error if it was not what its
// name says.
type checked struct {
	file *os.File
	sum  hash.Hash
	ref  openmanus.Ref
}

func (c *checked) Close() error { return c.file.Close() }

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.file.Read(p)
	c.sum.Write(p[:n])
	if err == io.EOF && fmt.Sprintf("sha256:%x", c.sum.Sum(nil)) != string(c.ref) {
		err = fmt.Errorf("blob %s: the file %s is damaged: put a copy of it back", c.ref, c.file.Name())
	}
	return n, err
}

// Put implements [openmanus.Blobs]. The data are as durable as events when it
// returns. They are kept for an hour, or until Close, for the event that will
// speak of them, and then for as long as a session does.
func (db *DB) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ref, name, err := db.blobs.put(data)
	if err == nil {
		err = db.blobs.pin(ref, name)
	}
	if err != nil {
		return "", fmt.Errorf("keep a blob of %d bytes: %w", len(data), err)
	}
	return ref, nil
}

// Get implements [openmanus.Blobs]. A blob that is not what its name says ends
// with an error instead of [io.EOF].
func (db *DB) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return db.blobs.open(ref, db.blobs.pinned(ref))
}

// age returns how long ago a second name was given, by the name itself: the
// times of the file are those of its other names too.
func age(name string) (time.Duration, bool) {
	unix, _, ok := strings.Cut(filepath.Base(name), "-")
	sec, err := strconv.ParseInt(unix, 10, 64)
	return time.Since(time.Unix(sec, 0)), ok && err == nil
}
