package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
)

// flowCmd is openmanus flow.
type flowCmd struct {
	asked
	Agents      []string `help:"The agents that do the steps. A step that names none goes to the first. Default: the agent of --agent, or manus; and data_analysis, if [runflow] says so." placeholder:"NAME,…"`
	MaxParallel int      `help:"How many steps run at once, at most." default:"4" placeholder:"N"`
	Replans     int      `help:"How often the plan may be changed because a step is blocked." default:"3" placeholder:"N"`
	Plan        string   `help:"Carry out the plan in this file: JSON as --plan-only prints it, or a list with a step on each line." placeholder:"FILE"`
	PlanOnly    bool     `help:"Make the plan and print it, without carrying it out."`
	worktreeFlag
	runFlags
	shown
}

// Help is more of the command.
func (flowCmd) Help() string {
	return `A planner makes a plan. Agents do its steps, each in its own session; independent steps run at the same time. If a step fails it is blocked, and the planner changes the plan; completed steps stay completed. Standard output is "Plan completed:" and the summary, or "Plan not completed:" and the state of each step.

The plan names an agent for a step, or the step is tagged with one: [swe] Fix the parser. A critic checks each step that has an acceptance sentence; it reads the files, runs commands in a sandbox that is read-only, and changes nothing.

Exit codes: those of run; also 1 if a step stays blocked.`
}

// run implements the command.
func (c *flowCmd) run(ctx context.Context, t *terminal, g *globals) error {
	if err := c.noDelegates("is for openmanus run: --agents names those that do the steps of a flow"); err != nil {
		return err
	}
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
	a, r, err := t.openFor(ctx, g, "flow", c.runFlags, "", &c.asked)
	if err != nil {
		return err
	}
	defer a.Close()
	a.worktree = c.Worktree
	m, err := a.said(ctx, r, a.window())
	if err != nil {
		return err
	}
	spec, err := a.NewSpec(ctx, func(spec *openmanus.Spec) {
		*spec = host.WithPlan(*spec, host.Plan{Agents: c.Agents, Parallel: c.MaxParallel, Replans: c.Replans, Only: c.PlanOnly})
	})
	if err != nil {
		return err
	}
	var then []openmanus.Body
	if plan != nil {
		said, err := host.Prefilled(spec, plan, act.ByPerson)
		if err != nil {
			return fmt.Errorf("--plan: %w", err)
		}
		then = append(then, said)
	}
	d, err := a.openSession(ctx, spec, &m, c.shown, then...)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.run(ctx)
}

// readPlan reads the file of --plan. It returns nil if there is none.
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
