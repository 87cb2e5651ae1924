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

// insideName is the name under which this program is started to be the first
// process of a container.
const insideName = "openmanus-inside"

// insidePath is its path in the container.
const insidePath = "/run/" + insideName

// An inside is the first process of a container. It runs one command, and when
// the command has ended it kills everything that is left and reports the end;
// then it exits, and the engine removes the container.
//
// It is outside of what restricts the command: it has no filter of system calls.
// Yet commands cannot misuse it. They run as the same user but cannot trace it,
// since it is not dumpable; they cannot signal it, since it is the first process
// of its namespace; and it takes orders from its standard input alone, which
// they do not have.
//
// One goroutine reads frames, one writes the input of the command, and one for
// each output sends what the command prints. All may send frames.
type inside struct {
	out   *frameWriter
	in    *bufio.Reader
	input *os.File // of the command; nil if it has none

	outputs map[byte]*os.File // the outputs of the command, by the letter of their frames
	pumps   sync.WaitGroup
}

// runInside is the main function of the first process of a container. It prepares the
// container, says that it is ready, waits for the command, and runs it.
func runInside(args []string) int {
	in := &inside{out: &frameWriter{w: os.Stdout}, in: bufio.NewReader(os.Stdin),
		outputs: make(map[byte]*os.File)}
	if err := in.prepare(args); err != nil {
		_ = in.out.send(frameReady, []byte(err.Error())) // the reader may be dead
		return 1
	}
	if err := in.run(); err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		return 1
	}
	return 0
}

// prepare prepares for a command. With the argument "hosts" it opens the way to
// the proxy.
func (in *inside) prepare(args []string) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("cannot keep others from tracing this process: %w", err)
	}
	if len(args) > 0 && args[0] == string(Hosts) {
		c, err := net.Dial("unix", filepath.Join(proxyDir, proxyName))
		if err != nil {
			return fmt.Errorf("cannot reach the proxy: %w", err)
		}
		c.Close()
		l, err := net.Listen("tcp", "127.0.0.1:"+forwarderPort)
		if err != nil {
			return fmt.Errorf("cannot reach the proxy: %w", err)
		}
		go accept(l)
	}
	return in.out.send(frameReady, nil)
}

// run waits for the command, runs it, and reports its end.
func (in *inside) run() error {
	kind, data, err := readFrame(in.in)
	if err != nil || kind != frameCommand {
		return err // io.EOF: there is no command
	}
	var cmd insideCommand
	if err := json.Unmarshal(data, &cmd); err != nil {
		return err
	}
	child, err := in.start(cmd)
	if err != nil {
		return in.out.sendJSON(frameRefused, insideRefusal{err.Error(), errors.Is(err, exec.ErrNotFound),
			errors.Is(err, fs.ErrNotExist)})
	}
	if err := in.out.send(frameStarted, nil); err != nil { // before any output of the command
		return err
	}
	in.carry()
	go in.listen()
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, unix.SIGTERM)
	go func() {
		for range terminate {
			_ = unix.Kill(-1, unix.SIGTERM) // all processes but this one; there may be none
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

// reap waits until child has ended, kills what is left, and returns when
// everything is dead. As the first process it inherits every process whose
// parent has died, and has to wait for those too. A signal to -1 goes to all
// processes of the container but this one.
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
			_ = unix.Kill(-1, unix.SIGKILL) // there may be none left
		}
	}
}

// start starts the command and returns its process id. The error says whether
// its program, its directory or neither was missing.
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

// programIn returns the path of the command's program.
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

// startRestricted starts a program from a thread with a filter of system calls
// and without capabilities, and returns its process id. The engine restricts the
// whole container already; the filter is the same as in the other sandboxes, so
// that what works in one works in all.
func startRestricted(path string, args []string, attr *syscall.ProcAttr) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return
		}
		if err = dropCapabilities(); err != nil {
			return
		}
		if _, err = install(sysFilter{inet: true, unix: true, ipc: true}.program(), false); err != nil {
			return
		}
		pid, err = syscall.ForkExec(path, args, attr)
	}()
	<-done
	return pid, err
}

// connect makes pipes for the input and the outputs of the command, and returns
// the ends that the command gets. A command without input reads from /dev/null.
// If both outputs are to be one, they are one pipe, so that their order is kept.
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

// carry sends the output of the command, until the command has closed it. If the process
// outside has died, it ends the container.
func (in *inside) carry() {
	for kind, r := range in.outputs {
		in.pumps.Go(func() {
			buf := make([]byte, pieceSize)
			for {
				n, err := r.Read(buf)
				if n > 0 && in.out.send(kind, buf[:n]) != nil {
					os.Exit(1) // no one reads: the process outside is dead
				}
				if err != nil {
					return // the end, or there is no reader any more
				}
			}
		})
	}
}

// listen does what the frames from outside say, until the process there is dead:
// then this process exits, and with it the container.
func (in *inside) listen() {
	pieces := make(chan []byte, 1)
	go in.feed(pieces)
	for {
		kind, data, err := readFrame(in.in)
		switch {
		case err != nil:
			os.Exit(1) // everything in the container ends with this process
		case kind == frameInput:
			pieces <- data // the next one comes after the acknowledgement
		case kind == frameClosed && len(data) == 1:
			if r := in.outputs[data[0]]; r != nil {
				r.Close() // the command meets a broken pipe
			}
		}
	}
}

// feed gives the command its input, and acknowledges each piece, so that the sender does
// not fill this process's memory.
func (in *inside) feed(pieces <-chan []byte) {
	for data := range pieces {
		if in.input == nil {
			continue
		}
		if len(data) == 0 {
			in.input.Close()
			continue
		}
		_, _ = in.input.Write(data) // a command need not read its input
		if in.out.send(frameAck, nil) != nil {
			os.Exit(1)
		}
	}
}
