package schedule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
)

// Runs is how a [Runner] has tasks carried out. Its methods are called by one goroutine at
// a time for each schedule.
type Runs interface {
	// Start has the task of d run. It is called again, in any process, while the run has
	// not ended: what runs already goes on. An error that is a [*Refused] is how the run
	// ends; after any other, Start is called again later.
	Start(ctx context.Context, schedule string, p Plan, d Due) error

	// Ended returns how the run of d ended, or nil while it goes on.
	Ended(ctx context.Context, schedule string, p Plan, d Due) (*Ran, error)

	// Interrupt stops the run of d.
	Interrupt(ctx context.Context, d Due) error
}

// Refused says that a task cannot run: its agent is gone, say.
type Refused struct{ Err error }

func (e *Refused) Error() string { return e.Err.Error() }
func (e *Refused) Unwrap() error { return e.Err }

// A Runner answers the slots of schedules and has their tasks run. Any number of runners,
// in any processes, may share a journal.
type Runner struct {
	Journal openmanus.Journal
	Runs    Runs
	Log     *slog.Logger // nil: nothing is logged

	// Mail sends what a run has ended with to the addresses of the letter. It may be called
	// again for the same letter: receivers tell by the id of the mail. An error that is a
	// [*Refused] comes again, whenever it is tried. Nil: this process sends no mail.
	Mail func(ctx context.Context, schedule string, p Plan, l Letter) error
}

const (
	// lookAgain is how often a runner looks at the runs that go on, and for what other
	// processes have decided.
	lookAgain = 10 * time.Second

	// maxNap is the longest that a runner sleeps: the clock may be set meanwhile.
	maxNap = time.Minute

	// jumped is by how much the clock must have been set for a runner to say so.
	jumped = time.Minute
)

// Load returns the state of a schedule. One that was never recorded has the zero State.
func Load(ctx context.Context, j openmanus.Journal, name string) (*State, error) {
	s := new(State)
	return s, s.read(ctx, j, name)
}

// read folds the events that s does not have yet.
func (s *State) read(ctx context.Context, j openmanus.Journal, name string) error {
	for ev, err := range j.Events(ctx, JournalOf(name), s.Seq) {
		if err == nil {
			err = s.Apply(ev)
		}
		if err != nil {
			return fmt.Errorf("schedule %s: %w", name, err)
		}
	}
	return nil
}

// Record makes p the plan of a schedule from now on, unless it is already. Slots that
// came before get their answers by the plan before. It reports whether it was recorded.
// p must have passed [Check].
func (r *Runner) Record(ctx context.Context, name string, p Plan, now time.Time) (bool, error) {
	for {
		s, err := Load(ctx, r.Journal, name)
		if err != nil {
			return false, err
		}
		if s.Known() && s.Planned.Plan == p {
			return false, nil
		}
		var bodies []openmanus.Body
		if !s.Known() {
			bodies = append(bodies, opened(p.Owner))
		} else if err := r.answer(ctx, name, s, now); err != nil {
			return false, err
		}
		bodies = append(bodies, decision(s.steps, Planned{Plan: p, From: now.UTC(), Paused: s.Planned.Paused, By: s.Planned.By}))
		_, err = r.Journal.Append(ctx, JournalOf(name), bodies...)
		if !errors.Is(err, openmanus.ErrExists) {
			return err == nil, err
		}
	}
}

// ErrUnknown says that a schedule was never recorded.
var ErrUnknown = errors.New("there is no such schedule")

// Pause skips the slots of a schedule from now on, or lets it go on. It reports whether
// that changed anything.
func (r *Runner) Pause(ctx context.Context, name string, paused bool, by string, now time.Time) (bool, error) {
	for {
		s, err := Load(ctx, r.Journal, name)
		if err != nil {
			return false, err
		}
		if !s.Known() {
			return false, ErrUnknown
		}
		if s.Planned.Paused == paused {
			return false, nil
		}
		if err := r.answer(ctx, name, s, now); err != nil {
			return false, err
		}
		p := s.Planned
		// The plan counts from where it did, so that a pause does not move an interval.
		_, err = r.Journal.Append(ctx, JournalOf(name), decision(s.steps, Planned{Plan: p.Plan, From: p.From, Paused: paused, By: by}))
		if !errors.Is(err, openmanus.ErrExists) {
			return err == nil, err
		}
	}
}

// RunNow has the task of a schedule run at once, beside its slots.
func (r *Runner) RunNow(ctx context.Context, name string, now time.Time) (Due, error) {
	s, err := Load(ctx, r.Journal, name)
	if err != nil {
		return Due{}, err
	}
	if !s.Known() {
		return Due{}, ErrUnknown
	}
	d := s.Manual(name, now)
	if _, err := r.Journal.Append(ctx, JournalOf(name), manual(d)); err != nil && !errors.Is(err, openmanus.ErrExists) {
		return d, err
	}
	return d, r.begin(ctx, name, s.Planned.Plan, d)
}

// Step answers the slots of a schedule that have come, starts the tasks that are due, and
// records the runs that have ended. It returns the state after that, and when the next slot
// comes, which is zero if none does.
func (r *Runner) Step(ctx context.Context, name string, now time.Time) (*State, time.Time, error) {
	s, err := Load(ctx, r.Journal, name)
	if err != nil {
		return s, time.Time{}, err
	}
	wake, err := r.step(ctx, name, s, now)
	return s, wake, err
}

