package main

import (
	"context"
	"fmt"

	"github.com/openmanus-go/openmanus/internal/termtext"
	"github.com/openmanus-go/openmanus/journal/audit"
)

// sessionsWhyCmd is openmanus sessions why.
type sessionsWhyCmd struct {
	Call string `arg:"" help:"The call: its id, as openmanus sessions audit shows it."`
	ID   string `arg:"" optional:"" default:"last" help:"The session: its id, the beginning of it, or last for the newest."`
	listing
}

// Help is more of the command.
func (sessionsWhyCmd) Help() string {
	return `For each part of the arguments whose source is known: the source, the events that brought it into the session, and the call.`
}

// Run implements the command.
func (c *sessionsWhyCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	x, err := oneSession{c.ID}.open(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	reasons, err := audit.Why(ctx, x.db, x.id, c.Call)
	if err != nil {
		return usage(err)
	}
	if c.JSON {
		return t.printJSON(reasons)
	}
	if len(reasons) == 0 {
		fmt.Fprintf(t.out, "no source is known of the arguments of %s: they are the model's own words\n", c.Call)
	}
	for _, r := range reasons {
		fmt.Fprintln(t.out, termtext.OneLine(wordsOf(r.ArgumentSource), 300))
		for _, s := range r.Steps {
			fmt.Fprintf(t.out, "  event %-5d %s\n", s.Seq, termtext.OneLine(s.What, 200))
		}
	}
	return nil
}
