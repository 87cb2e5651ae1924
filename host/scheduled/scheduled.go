// Package scheduled runs the schedules of a configuration: [Runs] has their tasks carried
// out by agents of a [host.Host].
//
// A run of a schedule is a session whose id follows from the schedule and the slot. So a
// process that finds a run which another one began, and did not finish, continues that
// session instead of beginning a second one. A run that waits for a person stays open; the
// schedule's policy decides what happens to the slots that come meanwhile.
//
// [Service] offers the schedules of a configuration to a server, and adds and removes
// schedules while it runs.
package scheduled

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/internal/mail"
	"github.com/openmanus-go/openmanus/internal/schedule"
	"github.com/openmanus-go/openmanus/run"
)

// Plans returns the plans of [schedules.NAME], by name. The error is a [*act.Error] that
// names the key that is wrong.
func Plans(cfg *config.Config) (map[string]schedule.Plan, error) {
	plans := make(map[string]schedule.Plan)
	for _, name := range cfg.ScheduleNames() {
		p, err := PlanOf(cfg, *cfg.Schedules[name])
		if err != nil {
			return nil, &act.Error{Err: fmt.Errorf("schedules.%s.%w", name, err)}
		}
		plans[name] = p
	}
	return plans, nil
}

// PlanOf returns the plan of a schedule. An error begins with the name of the key that is
// wrong.
func PlanOf(cfg *config.Config, c config.Schedule) (schedule.Plan, error) {
	p := schedule.Plan{
		Cron: c.Cron, Every: c.Every, At: c.At, RRule: c.RRule, Zone: c.Zone, Jitter: c.Jitter, Missed: c.Missed, Overlap: c.Overlap,
		Same: c.SameSession, Task: c.Task, Agent: c.Agent, Model: c.Model, Dir: c.Workspace, Approve: c.Approve, Result: c.Result, Mail: c.Mail, Owner: c.User,
		Limits: openmanus.Limits{Steps: c.MaxSteps, Tokens: c.Tokens, Money: c.MaxCost, Time: c.Timeout},
	}
	p.Owner = cmp.Or(p.Owner, "local") // the user of a server that has no others
	if p.Dir == "" {
		p.Dir = cfg.Run.Workspace
	}
	if p.Mail != "" {
		if err := mailServer(cfg, "").Check(p.Mail); err != nil {
			return p, &schedule.FieldError{Field: "mail", Err: err}
		}
	}
	return p, schedule.Check(&p)
}

// mailServer returns the server of [mail].
func mailServer(cfg *config.Config, password string) *mail.Server {
	return &mail.Server{Addr: cfg.Mail.Server, Security: cfg.Mail.Security, From: cfg.Mail.From, User: cfg.Mail.User, Password: password}
}

// NewRunner returns what runs schedules with agents of a host, and sends their mail. wake has a session driven,
// and returns at once.
func NewRunner(h *host.Host, wake func(ctx context.Context, session string) error) *schedule.Runner {
	runs := &Runs{Host: h, Wake: wake}
	r := &schedule.Runner{Journal: h.Store, Runs: runs}
	if h.Config.Mail.Server != "" {
		r.Mail = runs.mail
	}
	return r
}

// Runs carries out the tasks of schedules. It implements [schedule.Runs], and is safe for
// concurrent use.
type Runs struct {
	Host *host.Host

	// Wake has a session driven, and returns at once.
	Wake func(ctx context.Context, session string) error

	mu     sync.Mutex
	states map[string]*seen // by session: those that are looked at
}

// seen is a session as far as it was read.
type seen struct {
	state openmanus.State
	said  map[string]bool // the ids of messages
}

// leaser is a store that knows which sessions a process drives.
type leaser interface{ Driven(session string) bool }

// Start implements [schedule.Runs]. The session's id follows from the slot, so a second
// process that starts the same run finds the session of the first. A session whose process
// died goes on here.
func (r *Runs) Start(ctx context.Context, name string, p schedule.Plan, d schedule.Due) error {
	s, said, err := r.state(ctx, d)
	if err != nil {
		return err
	}
	if !said {
		if err := r.open(ctx, name, p, d); err != nil {
			return err
		}
		return r.Wake(ctx, d.Session)
	}
	if l, ok := r.Host.Store.(leaser); s.Status() != openmanus.Running || ok && l.Driven(d.Session) {
		return nil
	}
	return r.Wake(ctx, d.Session)
}

