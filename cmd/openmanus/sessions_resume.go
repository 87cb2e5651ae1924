package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// sessionsResumeCmd is openmanus sessions resume.
type sessionsResumeCmd struct {
	oneSession
	Prompt string `arg:"" optional:"" help:"A new request, or - to read it from standard input. Without one, the session continues."`
	File   string `help:"Read the new request from a file." placeholder:"FILE"`
	runFlags
	shown
}

// run implements the command. Without a flag that says otherwise, the session
// keeps its model, its workspace, its approval mode and its limits.
func (c *sessionsResumeCmd) run(ctx context.Context, t *terminal, g *globals) error {
	r, err := c.request(ctx, t)
	if err != nil {
		return err
	}
	x, err := c.openToChange(ctx, t, g, c.flags())
	if err != nil {
		return err
	}
	defer x.Close()
	var m *openmanus.UserSaid
	switch st := x.s.Status(); {
	case r != nil:
		said, err := x.said(ctx, *r, x.s.Config.Window.Tokens)
		if err != nil {
			return err
		}
		m = &said
	case len(c.Attach) > 0:
		return usage(fmt.Errorf("--attach goes with a new request: openmanus sessions resume %s \"…\" --attach FILE", x.id))
	case st == openmanus.Finished:
		return x.again(c.runFlags, c.shown)
	case st == openmanus.Idle:
		return usage(fmt.Errorf("nothing was asked of session %s yet: openmanus sessions resume %s \"what you want done\"", x.id, x.id))
	}
	return x.resume(ctx, c.runFlags, m, c.shown)
}

// request returns the new request, or nil if there is none. Standard input is
// read only if there is one.
func (c *sessionsResumeCmd) request(ctx context.Context, t *terminal) (*request, error) {
	if c.Prompt == "" && c.File == "" {
		return nil, nil
	}
	r, err := asked{c.Prompt, c.File}.request(ctx, t, "sessions resume "+c.ID, c.Attach, c.Timeout)
	return &r, err
}

// again prints the result of a finished session again. It asks no model.
func (x *session) again(f runFlags, sh shown) error {
	switch sh.Output {
	case outJSON:
		if err := x.t.encoder().Encode(summary.Of(x.id, x.s, nil, []host.FileChange{})); err != nil {
			return err
		}
	case outText:
		answer := strings.TrimRight(x.s.Answer, "\n")
		if text, ok := planOutcome(x.s, nil); ok {
			answer = text
		}
		if isTerminal(x.t.out) {
			answer = clip.Plain(answer)
		}
		fmt.Fprintln(x.t.out, answer)
	}
	if !sh.Quiet {
		what := "nothing is left to do"
		if len(f.flags()) > 0 {
			what += ", so the flags have no effect"
		}
		x.note("%s is finished: %s; continue with: openmanus sessions resume %s \"…\"", x.id, what, x.id)
	}
	return nil
}

// sessionsRetryCmd is openmanus sessions retry.
type sessionsRetryCmd struct {
	oneSession
	runFlags
	shown
}

// run implements the command.
func (c *sessionsRetryCmd) run(ctx context.Context, t *terminal, g *globals) error {
	if len(c.Attach) > 0 {
		return usage(fmt.Errorf("--attach goes with a new request: openmanus sessions resume %s \"…\" --attach FILE", c.ID))
	}
	x, err := c.openToChange(ctx, t, g, c.flags())
	if err != nil {
		return err
	}
	defer x.Close()
	switch x.s.Status() {
	case openmanus.Failed, openmanus.Halted:
		return x.resume(ctx, c.runFlags, nil, c.shown)
	case openmanus.Finished:
		return fmt.Errorf("there is nothing to retry: session %s is finished; for another answer, copy it up to the request (openmanus sessions fork %s@N; openmanus sessions log %s counts the events) and resume the copy", x.id, x.id, x.id)
	}
	return fmt.Errorf("there is nothing to retry: session %s is %s; continue with: openmanus sessions resume %s", x.id, x.stands(), x.id)
}
