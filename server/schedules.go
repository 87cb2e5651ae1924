package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A ScheduleKeeper runs the schedules of a server's users. Implementations are safe for
// concurrent use. Of a schedule that does not exist, or belongs to another user, the error
// is [ErrNoSchedule].
type ScheduleKeeper interface {
	// Schedules lists the schedules of a user, by name.
	Schedules(ctx context.Context, owner string) ([]Schedule, error)

	// Past returns what became of the last times of a schedule, the newest first, limit at
	// most.
	Past(ctx context.Context, owner, name string, limit int) ([]ScheduledRun, error)

	// RunNow has the task of a schedule run beside its times, and returns the session in
	// which it does. If it cannot run, the error is a [*FieldError].
	RunNow(ctx context.Context, owner, name string) (session string, err error)

	// Pause leaves out the times of a schedule until it is resumed.
	Pause(ctx context.Context, owner, name string, paused bool) error
}

// ErrNoSchedule says that a user has no schedule of a name.
var ErrNoSchedule = errors.New("there is no such schedule")

// A Schedule is a task that repeats.
type Schedule struct {
	Name     string     `json:"name"`
	State    string     `json:"state" enum:"waits,runs,paused"`
	Next     *time.Time `json:"next" doc:"When its task runs next; null if it never does."`
	Sessions []string   `json:"sessions" doc:"Those of its runs that go on."`
	When     string     `json:"when" doc:"Its times in a few words: a cron line, every 90m."`
	Zone     string     `json:"zone"`
	Task     string     `json:"task"`
}

// A ScheduledRun is what became of a time of a schedule, or of several that were left out
// together.
type ScheduledRun struct {
	Time    time.Time `json:"time"`
	Until   time.Time `json:"until,omitzero" doc:"The last time, if there are several."`
	Count   int       `json:"count" doc:"How many times it is about."`
	Manual  bool      `json:"manual,omitempty" doc:"Somebody asked for it."`
	Session string    `json:"session,omitempty"`
	Status  string    `json:"status" doc:"skipped, or that of the session."`
	Why     string    `json:"why,omitempty"`
	Result  string    `json:"result,omitempty" doc:"The file that the answer was written to."`
}

type (
	scheduleName struct {
		Name string `path:"name" maxLength:"40"`
	}
	schedulePast struct {
		Name  string `path:"name" maxLength:"40"`
		Limit int    `query:"limit" default:"20" minimum:"1" maximum:"1000"`
	}
	scheduleBegun struct {
		Session string `json:"session" doc:"The session in which the task runs."`
	}
)

// scheduled returns do for the operations on schedules, which get what keeps them, and the user.
func scheduled[In, Out any](s *Server, do func(ctx context.Context, k ScheduleKeeper, owner string, in *In) (*Out, error)) func(context.Context, *In) (*Out, error) {
	return func(ctx context.Context, in *In) (*Out, error) {
		if s.Schedules == nil {
			return nil, huma.Error501NotImplemented("this server runs no schedules")
		}
		out, err := do(ctx, s.Schedules, userOf(ctx).Name, in)
		if errors.Is(err, ErrNoSchedule) {
			err = huma.Error404NotFound(err.Error())
		}
		return out, err
	}
}

// scheduleRoutes registers the operations on schedules.
func (s *Server) scheduleRoutes(options ...option) {
	const one = "/api/v1/schedules/{name}"
	noContent := append(options, status(http.StatusNoContent))
	op(s, "GET /api/v1/schedules", "list-schedules", "List your schedules, and when each comes next",
		scheduled(s, func(ctx context.Context, k ScheduleKeeper, owner string, _ *struct{}) (*list[Schedule], error) {
			all, err := k.Schedules(ctx, owner)
			return listOf(all), err
		}), options...)
	op(s, "GET "+one+"/history", "read-schedule-history", "Read what became of the times of a schedule, the newest first",
		scheduled(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *schedulePast) (*list[ScheduledRun], error) {
			all, err := k.Past(ctx, owner, in.Name, in.Limit)
			return listOf(all), err
		}), options...)
	op(s, "POST "+one+"/run", "run-schedule", "Run the task of a schedule now, beside its times",
		scheduled(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *scheduleName) (*body[scheduleBegun], error) {
			session, err := k.RunNow(ctx, owner, in.Name)
			return &body[scheduleBegun]{scheduleBegun{session}}, err
		}), append(options, status(http.StatusAccepted))...)
	for _, act := range []struct {
		path, id, summary string
		paused            bool
	}{
		{"/pause", "pause-schedule", "Leave out the times of a schedule until it is resumed", true},
		{"/resume", "resume-schedule", "Let a paused schedule go on", false},
	} {
		op(s, "POST "+one+act.path, act.id, act.summary,
			scheduled(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *scheduleName) (*struct{}, error) {
				return nil, k.Pause(ctx, owner, in.Name, act.paused)
			}), noContent...)
	}
}
