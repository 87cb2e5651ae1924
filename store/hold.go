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

// A hand holds the blobs that the bodies of one append speak of, from before
// they are encoded until they are committed: see blobs. It is the
// [openmanus.Blobs] of the codec for that append.
type hand struct {
	*blobs
	held map[openmanus.Ref]string // second names
}

// Put implements [openmanus.Blobs].
func (h *hand) Put(ctx context.Context, data []byte) (openmanus.Ref, error) {
	ref, name, err := h.put(data)
	if err != nil {
		return "", fmt.Errorf("keep a blob of %d bytes: %w", len(data), err)
	}
	return ref, h.take(ref, name)
}

// Get implements [openmanus.Blobs].
func (h *hand) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	return h.open(ref, h.held[ref])
}

func (h *hand) take(ref openmanus.Ref, name string) error {
	if h.held == nil {
		h.held = make(map[openmanus.Ref]string)
	}
	if _, ok := h.held[ref]; ok {
		return os.Remove(name) // one is enough
	}
	h.held[ref] = name
	return nil
}

// grasp holds those of the blobs that exist. What looks like the name of a
// blob and is none is nobody's concern.
func (h *hand) grasp(refs []openmanus.Ref) error {
	for _, ref := range refs {
		if _, ok := h.held[ref]; ok {
			continue
		}
		name, err := h.hold(ref)
		if pin := h.pinned(ref); errors.Is(err, fs.ErrNotExist) && pin != "" {
			name = h.newName()
			err = os.Link(pin, name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("hold the blob %s: %w", ref, err)
		default:
			if err := h.take(ref, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// ensure sees to it that what is held has its name. It is called within the
// transaction that makes an event speak of it.
func (h *hand) ensure(ref openmanus.Ref) (bool, error) {
	second, ok := h.held[ref]
	if !ok {
		return false, nil
	}
	path, err := h.path(ref)
	if err != nil {
		return false, err
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return true, h.name(ref, second)
	} else if err != nil {
		return false, err
	}
	return true, nil
}

// release lets go of everything. What cannot be removed is swept up later.
func (h *hand) release() {
	for _, name := range h.held {
		_ = os.Remove(name)
	}
}
