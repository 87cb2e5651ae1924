package served

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/server"
)

// Rewind implements [server.Rewinder]. With Plan it only says what it would do. In a
// cluster this host claims the workspace first; a workspace that another host has is an
// error.
func (h Host) Rewind(ctx context.Context, session string, r server.Rewind) (*server.Rewinding, error) {
	b := host.Back{To: r.To, Last: r.Last, Redo: r.Redo, Files: r.Files, Talk: r.Talk, By: r.By}
	var p *host.BackPlan
	var err error
	if r.Plan {
		p, err = h.PlanBack(ctx, session, b)
	} else {
		var leave func() error
		if leave, err = h.Enter(ctx, session); err == nil {
			p, err = h.GoBack(ctx, session, b, nil)
			err = errors.Join(err, leave())
		}
	}
	if errors.Is(err, host.ErrNothingBack) {
		return nil, &server.FieldError{Field: "to", Err: server.Absent(err.Error())}
	}
	if wrong := (*host.Error)(nil); errors.As(err, &wrong) {
		return nil, &server.FieldError{Field: "to", Err: err}
	}
	if err != nil {
		return nil, err
	}
	out := &server.Rewinding{
		To: p.To, Files: p.Files, Talk: p.Talk, Redo: p.Redo, Messages: p.Messages, Changes: p.Changes, Kept: p.Kept,
		Unsure: p.Unsure, Outside: []server.OutsideCall{}, Unfollowed: p.Unfollowed, Running: p.Running,
	}
	for _, o := range p.Outside {
		out.Outside = append(out.Outside, server.OutsideCall{Session: o.Session, Seq: o.Seq, Call: o.Call, Tool: o.Tool, Input: o.Input})
	}
	return out, nil
}

// Past implements [server.Rewinder].
func (h Host) Past(ctx context.Context, session string, at int64, name string) ([]server.PastFile, error) {
	files, err := h.PastFiles(ctx, session, at, name, true)
	if err != nil {
		return nil, pastError(err)
	}
	all := make([]server.PastFile, len(files))
	for i, f := range files {
		all[i] = server.PastFile{Path: f.Path, Kind: f.Kind, Mode: f.Mode, Bytes: f.Size, Target: f.Target, Left: f.Left}
	}
	return all, nil
}

// WritePast implements [server.Rewinder]. It writes the content of exactly one file; a
// directory, or a name that was not there, is an error.
func (h Host) WritePast(ctx context.Context, w io.Writer, session string, at int64, name string) error {
	files, err := h.PastFiles(ctx, session, at, name, false)
	if err == nil && len(files) != 1 {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = h.Host.WritePast(ctx, w, files[0])
	}
	return pastError(err)
}

// Diff implements [server.Rewinder].
func (h Host) Diff(ctx context.Context, session string, from, to int64) ([]server.FileDiff, error) {
	diffs, err := h.DiffFiles(ctx, session, from, to)
	if err != nil {
		return nil, pastError(err)
	}
	all := make([]server.FileDiff, len(diffs))
	for i, d := range diffs {
		all[i] = server.FileDiff{
			FileChange: d.FileChange, Bytes: d.Bytes, Was: d.Was, Mode: d.Mode, From: d.From, Binary: d.Binary, Diff: d.Diff,
		}
	}
	return all, nil
}

// pastError makes it a fault of the request that a workspace was not followed, or that
// there is no such moment.
func pastError(err error) error {
	if errors.Is(err, host.ErrNoPast) {
		return &server.FieldError{Field: "query.at", Err: server.Absent(err.Error())}
	}
	if wrong := (*host.Error)(nil); errors.As(err, &wrong) {
		return &server.FieldError{Field: "query.at", Err: err}
	}
	return err
}
