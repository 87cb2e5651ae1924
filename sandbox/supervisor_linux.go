package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisorName is the name under which this program is started to be a
// supervisor.
const supervisorName = "openmanus-sandbox"

// Main makes this process a part of a sandbox if it was started to be one, and
// does not return then. Otherwise it does nothing. A program that uses this
// package calls it before anything else in its main, and in TestMain.
func Main() {
	switch filepath.Base(os.Args[0]) {
	case supervisorName:
		code, err := supervise()
		if err != nil {
			fmt.Fprintln(os.Stderr, "sandbox:", err)
		}
		os.Exit(code)
	case listenerName:
		os.Exit(listenInside(os.Args[1:]))
	case forwarderName:
		os.Exit(forward(os.Args[1:]))
	case insideName:
		os.Exit(runInside(os.Args[1:]))
	}
}

// supervise runs a command in Landlock, and returns its exit status when
// everything that it started is dead. It kills everything if it gets SIGTERM,
// also when its parent dies.
func supervise() (int, error) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, unix.SIGTERM)
	err := errors.Join(
		// processes whose parent dies become children of this one
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0),
		unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0))
	if err != nil {
		return 1, err
	}
	var cmd supervisedCommand
	unix.CloseOnExec(3) // the command must not have it
	parent := os.NewFile(3, "parent")
	orders := json.NewDecoder(parent)
	if err := orders.Decode(&cmd); err != nil {
		return 1, fmt.Errorf("the command to run: %w", err) // the parent is dead, or a person started this
	}
	child, names, err := cmd.start()
	if err != nil {
		return 127, err
	}
	go names.listenToPorts(orders, parent)
	ended := make(chan int, 1)
	go func() { ended <- reap(child) }()
	code := 128 + int(unix.SIGKILL)
	select {
	case code = <-ended:
	case <-stop:
	}
	killChildren()
	return code, names.settle()
}

// start starts the command from a thread that is restricted, and returns its
// process id and the broker of its calls. Restrictions of Landlock and seccomp
// belong to threads. Only this one gets them, so that the supervisor can still
// answer the kernel, kill and reap.
//
// It must not be the first thread of the process. The kernel judges a signal to
// a process by the domain of its first thread: if that were restricted, commands
// would be in the same domain as the supervisor and could stop it.
func (c supervisedCommand) start() (int, *broker, error) {
	type result struct {
		pid   int
		names *broker
		err   error
	}
	done := make(chan result)
	onOwnThread(func() { // not the first thread, which commands must not be able to signal
		listener, err := c.restrict()
		if err != nil {
			done <- result{err: err}
			return
		}
		names := &broker{listener: listener, rules: &c.Names, writable: c.Write, devices: c.Device, alone: true,
			tell: func(_ int, line string) { fmt.Fprintln(os.Stderr, "sandbox:", line) }}
		pid, err := syscall.ForkExec(c.Path, c.Args, &syscall.ProcAttr{
			Env: os.Environ(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			done <- result{err: fmt.Errorf("cannot start %s: %w", c.Args[0], err)}
			return
		}
		unix.Umask(0) // of the process, after the command has got its own, and before its first call is answered
		if err = names.start(); err != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			done <- result{err: err}
			return
		}
		done <- result{pid, names, err}
		select {} // the thread lives as long as the supervisor, and serves nothing else
	})
	r := <-done
	return r.pid, r.names, r.err
}

// reap waits for children until child has ended, and returns its exit status as
// shells do.
func reap(child int) int {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 1
		case pid == child && status.Signaled():
			return 128 + int(status.Signal())
		case pid == child && status.Exited():
			return status.ExitStatus()
		}
	}
}

// killChildren kills children until there are none. Those of a killed process
// become children of this one, so that in the end all descendants are dead.
// The list of children in /proc can miss one that has just become ours; only the
// kernel's ECHILD says that there is none.
func killChildren() {
	for {
		for _, pid := range children() {
			_ = unix.Kill(pid, unix.SIGKILL) // it is our child, so the number is still its own
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if errors.Is(err, unix.ECHILD) {
				return
			}
			if pid <= 0 && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		time.Sleep(time.Millisecond) // until they are dead
	}
}

// children returns the processes whose parent is this one.
func children() []int {
	var pids []int
	files, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
