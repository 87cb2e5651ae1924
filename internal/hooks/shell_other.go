//go:build !unix

package hooks

import (
	"context"
	"os/exec"
)

// shell returns a command of a shell. It ends with ctx.
func shell(ctx context.Context, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "cmd", "/C", script)
}

func apart(*exec.Cmd) {}

// killAll kills a command. Processes that it has started may go on.
func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
