package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
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
	return c.run(ctx, t, g, c.backFlags, act.Rewind{To: c.To, Last: c.Last, Files: c.Files || both, Talk: c.Talk || both})
}

// sessionsRedoCmd is openmanus sessions redo.
type sessionsRedoCmd struct {
	oneSession
	backFlags
}

// Run implements the command.
func (c *sessionsRedoCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return c.run(ctx, t, g, c.backFlags, act.Rewind{Redo: true})
}

// run takes the session back.
func (c oneSession) run(ctx context.Context, t *terminal, g *globals, f backFlags, b act.Rewind) error {
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
		return t.printJSON(backJSON(x.id, p))
	}
	fmt.Fprintln(t.out, clip.Plain(linemode.DoneText(x.id, p)))
	x.lines(linemode.KeptLines(p))
	if p.Talk && p.Redo == "" {
		x.note("say what to do instead: openmanus sessions resume %s \"…\"", x.id)
	}
	if p.Redo == "" && !p.Nothing {
		x.note("openmanus sessions redo %s takes that back", x.id)
	}
	return nil
}

// backJSON returns a plan to go back as JSON, with the number of all changes and where each
// call reaches, which clients of a server are not told.
func backJSON(id string, p *act.Rewinding) any {
	type call struct {
		act.OutsideCall
		Reach openmanus.Reach `json:"reach"`
	}
	calls := []call{}
	for _, c := range p.Outside {
		calls = append(calls, call{c, c.Reach})
	}
	return struct {
		Session string `json:"session"`
		*act.Rewinding
		Total   int    `json:"total"`
		Outside []call `json:"outside"`
	}{id, p, p.Total, calls}
}

// goBack takes the session back. Unless yes is set, it shows what that means and asks
// whether to do it; ask is nil if no person can be asked.
func (x *session) goBack(
	ctx context.Context, b act.Rewind, yes bool, ask func(prompt string) (string, error),
) (*act.Rewinding, error) {
	if yes {
		return x.GoBack(ctx, x.id, b, nil)
	}
	plan := b
	plan.Plan = true
	p, err := x.GoBack(ctx, x.id, plan, nil)
	if err != nil {
		return nil, err
	}
	x.lines(linemode.PlanLines(x.id, p))
	if p.Nothing {
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
	return x.GoBack(ctx, x.id, b, func(now *act.Rewinding) error {
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
