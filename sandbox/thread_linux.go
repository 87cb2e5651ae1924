package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A starter is a thread that starts the commands of a cage: they are in its
// cgroup from their first moment, and are killed when it ends, as it does with
// this process. To move a thread between cgroups takes long; so there is one
// for all commands.
type starter struct {
	group *cgroup
	work  chan startWork
	ended chan error
}

type startWork struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter(group *cgroup) (*starter, error) {
	s := &starter{group: group, work: make(chan startWork), ended: make(chan error, 1)}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // and if it cannot be moved back, the thread ends with this function
		if err := group.enter(); err != nil {
			ready <- err
			return
		}
		ready <- nil
		for w := range s.work {
			w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			group.attr(w.cmd.SysProcAttr)
			w.done <- w.cmd.Start()
		}
		err := group.leave()
		if err == nil {
			runtime.UnlockOSThread()
		}
		s.ended <- err
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return s, nil
}

// start starts cmd.
func (s *starter) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- startWork{cmd, done}
	return <-done
}

// Close ends the thread.
func (s *starter) Close() error {
	close(s.work)
	return <-s.ended
}
