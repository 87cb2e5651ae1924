package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host/scheduled"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/schedule"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// scheduleCmd is openmanus schedule.
type scheduleCmd struct {
	Add     scheduleAddCmd     `cmd:"" help:"Add a task that repeats: openmanus schedule add NAME --cron '0 9 * * mon-fri' 'what is to be done'."`
	List    scheduleListCmd    `cmd:"" help:"List the schedules, and when each comes next."`
	Show    scheduleShowCmd    `cmd:"" help:"Show a schedule, and its next times."`
	Run     scheduleRunCmd     `cmd:"" help:"Run the task of a schedule now, beside its times."`
	Pause   schedulePauseCmd   `cmd:"" help:"Leave out the times of a schedule until it is resumed."`
	Resume  scheduleResumeCmd  `cmd:"" help:"Let a paused schedule go on."`
	Remove  scheduleRemoveCmd  `cmd:"" help:"Remove a schedule. Its history stays."`
	History scheduleHistoryCmd `cmd:"" help:"List the outcome of each time of a schedule."`
	RunDue  scheduleRunDueCmd  `cmd:"" name:"run-due" help:"Run what is due, and end: for a cron of your own, where no server runs."`
}

// Help is more of the command.
func (scheduleCmd) Help() string {
	return `openmanus serve runs schedules while it runs; without a server, have your system's own cron call openmanus schedule run-due. Any number of both may run at once, on several machines with one store: each time of a schedule is answered once. docs/schedules.md has the rest.`
}

// runner returns what runs schedules with the sessions of this program. wake has a session
// driven.
func (a *app) runner(wake func(context.Context, string) error) *schedule.Runner {
	return scheduled.NewRunner(a.Host, wake)
}

// scheduleOpen opens the program and returns the plans of all schedules.
func (t *terminal) scheduleOpen(g *globals) (*app, map[string]schedule.Plan, error) {
	a, err := t.open(g, nil)
	if err != nil {
		return nil, nil, err
	}
	plans, err := scheduled.Plans(a.Config)
	if err != nil {
		return nil, nil, errors.Join(usage(err), a.Close())
	}
	return a, plans, nil
}

// oneSchedule is the argument of commands about one schedule.
type oneSchedule struct {
	Name string `arg:"" help:"The schedule."`
}

// open opens the program and returns the plan of the schedule. The error lists those there are.
// The caller closes the app.
func (c oneSchedule) open(t *terminal, g *globals) (*app, schedule.Plan, error) {
	a, plans, err := t.scheduleOpen(g)
	if err != nil {
		return nil, schedule.Plan{}, err
	}
	p, ok := plans[c.Name]
	if !ok {
		err := absent(fmt.Sprintf("schedule %q", c.Name), slices.Sorted(maps.Keys(plans)), "openmanus schedule add")
		return nil, p, errors.Join(err, a.Close())
	}
	return a, p, nil
}

