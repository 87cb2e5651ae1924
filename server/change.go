package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// A Reconfigurer is a [Host] that can change what a session goes on with.
type Reconfigurer interface {
	// Reconfigure appends what a session goes on with. It may be called while the
	// session is driven: the change then holds from the next decision on, and a reply
	// that is under way ends with the model that began it. A fault of the request is
	// a [*FieldError], and nothing was stored.
	Reconfigure(ctx context.Context, session string, c Change) error
}

// A Change is what a session goes on with.
type Change = act.Change

// A changeRequest changes a session's title, or what it goes on with.
type changeRequest struct {
	OneSession
	Body struct {
		Title   string `json:"title,omitempty" maxLength:"200" doc:"What people call it. It stays when the user says more."`
		Approve string `json:"approve,omitempty" enum:"ask,edits,all,plan,readonly" doc:"The mode from now on. Calls under way that it does not allow are given up."`
		Model   string `json:"model,omitempty" maxLength:"200" doc:"The model of replies from now on: PROVIDER/NAME or the name of a profile."`
	}
}

// change changes the title, the mode or the model of a session, all or nothing. It is
// possible while the session is driven. A user cannot choose a mode beyond their own.
func (s *Server) change(ctx context.Context, info journal.SessionInfo, in *changeRequest) (*body[Session], error) {
	b := in.Body
	if b.Title == "" && b.Approve == "" && b.Model == "" {
		return nil, &FieldError{"title", errors.New("nothing is to be changed: give a title, approve or model")}
	}
	if b.Approve != "" {
		if _, err := userOf(ctx).mode("approve", b.Approve); err != nil {
			return nil, err
		}
	}
	if b.Approve != "" || b.Model != "" {
		r, ok := s.Host.(Reconfigurer)
		if !ok {
			return nil, huma.Error501NotImplemented("this server does not change sessions that exist")
		}
		if err := r.Reconfigure(ctx, info.ID, Change{Model: b.Model, Approve: b.Approve, By: userOf(ctx).Name}); err != nil {
			return nil, err
		}
		if err := s.wake(ctx, info.ID); err != nil { // calls that waited may have been given up
			return nil, err
		}
	}
	if b.Title != "" {
		if _, err := s.Store.Append(ctx, info.ID, openmanus.Titled{ID: ids.New(), Title: b.Title}); err != nil {
			return nil, err
		}
	}
	return s.sessionResponse(ctx, info.ID)
}

// A previewRequest asks what a call would do that waits for a ruling, with other
// arguments than those of the model.
type previewRequest struct {
	OneSession
	Body struct {
		Call  string          `json:"call" minLength:"1" maxLength:"100"`
		Input json.RawMessage `json:"input" doc:"The arguments, as a ruling would have them."`
	}
}

type previewResponse struct {
	Body struct {
		Shown string          `json:"shown,omitempty" doc:"What the call would do, such as a diff."`
		Hints openmanus.Hints `json:"hints,omitzero" doc:"What the call may do with these arguments."`
		Fails string          `json:"fails,omitempty" doc:"Why the call would fail."`
	}
}

// preview responds with what a call would do with arguments that the user wrote. It
// changes nothing.
func (s *Server) preview(ctx context.Context, info journal.SessionInfo, in *previewRequest) (*previewResponse, error) {
	err := s.states.view(ctx, info.ID, func(st *openmanus.State) error {
		c, _, err := act.Waiting(st, in.Body.Call, openmanus.AskRuling)
		if err == nil {
			_, err = act.Input(st, c, string(in.Body.Input))
		}
		return refused(err)
	})
	if err != nil {
		return nil, err
	}
	if err := checkWorkspace(info.Workspace); err != nil {
		return nil, err
	}
	e, err := s.Local.Effect(ctx, info.ID, in.Body.Call, string(in.Body.Input))
	out := new(previewResponse)
	out.Body.Shown, out.Body.Hints, out.Body.Fails = e.Shown, e.Hints, e.Fails
	return out, err
}
