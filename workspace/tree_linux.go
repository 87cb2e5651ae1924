package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// deathTime is how long killed processes may take to die. One that hangs in
// the kernel (a lost network disk) takes longer.
const deathTime = 10 * time.Second

// A tree is a command and every process that it started.
//
// The command itself is not reaped before everything else is dead, so that its
// process id, which is also the id of its session and group, stays its own.
type tree struct {
	cmd  *exec.Cmd
	mark string // in the environment of its processes

	leader int
	since  uint64 // when the leader started, in clock ticks since boot
}

func (t *tree) start() error {
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := t.cmd.Start(); err != nil {
		return err
	}
	t.leader = t.cmd.Process.Pid
	if p, err := readProcess(t.leader); err == nil {
		t.since = p.start
	}
	return nil
}

// waitLeader returns when the command itself has ended.
func (t *tree) waitLeader() {
	for {
		err := unix.Waitid(unix.P_PID, t.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// status reaps the command and says how it ended.
func (t *tree) status() error { return exitStatus(t.cmd.Wait()) }

// killLeader kills the command itself.
func (t *tree) killLeader() { _ = unix.Kill(t.leader, unix.SIGKILL) }

// terminate asks every process to end.
func (t *tree) terminate() error {
	err := unix.Kill(-t.leader, unix.SIGTERM)
	for _, p := range t.members() {
		if p.group != t.leader {
			_ = unix.Kill(p.pid, unix.SIGTERM) // who is gone by now needs no signal
		}
	}
	return err
}

// kill kills every process, and looks again until there is none. The command
// itself has ended.
func (t *tree) kill() error {
	_ = unix.Kill(-t.leader, unix.SIGKILL)
	for deadline := time.Now().Add(deathTime); ; {
		members := t.members()
		if len(members) == 0 {
			return nil
		}
		var refused error
		killed := 0
		for _, p := range members {
			err := p.kill(deadline)
			if err == nil {
				killed++
			} else {
				refused = err
			}
		}
		if killed == 0 || time.Now().After(deadline) {
			return fmt.Errorf("the command left %d processes running that cannot be ended: %w", len(members), refused)
		}
	}
}

// members are the processes of the tree that are alive, but for the leader.
func (t *tree) members() []process {
	var found []process
	var others []process
	in := map[int]bool{t.leader: true}
	for _, p := range processes() {
		switch {
		case p.pid == t.leader || p.dead() || p.start < t.since || p.pid == os.Getpid():
		case p.session == t.leader || p.group == t.leader || p.carries(t.mark):
			in[p.pid] = true
			found = append(found, p)
		default:
			others = append(others, p)
		}
	}
	for more := true; more; {
		more = false
		for i, p := range others {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], more = true, true
				found = append(found, others[i])
			}
		}
	}
	return found
}

// A process is what the kernel says of one.
type process struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // in clock ticks since boot
}

func (p process) dead() bool { return p.state == 'Z' || p.state == 'X' }

// carries reports whether the process was started with mark in its environment.
func (p process) carries(mark string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(mark))
}

// kill kills the process and waits until it is dead.
func (p process) kill(deadline time.Time) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil { // an old kernel, or too many open files
		return p.killByID()
	}
	defer unix.Close(fd)
	if now, err := readProcess(p.pid); err != nil || now.start != p.start {
		return nil // it died, and the id is another's
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	for {
		left := time.Until(deadline).Milliseconds()
		if left <= 0 {
			return fmt.Errorf("process %d hangs in the kernel", p.pid)
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("process %d: %w", p.pid, err)
		}
	}
}

func (p process) killByID() error {
	err := unix.Kill(p.pid, unix.SIGKILL)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	time.Sleep(time.Millisecond) // there is nothing to wait on
	return nil
}

// processes are all processes that can be seen.
func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	list := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// readProcess looks at one process. It is called for every process of the
// machine whenever a command ends, hence without [os.ReadFile].
func readProcess(pid int) (process, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, err
	}
	defer unix.Close(fd)
	var buf [1024]byte // the name has at most 64 bytes, the 51 numbers 20 each at the very most, 3 as a rule
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return process{}, err
	}
	return parseStat(buf[:n])
}

// parseStat reads /proc/PID/stat: the id, the name in parentheses, which may
// itself contain anything, and numbers. See proc_pid_stat(5).
func parseStat(data []byte) (process, error) {
	head, _, ok := bytes.Cut(data, []byte(" ("))
	end := bytes.LastIndexByte(data, ')')
	if !ok || end < len(head) {
		return process{}, errors.New("no process name in parentheses")
	}
	f := bytes.Fields(data[end+1:])
	const state, parent, group, session, start = 0, 1, 2, 3, 19 // fields 3, 4, 5, 6 and 22
	if len(f) <= start {
		return process{}, errors.New("too few fields")
	}
	p := process{state: f[state][0]}
	var errs [5]error
	p.pid, errs[0] = strconv.Atoi(string(head))
	p.parent, errs[1] = strconv.Atoi(string(f[parent]))
	p.group, errs[2] = strconv.Atoi(string(f[group]))
	p.session, errs[3] = strconv.Atoi(string(f[session]))
	p.start, errs[4] = strconv.ParseUint(string(f[start]), 10, 64)
	if p.pid < 1 {
		errs[0] = errors.New("no process id") // and a signal to 0 or less would go to many
	}
	return p, errors.Join(errs[:]...)
}
