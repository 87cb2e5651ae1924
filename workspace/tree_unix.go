//go:build unix && !linux

package workspace

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// deathTime is how long killed processes may take to die.
const deathTime = 10 * time.Second

// A tree is a command and the processes of its process group.
type tree struct {
	cmd   *exec.Cmd
	mark  string
	ended error
}

func (t *tree) start() error {
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return t.cmd.Start()
}

func (t *tree) Wait() { t.ended = t.cmd.Wait() }

func (t *tree) Status() error { return exitStatus(t.ended) }

func (t *tree) Stop() { _ = t.cmd.Process.Kill() }

func (t *tree) Terminate() error { return syscall.Kill(-t.cmd.Process.Pid, syscall.SIGTERM) }

// Kill implements [Process]. It waits until no process of the group can be
// signalled.
func (t *tree) Kill() error {
	for deadline := time.Now().Add(deathTime); ; {
		if syscall.Kill(-t.cmd.Process.Pid, syscall.SIGKILL) != nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the command left processes running that do not die")
		}
		time.Sleep(time.Millisecond) // there is nothing to wait on
	}
}