// scheduleAddCmd is openmanus schedule add.
type scheduleAddCmd struct {
	Name string `arg:"" help:"What it is called."`
	Task string `arg:"" help:"What is to be done. {date}, {time} and {schedule} are replaced."`

	Cron  string `help:"Minute, hour, day of the month, month, day of the week; or @daily and the like." placeholder:"LINE"`
	Every string `help:"The time between two runs, such as 90m." placeholder:"DURATION"`
	At    string `help:"Once, such as 2026-12-24T18:00." placeholder:"TIME"`
	RRule string `name:"rrule" help:"A rule of RFC 5545, such as FREQ=WEEKLY;BYDAY=MO;BYHOUR=9;BYMINUTE=0." placeholder:"RULE"`

	Zone    string `help:"The time zone, such as Europe/Berlin. Default: that of this machine." placeholder:"ZONE"`
	Jitter  string `help:"The most by which a run begins later." placeholder:"DURATION"`
	Missed  string `help:"What becomes of times at which nothing ran schedules. once: the last runs late." enum:",once,skip,all" default:"" placeholder:"POLICY"`
	Overlap string `help:"What becomes of a time that comes while the run before goes on." enum:",skip,queue,replace,allow" default:"" placeholder:"POLICY"`

	Agent       string `help:"The agent." placeholder:"NAME"`
	Model       string `help:"The model." placeholder:"PROVIDER/NAME"`
	Workspace   string `help:"Where the agent works. Default: the configured workspace, as it is for this command." placeholder:"DIR"`
	Approve     string `help:"What may be done without a question. A run that asks waits for you." enum:",ask,edits,all,plan,readonly" default:"" placeholder:"MODE"`
	SameSession bool   `help:"Every run is a message to one session."`
	Result      string `help:"A file in the workspace that the answer is written to; {date} and the like are replaced." placeholder:"FILE"`
	Mail        string `help:"The addresses that the answer is sent to, separated by commas; [mail] in the configuration says by which server." sep:"none" placeholder:"ADDRESS"`
	User        string `help:"The user of the server whose sessions these are." placeholder:"NAME"`
	Replace     bool   `help:"Replace the schedule of this name, if there is one."`
}

// Run implements the command.
func (c *scheduleAddCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if err := config.CheckScheduleName(c.Name); err != nil {
		return usage(fmt.Errorf("%q: %w", c.Name, err))
	}
	a, plans, err := t.scheduleOpen(g)
	if err != nil {
		return err
	}
	defer a.Close()
	if _, there := plans[c.Name]; there && !c.Replace {
		return usage(fmt.Errorf("there is a schedule %q already: --replace replaces it, and openmanus schedule remove %s removes it", c.Name, c.Name))
	}
	s := config.Schedule{
		Cron: c.Cron, Every: c.Every, At: c.At, RRule: c.RRule, Zone: c.Zone, Jitter: c.Jitter, Missed: c.Missed, Overlap: c.Overlap, Task: c.Task,
		Agent: c.Agent, Model: c.Model, Workspace: a.Config.Run.Workspace, Approve: c.Approve, SameSession: c.SameSession, Result: c.Result, Mail: c.Mail, User: c.User,
	}
	if c.Workspace != "" {
		s.Workspace = t.abs(c.Workspace)
	}
	p, err := scheduled.PlanOf(a.Config, s)
	if wrong := (*schedule.FieldError)(nil); errors.As(err, &wrong) {
		return usage(fmt.Errorf("--%w", err))
	}
	if err != nil {
		return usage(err)
	}
	path, err := t.ownConfig(g)
	if err != nil {
		return err
	}
	s.Zone = p.Zone // a schedule does not move when the machine does
	if err := config.AddSchedule(path, c.Name, s, t.env, providers.All()); err != nil {
		return err
	}
	if _, err := a.runner(nil).Record(ctx, c.Name, p, time.Now()); err != nil {
		return err
	}
	st, err := schedule.Load(ctx, a.db, c.Name)
	if err != nil {
		return err
	}
	_, start, err := st.Next(c.Name)
	if err != nil {
		return err
	}
	next := "It has no time that is still to come."
	if !start.IsZero() {
		next = "It runs next at " + inZone(start, p.Zone) + ", if openmanus serve runs then, or openmanus schedule run-due is called."
	}
	_, err = fmt.Fprintf(t.out, "Added %s to %s. %s\n", c.Name, path, next)
	return err
}

// inZone shows a time on the clock of a zone.
func inZone(at time.Time, zone string) string {
	if at.IsZero() {
		return ""
	}
	if z, err := time.LoadLocation(zone); err == nil {
		at = at.In(z)
	}
	return at.Format("Mon 2006-01-02 15:04 MST")
}

// A scheduleInfo is a schedule as it is listed.
type scheduleInfo struct {
	Name    string        `json:"name"`
	State   string        `json:"state"` // "waits", "runs" or "paused"
	Next    *time.Time    `json:"next"`
	Running []string      `json:"running"` // sessions
	Plan    schedule.Plan `json:"plan"`
}

