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
	return `Deletes what is kept of files so that sessions can go back: what is older than [history] max_age and, while all of it takes more than max_size, everything of the sessions that were used longest ago. The sessions stay, and no file of a workspace is touched. Sessions that run are left alone. This happens by itself once a day, when a command ends.

Where machines share a database ([store] url), files are kept as long as their sessions, and this deletes blobs that no session needs any more, and objects of the bucket that were left over when a process died.`
}

// opened implements the command.
func (c *sessionsPruneCmd) opened(ctx context.Context, a *app) error {
	if shared, ok := a.db.(sharedStore); ok {
		return c.pruneShared(ctx, a, shared)
	}
	p, err := a.Prune(ctx, c.DryRun)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.t.printJSON(p)
	}
	for _, s := range p.Sessions {
		what := "cannot put files back any more"
		switch {
		case s.Skipped != "":
			what = "left alone: " + s.Skipped
		case !s.Since.IsZero():
			what = "can put files back as far as " + localTime(s.Since)
		}
		fmt.Fprintf(a.t.out, "%s  %s  %s\n", clip.Plain(s.ID), sizeText(s.Free), what)
	}
	did := "deleted"
	if c.DryRun {
		did = "would be deleted"
	}
	_, err = fmt.Fprintf(a.t.out, "%s %s; %s are kept, of at most %s\n", sizeText(p.Free), did, sizeText(p.Total),
		sizeText(a.Config.History.MaxSize))
	return err
}

// pruneShared deletes what is left over of blobs in a store that machines share.
func (c *sessionsPruneCmd) pruneShared(ctx context.Context, a *app, db sharedStore) error {
	var p struct {
		Blobs   int `json:"blobs"`
		Objects int `json:"objects"`
	}
	var err error
	if c.DryRun {
		p.Blobs, err = db.Unused(ctx)
	} else {
		p.Blobs, err = db.Sweep(ctx)
	}
	switch {
	case err != nil || a.Config.Blobs.URL == "":
	case c.DryRun:
		var names []string
		names, err = orphansOf(ctx, a.Config.Blobs, db)
		p.Objects = len(names)
	default:
		p.Objects, err = removeOrphans(ctx, a.Config.Blobs, db)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return a.t.printJSON(p)
	}
	did := "deleted"
	if c.DryRun {
		did = "would be deleted"
	}
	_, err = fmt.Fprintf(a.t.out, "%s and %s that no session needs %s\n", clip.Count(p.Blobs, "blob"), clip.Count(p.Objects, "object"), did)
	return err
}
