package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/openmanus-go/openmanus/host"
	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/internal/linemode"
)

// sessionsApplyCmd is openmanus sessions apply.
type sessionsApplyCmd struct {
	oneSession
	Files bool `help:"Bring changes of files alone, as if they had not been committed."`
	backFlags
}

// Help is more of the command.
func (sessionsApplyCmd) Help() string {
	return `Merges the commits of the session's branch into the branch of your checkout, and then changes the files there that the session changed and did not commit. Git does the merge, without hooks. First it lists what will change, and asks.

Nothing is merged if a commit changes what you have changed and not committed, or if the lines conflict: the files are named. With --files no commit is merged; a file that you have changed stays as it is, and the session's version is put beside it.`
}

// on implements the command.
func (c *sessionsApplyCmd) on(ctx context.Context, x *session) error {
	p, err := x.Apply(ctx, x.id, host.ApplyOptions{Files: c.Files, Unseen: c.Yes}, func(p *host.ApplyPlan) error {
		if c.Yes {
			return nil
		}
		x.showApply(p)
		if p.Nothing() || p.Refused != "" {
			return nil
		}
		return x.t.agree(ctx, "Do that? [y/N] ", "nothing was changed")
	})
	if c.JSON && p != nil {
		return errors.Join(err, x.t.printJSON(p))
	}
	if err != nil {
		return err
	}
	if p.Nothing() {
		fmt.Fprintf(x.t.out, "nothing to apply: %s has what the session did\n", clip.Plain(p.Repository))
		x.showIgnored(p.Ignored, staysIgnored)
		return nil
	}
	commits := ""
	if p.Total > 0 && !p.Files {
		commits = clip.Count(p.Total, "commit") + " merged, "
	}
	fmt.Fprintf(x.t.out, "%s: %s%s changed\n", clip.Plain(p.Repository), commits, clip.Count(len(p.Changes), "file"))
	x.showChanges("  = %s stays as it is: %s", p.Kept)
	if c.Yes { // otherwise they were named before
		x.showIgnored(p.Ignored, staysIgnored)
	}
	if len(p.Changes) > 0 {
		x.note("these changes are not committed")
	}
	x.note("openmanus sessions discard %s removes the worktree and its branch", x.id)
	return nil
}

// agree asks a question and returns an error unless the person says yes. without says
// what happened then.
func (t *terminal) agree(ctx context.Context, prompt, without string) error {
	if !isTerminal(t.in) || !isTerminal(t.err) {
		return usage(fmt.Errorf("%s: no terminal is attached to confirm that; use --yes", without))
	}
	line, err := t.ask(ctx, prompt)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if host.IsYes(line) {
		return nil
	}
	return exit{code: exitFailed, err: errors.New(without)}
}

// showApply prints what there is to apply, to standard error.
func (x *session) showApply(p *host.ApplyPlan) {
	if p.Total > 0 && !p.Files {
		x.showCommits(p, fmt.Sprintf("%s would be merged into %s of %s:", clip.Count(p.Total, "commit"), branchText(p), p.Repository))
		x.note("they change %s:", clip.Count(len(p.Committed), "file"))
		x.showChanges("", p.Committed)
	}
	if len(p.Changes) > 0 {
		x.note("%s would change without a commit:", clip.Count(len(p.Changes), "file"))
		x.showChanges("", p.Changes)
	}
	x.showChanges("  = %s stays as it is: %s", p.Kept)
	for _, name := range p.Repositories {
		x.line("  = %s stays in the worktree: it is a repository of its own", name)
	}
	x.showIgnored(p.Ignored, staysIgnored)
}

// maxIgnored is how many ignored files are named.
const maxIgnored = 10

// showIgnored names files of the worktree that git ignores, and says what becomes of them.
func (x *session) showIgnored(names []string, what string) {
	for _, name := range names[:min(len(names), maxIgnored)] {
		x.line("  = %s%s", name, what)
	}
	if more := len(names) - maxIgnored; more > 0 {
		x.line("  = %d more%s", more, what)
	}
}

const staysIgnored = " stays in the worktree: git ignores it"

// branchText names what the person's checkout is at.
func branchText(p *host.ApplyPlan) string {
	if p.Into == "" {
		return "the commit (no branch)"
	}
	return "the branch " + p.Into
}

// showCommits prints the commits of a plan below a title.
func (x *session) showCommits(p *host.ApplyPlan, title string) {
	x.note("%s", title)
	for _, c := range p.Commits {
		x.line("  %s", c)
	}
	if more := p.Total - len(p.Commits); more > 0 {
		x.line("  … and %d more", more)
	}
}

// showChanges prints files, at most linemode.MaxShown of them. A format gets the name and the
// reason; without one, the line says how the file changes.
func (x *session) showChanges(format string, list []host.TreeChange) {
	for i, c := range list {
		switch {
		case i == linemode.MaxShown:
			x.line("  … and %d more", len(list)-i)
			return
		case format != "":
			x.line(format, c.Path, c.Why)
		case c.Why != "":
			x.line("  %s %s  (look at it: %s)", linemode.ChangeMark(c.Change), c.Path, c.Why)
		default:
			x.line("  %s %s", linemode.ChangeMark(c.Change), c.Path)
		}
	}
}

// sessionsDiscardCmd is openmanus sessions discard.
type sessionsDiscardCmd struct {
	oneSession
	Yes bool `short:"y" help:"Do not ask."`
}

// Help is more of the command.
func (sessionsDiscardCmd) Help() string {
	return `Removes the directory of the worktree with everything in it, and its branch in your repository. First it lists the commits and files that would be lost, and asks. The session stays, and so does what was brought to your checkout.`
}

// on implements the command.
func (c *sessionsDiscardCmd) on(ctx context.Context, x *session) error {
	kept, err := x.Discard(ctx, x.id, func(p *host.ApplyPlan) error {
		if c.Yes {
			return nil
		}
		x.note("%s and the branch %s would be removed", p.Dir, p.Branch)
		if p.Total > 0 {
			x.showCommits(p, clip.Count(p.Total, "commit")+" would be lost:")
		}
		if len(p.Uncommitted) > 0 {
			x.note("changes of %s that are not committed would be lost:", clip.Count(len(p.Uncommitted), "file"))
			x.showChanges("", p.Uncommitted)
		}
		if len(p.Ignored) > 0 {
			x.note("what git ignores would be lost:")
			x.showIgnored(p.Ignored, "")
		}
		if p.Plan.Nothing() {
			x.note("nothing is lost but what git ignores: %s has the work", p.Repository)
		}
		for _, name := range p.Repositories {
			x.line("  - %s, a repository of its own", name)
		}
		return x.t.agree(ctx, "Remove it? [y/N] ", "nothing was removed")
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(x.t.out, "removed the worktree of %s\n", clip.Plain(x.id))
	if kept != "" {
		x.note("%s", kept)
	}
	return nil
}