// scheduleListCmd is openmanus schedule list.
type scheduleListCmd struct{ listing }

// Run implements the command.
func (c *scheduleListCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, plans, err := t.scheduleOpen(g)
	if err != nil {
		return err
	}
	defer a.Close()
	infos := []scheduleInfo{}
	tb := &table{head: []string{"NAME", "STATE", "NEXT", "WHEN", "TASK"}}
	for _, name := range a.Config.ScheduleNames() {
		p := plans[name]
		v, err := schedule.Look(ctx, a.db, name, p, time.Now())
		if err != nil {
			return err
		}
		infos = append(infos, scheduleInfo{name, v.State, v.Next, v.Running, p})
		next := ""
		if v.Next != nil {
			next = inZone(*v.Next, p.Zone)
		}
		tb.add(name, v.State, next, p.When(), p.Task)
	}
	return c.print(t, g, infos, tb, "There are no schedules. Add one: openmanus schedule add NAME --cron '0 9 * * mon-fri' 'what is to be done'")
}

// scheduleShowCmd is openmanus schedule show.
type scheduleShowCmd struct {
	oneSchedule
	JSON bool `name:"json" help:"Print JSON."`
}

// shownTimes is how many of the next times are shown.
const shownTimes = 5

// Run implements the command.
func (c *scheduleShowCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, p, err := c.open(t, g)
	if err != nil {
		return err
	}
	defer a.Close()
	v, err := schedule.Look(ctx, a.db, c.Name, p, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return t.encoder().Encode(scheduleInfo{c.Name, v.State, v.Next, v.Running, p})
	}
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s %s\n", name, strings.ReplaceAll(clip.Plain(value), "\n", "\n           "))
		}
	}
	row("task", p.Task)
	row("when", p.When()+" ("+p.Zone+")")
	row("state", v.State)
	row("runs in", strings.Join(v.Running, ", "))
	row("missed", p.Missed)
	row("overlap", p.Overlap)
	row("jitter", p.Jitter)
	row("agent", p.Agent)
	row("model", p.Model)
	row("workspace", p.Dir)
	row("approve", p.Approve)
	row("result", p.Result)
	row("mail", p.Mail)
	if v.State != "paused" {
		times, err := v.Slots.Coming(c.Name, shownTimes)
		if err != nil {
			return err
		}
		for i, at := range times {
			row(map[bool]string{true: "next", false: ""}[i == 0], inZone(at, p.Zone))
		}
	}
	_, err = t.out.Write([]byte(b.String()))
	return err
}

// scheduleRunCmd is openmanus schedule run.
type scheduleRunCmd struct {
	oneSchedule
	shown
}

// Run implements the command.
func (c *scheduleRunCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, p, err := c.open(t, g)
	if err != nil {
		return err
	}
	defer a.Close()
	r := a.runner(func(context.Context, string) error { return nil }) // it is driven below
	now := time.Now()
	if _, err := r.Record(ctx, c.Name, p, now); err != nil {
		return err
	}
	d, err := r.RunNow(ctx, c.Name, now)
	if err != nil {
		return err
	}
	why, err := schedule.Refusal(ctx, a.db, c.Name, d)
	if err == nil && why != "" {
		err = usage(errors.New(why))
	}
	if err != nil {
		return err
	}
	x, err := a.session(ctx, d.Session)
	if err != nil {
		return err
	}
	ended := x.goOn(ctx, nil, c.shown)
	over := context.WithoutCancel(ctx)
	if _, _, err = r.Step(over, c.Name, time.Now()); err == nil {
		err = r.Post(over, c.Name, time.Now())
	}
	return errors.Join(ended, err)
}

// schedulePauseCmd is openmanus schedule pause.
type schedulePauseCmd struct{ oneSchedule }

// Run implements the command.
func (c *schedulePauseCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return c.pause(ctx, t, g, true)
}

