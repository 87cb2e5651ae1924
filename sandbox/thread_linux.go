package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// A starter is a thread that starts the commands of a cage, in the cage's
// cgroup. They are killed when it ends, and so when this process does: a thread
// of Go's own choice could end earlier.
type starter struct {
	group *cgroup // nil if there is none
	work  chan startWork
	ended chan struct{}
}

type startWork struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter(group *cgroup) *starter {
	s := &starter{group: group, work: make(chan startWork), ended: make(chan struct{})}
	go s.run()
	return s
}

// begin serves on a thread that ends with it, and so never on the first one,
// which stands for the process.
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

func (s *starter) serve(locked chan<- struct{}) {
	runtime.LockOSThread() // for good
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

// start starts cmd.
func (s *starter) start(cmd *exec.Cmd) error {
	done := make(chan error)
	s.work <- startWork{cmd, done}
	return <-done
}

// Close ends the thread.
func (s *starter) Close() error {
	close(s.work)
	<-s.ended
	return nil
}
