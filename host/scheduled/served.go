package scheduled

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/schedule"
	"github.com/openmanus-go/openmanus/llm/providers"
	"github.com/openmanus-go/openmanus/server"
)

// Options are what a [Service] is made of.
type Options struct {
	Runner *schedule.Runner
	Config *config.Config
	File   string        // of the configuration, to which schedules are added; "": they cannot be
	Lookup config.Lookup // of variables

	// MayChoose returns an error unless users may choose a model by this name.
	MayChoose func(model string) error
}

// A Service is the schedules of a server. It implements [server.ScheduleKeeper].
type Service struct {
	Options

	mu    sync.Mutex
	plans map[string]schedule.Plan      // by name
	ends  map[string]context.CancelFunc // of those that run, by name
	ctx   context.Context               // in which they run; nil before Run
	all   sync.WaitGroup
}

// NewService returns a service of the schedules that are configured. It runs none yet. An
// invalid schedule is an error that names it.
func NewService(o Options) (*Service, error) {
	plans, err := Plans(o.Config)
	return &Service{Options: o, plans: plans, ends: make(map[string]context.CancelFunc)}, err
}

// Run runs the schedules, also those that are added meanwhile, until ctx ends. It is called
// once.
func (s *Service) Run(ctx context.Context) {
	s.mu.Lock()
	s.ctx = ctx
	for name, p := range s.plans {
		s.start(name, p)
	}
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock() // nothing starts from now on
	defer s.mu.Unlock()
	s.all.Wait()
}

// start runs a schedule, if Run was called. The caller has the lock.
func (s *Service) start(name string, p schedule.Plan) {
	if s.ctx == nil || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.ends[name] = cancel
	s.all.Go(func() { s.Runner.Keep(ctx, name, p) })
}

// look has a schedule looked at now, and from then on as often as one with a run is.
func (s *Service) look(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.ends[name]; end != nil {
		end()
		s.start(name, s.plans[name])
	}
}

// plan returns the plan of a schedule of a user.
func (s *Service) plan(owner, name string) (schedule.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.plans[name]
	if !ok || p.Owner != owner {
		return p, server.ErrNoSchedule
	}
	return p, nil
}

// Add implements [server.ScheduleKeeper].
func (s *Service) Add(_ context.Context, owner string, n server.NewSchedule) error {
	if s.File == "" {
		return errors.New("this server has no configuration file to write the schedule to")
	}
	wrong := func(field string, err error) error { return &server.FieldError{Field: field, Err: err} }
	if err := config.CheckScheduleName(n.Name); err != nil {
		return wrong("name", err)
	}
	if n.Model != "" {
		if err := s.MayChoose(n.Model); err != nil {
			return wrong("model", err)
		}
	}
	c := config.Schedule{
		Cron: n.Cron, Every: n.Every, At: n.At, RRule: n.RRule, Zone: n.Zone, Missed: n.Missed, Overlap: n.Overlap, Task: n.Task,
		Agent: n.Agent, Model: n.Model, Workspace: s.Config.Run.Workspace, Approve: n.Approve, SameSession: n.SameSession, Result: n.Result,
	}
	if len(s.Config.Users) > 0 {
		c.User = owner
	}
	p, err := PlanOf(s.Config, c)
	if f := (*schedule.FieldError)(nil); errors.As(err, &f) {
		return wrong(f.Field, f.Err)
	}
	if err != nil {
		return err
	}
	c.Zone = p.Zone // a schedule does not move when the machine does
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.plans[n.Name]; there {
		return server.ErrScheduleExists
	}
	if err := config.AddSchedule(s.File, n.Name, c, s.Lookup, providers.All()); err != nil {
		return err
	}
	s.plans[n.Name] = p
	s.start(n.Name, p)
	return nil
}

// Remove implements [server.ScheduleKeeper].
func (s *Service) Remove(_ context.Context, owner, name string) error {
	if _, err := s.plan(owner, name); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err := config.RemoveSchedule(s.File, name, s.Lookup, providers.All())
	if errors.Is(err, config.ErrNoSchedule) {
		return &server.FieldError{Field: "path.name", Err: fmt.Errorf("it does not stand in %s: remove it where it does", s.File)}
	}
	if err != nil {
		return err
	}
	if end := s.ends[name]; end != nil {
		end()
	}
	delete(s.plans, name)
	delete(s.ends, name)
	return nil
}

// Schedules implements [server.ScheduleKeeper].
func (s *Service) Schedules(ctx context.Context, owner string) ([]server.Schedule, error) {
	s.mu.Lock()
	plans := maps.Clone(s.plans)
	s.mu.Unlock()
	var all []server.Schedule
	for name, p := range plans {
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
func (s *Service) Past(ctx context.Context, owner, name string, limit int) ([]server.ScheduledRun, error) {
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
func (s *Service) RunNow(ctx context.Context, owner, name string) (string, error) {
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
	s.look(name)
	why, err := schedule.Refusal(ctx, s.Runner.Journal, name, d)
	if err == nil && why != "" {
		err = &server.FieldError{Field: "path.name", Err: errors.New(why)}
	}
	return d.Session, err
}

// Pause implements [server.ScheduleKeeper].
func (s *Service) Pause(ctx context.Context, owner, name string, paused bool) error {
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
