//go:build unix

package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// give lets the browser inherit its ends of the pipe: it reads from descriptor 3
// and writes to descriptor 4. The browser gets a process group of its own, so
// that Ctrl-C in the terminal does not reach it and killGroup reaches all of it.
func (p *pipe) give(cmd *exec.Cmd) error {
	cmd.ExtraFiles = []*os.File{p.theirR, p.theirW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// killGroup kills the browser and all processes that it started.
func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// canSandbox reports whether Chromium's own sandbox works for this user.
func canSandbox() bool { return os.Geteuid() != 0 }
