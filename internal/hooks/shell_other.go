//go:build !unix

package hooks

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// shell returns a command of a shell. It ends with ctx.
func shell(ctx context.Context, script string) *exec.Cmd {
	return hostexec.Finder{}.Command(ctx, filepath.Join(os.Getenv("SystemRoot"), "System32", "cmd.exe"), "/C", script)
}

func apart(*exec.Cmd) {}

// killAll kills a command. Processes that it has started may go on.
func killAll(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
