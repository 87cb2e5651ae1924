package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// insideName is the name by which this program is called to be the first
// process of a container.
const insideName = "openmanus-inside"

// insidePath is where it is there.
const insidePath = "/run/" + insideName

// An inside is the first process of a container: it runs one command, and ends
// with everything that is left. It is not restricted itself; no other process
// can trace it, and as the first one it is deaf to their signals.
type inside struct {
	out   *frameWriter
	in    *bufio.Reader
	input *os.File // the command's, if it has one

	outputs map[byte]*os.File // what is read of the command, by the letter of the frame
	pumps   sync.WaitGroup
}

// runInside is the main of the first process of a container.
func runInside(args []string) int {
	in := &inside{out: &frameWriter{w: os.Stdout}, in: bufio.NewReader(os.Stdin), outputs: make(map[byte]*os.File)}
	if err := in.prepare(args); err != nil {
		_ = in.out.send(frameReady, []byte(err.Error())) // who listens may be dead
		return 1
	}
	if err := in.run(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	return 0
}

// prepare makes ready. With the argument "hosts" there is a way to the proxy.
func (in *inside) prepare(args []string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing this process to others: %w", err)
	}
	if len(args) > 0 && args[0] == string(Hosts) {
		c, err := net.Dial("unix", filepath.Join(proxyDir, proxyName))
		if err != nil {
			return fmt.Errorf("the way to the proxy: %w", err)
		}
		c.Close()
		l, err := net.Listen("tcp", "127.0.0.1:"+forwarderPort)
		if err != nil {
			return fmt.Errorf("the way to the proxy: %w", err)
		}
		go accept(l)
	}
	return in.out.send(frameReady, nil)
}

// run runs the one command.
func (in *inside) run() error {
	kind, data, err := readFrame(in.in)
	if err != nil || kind != frameCommand {
		return err // nobody wants anything: io.EOF at best
	}
	var cmd insideCommand
	if err := json.Unmarshal(data, &cmd); err != nil {
		return err
	}
	child, err := in.start(cmd)
	if err != nil {
		return in.out.sendJSON(frameRefused, insideRefusal{err.Error(), errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist)})
	}
	if err := in.out.send(frameStarted, nil); err != nil { // before what the command says
		return err
	}
	in.carry()
	go in.listen()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	go func() {
		for range terminate {
			_ = unix.Kill(-1, unix.SIGTERM) // all but this process; there may be none
		}
	}()
	status, err := in.reap(child)
	if err != nil {
		return err
	}
	in.pumps.Wait()
	end := insideEnd{Code: status.ExitStatus()}
	if status.Signaled() {
		end = insideEnd{Code: 128 + int(status.Signal()), Signal: int(status.Signal())}
	}
	return in.out.sendJSON(frameEnded, end)
}

// reap waits until child has ended, kills what is left, and returns when all
// are dead.
func (in *inside) reap(child int) (status unix.WaitStatus, err error) {
	for ended := false; ; {
		var s unix.WaitStatus
		pid, err := unix.Wait4(-1, &s, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.ECHILD) && ended:
			return status, nil
		case err != nil:
			return 0, fmt.Errorf("waiting for the command: %w", err)
		case pid == child && (s.Exited() || s.Signaled()):
			status, ended = s, true
		}
		if ended {
			_ = unix.Kill(-1, unix.SIGKILL) // there may be none
		}
	}
}

// start starts the command.
func (in *inside) start(cmd insideCommand) (int, error) {
	env := lastWins(append(os.Environ(), cmd.Env...))
	if err := workspace.IsDir(cmd.Dir); err != nil {
		return 0, err
	}
	path, err := programIn(cmd, env)
	if err != nil {
		return 0, err
	}
	files, err := in.connect(cmd)
	if err == nil {
		attr := &syscall.ProcAttr{Dir: cmd.Dir, Env: env, Sys: &syscall.SysProcAttr{Setsid: true}}
		for _, f := range files {
			attr.Files = append(attr.Files, f.Fd())
		}
		var pid int
		if pid, err = startRestricted(path, cmd.Args, attr); err == nil {
			closeAll(files)
			return pid, nil
		}
	}
	return 0, fmt.Errorf("cannot start %s: %w", cmd.Args[0], err)
}

// programIn is the file of the program.
func programIn(cmd insideCommand, env []string) (string, error) {
	name := cmd.Args[0]
	if !strings.Contains(name, "/") {
		return workspace.LookPath(name, env)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(cmd.Dir, path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("cannot start %s: %w", name, err)
	}
	return path, nil
}

// startRestricted starts a program from a thread whose system calls are
// filtered.
func startRestricted(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: it ends with the goroutine
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return
		}
		if err = dropCapabilities(); err != nil {
			return
		}
		if _, err = (sysFilter{inet: true, unix: true, ipc: true}).install(); err != nil {
			return
		}
		pid, err = syscall.ForkExec(path, args, attr)
	}()
	<-done
	return pid, err
}

// connect makes the command's input and output, and returns its ends.
func (in *inside) connect(cmd insideCommand) (theirs []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(theirs)
		}
	}()
	stdin, err := os.Open(os.DevNull)
	if cmd.Input {
		stdin.Close()
		stdin, in.input, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	theirs = append(theirs, stdin)
	for _, kind := range []byte{frameOutput, frameErrors} {
		if kind == frameErrors && cmd.One {
			return append(theirs, theirs[1]), nil
		}
		r, w, err := os.Pipe()
		if err != nil {
			return theirs, err
		}
		in.outputs[kind] = r
		theirs = append(theirs, w)
	}
	return theirs, nil
}

// carry carries output outside.
func (in *inside) carry() {
	for kind, r := range in.outputs {
		in.pumps.Go(func() {
			buf := make([]byte, pieceSize)
			for {
				n, err := r.Read(buf)
				if n > 0 && in.out.send(kind, buf[:n]) != nil {
					os.Exit(1) // nobody listens: we are dead outside
				}
				if err != nil {
					return // the end, or nobody wants it
				}
			}
		})
	}
}

// listen does what is said from outside, until everybody there is dead.
func (in *inside) listen() {
	pieces := make(chan []byte, 1)
	go in.feed(pieces)
	for {
		kind, data, err := readFrame(in.in)
		switch {
		case err != nil:
			os.Exit(1) // and with this process everything in the container ends
		case kind == frameInput:
			pieces <- data // the next comes when this one was taken
		case kind == frameClosed && len(data) == 1:
			if r := in.outputs[data[0]]; r != nil {
				r.Close() // the command meets a broken pipe
			}
		}
	}
}

// feed gives the command its input.
func (in *inside) feed(pieces <-chan []byte) {
	for data := range pieces {
		if in.input == nil {
			continue
		}
		if len(data) == 0 {
			in.input.Close()
			continue
		}
		_, _ = in.input.Write(data) // a command need not want its input
		if in.out.send(frameAck, nil) != nil {
			os.Exit(1)
		}
	}
}
