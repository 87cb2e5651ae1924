package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// a2aCmd is openmanus a2a.
type a2aCmd struct {
	Add     a2aAddCmd     `cmd:"" help:"Add an agent: openmanus a2a add NAME URL. To add it is to approve its card."`
	List    a2aListCmd    `cmd:"" help:"List the agents elsewhere that are configured."`
	Test    a2aTestCmd    `cmd:"" help:"Read the card of an agent, and say whether it is the one that you approved."`
	Approve a2aApproveCmd `cmd:"" help:"Approve the card that an agent has now."`
	Remove  a2aRemoveCmd  `cmd:"" help:"Remove an agent that was added, with its approval."`
}

// Help is more of the command.
func (a2aCmd) Help() string {
	return `Agents that speak A2A 1.0 do work elsewhere: openmanus run --delegate a2a:NAME lets the agent give them some, and --agent a2a:NAME gives them the whole task. They get the task, and the files that it names as @PATH; the files that they make are saved in a2a/NAME. What they say is not trusted. An agent whose card has changed since you approved it gets no work.`
}

// a2aOne returns the configuration, if it has the agent elsewhere. Otherwise the error
// lists those that there are, or says how to add one.
func (t *terminal) a2aOne(g *globals, name string) (*config.Config, error) {
	cfg, err := t.load(g, nil)
	if err != nil {
		return nil, err
	}
	if names := cfg.RemoteNames(); !slices.Contains(names, name) {
		return nil, absent(fmt.Sprintf("agent %q elsewhere", name), names, "openmanus a2a add NAME URL")
	}
	return cfg, nil
}

// absent is the error for what a person names and that is not there. It lists those that are
// there, or says how to add one.
func absent(what string, names []string, add string) error {
	if len(names) == 0 {
		return usage(fmt.Errorf("there is no %s, nor any other: %s", what, add))
	}
	return usage(fmt.Errorf("there is no %s; there are %s", what, strings.Join(names, ", ")))
}

// ownConfig returns the file in which the user's own configuration is, or will be: the one
// named with --config, or that in the user's directory. It may not exist.
func (t *terminal) ownConfig(g *globals) (string, error) {
	if g.Config != "" {
		return t.abs(g.Config), nil
	}
	path, err := t.userConfig()
	if err != nil {
		return "", usage(err)
	}
	return t.abs(path), nil
}

// a2aAddCmd is openmanus a2a add.
type a2aAddCmd struct {
	Name     string `arg:"" help:"The name: the agent is given work as a2a:NAME."`
	URL      string `arg:"" name:"url" help:"The address of its card, or of the server that has the card at its usual place."`
	TokenEnv string `help:"The environment variable with the token that it wants." placeholder:"NAME"`
}

// configured implements the command. It fetches the card of the agent and approves it before it
// writes the configuration, so a mistyped address leaves nothing behind.
func (c *a2aAddCmd) configured(ctx context.Context, t *terminal, g *globals, cfg *config.Config) error {
	if slices.Contains(cfg.RemoteNames(), c.Name) {
		return usage(fmt.Errorf("there is an agent %q already; openmanus a2a remove %s removes it", c.Name, c.Name))
	}
	if err := config.CheckRemoteName(c.Name); err != nil {
		return usage(fmt.Errorf("%q: %w", c.Name, err))
	}
	path, err := t.ownConfig(g)
	if err != nil {
		return err
	}
	a := config.RemoteAgent{URL: c.URL, TokenEnv: c.TokenEnv}
	cfg.A2A[c.Name] = &a
	shown, err := t.host().ApproveRemote(ctx, cfg, c.Name)
	if err == nil {
		err = config.AddRemote(path, c.Name, a, t.env, providers.All())
	}
	if err != nil {
		return errors.Join(err, host.RevokeRemote(cfg, c.Name))
	}
	_, err = fmt.Fprintf(t.out, "Added to %s and approved:\n%s\nGive it work with --delegate a2a:%s\n", path, shown, c.Name)
	return err
}

// a2aListCmd is openmanus a2a list.
type a2aListCmd struct{ listing }

// An a2aInfo is an agent elsewhere as this command lists it.
type a2aInfo struct {
	Name  string `json:"name"`
	State string `json:"state"` // "approved" or "not approved"
	URL   string `json:"url"`
	Card  string `json:"card,omitempty"`
}

// configured implements the command. It connects to no agent: the cards are those that were
// approved.
func (c *a2aListCmd) configured(_ context.Context, t *terminal, g *globals, cfg *config.Config) error {
	list, err := t.host().RemoteAgents(cfg)
	if err != nil {
		return err
	}
	infos := []a2aInfo{}
	tb := &table{head: []string{"NAME", "STATE", "URL", "WHAT IT SAYS IT IS"}}
	for _, r := range list {
		in := a2aInfo{Name: r.Name, State: "approved", URL: r.URL, Card: r.Approved}
		if r.Approved == "" {
			in.State = "not approved"
		}
		infos = append(infos, in)
		tb.add(in.Name, in.State, in.URL, firstLine(in.Card))
	}
	return c.print(t, g, infos, tb, "There are no agents elsewhere. Add one: openmanus a2a add NAME URL")
}

// a2aTestCmd is openmanus a2a test.
type a2aTestCmd struct {
	Name string `arg:"" help:"The agent."`
}

// Run implements the command. It fetches the card now, prints it, and fails if that is not
// the one that was approved.
func (c *a2aTestCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, err := t.a2aOne(g, c.Name)
	if err != nil {
		return err
	}
	shown, state, err := t.host().TestRemote(ctx, cfg, c.Name)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(t.out, shown); err != nil || state != nil {
		return errors.Join(err, state)
	}
	_, err = fmt.Fprintln(t.out, "It is the card that you approved.")
	return err
}

// a2aApproveCmd is openmanus a2a approve.
type a2aApproveCmd struct {
	Name string `arg:"" help:"The agent."`
}

// Run implements the command. It approves the card as it is now, and prints it.
func (c *a2aApproveCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, err := t.a2aOne(g, c.Name)
	if err != nil {
		return err
	}
	shown, err := t.host().ApproveRemote(ctx, cfg, c.Name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "Approved:\n%s\n", shown)
	return err
}

// a2aRemoveCmd is openmanus a2a remove.
type a2aRemoveCmd struct {
	Name string `arg:"" help:"The agent."`
}

// Run implements the command. It removes the agent from the configuration and forgets the
// approval. Sessions that worked with the agent keep what they recorded.
func (c *a2aRemoveCmd) Run(_ context.Context, t *terminal, g *globals) error {
	cfg, err := t.a2aOne(g, c.Name)
	if err != nil {
		return err
	}
	path, err := t.ownConfig(g)
	if err != nil {
		return err
	}
	if err := config.RemoveRemote(path, c.Name, t.env, providers.All()); err != nil {
		return usage(err)
	}
	if err := host.RevokeRemote(cfg, c.Name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(t.out, "Removed %s from %s.\n", clip.Plain(c.Name), path)
	return err
}
