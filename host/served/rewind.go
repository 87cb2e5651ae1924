package served

import (
	"context"
	"io"
	"io/fs"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/server"
)

// Rewind implements [server.Rewinder].
func (h Host) Rewind(ctx context.Context, session string, r act.Rewind) (*act.Rewinding, error) {
	return h.GoBack(ctx, session, r, nil)
}

// Past implements [server.Rewinder].
func (h Host) Past(ctx context.Context, session string, at int64, name string) ([]server.PastFile, error) {
	files, err := h.PastFiles(ctx, session, at, name, true)
	all := make([]server.PastFile, len(files))
	for i, f := range files {
		all[i] = server.PastFile{Path: f.Path, Kind: f.Kind, Mode: f.Mode, Bytes: f.Size, Target: f.Target, Left: f.Left}
	}
	return all, err
}

// WritePast implements [server.Rewinder]. It writes the content of exactly one file; a
// directory, or a name that was not there, is an error.
func (h Host) WritePast(ctx context.Context, w io.Writer, session string, at int64, name string) error {
	files, err := h.PastFiles(ctx, session, at, name, false)
	if err == nil && len(files) != 1 {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	return h.Host.WritePast(ctx, w, files[0])
}
