package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// sessionsPlanCmd is openmanus sessions plan.
type sessionsPlanCmd struct {
	oneSession
	Accept bool   `help:"Approve the plan, and let the session carry it out, in the mode of --approve (default: ask)."`
	Edit   bool   `help:"Edit the plan in $EDITOR first; an empty text approves nothing. Implies --accept."`
	From   string `help:"Approve the plan as this file has it, or - for standard input. Implies --accept." placeholder:"FILE"`
	runFlags
	shown
}

// run implements the command. Without a flag it prints the plan.
func (c *sessionsPlanCmd) run(ctx context.Context, t *terminal, g *globals) error {
	mode := cmp.Or(c.Approve, openmanus.ApproveAsk)
	carryOut := c.Accept || c.Edit || c.From != ""
	switch {
	case len(c.Attach) > 0:
		return usage(fmt.Errorf("--attach goes with a new request: openmanus sessions resume %s \"what to change\" --attach FILE", c.ID))
	case !carryOut && (len(c.flags()) > 0 || len(c.Delegate) > 0 || c.Output != outText):
		return usage(fmt.Errorf("without --accept the plan is only printed, and other flags have no effect: openmanus sessions plan %s --accept …", c.ID))
	}
	c.Approve = "" // that of the plan's mode is not a flag of the session
	x, err := c.openToChange(ctx, t, g, c.flags())
	if err != nil {
		return err
	}
	defer x.Close()
	plan, ok := x.s.Proposal()
	if !ok {
		return fmt.Errorf("session %s: %w (openmanus run --plan, --approve plan)", x.id, act.ErrNoProposal)
	}
	if !carryOut {
		if isTerminal(t.out) {
			plan = clip.Plain(plan)
		}
		fmt.Fprintln(t.out, plan)
		if c.Quiet {
			return nil
		}
		x.note("carry it out: openmanus sessions plan %s --accept; change it first: --edit; another plan: openmanus sessions resume %s \"what to change\"", x.id, x.id)
		return nil
	}
	text, err := c.edited(ctx, t, plan)
	if err != nil {
		return err
	}
	bodies, err := act.ApprovePlan(x.id, x.s, mode, text, act.ByPerson)
	if err != nil {
		return usage(err)
	}
	own, err := x.reconfigured(ctx, x.s, c.runFlags, true)
	if err != nil {
		return err
	}
	return x.goOn(ctx, append(own, bodies...), c.shown)
}

// edited returns the plan with the user's changes, or "" if there are none.
func (c *sessionsPlanCmd) edited(ctx context.Context, t *terminal, plan string) (text string, err error) {
	if c.Edit && c.From != "" {
		return "", usage(errors.New("edit the plan with --edit or give it with --from, not both"))
	}
	var data []byte
	switch {
	case c.From == "-":
		data, err = t.readAll(ctx)
	case c.From != "":
		data, err = os.ReadFile(t.abs(c.From))
	case c.Edit:
		text, err = t.edit(ctx, "plan-*.md", plan)
		data = []byte(text)
	default:
		return "", nil
	}
	if err == nil && strings.TrimSpace(string(data)) == "" {
		err = errors.New("the plan is empty, so nothing was approved")
	}
	return string(data), err
}
