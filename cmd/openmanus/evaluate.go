package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
)

// evaluateCmd is openmanus evaluate.
type evaluateCmd struct {
	asked
	Attempts    int      `help:"How often the task is attempted. Default: once for each of --models or --hint, or 3 times." placeholder:"N"`
	Models      []string `help:"The models of the attempts, in turn. Default: the model of the run." placeholder:"NAME,…"`
	Hint        []string `help:"How to go about an attempt; given several times, they are for the attempts in turn." placeholder:"TEXT" sep:"none"`
	MaxParallel int      `help:"Attempts at once, at most." default:"4" placeholder:"N"`
	MaxCopy     int      `help:"Copy no workspace that is larger, in MiB." default:"1024" placeholder:"N"`
	runFlags
	shown
}

// Help is more of the command.
func (evaluateCmd) Help() string {
	return `The task is done several times over, each time in a session and a copy of the workspace of its own. A critic compares what came of it with the task and with each other; what the best attempt changed is brought into the workspace. Standard output is "Evaluation completed:", the answer of the best attempt, and what was said of each; or "Evaluation not completed:" and why.

What you change in the workspace meanwhile stays: where the attempt changed the same file, yours is kept and the conflict is told of. With --approve ask you are shown the changes before they are made. Commits stay in the copies, and so do files that other programs obey (.git, .vscode, .envrc, …).

The copies are whole, share their blocks with the workspace where the file system can, and stay until openmanus sessions delete. A larger workspace than --max-copy, or one of more than 200,000 files, is not copied. What you say meanwhile (openmanus sessions say) is done in another round. The critic has the model of the profile [llm.judge], if there is one.

Exit codes: those of run; 1 also if no attempt does the task, or not all of the best one could be taken.`
}

// Run implements the command.
func (c *evaluateCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	return t.fail(c.shown, c.run(ctx, t, g))
}

func (c *evaluateCmd) run(ctx context.Context, t *terminal, g *globals) error {
	m, err := c.request(ctx, t, "evaluate", c.Attach)
	if err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return usage(err)
	}
	if len(c.Models) > 0 && c.Model == "" {
		c.Model = c.Models[0]
	}
	a, err := t.open(g, c.flags())
	if err != nil {
		return err
	}
	defer a.Close()
	return a.begin(ctx, m, c.shown, func(spec *openmanus.Spec) {
		*spec = host.WithEvaluation(*spec, host.Evaluation{
			Attempts: host.Attempts(c.Attempts, spec.Agent, c.Models, c.Hint), Parallel: c.MaxParallel, MaxMiB: c.MaxCopy,
		})
	})
}

func (c *evaluateCmd) check() error {
	if c.Attempts == 0 {
		c.Attempts = cmp.Or(max(len(c.Models), len(c.Hint)), 3)
	}
	if c.Attempts < 1 || c.Attempts > host.MaxAttempts {
		return fmt.Errorf("--attempts is a number from 1 to %d", host.MaxAttempts)
	}
	if n := max(len(c.Models), len(c.Hint)); n > c.Attempts {
		return fmt.Errorf("%d attempts are too few to try %d models or hints: --attempts %d", c.Attempts, n, n)
	}
	if c.MaxParallel < 1 || c.MaxCopy < 1 {
		return errors.New("--max-parallel and --max-copy are numbers from 1")
	}
	for _, h := range c.Hint {
		if len(h) > host.MaxHint {
			return fmt.Errorf("a --hint has %d bytes, more than %d: put it into a file of the workspace and name that", len(h), host.MaxHint)
		}
	}
	return nil
}
