package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/host/local"
	"github.com/openmanus-go/openmanus/internal/clip"
)

// backFlags are the flags of commands that take a session back or forward.
type backFlags struct {
	Yes  bool `short:"y" help:"Do not ask."`
	JSON bool `help:"Print what was done, or would be, as JSON."`
}

// sessionsRewindCmd is openmanus sessions rewind.
type sessionsRewindCmd struct {
	oneSession
	To    int64 `help:"Go back to what was after this event." placeholder:"EVENT"`
	Last  bool  `help:"Take back your last message and everything after it."`
	Files bool  `help:"Only put files back; the conversation stays."`
	Talk  bool  `help:"Only take the conversation back; files stay."`
	backFlags
}

// Help is more of the command.
func (sessionsRewindCmd) Help() string {
	return `What calls of the session, and of those below it, changed in the workspace after the event is undone, whether by an editing tool or by a command. What you or other programs changed stays as it is; if both changed a file, yours stays and is named. What was said after the event leaves the conversation, and the model reads which files were put back. Nothing is deleted from the session: redo takes it back.

Before it asks, it lists what will change, and the calls whose effects do not come back, such as requests to a network. sessions log lists the events.`
}

// Run implements the command.
func (c *sessionsRewindCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	if c.To != 0 && c.Last {
		return usage(errors.New("--to and --last exclude each other"))
	}
	if c.To == 0 && !c.Last {
		return usage(errors.New("how far? --last takes back your last message and everything after it, --to EVENT goes back to an event"))
	}
	both := c.Files == c.Talk
	return c.run(ctx, t, g, c.backFlags, host.Back{To: c.To, Last: c.Last, Files: c.Files || both, Talk: c.Talk || both})
}

// sessionsRedoCmd is openmanus sessions redo.
type sessionsRedoCmd struct {
	oneSession
	backFlags
}

// Run implements the command.
func (c *sessionsRedoCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return c.run(ctx, t, g, c.backFlags, host.Back{Redo: true})
}

// run takes the session back.
func (c oneSession) run(ctx context.Context, t *terminal, g *globals, f backFlags, b host.Back) error {
	x, err := c.openToChange(ctx, t, g, nil)
	if err != nil {
		return err
	}
	defer x.Close()
	var ask func(prompt string) (string, error)
	if isTerminal(t.in) && isTerminal(t.err) {
		ask = func(prompt string) (string, error) { return t.ask(ctx, prompt) }
	}
	p, err := x.goBack(ctx, b, f.Yes, ask)
	if err != nil {
		return err
	}
	if f.JSON {
		return t.printJSON(p)
	}
	fmt.Fprintln(t.out, clip.Plain(local.DoneText(x.id, p)))
	x.lines(local.KeptLines(p))
	if p.Talk && p.Redo == "" {
		x.note("say what to do instead: openmanus sessions resume %s \"…\"", x.id)
	}
	if p.Redo == "" && !p.Nothing() {
		x.note("openmanus sessions redo %s takes that back", x.id)
	}
	return nil
}

// goBack takes the session back. Unless yes is set, it shows what that means and asks
// whether to do it; ask is nil if no person can be asked.
func (x *session) goBack(
	ctx context.Context, b host.Back, yes bool, ask func(prompt string) (string, error),
) (*host.BackPlan, error) {
	if yes {
		return x.GoBack(ctx, x.id, b, nil)
	}
	p, err := x.PlanBack(ctx, x.id, b)
	if err != nil {
		return nil, err
	}
	x.lines(local.PlanLines(x.id, p))
	if p.Nothing() {
		return p, nil
	}
	if ask == nil {
		return nil, usage(errors.New("nothing was changed: no terminal is attached to confirm that; use --yes"))
	}
	line, err := ask("Do that? [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !host.IsYes(line) {
		return nil, exit{code: exitFailed, err: errors.New("nothing was changed")}
	}
	return x.GoBack(ctx, x.id, b, func(now *host.BackPlan) error {
		if !slices.Equal(now.Changes, p.Changes) || now.To != p.To {
			return errors.New("nothing was changed: the session or the workspace has changed in the meantime; look again")
		}
		return nil
	})
}

// lines prints lines to standard error.
func (x *session) lines(all []string) {
	for _, l := range all {
		fmt.Fprintln(x.t.err, l)
	}
}

// line prints a line to standard error.
func (x *session) line(format string, a ...any) {
	fmt.Fprintln(x.t.err, clip.Plain(fmt.Sprintf(format, a...)))
}
