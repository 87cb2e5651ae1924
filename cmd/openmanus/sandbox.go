package main

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// sandboxCmd is openmanus sandbox.
type sandboxCmd struct {
	Run sandboxRunCmd `cmd:"" help:"Run a command as a session in this directory would."`
}

// cageFlags are the flags of the commands below openmanus sandbox.
type cageFlags struct {
	Sandbox   string `help:"What commands run in: auto, bubblewrap, landlock, docker, gvisor, or none (with your own rights)." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	Workspace string `help:"The workspace. Default: the current directory." placeholder:"DIR"`
}

// options are those of the sandbox that the flags and the configuration ask
// for.
func (c cageFlags) options(t *terminal, g *globals) (sandbox.Options, error) {
	cfg, err := t.load(g, runFlags{Sandbox: c.Sandbox, Workspace: c.Workspace}.flags())
	if err != nil {
		return sandbox.Options{}, err
	}
	o, err := t.cage(cfg, cfg.Run.Workspace, cfg.Sandbox.Kind)
	return o, asUsage(err)
}

func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}

// sandboxRunCmd is openmanus sandbox run.
type sandboxRunCmd struct {
	cageFlags
	Command []string `arg:"" passthrough:"partial" help:"The command and its arguments."`
}

// Run implements the command. Its exit code is the command's.
func (c *sandboxRunCmd) Run(ctx context.Context, t *terminal, g *globals) (err error) {
	o, err := c.options(t, g)
	if err != nil {
		return err
	}
	ws, err := sandbox.Open(ctx, o)
	if err != nil {
		return usage(err)
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	args := c.Command
	if len(args) > 1 && args[0] == "--" {
		args = args[1:]
	}
	err = ws.Run(ctx, &workspace.Cmd{Args: args, Dir: t.dirIn(ws.Dir()), Stdin: t.in, Stdout: t.out, Stderr: t.err})
	var ended *workspace.ExitError
	switch {
	case errors.As(err, &ended):
		var joined interface{ Unwrap() []error }
		if errors.As(err, &joined) {
			return exit{code: ended.Code, err: err}
		}
		return exit{code: ended.Code}
	case errors.Is(err, context.Canceled):
		return exit{code: exitInterrupted}
	case errors.Is(err, exec.ErrNotFound):
		return exit{code: 127, err: err}
	}
	return asUsage(err)
}

// dirIn is where the program was started, if that is in the workspace dir.
func (t *terminal) dirIn(dir string) string {
	if _, err := workspace.Name(dir, t.dir); err == nil {
		return t.dir
	}
	return cmp.Or(dir, ".")
}