// open opens the session of a run, or sends the task to the one that all runs go on with.
func (r *Runs) open(ctx context.Context, name string, p schedule.Plan, d schedule.Due) error {
	said, err := host.Message(p.Dir, expand(p.Task, name, p, d), nil)
	if err != nil {
		return refused(err)
	}
	said.ID = messageID(d)
	if p.Same {
		if _, err := r.Host.Store.Session(ctx, d.Session); err == nil {
			_, err = r.Host.Store.Append(ctx, d.Session, said)
			return known(err)
		}
	}
	if err := r.Host.CheckWorkspace(r.Host.Config, p.Dir, r.Host.Config.Run.AnyWorkspace); err != nil {
		return refused(err)
	}
	spec, err := r.spec(ctx, p)
	if err != nil {
		return refused(err)
	}
	_, err = r.Host.Open(ctx, d.Session, host.Opening{Spec: spec, Owner: p.Owner, Said: &said})
	return refused(known(err))
}

// spec returns what the sessions of a plan are made from: what it leaves open is as
// configured.
func (r *Runs) spec(ctx context.Context, p schedule.Plan) (spec openmanus.Spec, err error) {
	if p.Model == "" {
		spec, err = r.Host.Spec(ctx)
	} else {
		spec, err = r.Host.SpecWith(p.Model)
	}
	if err != nil {
		return spec, err
	}
	spec.Workspace, spec.Limits = p.Dir, p.Limits.Or(spec.Limits)
	if p.Agent != "" {
		spec.Agent = p.Agent
	}
	if spec.Approve = openmanus.Stricter(spec.Approve, r.Host.Ceiling(p.Owner).Approve); p.Approve != "" {
		spec.Approve = p.Approve
	}
	return r.Host.Complete(spec)
}

// known leaves out the error that something is stored already.
func known(err error) error {
	if errors.Is(err, openmanus.ErrExists) {
		return nil
	}
	return err
}

// refused makes an error that the user can mend the end of the run: it would come again.
func refused(err error) error {
	if mistake := (*act.Error)(nil); errors.As(err, &mistake) {
		return &schedule.Refused{Err: err}
	}
	return err
}

// messageID returns the id of the message that has the task of a run.
func messageID(d schedule.Due) string {
	id := "slot-" + d.Slot.UTC().Format("20060102-150405")
	if d.Manual {
		id += "-manual"
	}
	return id
}

// expand replaces {date}, {time} and {schedule}. Other braces stay.
func expand(text, name string, p schedule.Plan, d schedule.Due) string {
	slot := d.Slot
	if zone, err := time.LoadLocation(p.Zone); err == nil {
		slot = slot.In(zone)
	}
	return strings.NewReplacer("{date}", slot.Format("2006-01-02"), "{time}", slot.Format("15:04"), "{schedule}", name).Replace(text)
}

// state returns the state of the session of a run as it is now, the zero state if it does not
// exist, and whether it has the task. It reads what was not read before.
func (r *Runs) state(ctx context.Context, d schedule.Due) (s *openmanus.State, said bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.states[d.Session]
	if known == nil {
		known = &seen{said: make(map[string]bool)}
	}
	for ev, err := range r.Host.Store.Events(ctx, d.Session, known.state.Seq) {
		if err != nil {
			return nil, false, err
		}
		known.state.Apply(ev)
		if m, ok := ev.Body.(openmanus.UserSaid); ok {
			known.said[m.ID] = true
		}
	}
	if r.states == nil {
		r.states = make(map[string]*seen)
	}
	r.states[d.Session] = known
	return known.state.Clone(), known.said[messageID(d)], nil
}

// forget drops what is kept of a session.
func (r *Runs) forget(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.states, session)
}

