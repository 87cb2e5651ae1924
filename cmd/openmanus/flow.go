package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/tools"
)

// flowCmd is openmanus flow.
type flowCmd struct {
	asked
	Agents      []string `help:"Who does the steps; what names nobody goes to the first. Default: the agent of --agent, or manus." placeholder:"NAME,…"`
	MaxParallel int      `help:"Steps at once, at most." default:"4" placeholder:"N"`
	Replans     int      `help:"How often the plan may be changed because a step is blocked." default:"3" placeholder:"N"`
	Plan        string   `help:"Do the plan in this file: JSON as --plan-only prints it, or a list with a step on each line." placeholder:"FILE"`
	PlanOnly    bool     `help:"Make the plan, print it and do nothing of it."`
	runFlags
	shown
}

// Help is more of the command.
func (flowCmd) Help() string {
	return `A planner makes a plan; agents do its steps, each in a session of its own, independent ones at the same time. A step that fails is blocked, and the planner changes the plan; what is done stays done. Standard output is "Plan completed:" and the summary, or "Plan not completed:" and how far each step is.

A step goes to the agent that the plan names for it, or that it is tagged with: [swe] Mend the parser. A step that has an acceptance sentence is checked by a critic, which looks at the files and changes nothing.

Exit codes: those of run; 1 also if a step stays blocked.`
}

// Run implements the command.
func (c *flowCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return t.fail(c.shown, c.run(ctx, t, g))
}

func (c *flowCmd) run(ctx context.Context, t *terminal, g *globals) error {
	plan, err := c.readPlan(t)
	if err != nil {
		return usage(err)
	}
	if c.Prompt == "" && c.File == "" && plan != nil {
		c.Prompt = "Do what the plan says."
	}
	if c.MaxParallel < 1 || c.Replans < 0 {
		return usage(errors.New("--max-parallel is a number from 1, and --replans one from 0"))
	}
	m, err := c.request(ctx, t, "flow", c.Attach)
	if err != nil {
		return err
	}
	a, err := t.open(g, c.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	return c.begin(ctx, a, m, plan)
}

// begin opens the session and drives it.
func (c *flowCmd) begin(ctx context.Context, a *app, m openmanus.UserSaid, plan []byte) error {
	flow, err := c.flow(a)
	if err != nil {
		return err
	}
	var made []openmanus.Body
	if plan != nil {
		said, err := prefilled(flow, plan)
		if err != nil {
			return err
		}
		made = append(made, said)
	}
	d, err := a.openFlow(ctx, flow, &m, c.shown, made...)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.run(ctx)
}

// names are the agents that do the steps.
func (c *flowCmd) names(a *app) []string {
	if len(c.Agents) > 0 {
		return c.Agents
	}
	return []string{a.cfg.Run.Agent}
}

// flow is what the session is opened with.
func (c *flowCmd) flow(a *app) (string, error) {
	return planName(a.team(a.cfg.Run.Workspace), c.names(a), c.MaxParallel, c.Replans, c.PlanOnly)
}

// planName is what a session of the planning flow is opened with.
func planName(tm *team, names []string, parallel, replans int, only bool) (string, error) {
	as, err := agents.Assistants(tm.kinds, names)
	if err != nil {
		return "", usage(fmt.Errorf("%w; there is %s", err, strings.Join(tm.names(), ", ")))
	}
	names = nil
	for _, as := range as {
		names = append(names, as.Name)
	}
	params := url.Values{"agents": {strings.Join(names, ",")}, "parallel": {strconv.Itoa(parallel)}, "replans": {strconv.Itoa(replans)}}
	if only {
		params.Set("only", "1")
	}
	return flowWith("plan", params), nil
}

// readPlan reads the plan that was given, if one was.
func (c *flowCmd) readPlan(t *terminal) ([]byte, error) {
	if c.Plan == "" {
		return nil, nil
	}
	if c.PlanOnly {
		return nil, errors.New("--plan gives the plan, and --plan-only asks for one: use one of them")
	}
	data, err := os.ReadFile(t.abs(c.Plan))
	if err != nil {
		return nil, fmt.Errorf("--plan: %w", err)
	}
	return data, nil
}

// openFlow opens a session of a flow as the configuration says, with a first
// request, and what else is to be in its journal from the beginning.
func (a *app) openFlow(ctx context.Context, flow string, m *openmanus.UserSaid, sh shown, made ...openmanus.Body) (*drive, error) {
	name, model, err := a.choose(ctx)
	if err != nil {
		return nil, err
	}
	b := blueprint{Agent: flow, Model: name, Endpoint: model.BaseURL, Workspace: a.cfg.Run.Workspace, Approve: a.cfg.Run.Approve, Sandbox: a.cfg.Sandbox.Kind}
	if b, err = a.withPlanner(b); err != nil {
		return nil, err
	}
	f, err := a.flowOf(b)
	if err != nil {
		return nil, err
	}
	d, err := a.newDrive(ids.Session(), b.Workspace, sh)
	if err != nil {
		return nil, err
	}
	m.Note = a.environment(d.files, b.Workspace)
	bodies := append([]openmanus.Body{openmanus.Opened{Flow: f.Agent().Name, Version: openmanus.FormatVersion}, f.Agent().Configured(0), *m}, made...)
	if _, err := a.db.Append(ctx, d.id, bodies...); err != nil {
		return nil, errors.Join(fmt.Errorf("open session %s: %w", d.id, err), d.Close())
	}
	if b.Model != name {
		name += " (planner: " + b.Model + ")"
	}
	d.print.remark("session %s · %s · %s · approve %s", d.id, name, b.Workspace, b.Approve)
	return d, nil
}

// withPlanner gives the planner the model of the profile of its name, if there
// is one. The flow then says which model its steps have.
func (a *app) withPlanner(b blueprint) (blueprint, error) {
	name, params := flowParams(b.Agent)
	own := a.ownModel("planner")
	if name != "plan" || own == "" || own == b.Model {
		return b, nil
	}
	m, err := a.cfg.Model(own)
	if err != nil {
		return b, usage(err)
	}
	params.Set("steps", b.Model)
	params.Set("at", b.Endpoint)
	b.Agent = flowWith(name, params)
	b.Model, b.Endpoint = own, m.BaseURL
	return b, nil
}

// flowWith is a flow's name with its parameters.
func flowWith(name string, params url.Values) string {
	return name + "?" + strings.ReplaceAll(params.Encode(), "%2C", ",")
}

// afterOpening is the third event of a session that [app.openFlow] opened: the
// request.
const afterOpening = 3

// prefilled is what a journal has of a plan that the person made: as if the
// planner had called its tool with it.
func prefilled(flow string, plan []byte) (openmanus.Body, error) {
	_, params := flowParams(flow)
	args, err := tools.ReadPlan(plan, strings.Split(params.Get("agents"), ","))
	if err != nil {
		return nil, usage(fmt.Errorf("--plan: %w", err))
	}
	call := llm.Call{ID: "c0-1", Name: "planning", Input: string(args)}
	return openmanus.ModelSaid{
		Turn: 0, Re: afterOpening, Stop: llm.ToolUse, By: byPerson, Message: llm.Message{Role: llm.Assistant, Parts: llm.Parts{call}},
	}, nil
}
