package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/journal"
)

// A Viewer is a [Host] whose sessions have browsers that a person can watch, take over,
// use, and hand back. The errors of the methods are [ErrNoScreen], [ErrScreenTaken] and
// [ErrScreenFree], wrapped or not, and those of ctx.
type Viewer interface {
	// Watch calls show with what the session's browser shows, now and after each change,
	// until ctx ends or show fails. The values are encoded as JSON. Nothing of them may be
	// stored. With marks, they say where the elements are that the model sees.
	Watch(ctx context.Context, session string, marks bool, show func(screen any) error) error

	// TakeOver makes calls of the agent that need the browser wait, and waits for the one
	// that runs.
	TakeOver(ctx context.Context, session string) error

	// Input does what the person who has taken over the browser does. It must not record
	// or log it.
	Input(ctx context.Context, session string, inputs []ScreenInput) error

	// HandBack ends TakeOver, and returns how long the person had the browser.
	HandBack(ctx context.Context, session string) (time.Duration, error)
}

// The errors of a [Viewer].
var (
	ErrNoScreen    = errors.New("the agent has no browser open on this server")
	ErrScreenTaken = errors.New("someone has taken over this browser already")
	ErrScreenFree  = errors.New("the browser has not been taken over, or was handed back since")
)

// A ScreenInput is something that a person does with the pointer or the keyboard.
type ScreenInput struct {
	Kind   string  `json:"kind" enum:"move,down,up,wheel,key,text,dialog,back,reload,hold" doc:"hold does nothing but keep the browser taken over."`
	X      float64 `json:"x,omitempty" doc:"Where the pointer is, in CSS pixels of the view."`
	Y      float64 `json:"y,omitempty"`
	DX     float64 `json:"dx,omitempty" doc:"How far a wheel turns."`
	DY     float64 `json:"dy,omitempty"`
	Button string  `json:"button,omitempty" enum:"left,middle,right"`
	Clicks int     `json:"clicks,omitempty" minimum:"0" maximum:"3" doc:"2 for the second click of a double one."`
	Key    string  `json:"key,omitempty" maxLength:"40" doc:"Such as Enter or Control+a."`
	Text   string  `json:"text,omitempty" maxLength:"10000" doc:"To type, or to answer a prompt with."`
	Accept bool    `json:"accept,omitempty" doc:"Of a dialog."`
}

// takeOverTime is how long a request waits for a call of the agent to end.
const takeOverTime = 70 * time.Second

// screenRequest asks for the stream of a browser.
type screenRequest struct {
	OneSession
	Marks bool `query:"marks" doc:"Say where the elements are that the model sees."`
}

// viewer returns the host as a [Viewer].
func (s *Server) viewer() (Viewer, error) {
	if v, ok := s.Host.(Viewer); ok {
		return v, nil
	}
	return nil, huma.Error404NotFound(ErrNoScreen.Error())
}

// screen streams pictures of the session's browser, as long as the client reads. A slow
// client gets fewer pictures, and always the newest.
func (s *Server) screen(ctx context.Context, info journal.SessionInfo, in *screenRequest) (*huma.StreamResponse, error) {
	v, err := s.viewer()
	if err != nil {
		return nil, err
	}
	return s.eventStream(ctx, func(ctx context.Context, out *stream) {
		if out.writeString("retry: 2000\n\n") != nil {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		kept := make(chan struct{})
		go func() { defer close(kept); out.keepAlive(ctx) }()
		defer func() { cancel(); <-kept }()
		err := v.Watch(ctx, info.ID, in.Marks, func(screen any) error {
			data, err := json.Marshal(screen)
			if err != nil {
				return err
			}
			var b bytes.Buffer
			appendFrame(&b, 0, "screen", data)
			return out.write(b.Bytes())
		})
		if err != nil && ctx.Err() == nil {
			s.Log.Debug("a browser cannot be watched", "session", info.ID, "error", err)
		}
	})
}

// takeOver gives the session's browser to the person.
func (s *Server) takeOver(ctx context.Context, info journal.SessionInfo, in *OneSession) (*struct{}, error) {
	v, err := s.viewer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, takeOverTime)
	defer cancel()
	return nil, screenProblem(v.TakeOver(ctx, info.ID))
}

// screenInputs is a request with what a person did, in order.
type screenInputs struct {
	OneSession
	Body struct {
		Inputs []ScreenInput `json:"inputs" minItems:"1" maxItems:"200"`
	}
}

// screenInput does what the person did. Nothing of it is stored or logged.
func (s *Server) screenInput(ctx context.Context, info journal.SessionInfo, in *screenInputs) (*struct{}, error) {
	v, err := s.viewer()
	if err != nil {
		return nil, err
	}
	return nil, screenProblem(v.Input(ctx, info.ID, in.Body.Inputs))
}

// handBack gives the browser back to the agent, and records in the journal who had it, for
// how long, and not what they typed. It finishes even if the client has gone.
func (s *Server) handBack(ctx context.Context, info journal.SessionInfo, in *OneSession) (*struct{}, error) {
	v, err := s.viewer()
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // a page that closes hands back
	lasted, err := v.HandBack(ctx, info.ID)
	if err != nil {
		return nil, screenProblem(err)
	}
	text := fmt.Sprintf("%s used the agent's browser for %s and handed it back. What was typed is not recorded.",
		userOf(ctx).Name, lasted.Round(time.Second))
	_, err = s.Store.Append(ctx, info.ID, openmanus.Noted{ID: ids.New(), Text: text})
	return nil, err
}

// screenProblem converts the errors of a [Viewer].
func screenProblem(err error) error {
	switch {
	case errors.Is(err, ErrNoScreen):
		return huma.Error404NotFound(ErrNoScreen.Error())
	case errors.Is(err, ErrScreenTaken):
		return huma.Error409Conflict(ErrScreenTaken.Error())
	case errors.Is(err, ErrScreenFree):
		return huma.Error409Conflict(ErrScreenFree.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return huma.NewError(http.StatusConflict, "the agent uses the browser: try again when its call has ended")
	}
	return err
}