// Ended implements [schedule.Runs]. A run that waits for a person goes on.
func (r *Runs) Ended(ctx context.Context, name string, p schedule.Plan, d schedule.Due) (*schedule.Ran, error) {
	s, said, err := r.state(ctx, d)
	if err != nil || !said {
		return nil, err
	}
	qs, err := run.Questions(ctx, r.Host.Store, d.Session)
	if err != nil {
		return nil, err
	}
	status := summary.Standing(s, qs)
	if status == openmanus.Running || status == openmanus.Waiting || status == openmanus.Idle {
		return nil, nil
	}
	ran := &schedule.Ran{Slot: d.Slot, Manual: d.Manual, Status: status, Error: s.Outcome.Error}
	if status == openmanus.Finished && p.Result != "" {
		ran.Result = expand(p.Result, name, p, d)
		if err := write(p.Dir, ran.Result, s.Answer); err != nil {
			ran.Status, ran.Error = openmanus.Failed, fmt.Sprintf("the answer could not be written: %v", err)
		}
	}
	r.forget(d.Session)
	return ran, nil
}

// write writes an answer to a file, in one step: readers see all of it or the file as it
// was. A name is relative to the workspace, and does not lead out of it by links, which an
// agent could have made.
func write(workspace, name, answer string) error {
	if answer != "" && !strings.HasSuffix(answer, "\n") {
		answer += "\n"
	}
	dir := workspace
	if rel, err := filepath.Rel(workspace, name); filepath.IsAbs(name) && err == nil && filepath.IsLocal(rel) {
		name = rel
	} else if filepath.IsAbs(name) {
		dir, name = filepath.Split(name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(name), ".openmanus-"+ids.New())
	if err := root.WriteFile(temp, []byte(answer), 0o644); err != nil {
		return err
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(err, root.Remove(temp))
	}
	return nil
}

// mail sends what a run has ended with.
func (r *Runs) mail(ctx context.Context, name string, p schedule.Plan, l schedule.Letter) error {
	d := schedule.Due{Slot: l.Slot, Session: l.Session, Manual: l.Manual}
	text := l.Ran.Error
	if l.Status == openmanus.Finished {
		var err error
		if text, err = r.answer(ctx, d); err != nil {
			return err
		}
	}
	cfg := r.Host.Config
	password := cfg.Mail.Password
	if password == "" && cfg.Mail.PasswordEnv != "" {
		password = r.Host.Getenv(cfg.Mail.PasswordEnv)
	}
	err := mailServer(cfg, password).Send(ctx, mail.Letter{
		ID: name + "." + messageID(d), To: l.Mail, Date: l.Ended,
		Subject: expand("{schedule} {date} {time}: ", name, p, d) + string(l.Status),
		Text:    text + "\n\n-- \nThe session: " + l.Session + "\n",
	})
	if no := (*mail.Refused)(nil); errors.As(err, &no) {
		return &schedule.Refused{Err: err}
	}
	return err
}

// answer returns the answer of a run, whose session may have gone on since.
func (r *Runs) answer(ctx context.Context, d schedule.Due) (string, error) {
	var s openmanus.State
	asked := false
	for ev, err := range r.Host.Store.Events(ctx, d.Session, 0) {
		if err != nil {
			return "", err
		}
		m, says := ev.Body.(openmanus.UserSaid)
		if says && asked {
			break
		}
		asked = asked || says && m.ID == messageID(d)
		s.Apply(ev)
	}
	return s.Answer, nil
}

// Interrupt implements [schedule.Runs]. A run that has ended already stays as it is. The
// session records the interrupt once, also if several processes ask for it.
func (r *Runs) Interrupt(ctx context.Context, d schedule.Due) error {
	s, _, err := r.state(ctx, d)
	if err != nil || !slices.Contains([]openmanus.Status{openmanus.Running, openmanus.Waiting}, s.Status()) {
		return err
	}
	_, err = r.Host.Store.Append(ctx, d.Session, openmanus.Interrupted{ID: "replaced-" + messageID(d)})
	if err := known(err); err != nil {
		return err
	}
	return r.Wake(ctx, d.Session)
}
