package tui

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
)

// Change implements Source. The server refuses models that it is not configured for,
// and modes that its user may not use; an agent is chosen for new sessions only.
func (s *server) Change(ctx context.Context, id string, set Setting) error {
	if id == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next.Model, s.next.Mode, s.next.Agent = cmp.Or(set.Model, s.next.Model), cmp.Or(set.Mode, s.next.Mode), cmp.Or(set.Agent, s.next.Agent)
		return nil
	}
	if set.Agent != "" {
		return errors.New("a session keeps its agent: /new begins another one")
	}
	change := make(fields)
	if set.Model != "" {
		change["model"] = set.Model
	}
	if set.Mode != "" {
		change["approve"] = set.Mode
	}
	return s.call(ctx, "PATCH", of(id), change, nil)
}

// Proposal implements [Planner].
func (s *server) Proposal(ctx context.Context, id string) (string, error) {
	var got struct{ Proposal string }
	err := s.call(ctx, "GET", of(id), nil, &got)
	return got.Proposal, err
}

// Approve implements [Planner].
func (s *server) Approve(ctx context.Context, id, mode, text string) error {
	return s.call(ctx, "POST", of(id, "plan", "approve"), fields{"mode": mode, "text": text}, nil)
}

// Preview implements [Previewer].
func (s *server) Preview(ctx context.Context, session, call, input string) (e CallEffect, err error) {
	err = s.call(ctx, "POST", of(session, "preview"), fields{"call": call, "input": json.RawMessage(input)}, &e)
	return e, err
}
