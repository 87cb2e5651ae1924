package sandbox

import (
	"os/exec"
	"runtime"
	"syscall"
)

// A starter is a thread that starts the commands of a cage. They are killed
// when it ends, and so when this process does: a thread of Go's own choice
// could end earlier.
type starter struct {
	work  chan startWork
	ended chan struct{}
}

type startWork struct {
	cmd  *exec.Cmd
	done chan error
}

func newStarter() *starter {
	s := &starter{work: make(chan startWork), ended: make(chan struct{})}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(s.ended)
		for w := range s.work {
			w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			w.done <- w.cmd.Start()
		}
	}()
	return s
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
