package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/gate"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/llm/providers"
)

// approvalsCmd is openmanus approvals.
type approvalsCmd struct {
	List   approvalsListCmd   `cmd:"" default:"withargs" help:"List remembered decisions."`
	Forget approvalsForgetCmd `cmd:"" help:"Forget decisions, so that you are asked again."`
}

// Help is more of the command.
func (approvalsCmd) Help() string {
	return `The decisions that you had remembered: about single calls, bound to everything that you were shown, and about configuration files, bound to their content. The rules that you wrote are in the configuration: openmanus config show.`
}

// approvalsListCmd is openmanus approvals list.
type approvalsListCmd struct {
	listing
}

// A remembered is a decision as this command lists it.
type remembered struct {
	ID        string    `json:"id"`
	Allow     bool      `json:"allow"`
	Tool      string    `json:"tool,omitempty"`
	What      string    `json:"what"`
	Workspace string    `json:"workspace,omitempty"`
	Session   string    `json:"session,omitempty"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
}

// shortKey is how many characters of a key are shown.
const shortKey = 12

// Run implements the command.
func (c *approvalsListCmd) Run(_ context.Context, t *terminal, g *globals) error {
	all, err := t.host().Memory().All()
	if err != nil {
		return usage(err)
	}
	values := []remembered{}
	tb := &table{head: []string{"ID", "DECIDED", "SINCE", "WHERE", "WHAT"}}
	for _, d := range all {
		values = append(values, remembered{d.Key[:min(shortKey, len(d.Key))], d.Allow, d.Tool, d.What, d.Workspace, d.Session, d.By, d.At})
		verb := "denied"
		if d.Allow {
			verb = "allowed"
		}
		tb.add(d.Key[:min(shortKey, len(d.Key))], verb, localTime(d.At), d.Workspace, strings.TrimSpace(d.Tool+"  "+d.What))
	}
	return c.print(t, g, values, tb, "There are no remembered decisions.")
}

// approvalsForgetCmd is openmanus approvals forget.
type approvalsForgetCmd struct {
	ID  []string `arg:"" optional:"" help:"The decisions, as approvals list names them, or the beginning of their names."`
	All bool     `help:"All of them."`
}

// Run implements the command.
func (c *approvalsForgetCmd) Run(_ context.Context, t *terminal, _ *globals) error {
	if c.All == (len(c.ID) > 0) {
		return usage(errors.New("name the decisions to forget, or use --all; openmanus approvals lists them"))
	}
	m := t.host().Memory()
	all, err := m.All()
	if err != nil {
		return usage(err)
	}
	var taken []gate.Decision
	for _, id := range c.ID {
		found := matching(all, id)
		if len(found) != 1 {
			return usage(fmt.Errorf("%d decisions begin with %q; openmanus approvals lists them", len(found), id))
		}
		taken = append(taken, found...)
	}
	if c.All {
		taken = all
	}
	for _, d := range taken {
		if err := m.Forget(d); err != nil {
			return err
		}
		fmt.Fprintln(t.out, clip.Plain(fmt.Sprintf("forgot %.*s: %s %s", shortKey, d.Key, d.Tool, d.What)))
	}
	return nil
}

func matching(all []gate.Decision, id string) (found []gate.Decision) {
	for _, d := range all {
		if strings.HasPrefix(d.Key, id) {
			found = append(found, d)
		}
	}
	return found
}

// configTrustCmd is openmanus config trust.
type configTrustCmd struct {
	File string `arg:"" optional:"" help:"The file. Default: openmanus.toml in the current directory."`
	Yes  bool   `help:"Do not ask: I have read it."`
}

// Help is more of the command.
func (configTrustCmd) Help() string {
	return `A configuration file that is found in a working directory may have been written by anyone, so only some settings in it take effect. This command trusts a file with its present content: all settings in it take effect until it changes. openmanus approvals revokes that.`
}

// Run implements the command.
func (c *configTrustCmd) Run(ctx context.Context, t *terminal, _ *globals) error {
	file := c.File
	if file == "" {
		file = "openmanus.toml"
	}
	file = t.abs(file)
	content, err := config.Content(file)
	if err != nil {
		return usage(err)
	}
	cfg, _, err := config.Check(file, t.env, providers.All())
	if err == nil {
		_, err = t.host().Gate(cfg, gate.Options{})
	}
	if err != nil {
		return usage(err)
	}
	what := question{text: string(content), ask: "Trust this configuration in " + filepath.Dir(file) + "? [y/N] ", refused: "the file is not trusted"}
	if err := t.confirm(ctx, what, c.Yes); err != nil {
		return err
	}
	d := gate.Decision{Key: host.TrustKey(file, content), Allow: true, What: "configuration " + file, By: act.ByPerson, At: time.Now().UTC()}
	if err := t.host().Memory().Remember(d); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "%s is trusted with its present content\n", clip.Plain(file))
	return nil
}
