package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

const saverDescription = `
Save content to a file: mode "w" (the default) writes the whole file and replaces what is there, mode "a" appends. Directories are made as needed. Use it for new content; to change a part of a file use an editing tool.
Example: {"file_path":"report/summary.md","content":"# Summary\n\nAll is well.\n"}`

const saverSchema = `{
	"type": "object",
	"properties": {
		"content": {"type": "string", "description": "The content to save to the file."},
		"file_path": {"type": "string", "minLength": 1,
			"description": "Where to save it: relative to the workspace, or absolute within it."},
		"mode": {"type": "string", "enum": ["w", "a"], "default": "w", "description": "w writes the file anew, a appends to it."}
	},
	"required": ["content", "file_path"],
	"additionalProperties": false
}`

type saverInput struct {
	Content  string `json:"content"`
	FilePath string `json:"file_path"`
	Mode     string `json:"mode"`
}

// NewFileSaver returns the file_saver tool, which writes files of ws. The
// Detail of its results is a [FileChange].
func NewFileSaver(ws workspace.Workspace) openmanus.Tool {
	spec := newSpec("file_saver", saverDescription, saverSchema, openmanus.Hints{Edits: true, Destructive: true})
	tool := openmanus.Func(spec, func(ctx context.Context, _ openmanus.Call, in saverInput) (openmanus.Result, error) {
		return save(ctx, ws, in)
	})
	return hinted{tool, func(call openmanus.Call) openmanus.Hints {
		h := spec.Hints
		if argument(call, "mode") == "a" {
			h.Destructive = false
		} else {
			h.Idempotent = true
		}
		return h
	}}
}

func save(ctx context.Context, ws workspace.Workspace, in saverInput) (openmanus.Result, error) {
	name, err := workspace.Name(ws.Dir(), in.FilePath)
	if err != nil {
		return openmanus.Result{}, err
	}
	before, err := readFile(ws, name, in.FilePath)
	unread := in.Mode != "a" && errors.Is(err, errTooLarge)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !unread {
		return openmanus.Result{}, err
	}
	after := []byte(in.Content)
	if in.Mode == "a" {
		after = append(before, after...)
	}
	if err := ws.WriteFile(ctx, name, after); err != nil {
		return openmanus.Result{}, fmt.Errorf("saving %s: %w", in.FilePath, err)
	}
	res := openmanus.TextResult("Content successfully saved to %s", in.FilePath)
	if unread {
		res.Detail = FileChange{Path: name, Change: Modified, Bytes: len(after)}
	} else {
		res.Detail = newChange(name, before, after)
	}
	return res, nil
}
