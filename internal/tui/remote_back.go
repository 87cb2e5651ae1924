package tui

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus"
)

// Fork implements Source.
func (s *server) Fork(ctx context.Context, id string, at int64) (string, error) {
	var made struct{ ID string }
	err := s.call(ctx, "POST", of(id, "fork"), fields{"at": at}, &made)
	return made.ID, err
}

// PlanBack implements Source.
func (s *server) PlanBack(ctx context.Context, id string, b Back) (BackPlan, error) {
	return s.goBack(ctx, id, b, true)
}

// Back implements Source.
func (s *server) Back(ctx context.Context, id string, b Back) (BackPlan, error) {
	return s.goBack(ctx, id, b, false)
}

// goBack goes back or forth, or with dry only says what that would do.
func (s *server) goBack(ctx context.Context, id string, b Back, dry bool) (BackPlan, error) {
	var got struct {
		To         int64
		Messages   []string
		Changes    []openmanus.FileChange
		Kept       []openmanus.Left
		Outside    []struct{ Tool, Input string }
		Unfollowed string
		Running    bool
	}
	in, path := fields{"dry_run": dry}, of(id, "redo")
	if !b.Redo {
		path = of(id, "rewind")
		if in["last"] = b.Last; !b.Last {
			in["to"] = b.To
		}
		if b.Files != b.Talk {
			in["files"], in["talk"] = b.Files, b.Talk
		}
	}
	if err := s.call(ctx, "POST", path, in, &got); err != nil {
		return BackPlan{}, err
	}
	var p BackPlan
	add := func(format string, a ...any) { p.Lines = append(p.Lines, fmt.Sprintf(format, a...)) }
	if got.Running {
		add("the session is running, and is interrupted first")
	}
	for _, m := range got.Messages {
		add("taken back: %s", m)
	}
	for _, c := range got.Changes {
		add("%s %s", c.Change, c.Path)
	}
	for _, k := range got.Kept {
		add("%s stays as it is: %s", k.Name, k.Why)
	}
	for _, o := range got.Outside {
		add("may have had effects that do not come back: %s %s", o.Tool, o.Input)
	}
	if got.Unfollowed != "" {
		add("not everything was followed: %s", got.Unfollowed)
	}
	p.Nothing = len(got.Messages)+len(got.Changes) == 0 && !b.Redo
	p.Done = fmt.Sprintf("went to event %d", got.To)
	return p, nil
}
