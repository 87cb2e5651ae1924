package server

import (
	"context"
	"errors"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/journal"
)

// An approvePlanRequest approves the plan that an agent in plan mode has ended its turn
// with.
type approvePlanRequest struct {
	OneSession
	Body struct {
		Mode string `json:"mode,omitempty" enum:"ask,edits,all,readonly" doc:"The mode in which the session goes on. Default: ask."`
		Text string `json:"text,omitempty" maxLength:"1000000" doc:"The plan as you have edited it. Default: as the agent proposed it."`
	}
}

// approvePlan approves a plan and wakes the session, which carries it out. A plan is
// approved once: of two requests at the same time that differ, one is a conflict.
func (s *Server) approvePlan(ctx context.Context, info journal.SessionInfo, in *approvePlanRequest) (*appended, error) {
	u := userOf(ctx)
	mode, err := u.mode("mode", in.Body.Mode)
	if err != nil {
		return nil, err
	}
	if err := s.checkQuota(ctx, info); err != nil {
		return nil, err
	}
	if err := s.addUpload(u, int64(len(in.Body.Text)), false, time.Now()); err != nil {
		return nil, err
	}
	return acted(s.acts().Do(ctx, info.ID, func(st *openmanus.State) ([]openmanus.Body, error) {
		bodies, err := act.ApprovePlan(info.ID, st, mode, in.Body.Text, u.Name)
		if e := (*act.Error)(nil); errors.As(err, &e) && e.Kind == act.Invalid {
			err = &FieldError{"mode", err}
		}
		return bodies, err
	}))
}
