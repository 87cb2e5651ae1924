package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/journal"
)

// A Rewinder is a [Host] that keeps what workspaces contained.
type Rewinder interface {
	// Rewind takes a session back, or says only what that would do. If something
	// else drives the session, the error is [openmanus.ErrDriven]. If the request
	// is at fault, or nothing can be taken back, it is an [act.Error] of the field.
	Rewind(ctx context.Context, session string, r act.Rewind) (*act.Rewinding, error)

	// Past lists what a directory of the workspace contained after an event, or
	// returns the one file of that name. The name "." is the workspace, and the
	// event 0 the last one.
	Past(ctx context.Context, session string, at int64, name string) ([]PastFile, error)

	// WritePast writes the content of a file as it was after an event. The error is
	// [fs.ErrNotExist] if there was none, or its content was not kept.
	WritePast(ctx context.Context, w io.Writer, session string, at int64, name string) error

	// Diff returns how the files that calls of the session, and of those below it,
	// changed after the event from and until the event to differ; 0 is the first or
	// last one.
	Diff(ctx context.Context, session string, from, to int64) ([]act.FileDiff, error)
}

// A PastFile is what a workspace had under a name.
type PastFile struct {
	Path   string `json:"path"`
	Kind   string `json:"kind" enum:"file,dir,link,device"`
	Mode   string `json:"mode" doc:"Permissions, such as -rw-r--r--."`
	Bytes  int64  `json:"bytes"`
	Target string `json:"target,omitempty" doc:"Where a link leads."`
	Left   string `json:"left,omitempty" doc:"Why its content is not kept."`
}

// rewinder returns the host, if it keeps what workspaces contained, and the user may
// use that of the session.
func (s *Server) rewinder(ctx context.Context, info journal.SessionInfo) (Rewinder, error) {
	r, ok := s.Host.(Rewinder)
	if !ok {
		return nil, huma.Error501NotImplemented("this server does not keep what workspaces contained")
	}
	root, err := s.openWorkspace(ctx, info.Workspace)
	if err != nil {
		return nil, err
	}
	return r, root.Close()
}

// A rewindRequest takes a session back.
type rewindRequest struct {
	OneSession
	Body struct {
		To     int64 `json:"to,omitempty" minimum:"0" doc:"The last event that still stands."`
		Last   bool  `json:"last,omitempty" doc:"In place of to: before the user's last message."`
		Files  bool  `json:"files,omitempty" doc:"Only put files back."`
		Talk   bool  `json:"talk,omitempty" doc:"Only take the conversation back."`
		DryRun bool  `json:"dry_run,omitempty" doc:"Only say what it would do."`
	}
}

// rewind takes a session back that is not running.
func (s *Server) rewind(ctx context.Context, info journal.SessionInfo, in *rewindRequest) (*body[*act.Rewinding], error) {
	b := in.Body
	if (b.To != 0) == b.Last {
		return nil, &FieldError{"to", fmt.Errorf("one of to and last says how far")}
	}
	both := b.Files == b.Talk
	return s.goBack(ctx, info, act.Rewind{
		To: b.To, Last: b.Last, Files: b.Files || both, Talk: b.Talk || both, By: userOf(ctx).Name, Plan: b.DryRun,
	})
}

// A redoRequest takes back that a session went back.
type redoRequest struct {
	OneSession
	Body struct {
		DryRun bool `json:"dry_run,omitempty" doc:"Only say what it would do."`
	}
}

// redo takes back the last rewind of a session that is not running.
func (s *Server) redo(ctx context.Context, info journal.SessionInfo, in *redoRequest) (*body[*act.Rewinding], error) {
	return s.goBack(ctx, info, act.Rewind{Redo: true, By: userOf(ctx).Name, Plan: in.Body.DryRun})
}

