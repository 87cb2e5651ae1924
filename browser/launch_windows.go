package browser

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
)

// give lets the browser inherit its ends of the pipe as handles, whose numbers it
// reads from a switch. Our own ends are not inherited.
func (p *pipe) give(cmd *exec.Cmd) error {
	for _, f := range []*os.File{p.r, p.w} {
		if err := syscall.SetHandleInformation(syscall.Handle(f.Fd()), syscall.HANDLE_FLAG_INHERIT, 0); err != nil {
			return err
		}
	}
	r, w := syscall.Handle(p.theirR.Fd()), syscall.Handle(p.theirW.Fd())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		AdditionalInheritedHandles: []syscall.Handle{r, w},
		CreationFlags:              syscall.CREATE_NEW_PROCESS_GROUP,
	}
	cmd.Args = slices.Insert(cmd.Args, 1, fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", r, w))
	return nil
}

// killGroup kills the browser. The processes that it started end with it.
func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// canSandbox reports whether Chromium's own sandbox works for this user.
func canSandbox() bool { return true }
