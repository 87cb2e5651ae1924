package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// sessionsPruneCmd is openmanus sessions prune.
type sessionsPruneCmd struct {
	listing
	DryRun bool `help:"Delete nothing, and say what would be deleted."`
}

// Help is more of the command.
func (sessionsPruneCmd) Help() string {
	return `Deletes what is kept of files so that sessions can go back: what is older than [history] max_age and, while all of it takes more than max_size, everything of the sessions that were used longest ago. The sessions stay, and no file of a workspace is touched. Sessions that run are left alone. This happens by itself once a day, when a command ends.`
}

// Run implements the command.
func (c *sessionsPruneCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return err
	}
	defer a.Close()
	p, err := a.Prune(ctx, c.DryRun)
	if err != nil {
		return err
	}
	if c.JSON {
		return t.printJSON(p)
	}
	for _, s := range p.Sessions {
		what := "cannot put files back any more"
		switch {
		case s.Skipped != "":
			what = "left alone: " + s.Skipped
		case !s.Since.IsZero():
			what = "can put files back as far as " + localTime(s.Since)
		}
		fmt.Fprintf(t.out, "%s  %s  %s\n", clip.Plain(s.ID), sizeText(s.Free), what)
	}
	did := "deleted"
	if c.DryRun {
		did = "would be deleted"
	}
	_, err = fmt.Fprintf(t.out, "%s %s; %s are kept, of at most %s\n", sizeText(p.Free), did, sizeText(p.Total),
		sizeText(a.Config.History.MaxSize))
	return err
}
