package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/internal/sight"
	"github.com/openmanus-go/openmanus/workspace"
)

type saverInput struct {
	Content  string `json:"content"`
	FilePath string `json:"file_path"`
	Mode     string `json:"mode"`
}

// NewFileSaver returns the file_saver tool, which writes files of ws. The
// Detail of its results is a [FileChange]. Its preview is the diff.
func NewFileSaver(ws workspace.Workspace) openmanus.Tool {
	spec := specOf("file_saver", openmanus.Hints{Edits: true, Destructive: true}, writesPath("file_path"))
	tool := openmanus.Func(spec, func(
		ctx context.Context, call openmanus.Call, in saverInput,
	) (openmanus.Result, error) {
		return save(ctx, workspace.In(ctx, ws, call.Session), in)
	})
	hints := func(call openmanus.Call) openmanus.Hints {
		h := spec.Hints
		if stringArgument(call, "mode") == "a" {
			h.Destructive = false
		} else {
			h.Idempotent = true
		}
		return h
	}
	return hinted{tool, hints, func(ctx context.Context, call openmanus.Call) (string, error) {
		var in saverInput
		if err := args.Decode(call.Input, &in); err != nil {
			return "", fmt.Errorf("arguments: %w", err)
		}
		p, err := planSave(ctx, workspace.In(ctx, ws, call.Session), in)
		if err == nil {
			p.basedOn(ctx, in)
			err = workspace.MayReplace(ctx, workspace.In(ctx, ws, call.Session), p.name, p.after)
		}
		if err != nil || p.unread {
			return "", err
		}
		return Diff(p.name, p.before, p.after), nil
	}}
}

// A plannedSave is a change of a file that is about to be made.
type plannedSave struct {
	name          string
	before, after []byte
	unread        bool // the file is too large for before
}

// planSave returns the change that a call would make. It fails if the call
// would.
func planSave(ctx context.Context, ws workspace.Workspace, in saverInput) (p plannedSave, err error) {
	if p.name, err = workspace.NameIn(ctx, ws.Dir(), in.FilePath); err != nil {
		return p, err
	}
	p.before, err = readFile(ws, p.name, in.FilePath)
	p.unread = in.Mode != "a" && errors.Is(err, errTooLarge)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !p.unread {
		return p, err
	}
	p.after = []byte(in.Content)
	if in.Mode == "a" {
		p.after = append(slices.Clip(p.before), p.after...)
	}
	return p, nil
}

// basedOn says, of a call that appends, that it makes what it writes of what is there.
func (p plannedSave) basedOn(ctx context.Context, in saverInput) {
	if in.Mode == "a" && p.before != nil {
		sight.Based(ctx, p.before)
		sayStale(ctx, target{path: in.FilePath, name: p.name}, p.before)
	}
}

// save carries out a call.
func save(ctx context.Context, ws workspace.Workspace, in saverInput) (openmanus.Result, error) {
	p, err := planSave(ctx, ws, in)
	if err != nil {
		return openmanus.Result{}, err
	}
	p.basedOn(ctx, in)
	if err := ws.WriteFile(ctx, p.name, p.after); err != nil {
		return openmanus.Result{}, fmt.Errorf("saving %s: %w", in.FilePath, err)
	}
	res := openmanus.TextResult("Content successfully saved to %s", in.FilePath)
	if p.unread {
		res.Detail = FileChange{Path: p.name, Change: Modified, Bytes: len(p.after)}
	} else {
		res.Detail = newChange(p.name, p.before, p.after)
	}
	return res, nil
}
