package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// A ScheduleKeeper runs the schedules of a server's users. Implementations are safe for
// concurrent use. If a schedule does not exist, or belongs to another user, the error is
// [ErrNoSchedule].
type ScheduleKeeper interface {
	// Schedules lists the schedules of a user, by name.
	Schedules(ctx context.Context, owner string) ([]Schedule, error)

	// Past returns the outcomes of the last times of a schedule, the newest first, limit
	// at most.
	Past(ctx context.Context, owner, name string, limit int) ([]ScheduledRun, error)

	// RunNow has the task of a schedule run beside its times, and returns the session in
	// which it does. If it cannot run, the error is a [*FieldError].
	RunNow(ctx context.Context, owner, name string) (session string, err error)

	// Pause leaves out the times of a schedule until it is resumed.
	Pause(ctx context.Context, owner, name string, paused bool) error

	// Add writes a schedule for a user into the configuration, and runs it from now on. If
	// it cannot be one, the error is a [*FieldError]; if there is one of its name, of any
	// user, it is [ErrScheduleExists].
	Add(ctx context.Context, owner string, n NewSchedule) error

	// Remove takes a schedule out of the configuration, and lets it run no more. Its
	// history and its sessions stay.
	Remove(ctx context.Context, owner, name string) error
}

// ErrNoSchedule says that a user has no schedule of a name.
var ErrNoSchedule = errors.New("there is no such schedule")

// ErrScheduleExists says that a name is taken.
var ErrScheduleExists = errors.New("there is a schedule of this name already")

// A NewSchedule is a schedule to add. One of Cron, Every, At and RRule is set.
type NewSchedule struct {
	Name        string `json:"name" minLength:"1" maxLength:"40"`
	Task        string `json:"task" minLength:"1" maxLength:"20000" doc:"What is to be done. {date}, {time} and {schedule} are replaced."`
	Cron        string `json:"cron,omitempty" maxLength:"200" doc:"Minute, hour, day of the month, month, day of the week; or @daily and the like."`
	Every       string `json:"every,omitempty" maxLength:"40" doc:"The time between two runs, such as 90m."`
	At          string `json:"at,omitempty" maxLength:"40" doc:"Once, such as 2026-12-24T18:00."`
	RRule       string `json:"rrule,omitempty" maxLength:"500" doc:"A rule of RFC 5545."`
	Zone        string `json:"zone,omitempty" maxLength:"60" doc:"The time zone, such as Europe/Berlin. Default: that of the server."`
	Missed      string `json:"missed,omitempty" enum:",once,skip,all" doc:"What becomes of times at which no server ran. Default: once."`
	Overlap     string `json:"overlap,omitempty" enum:",skip,queue,replace,allow" doc:"What becomes of a time that comes while the run before goes on. Default: skip."`
	Agent       string `json:"agent,omitempty" maxLength:"200"`
	Model       string `json:"model,omitempty" maxLength:"200"`
	Approve     string `json:"approve,omitempty" enum:",ask,edits,all,plan,readonly"`
	SameSession bool   `json:"same_session,omitempty" doc:"Every run is a message to one session."`
	Result      string `json:"result,omitempty" maxLength:"500" doc:"A file in the workspace that the answer is written to."`
}

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

// A ScheduledRun is the outcome of a time of a schedule, or of several that were left out
// together.
type ScheduledRun struct {
	Time    time.Time `json:"time"`
	Until   time.Time `json:"until,omitzero" doc:"The last time, if there are several."`
	Count   int       `json:"count" doc:"How many times it is about."`
	Manual  bool      `json:"manual,omitempty" doc:"A person asked for it."`
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
		switch {
		case errors.Is(err, ErrNoSchedule):
			err = huma.Error404NotFound(err.Error())
		case errors.Is(err, ErrScheduleExists):
			err = huma.Error409Conflict(err.Error())
		}
		return out, err
	}
}

// configured is scheduled for operations that change the configuration, which is for
// administrators.
func configured[In any](s *Server, do func(ctx context.Context, k ScheduleKeeper, owner string, in *In) error) func(context.Context, *In) (*struct{}, error) {
	return scheduled(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *In) (*struct{}, error) {
		if !userOf(ctx).Admin {
			return nil, huma.Error403Forbidden("schedules are added and removed by administrators of this server")
		}
		return nil, do(ctx, k, owner, in)
	})
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
	op(s, "POST /api/v1/schedules", "add-schedule", "Add a task that repeats: it stands in the configuration, and runs from now on",
		configured(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *body[NewSchedule]) error {
			return k.Add(ctx, owner, in.Body)
		}), noContent...)
	op(s, "DELETE "+one, "remove-schedule", "Remove a schedule; its history and its sessions stay",
		configured(s, func(ctx context.Context, k ScheduleKeeper, owner string, in *scheduleName) error {
			return k.Remove(ctx, owner, in.Name)
		}), noContent...)
	op(s, "GET "+one+"/history", "read-schedule-history", "Read the outcomes of the times of a schedule, the newest first",
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
