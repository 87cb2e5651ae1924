package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/agents"
	"github.com/openmanus-go/openmanus/gate"
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

// The bounds of an evaluation.
const (
	maxAttempts  = 16
	maxCopyFiles = 200_000
	maxHint      = 2_000
	maxCopyMiB   = 1024 // where nobody says otherwise
)

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
	flow, err := c.flow(a)
	if err != nil {
		return err
	}
	d, err := a.openFlow(ctx, flow, &m, c.shown)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.run(ctx)
}

func (c *evaluateCmd) check() error {
	if c.Attempts == 0 {
		c.Attempts = cmp.Or(max(len(c.Models), len(c.Hint)), 3)
	}
	if c.Attempts < 1 || c.Attempts > maxAttempts {
		return fmt.Errorf("--attempts is a number from 1 to %d", maxAttempts)
	}
	if n := max(len(c.Models), len(c.Hint)); n > c.Attempts {
		return fmt.Errorf("%d attempts are too few to try %d models or hints: --attempts %d", c.Attempts, n, n)
	}
	if c.MaxParallel < 1 || c.MaxCopy < 1 {
		return errors.New("--max-parallel and --max-copy are numbers from 1")
	}
	for _, h := range c.Hint {
		if len(h) > maxHint {
			return fmt.Errorf("a --hint has %d bytes, more than %d: put it into a file of the workspace and name that", len(h), maxHint)
		}
	}
	return nil
}

// flow is what the session is opened with.
func (c *evaluateCmd) flow(a *app) (string, error) {
	return a.evaluation(a.team(a.cfg.Run.Workspace), a.cfg.Run.Agent, c.Attempts, c.MaxParallel, c.MaxCopy, c.Models, c.Hint)
}

// evaluation is what a session of the evaluating flow is opened with.
func (a *app) evaluation(tm *team, agent string, attempts, parallel, mib int, models, hints []string) (string, error) {
	if k, ok := tm.find(agent); !ok || k.Hidden {
		return "", tm.noAgent(agent)
	}
	params := url.Values{
		"agent": {agent}, "attempts": {strconv.Itoa(attempts)}, "parallel": {strconv.Itoa(parallel)},
		"mib": {strconv.Itoa(mib)}, "hint": hints,
	}
	for _, name := range models {
		m, err := a.cfg.Model(name)
		if err != nil {
			return "", usage(fmt.Errorf("--models: %w", err))
		}
		params.Add("model", cmp.Or(m.Profile, m.String()))
	}
	return "evaluate?" + params.Encode(), nil
}

// evaluateFlow makes the evaluating flow.
func (a *app) evaluateFlow(b blueprint, params url.Values) (openmanus.Flow, error) {
	n, err1 := strconv.Atoi(params.Get("attempts"))
	parallel, err2 := strconv.Atoi(params.Get("parallel"))
	if err := errors.Join(err1, err2); err != nil || n < 1 || n > maxAttempts {
		return nil, fmt.Errorf("the flow %s: its attempts are none (%w)", b.Agent, err)
	}
	var attempts []agents.Attempt
	for i := range n {
		attempts = append(attempts, agents.Attempt{Agent: params.Get("agent"), Model: inTurn(params["model"], i), Hint: inTurn(params["hint"], i)})
	}
	f := &agents.EvaluateFlow{Evaluator: agents.Evaluator(attempts, a.copies(b.Workspace, params)), Attempts: attempts, Judge: "judge", Parallel: parallel}
	ev := f.Evaluator
	ev.Name = b.Agent
	if b.Sandbox != "auto" { // it runs nothing itself: the attempts read it here
		ev.Sandbox = b.Sandbox
	}
	speaks, fallbacks := ev.Model, ev.Fallbacks
	if err := a.outfit(ev, b); err != nil {
		return nil, err
	}
	ev.Model, ev.Fallbacks = speaks, fallbacks
	return f, nil
}

func inTurn(list []string, i int) string {
	if len(list) == 0 {
		return ""
	}
	return list[i%len(list)]
}

// copies are those of the workspace dir, as the flow of a session says.
func (a *app) copies(dir string, params url.Values) agents.Copies {
	own := ownDir(dir, a.cfg.DataDir)
	mib, err := strconv.Atoi(params.Get("mib"))
	if err != nil {
		mib = maxCopyMiB
	}
	return agents.Copies{
		Home: filepath.Join(a.cfg.DataDir, "attempts"), Workspace: dir, Protected: gate.Protected,
		Skip:  func(name string) bool { return name == own },
		Bytes: int64(mib) << 20, Files: maxCopyFiles,
	}
}

// place is where a session works that another one opened: where that works, or
// in a copy, if its flow says so.
func (a *app) place(ctx context.Context, b *blueprint, o openmanus.Opened, params url.Values) (err error) {
	round, attempt, isAttempt := strings.Cut(params.Get("copy"), "-")
	if round == "" {
		return nil
	}
	r, err1 := strconv.Atoi(round)
	n := 0
	if isAttempt {
		n, err = strconv.Atoi(attempt)
	}
	if err := errors.Join(err1, err); err != nil {
		return fmt.Errorf("the flow %s: %w", o.Flow, err)
	}
	c := a.copies(b.Workspace, nil)
	if isAttempt {
		b.Workspace, err = c.Place(ctx, o.Parent, r, n)
	} else {
		b.Workspace, err = c.Compare(ctx, o.Parent, r)
	}
	if err != nil {
		return fmt.Errorf("the copy of the workspace: %w", err)
	}
	return nil
}
