package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/termtext"
)

// sessionsDeleteCmd is openmanus sessions delete.
type sessionsDeleteCmd struct {
	IDs   []string `arg:"" name:"id" help:"The sessions: their ids, the beginnings of them, or last for the newest."`
	Files bool     `help:"Delete the copy of the workspace that was made for a fork even if its files have changed since."`
	Yes   bool     `short:"y" help:"Do not ask."`
}

// opened implements the command.
func (c *sessionsDeleteCmd) opened(ctx context.Context, a *app) error {
	var ids []string
	for _, id := range c.IDs {
		full, err := a.named(ctx, id)
		if err != nil {
			return err
		}
		if !slices.Contains(ids, full) {
			ids = append(ids, full)
		}
	}
	if !c.Yes {
		if err := a.confirm(ctx, ids); err != nil {
			return err
		}
	}
	var errs []error
	for _, id := range ids {
		if err := a.db.Delete(ctx, id); err != nil {
			errs = append(errs, err)
			continue
		}
		kept, err := a.RemoveForkFiles(ctx, id, c.Files)
		errs = append(errs, err, a.Deleted(id))
		fmt.Fprintf(a.t.out, "deleted %s\n", clip.Plain(id))
		if kept != "" {
			fmt.Fprintln(a.t.err, clip.Plain("· "+kept))
		}
	}
	return errors.Join(errs...)
}

// confirm asks the user whether to delete the sessions.
func (a *app) confirm(ctx context.Context, ids []string) error {
	if !isTerminal(a.t.in) || !isTerminal(a.t.err) {
		return usage(errors.New("deleted sessions cannot be restored, and no terminal is attached to confirm that: use --yes"))
	}
	for _, id := range ids {
		x, err := a.session(ctx, id)
		if err != nil {
			return err
		}
		kept, err := a.db.Session(ctx, x.id)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.t.err, "  %s  %s  %s\n", clip.Plain(id), localTime(x.s.Updated), termtext.OneLine(kept.Title, 60))
	}
	return a.t.agree(ctx, fmt.Sprintf("Delete %s? This cannot be undone. [y/N] ", clip.Count(len(ids), "session")), "nothing was deleted")
}
