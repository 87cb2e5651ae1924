package scheduled

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/internal/schedule"
	"github.com/openmanus-go/openmanus/server"
)

// A Service is the schedules of a server. It implements [server.ScheduleKeeper].
type Service struct {
	Runner *schedule.Runner
	Plans  map[string]schedule.Plan // by name
}

// plan returns the plan of a schedule of a user.
func (s Service) plan(owner, name string) (schedule.Plan, error) {
	p, ok := s.Plans[name]
	if !ok || p.Owner != owner {
		return p, server.ErrNoSchedule
	}
	return p, nil
}

// Schedules implements [server.ScheduleKeeper].
func (s Service) Schedules(ctx context.Context, owner string) ([]server.Schedule, error) {
	var all []server.Schedule
	for name, p := range s.Plans {
		if p.Owner != owner {
			continue
		}
		v, err := schedule.Look(ctx, s.Runner.Journal, name, p, time.Now())
		if err != nil {
			return nil, err
		}
		all = append(all, server.Schedule{
			Name: name, State: v.State, Next: v.Next, Sessions: v.Running, When: p.When(), Zone: p.Zone, Task: p.Task,
		})
	}
	slices.SortFunc(all, func(a, b server.Schedule) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Past implements [server.ScheduleKeeper].
func (s Service) Past(ctx context.Context, owner, name string, limit int) ([]server.ScheduledRun, error) {
	if _, err := s.plan(owner, name); err != nil {
		return nil, err
	}
	history, err := schedule.History(ctx, s.Runner.Journal, name)
	if err != nil {
		return nil, err
	}
	var all []server.ScheduledRun
	for _, e := range slices.Backward(history) {
		if len(all) == limit {
			break
		}
		all = append(all, server.ScheduledRun{
			Time: e.Slot, Until: e.Until, Count: max(e.Count, 1), Manual: e.Manual, Session: e.Session, Status: string(e.Status), Why: e.Why, Result: e.Result,
		})
	}
	return all, nil
}

// RunNow implements [server.ScheduleKeeper].
func (s Service) RunNow(ctx context.Context, owner, name string) (string, error) {
	p, err := s.plan(owner, name)
	if err != nil {
		return "", err
	}
	now := time.Now()
	if _, err := s.Runner.Record(ctx, name, p, now); err != nil {
		return "", err
	}
	d, err := s.Runner.RunNow(ctx, name, now)
	if err != nil {
		return "", err
	}
	why, err := schedule.Refusal(ctx, s.Runner.Journal, name, d)
	if err == nil && why != "" {
		err = &server.FieldError{Field: "path.name", Err: errors.New(why)}
	}
	return d.Session, err
}

// Pause implements [server.ScheduleKeeper].
func (s Service) Pause(ctx context.Context, owner, name string, paused bool) error {
	p, err := s.plan(owner, name)
	if err != nil {
		return err
	}
	now := time.Now()
	if _, err := s.Runner.Record(ctx, name, p, now); err != nil {
		return err
	}
	_, err = s.Runner.Pause(ctx, name, paused, owner, now)
	return err
}
