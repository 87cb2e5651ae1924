//go:build unix

package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// give hands the browser its ends of the pipe: it reads from descriptor 3 and
// writes to descriptor 4. It gets a process group of its own, so that Ctrl-C
// in the terminal does not reach it.
func (p *pipe) give(cmd *exec.Cmd) error {
	cmd.ExtraFiles = []*os.File{p.theirR, p.theirW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return nil
}

// killGroup kills the browser and all of its processes that are left.
func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// canSandbox reports whether Chromium's own sandbox can work for this user.
func canSandbox() bool { return os.Geteuid() != 0 }
