package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host/summary"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/tui"
	"github.com/openmanus-go/openmanus/journal"
)

// sessionsListCmd is openmanus sessions list.
type sessionsListCmd struct {
	Limit int  `help:"How many, at most." default:"20" placeholder:"N"`
	All   bool `help:"All of them, also those that other sessions opened."`

	Search string `help:"Those in which these words were said, the best match first." placeholder:"WORDS"`
	listing
}

// Run implements the command.
func (c *sessionsListCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if c.Limit < 1 {
		return usage(fmt.Errorf("--limit %d: it must be at least 1; --all lists all", c.Limit))
	}
	a, err := t.open(g, map[string]string{})
	if err != nil {
		return err
	}
	defer a.Close()
	opts := journal.ListOptions{Limit: c.Limit, Roots: true}
	if c.All {
		opts = journal.ListOptions{}
	}
	if c.Search != "" {
		return c.found(ctx, a, t, g, opts)
	}
	infos, err := summary.List(ctx, a.db, opts)
	if err != nil {
		return err
	}
	tb := &table{head: []string{"ID", "STATUS", "UPDATED", "STEPS", "TOKENS", "COST", "WORKSPACE", "TITLE"}}
	for _, in := range infos {
		tb.add(*in.Session, a.standsOf(in), localTime(in.Updated), fmt.Sprint(in.Steps), short(in.Usage.Input+in.Usage.Output), in.Usage.Dollars(2), in.Workspace, in.Title)
	}
	err = c.print(t, g, infos, tb, "There are no sessions yet. Start one: openmanus run \"what you want done\"\nor see a demo that needs no model: openmanus demo")
	if err == nil && !c.JSON && !c.All && len(infos) == c.Limit {
		fmt.Fprintln(t.err, "· these are the newest; --all lists all")
	}
	return err
}

// found lists the sessions in which the words of the search were said.
func (c *sessionsListCmd) found(ctx context.Context, a *app, t *terminal, g *globals, opts journal.ListOptions) error {
	hits, err := a.db.Search(ctx, c.Search, opts)
	if err != nil {
		return usage(err)
	}
	if hits == nil {
		hits = []journal.Hit{}
	}
	marks := strings.NewReplacer(journal.MarkBegin, "", journal.MarkEnd, "")
	tb := &table{head: []string{"ID", "UPDATED", "TITLE", "EVENT", "SAID"}}
	for _, h := range hits {
		tb.add(h.ID, localTime(h.Updated), clip.Text(h.Title, 40), fmt.Sprint(h.Seq), marks.Replace(h.Snippet))
	}
	return c.print(t, g, hits, tb, "Nothing like that was said in any session.")
}

// standsOf returns how a session stands, in words. One that no process drives although
// there is something to do was broken off; the JSON has its status.
func (a *app) standsOf(in *summary.Session) string {
	if in.Parent == "" && in.Status == string(openmanus.Running) && !a.db.Driven(*in.Session) {
		return tui.BrokenOff
	}
	if in.Reason != "" {
		return in.Status + " (" + in.Reason + ")"
	}
	return in.Status
}
