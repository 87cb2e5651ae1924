package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// researchCmd is openmanus research.
type researchCmd struct {
	Question string        `arg:"" optional:"" help:"The question."`
	Depth    int           `help:"How many levels of follow-up questions, 1 to 5." default:"2" placeholder:"N"`
	Time     time.Duration `help:"Stop reading pages after this time." default:"10m" placeholder:"DURATION"`
	runFlags
	shown
}

// run implements the command. The report is in report.md and report.html.
func (c *researchCmd) run(ctx context.Context, t *terminal, g *globals) error {
	question := strings.TrimSpace(c.Question)
	switch {
	case question == "":
		return usage(errors.New(`there is no question: openmanus research "what you want to know"`))
	case c.Depth < 1 || c.Depth > 5:
		return usage(fmt.Errorf("--depth %d: allowed: 1 to 5", c.Depth))
	case c.Time < time.Second:
		return usage(fmt.Errorf("--time %v: allowed: from 1s", c.Time))
	case c.Agent != "" && c.Agent != "research":
		return usage(errors.New("--agent: openmanus research has an agent of its own; openmanus run takes another"))
	}
	if err := c.noDelegates("is for openmanus run: the agent of openmanus research gives work to nobody"); err != nil {
		return err
	}
	c.Agent = "research"
	a, _, err := t.openFor(ctx, g, "research", c.runFlags, "", nil)
	if err != nil {
		return err
	}
	defer a.Close()
	prompt := fmt.Sprintf("%s\n\n(Research it: max_depth %d, time_limit_seconds %d.)", question, c.Depth, int(c.Time.Seconds()))
	m, err := t.message(prompt, c.Attach)
	if err != nil {
		return err
	}
	return a.begin(ctx, m, c.shown, nil)
}
