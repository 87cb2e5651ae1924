package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/cli"
	"github.com/openmanus-go/openmanus/internal/ids"
)

// runFlags are the flags of run, chat and sessions resume.
type runFlags struct {
	Agent        string   `help:"The agent (openmanus agents lists them)." placeholder:"NAME"`
	Model        string   `help:"The model: PROVIDER/NAME, a profile of the configuration, or scripted:FILE." placeholder:"PROVIDER/NAME"`
	BaseURL      string   `help:"The endpoint of that model." placeholder:"URL"`
	Workspace    string   `help:"Where the agent works. Default: the current directory." placeholder:"DIR"`
	AnyWorkspace bool     `help:"Allow a workspace with keys or the settings of programs, such as your home directory."`
	MCPConfig    string   `name:"mcp-config" help:"Read MCP servers from this file as well, before the others." placeholder:"FILE"`
	Attach       []string `help:"Give the agent a file or an image with the request; @path in the prompt does the same." placeholder:"FILE" sep:"none"`
	limitFlags
	storeFlags
	Sandbox  string   `help:"What commands run in: auto, bubblewrap, landlock, docker, gvisor, or none (with your own rights)." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	Delegate []string `help:"Agents that the agent may give work to." placeholder:"NAME,…"`
	Copies   bool     `help:"Agents that work at once get copies of the workspace, which are merged when they are done."`
	Approve  string   `help:"What may be done without a question. ask: edits of the workspace and sandboxed commands; all else is asked about. edits: the same without a sandbox, where commands are asked about. all: everything. plan: only look, and end with a plan that you approve (openmanus sessions plan). readonly: changes are denied." enum:",ask,edits,all,plan,readonly" default:"" placeholder:"MODE"`
}

// worktreeFlag is the flag of commands that begin sessions of a person.
type worktreeFlag struct {
	Worktree bool `help:"Work in a git worktree with a branch of its own, beside the repository; sessions apply brings the work to your checkout."`
}

// allows returns an error for a session that exists.
func (f worktreeFlag) allows(session string) error {
	if f.Worktree && session != "" {
		return usage(errors.New("--worktree is for a new session; the one of --session works where it did"))
	}
	return nil
}

// limitFlags are the flags that bound a session.
type limitFlags struct {
	MaxSteps     string `help:"Stop after this many replies of the model." placeholder:"N"`
	BudgetTokens string `help:"Stop before the session has used more tokens than this." placeholder:"N"`
	MaxCost      string `help:"Stop before the session has cost more than this, in US dollars." placeholder:"USD"`
	Timeout      string `help:"Stop after this much working time, such as 90s or 1h; a bare number counts seconds." placeholder:"DURATION"`
	Depth        string `help:"How deep agents give work to agents that give work to agents." placeholder:"N"`
	FanOut       string `help:"How many sessions one session has work for it at once." placeholder:"N"`
	Stuck        string `help:"Tell the model to try another way after this many repetitions, and stop after twice as many." placeholder:"N"`
	Retries      string `help:"How often a failed request to the model is made again." placeholder:"N"`
}

// shown are the flags that say how a run is shown.
type shown struct {
	Output output `help:"What goes to standard output: text (the answer), json (one object at the end), jsonl (every event)." enum:"text,json,jsonl" default:"text"`
	Quiet  bool   `help:"No progress." short:"q"`
}

// asShown returns them.
func (s shown) asShown() shown { return s }

// flags returns the flags that were given.
func (f runFlags) flags() map[string]string { return flagsOf(f) }

// flagsOf returns the flags in a struct that were given as settings of the configuration, by
// the names of the command line: those that are a text or a switch. They are text, as they
// were typed: the configuration checks and reads them like all its sources. It has no entry
// for a flag that was not given.
func flagsOf(s any) map[string]string {
	given := make(map[string]string)
	var read func(reflect.Value)
	read = func(s reflect.Value) {
		for f, v := range s.Fields() {
			switch {
			case v.Kind() == reflect.Struct:
				read(v)
			case v.Kind() == reflect.String && v.String() != "":
				given[cli.NameOf(f)] = v.String()
			case v.Kind() == reflect.Bool && v.Bool():
				given[cli.NameOf(f)] = "true"
			}
		}
	}
	read(reflect.ValueOf(s))
	return given
}

// noDelegates returns an error for a command whose agents give work to nobody, or to others than --delegate names. why
// follows the name of the flag.
func (f runFlags) noDelegates(why string) error {
	if len(f.Delegate) == 0 {
		return nil
	}
	return usage(errors.New("--delegate " + why))
}

// delegatesOf says to whom the agent of a session gives work.
func delegatesOf(spec openmanus.Spec) string {
	if len(spec.Delegates) == 0 {
		return "the agent gives work to nobody"
	}
	return "the agent gives work to " + strings.Join(spec.Delegates, ", ")
}

// runCmd is openmanus run.
type runCmd struct {
	asked
	Session string `help:"Go on with this session." placeholder:"ID"`
	Plan    bool   `help:"Only look, change nothing, and print a plan. openmanus sessions plan ID --accept carries it out, after --edit if you like."`
	Schema  string `help:"The answer must be JSON that fits the JSON Schema in this file." placeholder:"FILE"`
	worktreeFlag
	runFlags
	shown
}

// run implements the command.
func (c *runCmd) run(ctx context.Context, t *terminal, g *globals) error {
	if err := c.allows(c.Session); err != nil {
		return err
	}
	if c.Plan {
		if c.Approve != "" && c.Approve != openmanus.ApprovePlan {
			return usage(errors.New("--plan begins in plan mode: leave out --approve, and choose the mode when you accept the plan (openmanus sessions plan ID --accept --approve MODE)"))
		}
		c.Approve = openmanus.ApprovePlan
	}
	a, r, err := t.openFor(ctx, g, "run", c.runFlags, c.Session, &c.asked)
	if err != nil {
		return err
	}
	defer a.Close()
	a.worktree = c.Worktree
	answer, err := c.schema(t)
	if err != nil {
		return usage(err)
	}
	if c.Session == "" {
		m, err := a.said(ctx, r, a.window())
		if err != nil {
			return err
		}
		return a.begin(ctx, m, c.shown, func(spec *openmanus.Spec) {
			spec.Answer, spec.Delegates = answer, c.Delegate
		})
	}
	x, err := a.session(ctx, c.Session)
	if err != nil {
		return err
	}
	m, err := a.said(ctx, r, x.s.Config.Window.Tokens)
	if err != nil {
		return err
	}
	return x.resume(ctx, c.runFlags, &m, c.shown)
}

// openFor opens the program for a task, which a command of this name reads from q unless that is
// nil. A new session works where the person agrees that it may. The caller closes the app.
func (t *terminal) openFor(ctx context.Context, g *globals, command string, f runFlags, session string, q *asked) (a *app, r request, err error) {
	flags := f.flags()
	if session == "" {
		flags, err = t.workplace(ctx, g, flags)
	}
	if err == nil && q != nil {
		r, err = q.request(ctx, t, command, f.Attach, f.Timeout)
	}
	if err != nil {
		return nil, r, err
	}
	a, err = t.open(g, flags)
	return a, r, err
}

// schema returns the JSON Schema of the answer, or nil. Only an object can be
// the arguments of a call, which is how an answer is given.
func (c *runCmd) schema(t *terminal) (json.RawMessage, error) {
	if c.Schema == "" {
		return nil, nil
	}
	if c.Session != "" {
		return nil, errors.New("--schema is for a new session; the one of --session has its form of answer already")
	}
	data, err := os.ReadFile(t.abs(c.Schema))
	if err != nil {
		return nil, fmt.Errorf("--schema: %w", err)
	}
	var top struct{ Type string }
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, fmt.Errorf("--schema %s: %w", c.Schema, err)
	}
	if top.Type != "object" {
		return nil, fmt.Errorf(`--schema %s: it must be the schema of an object: {"type": "object", "properties": …}`, c.Schema)
	}
	return data, nil
}

// fail prints the object of --output json if the run failed before there was a
// session: programs that read it always get one.
func (t *terminal) fail(s shown, err error) error {
	var e exit
	if err == nil || s.Output != outJSON || errors.As(err, &e) && e.reported {
		return err
	}
	sum := summary.Run{Status: string(openmanus.Failed), Files: []host.FileChange{}, Error: err.Error()}
	if e.code == exitLimit {
		sum.Status, sum.Reason = string(openmanus.Halted), string(openmanus.NoTime)
	}
	return errors.Join(err, t.encoder().Encode(sum))
}

// begin opens a session with the request m and drives it. It is made as the
// configuration says, save for what change changes; change may be nil.
func (a *app) begin(ctx context.Context, m openmanus.UserSaid, sh shown, change func(*openmanus.Spec)) error {
	spec, err := a.NewSpec(ctx, change)
	if err != nil {
		return err
	}
	d, err := a.openSession(ctx, spec, &m, sh)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.run(ctx)
}

// openSession opens a session with the request m. then is what else is in its
// journal from the beginning. The caller closes what it returns.
func (a *app) openSession(ctx context.Context, spec openmanus.Spec, m *openmanus.UserSaid, sh shown, then ...openmanus.Body) (*drive, error) {
	id := ids.Session()
	spec, tree, err := a.inWorktree(ctx, id, spec)
	if err != nil {
		return nil, err
	}
	d, agent, err := a.openIn(ctx, id, host.Opening{Spec: spec, Said: m, Then: then}, sh)
	if tree != nil {
		err = errors.Join(err, tree.Done(err))
	}
	if err != nil {
		return nil, err
	}
	line := fmt.Sprintf("session %s · %s · %s · approve %s", d.id, modelOf(spec), spec.Workspace, spec.Approve)
	if agent.Sandbox != "" {
		line += " · sandbox " + agent.Sandbox
	}
	d.print.Remark("%s", line)
	if tree != nil {
		for text := range strings.Lines(tree.Text()) {
			d.print.Remark("%s", strings.TrimSpace(text))
		}
	}
	return d, nil
}

// inWorktree gives the session id, which does not exist yet, a worktree if the person
// wants one. The caller ends the making when the session is open.
func (a *app) inWorktree(ctx context.Context, id string, spec openmanus.Spec) (openmanus.Spec, *host.NewWorktree, error) {
	if !a.worktree {
		return spec, nil, nil
	}
	w, err := a.Worktree(ctx, id, spec, "")
	if err != nil {
		return spec, nil, err
	}
	return w.Spec, w, nil
}

// openIn opens the session id, and prepares to drive it.
func (a *app) openIn(ctx context.Context, id string, o host.Opening, sh shown) (*drive, *openmanus.Agent, error) {
	d, err := a.newDrive(id, o.Spec.Workspace, sh)
	if err != nil {
		return nil, nil, err
	}
	agent, err := a.Open(ctx, id, o)
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	if o.Said != nil {
		d.print.Request(o.Said.ID)
	}
	return d, agent, nil
}

// modelOf names the model of a session, or the two of a plan.
func modelOf(spec openmanus.Spec) string {
	if p, ok := host.PlanOf(spec); ok && p.Model != "" {
		return p.Model + " (planner: " + spec.Model + ")"
	}
	return spec.Model
}

// resume continues a session, with the new request m if it is not nil. A flag
// that changes the configuration is recorded in the journal first. Without a new
// request, limits are recorded with the resumption. Nothing is recorded in a session
// that cannot go on.
func (x *session) resume(ctx context.Context, f runFlags, m *openmanus.UserSaid, sh shown) error {
	if err := x.readOnly(); err != nil {
		return err
	}
	s := x.s
	bodies, err := x.reconfigured(ctx, s, f, m != nil)
	if err != nil {
		return err
	}
	if m != nil {
		bodies = append(bodies, *m)
	} else if r, err := act.Continue(s, x.limitsOf(f.limitFlags)); err == nil { // otherwise it has only to be driven
		bodies = append(bodies, r)
	}
	err = x.goOn(ctx, bodies, sh)
	if m != nil && errors.Is(err, openmanus.ErrDriven) {
		err = fmt.Errorf("%w\nyour request was added to the session; the process that drives it will read it", err)
	}
	return err
}

// goOn appends bodies to the session, drives it, and reports how that ended.
func (x *session) goOn(ctx context.Context, bodies []openmanus.Body, sh shown) error {
	d, err := x.continued(ctx, x.id, x.s, bodies, sh)
	if err != nil {
		return err
	}
	defer d.Close()
	c := x.s.Config
	for _, b := range bodies {
		if now, ok := b.(openmanus.Configured); ok {
			c = now
		}
	}
	d.print.Remark("session %s · %s · %s · approve %s · goes on", x.id, modelOf(c.Spec), c.Workspace, c.Approve)
	return d.run(ctx)
}

// continued appends bodies to the session id, whose state is s, and prepares to drive it.
// The caller closes what it returns.
func (a *app) continued(ctx context.Context, id string, s *openmanus.State, bodies []openmanus.Body, sh shown) (*drive, error) {
	dir := s.Config.Workspace
	for _, b := range bodies {
		if c, ok := b.(openmanus.Configured); ok {
			dir = c.Workspace
		}
	}
	d, err := a.newDrive(id, dir, sh)
	if err != nil {
		return nil, err
	}
	d.from = s.Seq
	d.print.GoOn(s)
	for _, b := range bodies {
		if m, ok := b.(openmanus.UserSaid); ok {
			d.print.Request(m.ID)
		}
	}
	if len(bodies) > 0 {
		if _, err := a.db.Append(ctx, id, bodies...); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return d, nil
}

// limitsOf returns the limits that the flags set. The configuration, into which
// the flags went, has their values. Limits that were not given are 0.
func (a *app) limitsOf(f limitFlags) (l openmanus.Limits) {
	run, attempts := a.Config.Run, 0
	if run.Retries != nil {
		attempts = *run.Retries + 1
	}
	for _, set := range []struct {
		flag  string
		limit func()
	}{
		{f.MaxSteps, func() { l.Steps = run.MaxSteps }},
		{f.BudgetTokens, func() { l.Tokens = run.Tokens }},
		{f.MaxCost, func() { l.Money = run.MaxCost }},
		{f.Timeout, func() { l.Time = run.Timeout }},
		{f.Depth, func() { l.Depth = run.Depth }},
		{f.FanOut, func() { l.FanOut = run.FanOut }},
		{f.Stuck, func() { l.Stuck = run.Stuck }},
		{f.Retries, func() { l.Attempts = attempts }},
	} {
		if set.flag != "" {
			set.limit()
		}
	}
	return l
}

// reconfigured returns the configuration that flags ask for, if it differs from
// that of the session. Limits belong to it if a new request comes with it.
func (a *app) reconfigured(ctx context.Context, s *openmanus.State, f runFlags, limits bool) ([]openmanus.Body, error) {
	spec := host.SpecOf(s)
	if name := spec.Name(); f.Agent != "" && f.Agent != name {
		return nil, usage(fmt.Errorf("the session is one of the agent %s: another agent needs a session of its own", name))
	}
	if err := f.noDelegates("is for a new session: in this one " + delegatesOf(spec)); err != nil {
		return nil, err
	}
	if f.Workspace != "" && spec.Name() == host.EvaluateFlow && a.Config.Run.Workspace != spec.Workspace {
		return nil, usage(fmt.Errorf("the attempts of this session are copies of %s: another workspace needs a session of its own", spec.Workspace))
	}
	if f.Model != "" || f.BaseURL != "" {
		name, m, err := a.Choose(ctx)
		if err != nil {
			return nil, err
		}
		spec.Model, spec.Endpoint = name, m.BaseURL
	}
	if f.Workspace != "" {
		spec.Workspace = a.Config.Run.Workspace
	}
	if f.Sandbox != "" {
		spec.SandboxKind = f.Sandbox
	}
	spec.Copies = spec.Copies || f.Copies
	spec.Limits = s.Limits
	if limits {
		spec.Limits = a.limitsOf(f.limitFlags).Or(s.Limits)
	}
	c, changed, err := a.Reconfigure(s, spec)
	if err != nil {
		return nil, err
	}
	var bodies []openmanus.Body
	if changed {
		bodies = append(bodies, c)
	}
	if f.Approve != "" {
		set, err := act.Mode(s, f.Approve, act.ByPerson)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, set...)
	}
	return bodies, nil
}
