package workspace

import (
	"context"
	"errors"
	"io/fs"

	"github.com/openmanus-go/openmanus/internal/sight"
)

// A Change is what [ChangeFiles] does to a file.
type Change struct {
	Name string
	Data []byte // the new content; nil removes the file
	Like string // a file whose permissions a new file gets; "": those of any new file
}

// A Changer is implemented by [Files] that change several files as one.
type Changer interface {
	// Change makes all changes, or none if one of them fails. Every new content is on
	// the disk under another name before the first file is replaced. If the process is
	// killed while files are renamed, some changes are made and others not, and files
	// with names that begin with ".tmp-" may be left.
	Change(ctx context.Context, changes []Change) error
}

// ChangeFiles changes files: all of them, or none if that fails. Files that are no
// [Changer] are changed one by one, and put back.
func ChangeFiles(ctx context.Context, f Files, changes []Change) error {
	if c, ok := f.(Changer); ok {
		return c.Change(ctx, changes)
	}
	var done []Change // how to put back what was changed
	for _, c := range changes {
		before, err := fs.ReadFile(f.FS(), c.Name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return putBack(ctx, f, done, err)
		}
		if err == nil {
			before = append([]byte{}, before...) // not nil, which would remove it
		}
		if err := change(ctx, f, c); err != nil {
			return putBack(ctx, f, done, err)
		}
		done = append(done, Change{Name: c.Name, Data: before})
		sight.Based(ctx, c.Data) // it may have to be put back
	}
	return nil
}

func change(ctx context.Context, f Files, c Change) error {
	if c.Data == nil {
		return f.Remove(ctx, c.Name)
	}
	return f.WriteFile(ctx, c.Name, c.Data)
}

// putBack undoes changes, the last one first, and returns err with what else failed.
func putBack(ctx context.Context, f Files, done []Change, err error) error {
	for i := len(done) - 1; i >= 0; i-- {
		err = errors.Join(err, change(context.WithoutCancel(ctx), f, done[i]))
	}
	return err
}
