package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A starter starts the commands of a sandbox from one thread, in the cgroup of
// the sandbox. The kernel kills a command when the thread that started it ends
// (PR_SET_PDEATHSIG), and so when this process does. Threads that the Go runtime
// chooses may end earlier, so this one is locked to a goroutine.
type starter struct {
	group *cgroup // nil: commands start in the cgroup of this process
	work  chan startWork
	ended chan struct{}
}

// A startWork is a command to start, and where the error is sent.
type startWork struct {
	cmd  *exec.Cmd
	done chan error
}

// newStarter starts the thread. Close ends it.
func newStarter(group *cgroup) *starter {
	s := &starter{group: group, work: make(chan startWork), ended: make(chan struct{})}
	go s.run()
	return s
}

// run serves on a thread that ends with its goroutine. That must not be the
// first thread of the process: other processes see its attributes as those of
// the process. If it is, another goroutine takes another thread while this one
// still holds the first.
func (s *starter) run() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		s.serve(make(chan struct{}, 1))
		return
	}
	other := make(chan struct{}, 1)
	go s.serve(other)
	<-other
	runtime.UnlockOSThread()
}

// serve starts commands until there are no more. It sends to locked when it has
// a thread for itself.
func (s *starter) serve(locked chan<- struct{}) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	locked <- struct{}{}
	defer close(s.ended)
	inside := false
	for w := range s.work {
		w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err := s.group.prepare(w.cmd.SysProcAttr, &inside)
		if err == nil {
			err = w.cmd.Start()
		}
		w.done <- err
	}
}

// start starts cmd. It may be called from any goroutine.
func (s *starter) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- startWork{cmd, done}
	return <-done
}

// Close ends the thread. All commands have ended by then.
func (s *starter) Close() error {
	close(s.work)
	<-s.ended
	return nil
}
