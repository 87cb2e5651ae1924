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

const (
	// deathTime is how long killed processes may take to die. A process that
	// hangs in the kernel, on a lost network disk say, takes longer.
	deathTime = 10 * time.Second

	// execTime is how long a process may take to execute another program, and
	// execLooks how many times it may be seen doing so.
	execTime  = 250 * time.Millisecond
	execLooks = 50
)

// A tree is a command and every process that it started.
//
// The command itself is reaped last (by Status). Until then its process id,
// which is also the id of its session and group, cannot become that of another
// process.
type tree struct {
	cmd  *exec.Cmd
	mark string // the value in the environment of its processes

	leader int
	since  uint64 // when the leader started, in clock ticks since boot
}

// start starts the command in a session of its own.
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

// Wait implements [Process]. It leaves the command as a zombie.
func (t *tree) Wait() {
	for {
		err := unix.Waitid(unix.P_PID, t.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Status implements [Process]. It reaps the command.
func (t *tree) Status() error { return exitStatus(t.cmd.Wait()) }

// Stop implements [Process].
func (t *tree) Stop() { _ = unix.Kill(t.leader, unix.SIGKILL) }

// Terminate implements [Process].
func (t *tree) Terminate() error {
	err := unix.Kill(-t.leader, unix.SIGTERM)
	members, _ := t.members()
	for _, p := range members {
		if p.group != t.leader {
			_ = unix.Kill(p.pid, unix.SIGTERM) // an error means that it ended by itself
		}
	}
	return err
}

// Kill implements [Process]. It looks for processes again until it finds none:
// those that it kills may have started others meanwhile.
func (t *tree) Kill() error {
	_ = unix.Kill(-t.leader, unix.SIGKILL)
	began, looks := time.Now(), 0
	for deadline := began.Add(deathTime); ; looks++ {
		members, unsure := t.members()
		if len(members) == 0 && unsure && (looks < execLooks || time.Since(began) < execTime) {
			time.Sleep(100 * time.Microsecond) // there is nothing to wait on
			continue
		}
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
			return fmt.Errorf("the command left %d processes running that cannot be killed: %w",
				len(members), refused)
		}
	}
}

// members returns the living processes of the tree, without the command itself.
// unsure means that there may be more: some process does not show its
// environment at the moment.
func (t *tree) members() (found []process, unsure bool) {
	var others []process
	in := map[int]bool{t.leader: true}
	for _, p := range processes() {
		if p.pid == t.leader || p.pid == os.Getpid() || p.start < t.since || p.dead() {
			continue
		}
		mine, maybe := p.carries(t.mark)
		if mine || p.session == t.leader || p.group == t.leader {
			in[p.pid] = true
			found = append(found, p)
			continue
		}
		others = append(others, p)
		unsure = unsure || maybe
	}
	for more := true; more; {
		more = false
		for _, p := range others {
			if in[p.parent] && !in[p.pid] {
				in[p.pid], more = true, true
				found = append(found, p)
			}
		}
	}
	return found, unsure
}

// A process is what /proc says of one.
type process struct {
	pid, parent, group, session int
	state                       byte
	start                       uint64 // in clock ticks since boot
	kernel                      bool   // a thread of the kernel
}

func (p process) dead() bool { return p.state == 'Z' || p.state == 'X' }

// carries reports whether the process has mark in its environment. maybe means
// that the answer is not known yet: a process shows no environment while it
// executes another program, and one that has died since it was listed may have
// started another before.
func (p process) carries(mark string) (yes, maybe bool) {
	env, err := readEnv(p.pid)
	if err != nil {
		return false, errors.Is(err, unix.ESRCH) || errors.Is(err, unix.ENOENT) // others belong to another user
	}
	return bytes.Contains(env, []byte(mark)), len(env) == 0 && !p.kernel
}

// readEnv reads the environment of a process with a single read. With two, it
// could vanish in between, and a part would pass for the whole.
func readEnv(pid int) ([]byte, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/environ", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for size := 64 << 10; ; size *= 4 {
		buf := make([]byte, size)
		n, err := unix.Pread(fd, buf, 0)
		if err != nil || n < size {
			return buf[:max(n, 0)], err
		}
	}
}

// kill kills the process and waits until it is dead, at most until deadline. It
// uses a pidfd, so that it cannot hit another process with a recycled id.
func (p process) kill(deadline time.Time) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return p.killByID()
	}
	defer unix.Close(fd)
	if now, err := readProcess(p.pid); err != nil || now.start != p.start {
		return nil // it died, and its id was reused
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

// killByID is kill for kernels before 5.3, and for a process table without free
// descriptors.
func (p process) killByID() error {
	err := unix.Kill(p.pid, unix.SIGKILL)
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("process %d: %w", p.pid, err)
	}
	time.Sleep(time.Millisecond) // there is nothing to wait on
	return nil
}

// processes returns all processes that are visible. It reads the directory
// again until it shows no new process: one that starts another and ends in
// between would hide it otherwise.
func processes() []process {
	var list []process
	seen := make(map[int]bool)
	for began := time.Now(); time.Since(began) < execTime; {
		news := false
		for _, pid := range processIDs() {
			if seen[pid] {
				continue
			}
			seen[pid], news = true, true
			if p, err := readProcess(pid); err == nil {
				list = append(list, p)
			}
		}
		if !news {
			break
		}
	}
	return list
}

// processIDs lists /proc.
func processIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // after an error, the names read so far
	ids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			ids = append(ids, pid)
		}
	}
	return ids
}

// readProcess reads what the kernel says of a process. It is called for every
// process of the machine whenever a command ends, and so avoids [os.ReadFile].
func readProcess(pid int) (process, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, err
	}
	defer unix.Close(fd)
	var buf [2048]byte // the name has at most 64 bytes, each of the 51 numbers at most 20
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return process{}, err
	}
	return parseStat(buf[:n])
}

// parseStat reads /proc/PID/stat: the id, the name in parentheses, which may
// contain anything, and numbers. See proc_pid_stat(5).
func parseStat(data []byte) (process, error) {
	head, _, ok := bytes.Cut(data, []byte(" ("))
	end := bytes.LastIndexByte(data, ')')
	if !ok || end < len(head) {
		return process{}, errors.New("no process name in parentheses")
	}
	f := bytes.Fields(data[end+1:])
	const state, parent, group, session, flags, start = 0, 1, 2, 3, 6, 19 // fields 3, 4, 5, 6, 9 and 22
	if len(f) <= start {
		return process{}, errors.New("too few fields")
	}
	p := process{state: f[state][0]}
	var errs [6]error
	p.pid, errs[0] = strconv.Atoi(string(head))
	p.parent, errs[1] = strconv.Atoi(string(f[parent]))
	p.group, errs[2] = strconv.Atoi(string(f[group]))
	p.session, errs[3] = strconv.Atoi(string(f[session]))
	p.start, errs[4] = strconv.ParseUint(string(f[start]), 10, 64)
	bits, err := strconv.ParseUint(string(f[flags]), 10, 64)
	p.kernel, errs[5] = bits&0x200000 != 0, err
	if p.pid < 1 {
		errs[0] = errors.New("no process id") // a signal to 0 or less would go to many processes
	}
	return p, errors.Join(errs[:]...)
}
