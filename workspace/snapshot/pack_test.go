//go:build unix

package snapshot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// inParts are blobs of which parts can be read, unchecked, as those of package store.
// The one named damaged has one bit of the byte at changed.
type inParts struct {
	openmanus.Blobs
	damaged openmanus.Ref
	at      int
}

func (b *inParts) Get(ctx context.Context, ref openmanus.Ref) (io.ReadCloser, error) {
	data, err := openmanus.ReadBlob(ctx, b.Blobs, ref)
	if err == nil && ref == b.damaged {
		data[b.at] ^= 1
	}
	return struct {
		*bytes.Reader
		io.Closer
	}{bytes.NewReader(data), io.NopCloser(nil)}, err
}

// Reading a damaged pack returns an error or the stored content: never something else.
func TestDamagedPacks(t *testing.T) {
	p := newPlace(t, Options{})
	p.write("a", "the one")
	p.write("d/b", "the other")
	taken := p.take()
	blobs := &inParts{Blobs: p.blobs}
	read := func() (all string, err error) {
		r := NewReader(blobs)
		for c, err := range r.Diff(t.Context(), Tree{}, taken.Tree) {
			if err != nil {
				return all, err
			}
			var b bytes.Buffer
			if c.Now.Kind == File {
				if err := r.WriteTo(t.Context(), &b, c.Now); err != nil {
					return all, err
				}
			}
			all += fmt.Sprintf("%s %v %q\n", c.Name, c.Now.Mode, b.String())
		}
		return all, nil
	}
	want, err := read()
	if err != nil || len(taken.Packs) != 1 {
		t.Fatal(want, taken.Packs, err)
	}
	refused := 0
	blobs.damaged = taken.Packs[0]
	size := p.stored(taken.Packs)
	for blobs.at = range size {
		if got, err := read(); err != nil {
			refused++
		} else if got != want {
			t.Errorf("with another byte %d there is %s", blobs.at, got)
		}
	}
	if refused < size*9/10 {
		t.Errorf("%d of %d damaged packs were refused", refused, size)
	}
}

// Blobs of which parts can be read, and others, are read alike.
func TestPartsOfPacks(t *testing.T) {
	enc := packOf(t, "one")
	blobs := new(journal.Memory)
	ref, err := blobs.Put(t.Context(), enc)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []Part{{ref, 0, 0, 3}, {ref, 0, 1, 2}, {ref, 0, 1, 3}, {ref, 1, 0, 1}, {ref, -1, 0, 1}, {ref, 0, -1, 1}} {
		o := &Object{Parts: []Part{part}}
		a, err1 := NewReader(blobs).bytes(t.Context(), o)
		b, err2 := NewReader(&inParts{Blobs: blobs}).bytes(t.Context(), o)
		if !bytes.Equal(a, b) || (err1 == nil) != (err2 == nil) || err1 == nil && string(a) != "one"[part.From:part.From+part.Size] {
			t.Errorf("%v: %q %v, in parts %q %v", part, a, err1, b, err2)
		}
	}
}

// More directories than stay open are put back, also below each other.
func TestManyDirectories(t *testing.T) {
	p := newPlace(t, Options{})
	for i := range maxOpen + 20 {
		p.write(fmt.Sprintf("d%d/e/f", i), "1")
	}
	before := p.take().Tree
	want := p.files()
	for i := range maxOpen + 20 {
		p.write(fmt.Sprintf("d%d/e/f", i), "22")
		if i%2 == 0 {
			if err := os.RemoveAll(filepath.Join(p.dir, fmt.Sprint("d", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := p.take().Tree
	p.undo(after, Step{Before: before, After: after})
	if got := p.files(); got != want {
		t.Errorf("there is %.200s", got)
	}
}