// goBack takes a session back, while the scheduler does nothing else with it. With Plan it
// only says what it would do, which needs no reservation.
func (s *Server) goBack(ctx context.Context, info journal.SessionInfo, b act.Rewind) (*body[*act.Rewinding], error) {
	r, err := s.rewinder(ctx, info)
	if err != nil {
		return nil, err
	}
	if !b.Plan {
		done, err := s.reserve(ctx, info)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	p, err := r.Rewind(ctx, info.ID, b)
	return &body[*act.Rewinding]{p}, err
}

// endWait is how long the driver of a session may take to give it back when the session
// has nothing to do any more.
const endWait = 10 * time.Second

// reserve keeps the scheduler away from a session until done is called. The error is
// [openmanus.ErrDriven] if the session is at work. If its work has just ended, reserve
// waits until its driver has noticed, too.
func (s *Server) reserve(ctx context.Context, info journal.SessionInfo) (done func(), err error) {
	wait, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	for {
		if done, ok := s.scheduler.reserve(info); ok {
			return done, nil
		}
		st, err := openmanus.Load(ctx, s.Store, info.ID)
		if err != nil {
			return nil, err
		}
		at := st.Status()
		if wait.Err() != nil || s.scheduler.ctx.Err() != nil || at == openmanus.Running || at == openmanus.Waiting {
			return nil, fmt.Errorf("session %s: %w", info.ID, openmanus.ErrDriven)
		}
		s.scheduler.jobEnds(wait, info.ID)
	}
}

// A pastRequest asks what a workspace contained.
type pastRequest struct {
	OneSession
	At int64 `query:"at" minimum:"0" doc:"As of this event. Default: the last."`
}

type pastResponse struct {
	Body struct {
		Items   []PastFile `json:"items"`
		Partial bool       `json:"partial,omitempty" doc:"The list is incomplete."`
	}
}

// past lists the files of the workspace as they were after an event.
func (s *Server) past(ctx context.Context, info journal.SessionInfo, in *pastRequest) (*pastResponse, error) {
	r, err := s.rewinder(ctx, info)
	if err != nil {
		return nil, err
	}
	all, err := r.Past(ctx, info.ID, in.At, ".")
	out := new(pastResponse)
	out.Body.Items, out.Body.Partial = all[:min(len(all), maxEntries)], len(all) > maxEntries
	return out, inField("query.at", err)
}

// A pastFileRequest asks for a file as it was.
type pastFileRequest struct {
	FileRequest
	At int64 `query:"at" minimum:"0" doc:"As of this event. Default: the last."`
}

// pastFile responds with a file of the workspace as it was after an event.
func (s *Server) pastFile(ctx context.Context, info journal.SessionInfo, in *pastFileRequest) (*huma.StreamResponse, error) {
	name, err := in.clean()
	if err != nil {
		return nil, err
	}
	data, err := s.pastContent(ctx, info, in.At, name)
	if err != nil {
		return nil, err
	}
	content := bytes.NewReader(data)
	if in.Frame != "" && (in.Dest == "" || in.Dest == "iframe") {
		return serveFrame(content, name, in.Frame == "scripts", io.NopCloser(content))
	}
	return serveContent(content, name, info.Updated, in.Inline, io.NopCloser(content)), nil
}

// pastContent returns a file of the workspace as it was after an event. A directory, or a
// file whose content was not kept, is [fs.ErrNotExist].
func (s *Server) pastContent(ctx context.Context, info journal.SessionInfo, at int64, name string) ([]byte, error) {
	r, err := s.rewinder(ctx, info)
	if err != nil {
		return nil, err
	}
	files, err := r.Past(ctx, info.ID, at, name)
	if err != nil {
		return nil, inField("query.at", err)
	}
	if len(files) != 1 || files[0].Path != name || files[0].Kind != "file" || files[0].Left != "" {
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	if files[0].Bytes > maxPast {
		return nil, &FieldError{"path.path", fmt.Errorf("it has more than %d bytes: openmanus sessions files prints it", maxPast)}
	}
	var b bytes.Buffer
	err = r.WritePast(ctx, &b, info.ID, at, name)
	return b.Bytes(), inField("query.at", err)
}

// maxPast bounds a file of the past that the server sends: it is held in memory.
const maxPast = 64 << 20

// A diffRequest asks what a session changed.
type diffRequest struct {
	OneSession
	From int64 `query:"from" minimum:"0" doc:"Only what was changed after this event."`
	To   int64 `query:"to" minimum:"0" doc:"Only what was changed until this event."`
}

type diffResponse struct {
	Body struct {
		Items []act.FileDiff `json:"items"`
	}
}

// diff responds with what calls of a session changed in the workspace.
func (s *Server) diff(ctx context.Context, info journal.SessionInfo, in *diffRequest) (*diffResponse, error) {
	r, err := s.rewinder(ctx, info)
	if err != nil {
		return nil, err
	}
	out := new(diffResponse)
	out.Body.Items, err = r.Diff(ctx, info.ID, in.From, in.To)
	return out, inField("query.at", err)
}
