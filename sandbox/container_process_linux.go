package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/workspace"
)

// A refusalError says why a command did not start. It wraps exec.ErrNotFound or
// fs.ErrNotExist if that is the reason.
type refusalError struct {
	text string
	is   error
}

func (r *refusalError) Error() string { return r.text }
func (r *refusalError) Unwrap() error { return r.is }

// refusal decodes an insideRefusal.
func refusal(data []byte) error {
	var said insideRefusal
	if err := json.Unmarshal(data, &said); err != nil {
		return err
	}
	r := &refusalError{text: said.Text}
	if said.Program {
		r.is = exec.ErrNotFound
	} else if said.File {
		r.is = fs.ErrNotExist
	}
	return r
}

// A containerProcess is a command in a container. It implements
// [workspace.Process].
//
// The first process of the container reports the end of the command when
// everything is dead, so after that nothing is left to kill. If the report is
// missing, the container was killed or has lost its connection, and Kill has the
// engine end it.
type containerProcess struct {
	*instance
	files []*os.File    // copies of our ends of standard input, output and error; nil where there is none
	taken chan struct{} // receives when a piece of input was acknowledged
	ended chan struct{} // closed when nothing more comes from the container
	after func() error

	mu     sync.Mutex
	end    *insideEnd // how the command ended; everything in the container is dead then
	reason error      // why the sandbox killed it; nil if it did not
}

// connect starts to carry input and output between a command that runs and the
// ends that x has.
func (c *container) connect(b *instance, x *workspace.Spawn) (workspace.Process, error) {
	p := &containerProcess{instance: b, taken: make(chan struct{}, 1), ended: make(chan struct{})}
	for _, end := range []*os.File{x.Stdin, x.Stdout, x.Stderr} {
		f, err := copied(end)
		if err != nil {
			closeAll(p.files)
			b.conn.Close()
			return nil, err
		}
		p.files = append(p.files, f)
	}
	p.after = c.register(p)
	if p.files[0] != nil {
		go p.feed(p.files[0])
	}
	go p.carry()
	return p, nil
}

// copied returns a copy of a file, because the caller closes the original.
func copied(f *os.File) (*os.File, error) {
	if f == nil {
		return nil, nil
	}
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return nil, err
	}
	if dupErr != nil {
		return nil, fmt.Errorf("a copy of %s: %w", f.Name(), dupErr)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// feed carries the input, one piece at a time: the next piece is read when the
// container has acknowledged the last one, so a command that does not read holds
// up its input as it would with a pipe. feed may wait for input long after the
// command has ended, and ends with the next piece.
func (p *containerProcess) feed(f *os.File) {
	buf := make([]byte, pieceSize)
	for {
		n, err := f.Read(buf)
		if n > 0 && p.to.send(frameInput, buf[:n]) != nil {
			return // the command has ended
		}
		if err != nil {
			_ = p.to.send(frameInput, nil) // likewise
			return
		}
		select {
		case <-p.taken:
		case <-p.ended:
			return
		}
	}
}

// carry carries the outputs until the container has ended. An output that cannot
// be written is reported once, so that the command meets a broken pipe.
func (p *containerProcess) carry() {
	defer close(p.ended)
	defer func() {
		for _, f := range p.files {
			if f != nil {
				f.Close()
			}
		}
		p.conn.Close()
	}()
	closed := make(map[byte]bool)
	for {
		kind, data, err := readFrame(p.from)
		if err != nil {
			return
		}
		switch kind {
		case frameOutput, frameErrors:
			to := p.files[1]
			if kind == frameErrors {
				to = p.files[2]
			}
			if to == nil || closed[kind] {
				continue
			}
			if _, err := to.Write(data); err != nil {
				closed[kind] = true
				_ = p.to.send(frameClosed, []byte{kind}) // if the command has ended it need not know
			}
		case frameAck:
			p.taken <- struct{}{} // never blocks: one piece is under way at a time
		case frameEnded:
			var end insideEnd
			if json.Unmarshal(data, &end) == nil {
				p.mu.Lock()
				p.end = &end
				p.mu.Unlock()
			}
			return
		}
	}
}

// Wait implements [workspace.Process].
func (p *containerProcess) Wait() { <-p.ended }

// Terminate implements [workspace.Process]. The first process passes SIGTERM on
// to all others.
func (p *containerProcess) Terminate() error {
	ctx, cancel := context.WithTimeout(context.Background(), deathTime)
	defer cancel()
	return p.engine.kill(ctx, p.id, "SIGTERM")
}

// Stop implements [workspace.Process]. It kills the process in the container. If the
// engine does not answer, it closes the connection, so that the caller does not
// wait.
func (p *containerProcess) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), deathTime)
	defer cancel()
	if err := p.engine.kill(ctx, p.id, "SIGKILL"); err != nil {
		p.conn.Close() // the command has ended, or will
	}
}

// stopFor stops the command because of err, which becomes the error that the caller of the
// command gets. The first reason counts.
func (p *containerProcess) stopFor(err error) {
	p.mu.Lock()
	first := p.reason == nil
	if first {
		p.reason = err
	}
	p.mu.Unlock()
	if first {
		p.Stop()
	}
}

// pids implements watched: the engine limits the memory, so no process need be
// known.
func (p *containerProcess) pids() []int { return nil }

// Kill implements [workspace.Process]. It returns when everything in the
// container is dead. Its error says why the sandbox stopped the command, if it
// did.
func (p *containerProcess) Kill() error {
	p.mu.Lock()
	clean, reason := p.end != nil, p.reason
	if reason == nil {
		p.reason = errEnded // stopFor comes too late
	}
	p.mu.Unlock()
	var err error
	if !clean {
		ctx, cancel := context.WithTimeout(context.Background(), engineTime)
		defer cancel()
		if err = p.engine.end(ctx, p.id); err != nil {
			err = fmt.Errorf("cannot end the container %.12s: %w", p.id, err)
		}
		p.conn.Close()
		<-p.ended
	}
	return errors.Join(reason, err, p.after())
}

// Status implements [workspace.Process]. A process whose end the engine did not report was
// killed: by us, from outside, or because memory ran out.
func (p *containerProcess) Status() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.end == nil: // killed: by us, from outside, or because memory ran out
		return &workspace.ExitError{Code: 128 + int(unix.SIGKILL), Signal: unix.SignalName(unix.SIGKILL)}
	case p.end.Code == 0:
		return nil
	}
	return &workspace.ExitError{Code: p.end.Code, Signal: unix.SignalName(unix.Signal(p.end.Signal))}
}
