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

// A links holds the blobs that the bodies of one append speak of, from before
// they are encoded until they are committed: see blobs. It is the
// [openmanus.Blobs] of the codec for that append.
type blobLinks struct {
	*blobs
	names map[openmanus.Ref]string // second names
}

// Put implements [openmanus.Blobs].
func (l *blobLinks) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref, name, err := l.put(data)
	if err != nil {
		return "", fmt.Errorf("keep a blob of %d bytes: %w", len(data), err)
	}
	return ref, l.add(ref, name)
}

// Get implements [openmanus.Blobs].
func (l *blobLinks) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	return l.open(ref, l.names[ref])
}

func (l *blobLinks) add(ref openmanus.Ref, name string) error {
	if l.names == nil {
		l.names = make(map[openmanus.Ref]string)
	}
	if _, ok := l.names[ref]; ok {
		return os.Remove(name) // one is enough
	}
	l.names[ref] = name
	return nil
}

// grasp holds those of the blobs that exist. What looks like the name of a
// blob and is none is nobody's concern.
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
			return fmt.Errorf("hold the blob %s: %w", ref, err)
		default:
			if err := l.add(ref, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ensure sees to it that what is held has its name. It is called within the
// transaction that makes an event speak of it.
func (l *blobLinks) restore(ref openmanus.Ref) (bool, error) {
	second, ok := l.names[ref]
	if !ok {
		return false, nil
	}
	path, err := l.path(ref)
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true, l.name(ref, second)
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// release lets go of everything. What cannot be removed is swept up later.
func (l *blobLinks) release() {
	for _, name := range l.names {
		_ = os.Remove(name)
	}
}
