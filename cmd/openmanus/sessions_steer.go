package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// The commands in this file, sessions_approve.go and sessions_answer.go append to
// a session without driving it. They work whether or not another process drives
// it.

// sessionsSayCmd is openmanus sessions say.
type sessionsSayCmd struct {
	oneSession
	Text   string   `arg:"" help:"What to say, or - to read it from standard input."`
	Attach []string `help:"Give the agent a file or an image with it; @path in the text does the same." placeholder:"FILE" sep:"none"`
	limitFlags
}

// Run implements the command.
func (c *sessionsSayCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	text := c.Text
	if text == "-" {
		data, err := t.readAll(ctx)
		if err != nil {
			return fmt.Errorf("reading standard input: %w", err)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return usage(errors.New(`there is nothing to say: openmanus sessions say ID "what to say"`))
	}
	flags := flagsOf(c.limitFlags)
	x, err := c.openToChange(ctx, t, g, flags)
	if err != nil {
		return err
	}
	defer x.Close()
	m, err := t.message(text, c.Attach)
	if err != nil {
		return err
	}
	bodies := []openmanus.Body{m}
	if len(flags) > 0 {
		bodies = []openmanus.Body{act.Resume(x.limitsOf(c.limitFlags)), m}
	}
	if _, err := x.db.Append(ctx, x.id, bodies...); err != nil {
		return err
	}
	for _, call := range x.s.Pending() {
		x.note("%s (%s) was waiting for you: it does not run, and the agent reads this instead", call.ID, call.Name)
	}
	return x.done("said to %s", x.id)
}

// sessionsInterruptCmd is openmanus sessions interrupt.
type sessionsInterruptCmd struct {
	oneSession
}

// Run implements the command.
func (c *sessionsInterruptCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	x, err := c.openToChange(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	if st := x.s.Status(); st != openmanus.Running && st != openmanus.Waiting {
		return fmt.Errorf("there is nothing to interrupt: session %s is %s", x.id, x.stands())
	}
	if _, err := x.db.Append(ctx, x.id, act.Stop("")); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "interrupted %s\n", clip.Plain(x.id))
	x.note("say what to do instead: openmanus sessions resume %s \"…\"; or let it go on: openmanus sessions resume %s", x.id, x.id)
	return nil
}
