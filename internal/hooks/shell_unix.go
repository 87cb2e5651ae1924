//go:build unix

package hooks

import (
	"context"
	"os/exec"
	"syscall"

	"github.com/openmanus-go/openmanus/internal/hostexec"
)

// shell returns a command of a shell. Nothing but killAll ends it.
func shell(_ context.Context, script string) *exec.Cmd {
	return hostexec.Finder{}.Command(context.Background(), "/bin/sh", "-c", script)
}

// apart gives a command a process group of its own.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killAll kills a command and the processes that it has started.
func killAll(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
