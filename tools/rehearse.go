package tools

import (
	"context"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/workspace"
)

// show returns the diff that an edit would make. It makes the edit in a
// workspace that writes nothing.
func (e *editor) show(ctx context.Context, call openmanus.Call) (string, error) {
	var in editorInput
	if err := args.Decode(call.Input, &in); err != nil {
		return "", fmt.Errorf("arguments: %w", err)
	}
	call.Blobs, call.Live = unkept{call.Blobs}, io.Discard
	res, err := (&editor{ws: rehearsed{workspace.In(ctx, e.ws, call.Session)}}).run(ctx, call, in)
	if err != nil {
		return "", err
	}
	h, ok := res.Detail.(*history)
	if !ok {
		return "", nil
	}
	return h.Diff, nil
}

// rehearsed is a workspace in which writing does nothing, and fails where it would.
type rehearsed struct{ workspace.Workspace }

func (r rehearsed) Change(ctx context.Context, changes []workspace.Change) error {
	for _, c := range changes {
		if err := r.WriteFile(ctx, c.Name, c.Data); err != nil {
			return err
		}
	}
	return nil
}

func (r rehearsed) WriteFile(ctx context.Context, name string, data []byte) error {
	return workspace.MayReplace(ctx, r.Workspace, name, data)
}

func (r rehearsed) Remove(ctx context.Context, name string) error {
	return workspace.MayReplace(ctx, r.Workspace, name, nil)
}

// unkept are blobs that keep nothing that is put.
type unkept struct{ openmanus.Blobs }

func (unkept) Put(_ context.Context, data []byte) (openmanus.Ref, error) {
	return openmanus.RefOf(data), nil
}
