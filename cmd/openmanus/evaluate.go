package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/host"
)

// evaluateCmd is openmanus evaluate.
type evaluateCmd struct {
	asked
	Attempts    string   `help:"How many attempts. Default: one for each of --models or --hint, or 3." placeholder:"N"`
	Models      []string `help:"The models of the attempts, in turn. Default: the model of the run." placeholder:"NAME,…"`
	Hint        []string `help:"An instruction for an attempt; several are used in turn." placeholder:"TEXT" sep:"none"`
	MaxParallel int      `help:"How many attempts run at once, at most." default:"4" placeholder:"N"`
	MaxCopy     int      `help:"The largest workspace that is copied, in MiB." default:"1024" placeholder:"N"`
	runFlags
	shown
}

// Help is more of the command.
func (evaluateCmd) Help() string {
	return `Each attempt has its own session and its own copy of the workspace. A critic compares the attempts with the task and with each other; the changes of the best one are merged into the workspace. Standard output is "Evaluation completed:", the answer of the best attempt, and the critic's remarks on each; or "Evaluation not completed:" and the reason.

Your own changes to the workspace stay: if the best attempt changed the same file, your version is kept and the conflict is reported. With --approve ask you see the changes before they are made. Commits stay in the copies, and so do files that other programs act on (.git, .vscode, .envrc, …).

The copies are complete, share disk blocks with the workspace if the file system can do that, and stay until openmanus sessions delete. A workspace larger than --max-copy, or with more than 200,000 files, is not copied. A message that you send meanwhile (openmanus sessions say) starts another round. The critic uses the profile [llm.judge], if there is one.

Exit codes: those of run; also 1 if no attempt does the task, or if the best one could not be merged completely.`
}

// run implements the command.
func (c *evaluateCmd) run(ctx context.Context, t *terminal, g *globals) error {
	if err := c.noDelegates("is for openmanus run: the agent of an attempt gives work to nobody"); err != nil {
		return err
	}
	attempts, err := c.check()
	if err != nil {
		return usage(err)
	}
	if len(c.Models) > 0 {
		c.Model = cmp.Or(c.Model, c.Models[0])
	}
	a, r, err := t.openFor(ctx, g, "evaluate", c.runFlags, "", &c.asked)
	if err != nil {
		return err
	}
	defer a.Close()
	m, err := a.said(ctx, r, a.window())
	if err != nil {
		return err
	}
	return a.begin(ctx, m, c.shown, func(spec *openmanus.Spec) {
		*spec = host.WithEvaluation(*spec, host.Evaluation{
			Attempts: host.Attempts(attempts, spec.Agent, c.Models, c.Hint), Parallel: c.MaxParallel, MaxMiB: c.MaxCopy,
		})
	})
}

// check returns how many attempts there are, or what is wrong with the flags.
func (c *evaluateCmd) check() (attempts int, err error) {
	most := max(len(c.Models), len(c.Hint))
	attempts = cmp.Or(most, 3)
	if c.Attempts != "" {
		attempts, err = strconv.Atoi(c.Attempts)
	}
	if err != nil || attempts < 1 || attempts > host.MaxAttempts {
		return 0, fmt.Errorf("--attempts %s: it is a number from 1 to %d", cmp.Or(c.Attempts, fmt.Sprint(attempts)), host.MaxAttempts)
	}
	if most > attempts {
		return 0, fmt.Errorf("%d attempts are too few to try %d models or hints: --attempts %d", attempts, most, most)
	}
	if c.MaxParallel < 1 || c.MaxCopy < 1 {
		return 0, errors.New("--max-parallel and --max-copy are numbers from 1")
	}
	for _, h := range c.Hint {
		if len(h) > host.MaxHint {
			return 0, fmt.Errorf("a --hint has %d bytes, more than %d: put it into a file of the workspace and name that", len(h), host.MaxHint)
		}
	}
	return attempts, nil
}
