package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/openmanus-go/openmanus"
)

// blobLinks are the hard links by which one append keeps the blobs that its
// events refer to, from before it encodes them until it has committed: see
// blobs. It is the [openmanus.Blobs] of that append's codec: Put keeps a link to
// what it stores. It is not safe for concurrent use.
type blobLinks struct {
	*blobs
	names map[openmanus.Ref]string // the link of each blob
}

// Put implements [openmanus.Blobs]. The blob has a second name until the links are
// released, so that it cannot be collected before the event that refers to it is stored.
func (l *blobLinks) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref, name, err := l.put(data)
	if err != nil {
		return "", fmt.Errorf("store a blob of %d bytes: %w", len(data), err)
	}
	return ref, l.add(ref, name)
}

// Get implements [openmanus.Blobs].
func (l *blobLinks) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	return l.open(ref, l.names[ref])
}

// add takes over a link. One for each blob is enough.
func (l *blobLinks) add(ref openmanus.Ref, name string) error {
	if l.names == nil {
		l.names = make(map[openmanus.Ref]string)
	}
	if _, ok := l.names[ref]; ok {
		return os.Remove(name)
	}
	l.names[ref] = name
	return nil
}

// addAll links those of the blobs that exist. Text in an event can look like a
// reference to a blob that never existed.
func (l *blobLinks) addAll(refs []openmanus.Ref) error {
	for _, ref := range refs {
		if _, ok := l.names[ref]; ok {
			continue
		}
		name, err := l.link(ref)
		if pin := l.pinned(ref); errors.Is(err, fs.ErrNotExist) && pin != "" {
			name = l.newName()
			err = os.Link(pin, name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("link blob %s: %w", ref, err)
		default:
			if err := l.add(ref, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// restore links a blob's own name again if it is gone, and reports whether the
// append has the blob. It is called within the append's transaction.
func (l *blobLinks) restore(ref openmanus.Ref) (bool, error) {
	link, ok := l.names[ref]
	if !ok {
		return false, nil
	}
	path, err := l.path(ref)
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true, l.name(ref, link)
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// release removes the links. Sweep removes those that cannot be removed here.
func (l *blobLinks) release() {
	for _, name := range l.names {
		_ = os.Remove(name)
	}
}