// scheduleResumeCmd is openmanus schedule resume.
type scheduleResumeCmd struct{ oneSchedule }

// Run implements the command.
func (c *scheduleResumeCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return c.pause(ctx, t, g, false)
}

// pause pauses a schedule or lets it go on.
func (c oneSchedule) pause(ctx context.Context, t *terminal, g *globals, paused bool) error {
	a, p, err := c.open(t, g)
	if err != nil {
		return err
	}
	defer a.Close()
	r, now := a.runner(nil), time.Now()
	_, err = r.Record(ctx, c.Name, p, now)
	changed := false
	if err == nil {
		changed, err = r.Pause(ctx, c.Name, paused, "person", now)
	}
	if err != nil {
		return err
	}
	text := map[bool]string{true: "Paused %s. Its times are left out until: openmanus schedule resume %[1]s\n", false: "%s goes on.\n"}[paused]
	if !changed {
		text = map[bool]string{true: "%s was paused already.\n", false: "%s was not paused.\n"}[paused]
	}
	_, err = fmt.Fprintf(t.out, text, c.Name)
	return err
}

// scheduleRemoveCmd is openmanus schedule remove.
type scheduleRemoveCmd struct {
	Name string `arg:"" help:"The schedule."`
}

// Run implements the command.
func (c *scheduleRemoveCmd) Run(_ context.Context, t *terminal, g *globals) error {
	path, err := t.ownConfig(g)
	if err != nil {
		return err
	}
	if err := config.RemoveSchedule(path, c.Name, t.env, providers.All()); err != nil {
		return usage(err)
	}
	_, err = fmt.Fprintf(t.out, "Removed %s from %s. A server that runs keeps it until it is started again; openmanus schedule history %[1]s has what it did.\n", clip.Plain(c.Name), path)
	return err
}

// scheduleHistoryCmd is openmanus schedule history.
type scheduleHistoryCmd struct {
	Name  string `arg:"" help:"The schedule, also one that was removed."`
	Limit int    `help:"List this many, the last ones; 0 lists all." default:"20" placeholder:"N"`
	listing
}

