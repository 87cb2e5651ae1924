package server

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
)

// A PlanApprover is a [Host] whose agents have a plan mode.
type PlanApprover interface {
	// ApprovePlan returns the events by which the user by approves the plan that waits
	// in the session id with the state s, as text has it if that is not "": the session
	// goes on in the given mode. They are appended in one commit. The error is about
	// the mode.
	ApprovePlan(id string, s *openmanus.State, mode, text, by string) ([]openmanus.Body, error)
}

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
	h, ok := s.Host.(PlanApprover)
	if !ok {
		return nil, huma.Error501NotImplemented("this server's agents have no plan mode")
	}
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
	var bodies []openmanus.Body
	err = s.states.view(ctx, info.ID, func(st *openmanus.State) (err error) {
		if _, ok := st.Proposal(); !ok {
			return huma.Error409Conflict("no plan waits for approval: an agent in plan mode proposes one when it ends its turn")
		}
		if bodies, err = h.ApprovePlan(info.ID, st, mode, in.Body.Text, u.Name); err != nil {
			err = &FieldError{"mode", err}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.appendAndWake(ctx, info.ID, bodies...)
}
