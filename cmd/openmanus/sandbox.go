package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// sandboxCmd is openmanus sandbox.
type sandboxCmd struct {
	Explain sandboxExplainCmd `cmd:"" help:"Explain what commands can and cannot do."`
	Run     sandboxRunCmd     `cmd:"" help:"Run a command as a session in this directory would run it."`
	Check   sandboxCheckCmd   `cmd:"" help:"Try to break out of the sandbox in every known way."`
}

// sandboxFlags are the flags that explain and run share.
type sandboxFlags struct {
	Sandbox   string `help:"The sandbox of commands: auto, bubblewrap, landlock, docker, gvisor, or none (commands have your own rights)." enum:",auto,bubblewrap,landlock,docker,gvisor,none" default:"" placeholder:"KIND"`
	Workspace string `help:"The workspace. Default: the current directory." placeholder:"DIR"`
}

// options returns the options of the sandbox that the flags and the
// configuration ask for. The errors are those of usage.
func (c sandboxFlags) options(t *terminal, g *globals) (sandbox.Options, error) {
	cfg, err := t.load(g, flagsOf(c))
	if err != nil {
		return sandbox.Options{}, err
	}
	o, err := t.host().Sandbox(cfg, cfg.Run.Workspace, cfg.Sandbox.Kind)
	return o, asUsage(err)
}

// asUsage returns err as an error of usage, and nil if it is nil.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usage(err)
}

// sandboxExplainCmd is openmanus sandbox explain.
type sandboxExplainCmd struct{ sandboxFlags }

// Run implements the command.
func (c *sandboxExplainCmd) Run(ctx context.Context, t *terminal, g *globals) error {
	o, err := c.options(t, g)
	if err != nil {
		return err
	}
	text, err := sandbox.Explain(ctx, o)
	if err != nil {
		return usage(err)
	}
	_, err = io.WriteString(t.out, text)
	return err
}

// sandboxRunCmd is openmanus sandbox run.
type sandboxRunCmd struct {
	sandboxFlags
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

// dirIn returns the directory that the program was started in, if that is in the
// workspace dir, else dir.
func (t *terminal) dirIn(dir string) string {
	if _, err := workspace.Name(dir, t.dir); err == nil {
		return t.dir
	}
	return cmp.Or(dir, ".")
}
