package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/internal/tui"
)

// chatCommands are the commands of chat, whose names a person's own cannot take.
var chatCommands = strings.Fields("/model /mode /approve /retry /undo /redo /rewind /fork /cost /help /quit /exit")

// banner says which session continues, and prints the last message, the last answer and
// the usage, so that the person knows where they are.
func (c *chat) banner(ctx context.Context) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	last := ""
	for ev, err := range c.db.Events(ctx, c.id, 0) {
		if err != nil {
			return err
		}
		if m, ok := ev.Body.(openmanus.UserSaid); ok {
			last = m.Message.Text()
		}
	}
	dim := func(format string, a ...any) {
		fmt.Fprintln(c.t.err, c.style().Dim("· "+clip.Plain(fmt.Sprintf(format, a...))))
	}
	dim("session %s · %s · %s · approve %s", c.id, s.Config.Model, s.Config.Workspace, s.Config.Approve)
	if last != "" {
		fmt.Fprintln(c.t.err, c.style().Bold("> "+termtext.OneLine(last, 200)))
	}
	if s.Answer != "" {
		fmt.Fprintln(c.t.err, termtext.OneLine(s.Answer, 400))
	}
	dim("%s · %s", describe(s, nil), summary.UsageOf(s.Usage, s.Cost, s.Unpriced))
	return nil
}

// model changes the model from the next request on, which the session records. It asks
// before the conversation goes to a provider to which the session has sent nothing yet.
func (c *chat) model(ctx context.Context, name string) error {
	if name == "" {
		return errors.New("which model? /model PROVIDER/NAME")
	}
	cfg, err := c.t.load(c.globals, map[string]string{"model": name})
	if err != nil {
		return err
	}
	if _, err := cfg.Model(""); err != nil {
		return err
	}
	if ok, err := c.maySendTo(ctx, cfg); err != nil || !ok {
		return err
	}
	cfg.Run.Approve, cfg.Run.Workspace, cfg.Run.Agent = c.Config.Run.Approve, c.Config.Run.Workspace, c.Config.Run.Agent
	c.Config = cfg
	if c.id == "" {
		return nil
	}
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	bodies, err := c.reconfigured(ctx, s, runFlags{Model: name}, false)
	if err != nil || len(bodies) == 0 {
		return err
	}
	_, err = c.db.Append(ctx, c.id, bodies...)
	return err
}

// setMode changes which calls run without a question, from the next call on. Before the
// first message it holds for the session that the message opens.
func (c *chat) setMode(ctx context.Context, mode string) error {
	if !slices.Contains(openmanus.Modes, mode) {
		return fmt.Errorf("which mode? /mode with one of %s", strings.Join(openmanus.Modes, ", "))
	}
	if c.id == "" {
		c.mode = mode
		return nil
	}
	_, err := c.acts().Do(ctx, c.id, func(s *openmanus.State) ([]openmanus.Body, error) { return act.Mode(s, mode, act.ByPerson) })
	return err
}

// approvePlan carries out the plan that waits for approval, in the mode that the person
// chose for it.
func (c *chat) approvePlan(ctx context.Context, mode string) error {
	s, err := openmanus.Load(ctx, c.db, c.id)
	if err != nil {
		return err
	}
	bodies, err := act.ApprovePlan(c.id, s, mode, "", act.ByPerson)
	if err != nil {
		return err
	}
	return c.goOn(ctx, bodies...)
}

// maySendTo reports whether the conversation may go to the endpoint of the model that cfg
// has: where it goes now, or where the user says that it may.
func (c *chat) maySendTo(ctx context.Context, cfg *config.Config) (bool, error) {
	m, err := cfg.Model("")
	if err != nil {
		return false, err
	}
	was := c.flags.BaseURL
	if c.id != "" {
		s, err := openmanus.Load(ctx, c.db, c.id)
		if err != nil {
			return false, err
		}
		was = host.SpecOf(s).Endpoint
	} else if _, now, err := c.Choose(ctx); err == nil {
		was = now.BaseURL
	}
	if m.BaseURL == was {
		return true, nil
	}
	line, err := c.ask(ctx, clip.Plain(fmt.Sprintf("%s answers at %s: send all of this conversation there, instead of %s? [y/N] ", m, m.BaseURL, was)))
	if errors.Is(err, io.EOF) || errors.Is(err, tui.ErrInterrupt) || err == nil && !host.IsYes(line) {
		return false, errors.New("the model stays as it is")
	}
	return err == nil, err
}

// custom says what a command of the person stands for, after what it goes on with was
// chosen. One of the workspace never chooses a mode that allows more.
func (c *chat) custom(ctx context.Context, own *agents.Command, arguments string) error {
	if own.Model != "" {
		if err := c.model(ctx, own.Model); err != nil {
			return err
		}
	}
	if own.Agent != "" && c.id == "" {
		if _, err := c.Team(c.Config.Run.Workspace).Choose(own.Agent); err != nil {
			return err
		}
		c.Config.Run.Agent = own.Agent
	}
	if mode := own.Mode; mode != "" {
		now := c.mode
		if c.id != "" {
			s, err := openmanus.Load(ctx, c.db, c.id)
			if err != nil {
				return err
			}
			now = s.Config.Approve
		} else if now == "" {
			now = c.Config.Run.Approve
		}
		if own.From == "workspace" {
			mode = openmanus.Stricter(mode, now)
		}
		if err := c.setMode(ctx, mode); err != nil {
			return err
		}
	}
	return c.say(ctx, own.Expand(arguments))
}
