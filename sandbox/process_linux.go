package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// deathTime is how long killed processes may take to die. One that hangs in
// the kernel (a lost network disk) takes longer.
const deathTime = 10 * time.Second

var errEnded = errors.New("it has ended")

// A process is a command in a cage: what we started, the leader, and what has
// the command and all its descendants below it, the root, which is the leader
// or its child. When the root is dead all of them are.
type process struct {
	cmd   *exec.Cmd
	root  int // process id
	fd    int // of the root, for poll and signals
	ended chan struct{}
	after func() error // when everything is dead

	supervised bool // the root kills all that is below it when it gets SIGTERM

	mu     sync.Mutex
	reason error // why it was killed, if it was not asked for
}

// begin starts cmd.
func startProcess(s *starter, cmd *exec.Cmd) (*process, error) {
	if err := s.start(cmd); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, fd: -1, ended: make(chan struct{})}
	go func() {
		for {
			err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
			if !errors.Is(err, unix.EINTR) {
				break
			}
		}
		close(p.ended)
	}()
	return p, nil
}

// hold makes pid, which must be alive and not yet waited for, the root.
func (p *process) setRoot(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	p.root, p.fd = pid, fd
	return nil
}

// abandon ends a process that did not come up.
func (p *process) discard() {
	p.Stop()
	<-p.ended
	_ = p.cmd.Wait() // it was killed
	if p.fd >= 0 {
		unix.Close(p.fd)
	}
}

// Wait implements [workspace.Process].
func (p *process) Wait() { <-p.ended }

// Terminate implements [workspace.Process].
func (p *process) Terminate() error {
	found := descendants(p.root)
	if len(found) == 0 {
		return errors.New("it has no processes")
	}
	for _, pid := range found {
		_ = unix.Kill(pid, unix.SIGTERM) // who is gone needs no signal
	}
	return nil
}

// Stop implements [workspace.Process].
func (p *process) Stop() {
	if p.supervised {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGTERM, nil, 0) // it may be dead
		_ = unix.PidfdSendSignal(p.fd, unix.SIGCONT, nil, 0)
		go p.killSupervised()
		return
	}
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) // it may be dead
	}
	_ = unix.Kill(p.cmd.Process.Pid, unix.SIGKILL) // it has not been reaped: the id is its own
}

// stopFor stops the process because of err.
func (p *process) stopFor(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == nil {
		p.reason = err
		p.Stop()
	}
}

func (p *process) pids() []int { return descendants(p.root) }

// Kill implements [workspace.Process].
func (p *process) Kill() error {
	p.Stop()
	err := p.waitDead()
	p.mu.Lock()
	reason := p.reason
	if p.reason == nil {
		p.reason = errEnded // stopFor comes too late
	}
	unix.Close(p.fd)
	p.fd = -1
	p.mu.Unlock()
	return errors.Join(reason, err, p.after())
}

// waitDead waits until the root is dead, and so everything below it.
func (p *process) waitDead() error {
	for deadline := time.Now().Add(deathTime); ; {
		left := time.Until(deadline).Milliseconds()
		if left <= 0 {
			return fmt.Errorf("the sandbox's process %d does not die: it hangs in the kernel", p.root)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, int(left))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("process %d: %w", p.root, err)
		}
	}
}

// insist kills a supervisor that does not do its work, and what is below it.
func (p *process) killSupervised() {
	select {
	case <-p.ended:
		return
	case <-time.After(deathTime / 2):
	}
	for range 100 {
		found := descendants(p.root)
		for _, pid := range found {
			_ = unix.Kill(pid, unix.SIGKILL) // it may be dead
		}
		if len(found) == 0 {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fd >= 0 {
		_ = unix.PidfdSendSignal(p.fd, unix.SIGKILL, nil, 0) // it may be dead
	}
}

// Status implements [workspace.Process]. The cage tells how the command ended
// by its exit status, as shells do: 128+n means the signal n.
func (p *process) Status() error {
	err := p.cmd.Wait()
	var x *exec.ExitError
	if !errors.As(err, &x) {
		return err
	}
	code, signal := x.ExitCode(), 0
	if ws, ok := x.Sys().(interface {
		Signaled() bool
		Signal() unix.Signal
	}); ok && ws.Signaled() {
		signal = int(ws.Signal())
		code = 128 + signal
	} else if code > 128 && code < 128+65 {
		signal = code - 128
	}
	return &workspace.ExitError{Code: code, Signal: unix.SignalName(unix.Signal(signal))}
}

// descendants are the processes below root.
func descendants(root int) []int {
	children := make(map[int][]int)
	names, err := readNames("/proc")
	if err != nil {
		return nil
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []int
	for next := []int{root}; len(next) > 0; next = next[1:] {
		found = append(found, children[next[0]]...)
		next = append(next, children[next[0]]...)
	}
	return found
}

func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// parentOf is the parent of a process that is alive.
func parentOf(pid int) (int, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	f := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(f) < 2 || f[0] == "Z" || f[0] == "X" {
		return 0, false
	}
	parent, err := strconv.Atoi(f[1])
	return parent, err == nil
}

// resident is how much memory the processes have, in bytes. What they share
// counts for each.
func resident(pids []int) int64 {
	var sum int64
	for _, pid := range pids {
		data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
		if err != nil {
			continue // it is dead
		}
		if f := strings.Fields(string(data)); len(f) > 2 {
			pages, _ := strconv.ParseInt(f[1], 10, 64) // the kernel writes numbers
			shared, _ := strconv.ParseInt(f[2], 10, 64)
			sum += (pages - shared) * int64(os.Getpagesize())
		}
	}
	return sum
}
