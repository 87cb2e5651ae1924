package sandbox

import (
	"os/exec"
	"syscall"
)

// A starter starts the commands of a sandbox from one thread, in the cgroup of
// the sandbox. The kernel kills a command when the thread that started it ends
// (PR_SET_PDEATHSIG), and so when this process does. Threads that the Go runtime
// chooses may end earlier, so this one is locked to a goroutine.
type starter struct {
	group *cgroup // nil: commands start in the cgroup of this process
	work  chan func()
	ended chan struct{}

	inside bool // the thread is in the cgroup; see cgroup.prepare
}

// newStarter starts the thread. Close ends it.
func newStarter(group *cgroup) *starter {
	s := &starter{group: group, work: make(chan func()), ended: make(chan struct{})}
	onOwnThread(func() {
		defer close(s.ended)
		for f := range s.work {
			f()
		}
	})
	return s
}

// do runs f on the thread, and returns its error. It may be called from any
// goroutine.
func (s *starter) do(f func() error) error {
	done := make(chan error)
	s.work <- func() { done <- f() }
	return <-done
}

// start starts cmd.
func (s *starter) start(cmd *exec.Cmd) error {
	return s.do(func() error {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := s.group.prepare(cmd.SysProcAttr, &s.inside); err != nil {
			return err
		}
		return cmd.Start()
	})
}

// Close ends the thread, and waits for it. All commands have ended by then: a command dies
// with the thread that started it.
func (s *starter) Close() error {
	close(s.work)
	<-s.ended
	return nil
}