// Run implements the command.
func (c *scheduleHistoryCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, err := t.open(g, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	s, err := schedule.Load(ctx, a.db, c.Name)
	if err != nil {
		return err
	}
	if !s.Known() && a.Config.Schedules[c.Name] == nil {
		return usage(fmt.Errorf("there is no schedule %q, and never was", c.Name))
	}
	all, err := schedule.History(ctx, a.db, c.Name)
	if err != nil {
		return err
	}
	if c.Limit > 0 && len(all) > c.Limit {
		all = all[len(all)-c.Limit:]
	}
	tb := &table{head: []string{"TIME", "STATUS", "SESSION", "WHY"}}
	for _, e := range all {
		at, status := inZone(e.Slot, s.Planned.Plan.Zone), string(e.Status)
		if e.Count > 1 {
			at += " to " + inZone(e.Until, s.Planned.Plan.Zone)
			status += fmt.Sprintf(" (%d times)", e.Count)
		}
		if e.Manual {
			status += " (by hand)"
		}
		tb.add(at, status, e.Session, strings.Join(slices.DeleteFunc([]string{e.Why, mailed(e)}, func(s string) bool { return s == "" }), "; "))
	}
	if all == nil {
		all = []schedule.Entry{}
	}
	return c.print(t, g, all, tb, "None of its times has come yet.")
}

// scheduleRunDueCmd is openmanus schedule run-due.
type scheduleRunDueCmd struct {
	Now   string `help:"Take this for the time, such as 2026-12-24T18:00:00Z." placeholder:"TIME"`
	Quiet bool   `help:"Print nothing unless something went wrong." short:"q"`
}

// Help is more of the command.
func (scheduleRunDueCmd) Help() string {
	return `Times that came since the last call are answered as the schedule says (missed, overlap). The command ends when what it began has ended, or waits for you. The exit code is 1 if a run failed. In a crontab:

  */5 * * * * openmanus schedule run-due --quiet`
}

// Run implements the command.
func (c *scheduleRunDueCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	clock := time.Now
	if c.Now != "" {
		at, err := time.Parse(time.RFC3339, c.Now)
		if err != nil {
			return usage(fmt.Errorf("--now %q: allowed is a time such as 2026-12-24T18:00:00Z", c.Now))
		}
		begun := time.Now()
		clock = func() time.Time { return at.Add(time.Since(begun)) }
	}
	a, plans, err := t.scheduleOpen(g)
	if err != nil {
		return err
	}
	defer a.Close()
	var running sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	driven, known := make(map[string]bool), make(map[string]int)
	for _, name := range a.Config.ScheduleNames() {
		history, err := schedule.History(ctx, a.db, name)
		if err != nil {
			return err
		}
		known[name] = len(history)
	}
	r := a.runner(func(_ context.Context, session string) error {
		mu.Lock()
		defer mu.Unlock()
		driven[session] = true
		running.Go(func() {
			if err := a.Local.Wake(ctx, session); err != nil && !errors.Is(err, openmanus.ErrDriven) && ctx.Err() == nil {
				mu.Lock()
				errs = append(errs, fmt.Errorf("session %s: %w", session, err))
				mu.Unlock()
			}
		})
		return nil
	})
	for again := true; again; {
		before := len(driven)
		for _, name := range a.Config.ScheduleNames() {
			now := clock()
			if _, err := r.Record(ctx, name, plans[name], now); err != nil {
				return errors.Join(append(errs, err)...)
			}
			if _, _, err := r.Step(ctx, name, now); err != nil {
				return errors.Join(append(errs, err)...)
			}
		}
		running.Wait()
		again = len(driven) > before && ctx.Err() == nil
	}
	for _, name := range a.Config.ScheduleNames() {
		if err := r.Post(ctx, name, clock()); err != nil {
			errs = append(errs, fmt.Errorf("schedule %s: %w", name, err))
		}
	}
	return errors.Join(append(errs, c.report(ctx, a, known, driven))...)
}

// mailed returns the outcome of the mail of a run, or "".
func mailed(e schedule.Entry) string {
	switch {
	case e.Mail == "":
		return ""
	case e.Mailed:
		return "mailed to " + e.Mail
	case e.MailError != "":
		return "not mailed to " + e.Mail + ": " + e.MailError
	}
	return "not mailed yet to " + e.Mail
}

// report prints what was decided since there were as many entries as known says, and how the
// runs in the sessions that were driven ended, or that they wait.
func (c *scheduleRunDueCmd) report(ctx context.Context, a *app, known map[string]int, driven map[string]bool) error {
	failed := 0
	for _, name := range a.Config.ScheduleNames() {
		history, err := schedule.History(ctx, a.db, name)
		if err != nil {
			return err
		}
		for i, e := range history {
			if i < known[name] && !driven[e.Session] {
				continue
			}
			text := fmt.Sprintf("%s: %s, session %s", name, e.Status, e.Session)
			switch e.Status {
			case openmanus.Finished, schedule.Skip:
				if c.Quiet {
					continue
				}
				if e.Status == schedule.Skip {
					text = fmt.Sprintf("%s: %d left out from %s on: %s", name, max(e.Count, 1), inZone(e.Slot, a.Config.Schedules[name].Zone), e.Why)
				}
			case openmanus.Running:
				text = fmt.Sprintf("%s: session %s has not ended; openmanus sessions show %[2]s says what it waits for", name, e.Session)
			default:
				failed++
				text += ": " + e.Why
			}
			if _, err := fmt.Fprintln(a.t.out, clip.Plain(text)); err != nil {
				return err
			}
		}
	}
	if failed > 0 {
		return exit{code: exitFailed, err: fmt.Errorf("%d of the runs failed", failed)}
	}
	return nil
}