// step is Step, with a state that may be older than the journal.
func (r *Runner) step(ctx context.Context, name string, s *State, now time.Time) (wake time.Time, err error) {
	if err := s.read(ctx, r.Journal, name); err != nil || !s.Known() {
		return wake, err
	}
	for again := true; again; {
		if err := r.settle(ctx, name, s, now); err != nil {
			return wake, err
		}
		var d Decision
		if d, err = s.Decide(name, now); err != nil {
			return wake, fmt.Errorf("schedule %s: %w", name, err)
		}
		for _, run := range d.Replace {
			if err := r.Runs.Interrupt(ctx, run); err != nil {
				return wake, err
			}
		}
		if again, err = r.append(ctx, name, s, d, now); err != nil {
			return wake, err
		}
		wake = d.Wake
	}
	return wake, nil
}

// answer answers the slots that have come until now, those included that wait, or whose start
// the jitter puts later: the plan is about to change. It does not start what is due: the next
// Step does.
func (r *Runner) answer(ctx context.Context, name string, s *State, now time.Time) error {
	t, err := s.slots()
	if err != nil {
		return err
	}
	s.times, s.closing = &times{zone: t.zone, next: t.next}, true
	for {
		d, err := s.Decide(name, now)
		if err != nil {
			return err
		}
		if again, err := r.append(ctx, name, s, d, now); err != nil || !again {
			return err
		}
	}
}

// append stores a decision, and folds it into s with what others stored meanwhile. It
// reports whether there was anything to store.
func (r *Runner) append(ctx context.Context, name string, s *State, d Decision, now time.Time) (bool, error) {
	var bodies []openmanus.Body
	if d.Skip != nil {
		bodies = append(bodies, decision(s.steps, *d.Skip))
		r.log(slog.LevelInfo, "slots are skipped", "schedule", name, "first", d.Skip.Slot, "count", d.Skip.Count, "why", d.Skip.Why)
	}
	if d.Due != nil {
		bodies = append(bodies, decision(s.steps+len(bodies), *d.Due))
	}
	if len(bodies) == 0 {
		return false, nil
	}
	_, err := r.Journal.Append(ctx, JournalOf(name), bodies...)
	if err != nil && !errors.Is(err, openmanus.ErrExists) {
		return false, err
	}
	return true, s.read(ctx, r.Journal, name)
}

// settle starts the runs of a schedule that are due, records those that have ended, and
// folds that into s.
func (r *Runner) settle(ctx context.Context, name string, s *State, now time.Time) error {
	for _, d := range s.Running {
		ran, err := r.Runs.Ended(ctx, name, s.Planned.Plan, d)
		if err != nil {
			return err
		}
		if ran != nil {
			ran.Mail = s.Planned.Plan.Mail
			err = r.ended(ctx, name, *ran)
		} else {
			err = r.begin(ctx, name, s.Planned.Plan, d)
		}
		if err != nil {
			return err
		}
	}
	return s.read(ctx, r.Journal, name)
}

// begin starts a run. One that is refused has ended.
func (r *Runner) begin(ctx context.Context, name string, p Plan, d Due) error {
	err := r.Runs.Start(ctx, name, p, d)
	if no := (*Refused)(nil); errors.As(err, &no) {
		return r.ended(ctx, name, Ran{Mail: p.Mail, Slot: d.Slot, Manual: d.Manual, Status: openmanus.Failed, Error: no.Error()})
	}
	return err
}

// ended records how a run ended.
func (r *Runner) ended(ctx context.Context, name string, ran Ran) error {
	_, err := r.Journal.Append(ctx, JournalOf(name), outcome(ran))
	if errors.Is(err, openmanus.ErrExists) {
		return nil
	}
	if err == nil {
		level := slog.LevelInfo
		if ran.Status != openmanus.Finished {
			level = slog.LevelWarn
		}
		r.log(level, "a scheduled run has ended", "schedule", name, "slot", ran.Slot, "status", ran.Status, "error", ran.Error)
	}
	return err
}

// Keep records the plan of a schedule and runs it until ctx ends.
func (r *Runner) Keep(ctx context.Context, name string, p Plan) {
	for ctx.Err() == nil {
		_, err := r.Record(ctx, name, p, time.Now())
		if err == nil {
			r.Run(ctx, name)
			return
		}
		if ctx.Err() == nil {
			r.log(slog.LevelError, "a schedule could not be recorded, and will be again", "schedule", name, "error", err)
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
		}
	}
}

// Run runs a schedule until ctx ends. Failures are logged and tried again.
func (r *Runner) Run(ctx context.Context, name string) {
	s := new(State)
	nap := time.NewTimer(0)
	defer nap.Stop()
	var posts sync.WaitGroup
	defer posts.Wait()
	var posting atomic.Bool
	before := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-nap.C:
		}
		now := time.Now()
		// Both times have a monotonic reading, which setting the clock does not change.
		if by := now.Round(0).Sub(before.Round(0)) - now.Sub(before); by.Abs() > jumped {
			r.log(slog.LevelWarn, "the clock was set", "schedule", name, "by", by.Round(time.Second))
		}
		before = now
		wake, err := r.step(ctx, name, s, now)
		next := maxNap
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.log(slog.LevelError, "a schedule could not be looked after, and will be again", "schedule", name, "error", err)
		case len(s.Running) > 0:
			next = lookAgain
		}
		if letters := s.due(now); r.Mail != nil && len(letters) > 0 && posting.CompareAndSwap(false, true) {
			plan := s.Planned.Plan
			posts.Go(func() { // a slow server of mail holds up no slot
				defer posting.Store(false)
				if err := r.post(ctx, name, plan, letters, now); err != nil && ctx.Err() == nil {
					r.log(slog.LevelWarn, "the mail of a schedule", "schedule", name, "error", err)
				}
			})
		}
		if !wake.IsZero() {
			next = min(next, max(time.Until(wake), 0))
		}
		nap.Reset(next)
	}
}

func (r *Runner) log(level slog.Level, text string, args ...any) {
	if r.Log != nil {
		r.Log.Log(context.Background(), level, text, args...)
	}
}
