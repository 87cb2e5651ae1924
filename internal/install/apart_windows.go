package install

import (
	"os/exec"
	"syscall"
)

// apart gives a command a process group of its own: Ctrl-C in the terminal ends the
// session and not the package manager.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}
