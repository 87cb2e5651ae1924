package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
)

// trustCmd is openmanus trust.
type trustCmd struct {
	Dir string `arg:"" optional:"" help:"The workspace. Default: the current directory."`
	Yes bool   `help:"Do not ask: I have read them."`
}

// Help is more of the command.
func (trustCmd) Help() string {
	return `AGENTS.md, agents, skills and commands of a workspace tell agents what to do, and anyone may have written them, an agent included. This command shows those that you have not vouched for, or what changed in them since, and asks whether agents may take them for your word.

Files that changed since you last saw them are left out of sessions until then. openmanus run asks about such a change itself if a terminal is attached.`
}

// Run implements the command.
func (c *trustCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	cfg, err := t.load(g, nil)
	if err != nil {
		return err
	}
	dir := t.dir
	if c.Dir != "" {
		dir = t.abs(c.Dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage(fmt.Errorf("%s is no directory that can be read: name a workspace", clip.Plain(dir)))
	}
	in, err := t.host().Instructions(cfg, dir)
	if err != nil {
		return usage(err)
	}
	text, names := in.Unvouched()
	if len(names) == 0 {
		_, err := fmt.Fprintf(t.out, "There is nothing in %s that you have not vouched for.\n", clip.Plain(dir))
		return err
	}
	list := clip.Plain(strings.Join(names, ", "))
	what := question{text: text, ask: "Let agents take " + list + " for your word? [y/N] ", refused: "nothing was changed"}
	if err := t.confirm(ctx, what, c.Yes); err != nil {
		return err
	}
	if err := in.Vouch(names...); err != nil {
		return err
	}
	fmt.Fprintf(t.out, "agents may take for your word, as they are now: %s\n", list)
	return nil
}

// A question is one that a user answers with yes after they have read a text.
type question struct {
	text    string // what the user has to read
	ask     string // the question itself
	refused string // the error if the answer is not yes
}

// confirm shows the text and asks the question. With yes, the user has read it
// already. The error is one of usage if no terminal is attached.
func (t *terminal) confirm(ctx context.Context, q question, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(t.in) || !isTerminal(t.err) {
		return usage(errors.New("this is shown before you say yes to it, and no terminal is attached; if you have read it, use --yes"))
	}
	linemode.New(t.err, linemode.Options{}).Block(q.text)
	answer, err := t.ask(ctx, q.ask)
	if err == nil && !host.IsYes(answer) {
		err = exit{code: exitFailed, err: errors.New(q.refused)}
	}
	return err
}
