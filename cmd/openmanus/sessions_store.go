package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/journal"
)

// sessionsCopyCmd is openmanus sessions copy.
type sessionsCopyCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"The sessions: their ids, the beginnings of them, or last for the newest."`
	All bool     `help:"All sessions, as without an id."`
	To  string   `required:"" help:"The other store: the URL of a PostgreSQL, sqlite:///DIR, or a data directory." placeholder:"URL|DIR"`
}

// Help is more of the command.
func (sessionsCopyCmd) Help() string {
	return `The sessions, with those that they opened, keep their ids and everything that is stored about them, and are compared with the originals. The originals stay. A session that is there already, and the same, is left alone; one that has gone on there is an error.

The other way: openmanus --data-dir DIR sessions copy …, or set [store] url to where they are.`
}

// Run implements the command.
func (c *sessionsCopyCmd) Run(ctx context.Context, t *terminal, g *globals) (err error) {
	if c.All && len(c.IDs) > 0 {
		return usage(errors.New("name the sessions to copy, or say --all, and not both"))
	}
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return err
	}
	defer a.Close()
	ids, err := c.chosen(ctx, a)
	if err != nil {
		return err
	}
	other := &config.Config{DataDir: t.abs(c.To)}
	if strings.Contains(c.To, "://") {
		other = &config.Config{Store: config.Store{URL: c.To}}
	}
	to, err := openSessions(other, nil, "")
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if len(ids) == 0 {
		fmt.Fprintln(t.err, "· there are no sessions, so nothing is copied")
	}
	for _, id := range ids {
		switch err := a.copySession(ctx, to, id); {
		case len(c.IDs) == 0 && errors.Is(err, openmanus.ErrNoSession):
			fmt.Fprintf(t.out, "%s was deleted meanwhile\n", clip.Plain(id))
		case err != nil:
			return err
		}
	}
	return nil
}

// chosen returns the ids of the sessions to copy, with their children.
func (c *sessionsCopyCmd) chosen(ctx context.Context, a *app) (ids []string, err error) {
	if len(c.IDs) == 0 {
		for _, opts := range []journal.ListOptions{{}, {Schedules: true}} {
			for info, err := range a.db.Sessions(ctx, opts) {
				if err != nil {
					return nil, err
				}
				ids = append(ids, info.ID)
			}
		}
		slices.Reverse(ids) // the list of the other store has the same order
		return ids, nil
	}
	for _, id := range c.IDs {
		full, err := a.named(ctx, id)
		if err != nil {
			return nil, err
		}
		if ids, err = a.withChildren(ctx, ids, full); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// withChildren adds a session and those below it to ids.
func (a *app) withChildren(ctx context.Context, ids []string, id string) (_ []string, err error) {
	if slices.Contains(ids, id) {
		return ids, nil
	}
	ids = append(ids, id)
	for child, err := range a.db.Sessions(ctx, journal.ListOptions{Parent: id}) {
		if err != nil {
			return nil, err
		}
		if ids, err = a.withChildren(ctx, ids, child.ID); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// copySession copies one session, and holds its lease meanwhile.
func (a *app) copySession(ctx context.Context, to journal.Keeper, id string) (err error) {
	lease, err := a.db.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lease.Release()) }()
	switch err := journal.Transfer(ctx, a.db, to, id); {
	case errors.Is(err, openmanus.ErrConflict):
		return fmt.Errorf("%w; delete it in one of the stores first", err)
	case errors.Is(err, openmanus.ErrExists):
		fmt.Fprintf(a.t.out, "%s was there\n", clip.Plain(id))
	case err != nil:
		return err
	default:
		fmt.Fprintf(a.t.out, "%s\n", clip.Plain(id))
	}
	return nil
}
