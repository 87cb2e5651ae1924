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

// deathTime is how long killed processes may take to die. One that hangs in the
// kernel, such as on a lost network disk, takes longer; that is reported.
const deathTime = 10 * time.Second

// errEnded is the reason of a process that was killed because it had ended.
var errEnded = errors.New("it has ended")

// A process is a command in a sandbox of namespaces or of Landlock. The leader
// is what this process started: bwrap or the supervisor. The root is the process
// that has the command and all its descendants below it: the child of bwrap,
// which is the first process of a namespace, or the supervisor. When the root is
// dead, everything is.
//
// It implements [workspace.Process].
type process struct {
	cmd   *exec.Cmd
	root  int // its process id
	fd    int // a descriptor of the root, for poll and signals; -1: none
	ended chan struct{}
	after func() error // called when everything is dead

	// opens is the Forward of a running process, or nil if none can be had.
	opens func(ports []int) (stop func(), err error)
	doors []func() // what opens returned

	supervised bool // the root kills everything below it when it gets SIGTERM

	mu     sync.Mutex
	reason error // why the sandbox killed it; nil if it did not
}

// startProcess starts cmd with s. The caller then calls setRoot, and discard if
// anything fails before the command runs.
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

// setRoot makes pid the root. It must be alive, or dead and not yet waited for:
// the descriptor then stands for that process and no later one of the same
// number.
func (p *process) setRoot(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	p.root, p.fd = pid, fd
	return nil
}

// alive reports whether the root is alive, so that its number is still its own.
func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, 0)
	return p.fd >= 0 && n == 0 && err == nil
}

// tell writes a line to the error output of the root, which is that of the
// command. It is lost if no one reads it.
func (p *process) tell(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fd, err := unix.PidfdGetfd(p.fd, 2, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
	if n, err := unix.Poll(ready, 0); n == 1 && err == nil && ready[0].Revents == unix.POLLOUT {
		_, _ = unix.Write(fd, []byte("sandbox: "+line+"\n"))
	}
}

// Forward implements [workspace.Forwarder]. The ports stay open until stop is called or
// the process ends. It is an error if the sandbox opens none.
func (p *process) Forward(ports []int) (stop func(), err error) {
	if p.opens == nil {
		return nil, errors.New("this sandbox opens no port of this machine")
	}
	if stop, err = p.opens(ports); err != nil {
		return nil, err
	}
	stop = sync.OnceFunc(stop)
	p.mu.Lock()
	p.doors = append(p.doors, stop)
	p.mu.Unlock()
	return stop, nil
}

// discard ends a process whose sandbox could not be made.
func (p *process) discard() {
	p.Stop()
	<-p.ended
	_ = p.cmd.Wait() // it was killed
	if p.fd >= 0 {
		unix.Close(p.fd)
	}
}

// Wait implements [workspace.Process]. It returns when the leader has ended, and
// leaves it to Status to reap it.
func (p *process) Wait() { <-p.ended }

// Terminate implements [workspace.Process]. It sends SIGTERM to all descendants, the first
// one included, so that programs can end in order.
func (p *process) Terminate() error {
	found := descendants(p.root)
	if len(found) == 0 {
		return errors.New("it has no processes")
	}
	for _, pid := range found {
		_ = unix.Kill(pid, unix.SIGTERM) // one that has ended needs no signal
	}
	return nil
}

// Stop implements [workspace.Process]. A supervisor is asked to kill what is
// below it first: its death alone would not end that.
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
	_ = unix.Kill(p.cmd.Process.Pid, unix.SIGKILL) // it has not been reaped, so no other process has this number
}

// stopFor stops the process because of err, which becomes the error of its Kill.
// Only the first call counts, and none after Kill.
func (p *process) stopFor(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == nil {
		p.reason = err
		p.Stop()
	}
}

// pids implements watched.
func (p *process) pids() []int { return descendants(p.root) }

// Kill implements [workspace.Process]: it returns when everything is dead, or
// after deathTime with an error. The error also tells why the sandbox stopped
// the command, if it did.
func (p *process) Kill() error {
	p.Stop()
	err := p.waitDead()
	p.mu.Lock()
	reason, doors := p.reason, p.doors
	if p.reason == nil {
		p.reason = errEnded // stopFor comes too late
	}
	unix.Close(p.fd)
	p.fd = -1
	p.mu.Unlock()
	for _, shut := range doors {
		shut()
	}
	return errors.Join(reason, err, p.after())
}

// waitDead waits until the root is dead, and so everything below it.
func (p *process) waitDead() error {
	for deadline := time.Now().Add(deathTime); ; {
		left := time.Until(deadline).Milliseconds()
		if left <= 0 {
			return fmt.Errorf("process %d of the sandbox does not die: it hangs in the kernel", p.root)
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

// killSupervised kills everything below a supervisor that does not do so itself,
// because a command stopped it, and then the supervisor.
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

// Status implements [workspace.Process]. bwrap and the supervisor report the end
// of the command by their own exit status, as shells do: 128+n stands for the
// signal n.
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

// descendants returns the processes below root, parents first, as /proc shows
// them. Processes that start or change parents while it looks may be missing, so
// that is never the only way to end a command: the namespace, or the supervisor,
// does that.
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

// readNames returns the names in a directory, unsorted: /proc is large.
func readNames(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// parentOf returns the parent of a process, and false if it is dead.
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

// resident returns how much memory the processes use, in bytes, without what
// they share with others or with files.
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
