package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openmanus-go/openmanus/workspace"
)

// maxMessage is how long one message of a server may be. A longer one ends
// the connection.
const maxMessage = 16 << 20

// How long a server has to end itself: after its input was closed, and after
// it was told to.
const (
	patience = 2 * time.Second
	grace    = 2 * time.Second
)

// A process is a server that is a program, while it runs.
type process struct {
	in, out *os.File // our ends of its pipes
	stderr  *tail
	stop    context.CancelFunc
	done    chan struct{}
	err     error // how it ended, once done is closed
}

// spawn starts the program of cfg.
func (l *link) spawn() (*process, error) {
	if l.c.opts.Runner == nil {
		return nil, errors.New("nothing here runs programs: a server with a URL would do")
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(l.c.life)) // it ends by its input first
	p := &process{in: in, out: out, stderr: &tail{}, stop: stop, done: make(chan struct{})}
	cmd := &workspace.Cmd{
		Args: append([]string{l.cfg.Command}, l.cfg.Args...), Dir: l.cfg.Dir, Env: environment(l.cfg.Env),
		Stdin: theirIn, Stdout: theirOut, Stderr: p.stderr, Grace: grace,
	}
	if !l.c.background(func() {
		defer close(p.done)
		defer stop()
		p.err = l.c.opts.Runner.Run(ctx, cmd)
		theirIn.Close()
		theirOut.Close() // the end of what it says
	}) {
		stop()
		return nil, errors.Join(errClosed, theirIn.Close(), theirOut.Close(), in.Close(), out.Close())
	}
	return p, nil
}

func environment(env map[string]string) []string {
	var list []string
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

// transport is how the program is spoken to.
func (p *process) transport() sdk.Transport {
	return &sdk.IOTransport{Reader: &messages{r: bufio.NewReaderSize(p.out, 64<<10), c: p.out}, Writer: p.in, MaxLineLength: maxMessage}
}

// end ends the program: by the end of its input, then by a signal, then by
// force. It returns how it ended, if that was its own doing.
func (p *process) end() error {
	select {
	case <-p.done:
		return p.died()
	default:
	}
	p.in.Close()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.stop()
		<-p.done
	}
	return nil
}

// died says how a program ended that was not told to.
func (p *process) died() error {
	text := "its program ended"
	switch {
	case p.err != nil && !errors.Is(p.err, context.Canceled):
		text = p.err.Error()
	case p.err != nil:
		return nil
	}
	if last := p.stderr.last(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}

// messages reads the lines of a program's output that can be messages, and
// leaves out the others: programs print what they should not.
type messages struct {
	r    *bufio.Reader
	c    io.Closer
	rest []byte // of the current piece
	in   bool   // the next piece continues a line that is a message
	cut  bool   // the next piece continues a line that is none
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		piece, err := m.r.ReadSlice('\n')
		if len(piece) == 0 && err != nil {
			return 0, err
		}
		whole := !errors.Is(err, bufio.ErrBufferFull)
		if !m.in && !m.cut {
			start := bytes.TrimLeft(piece, " \t\r")
			m.in = len(start) > 0 && (start[0] == '{' || start[0] == '[')
			m.cut = !m.in
		}
		if m.in {
			m.rest = piece
		}
		if whole {
			m.in, m.cut = false, false
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) Close() error { return m.c.Close() }

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-maxTail):]...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// last returns the last lines that say something, in one line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for l := range strings.Lines(clean(string(t.buf))) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return line(strings.Join(lines[max(0, len(lines)-3):], " / "), 300)
}

// dialProgram starts the server's program and connects to it.
func (l *link) dialProgram(ctx context.Context, protocol string) (*sdk.ClientSession, func() error, error) {
	p, err := l.spawn()
	if err != nil {
		return nil, nil, err
	}
	sess, err := l.client().Connect(ctx, p.transport(), &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err == nil {
		return sess, func() error {
			err := p.end()
			sess.Close() // after its program there is nothing that can fail
			return err
		}, nil
	}
	var died error
	select { // a program that could not start says why
	case <-p.done:
		died = p.died()
	case <-time.After(100 * time.Millisecond):
	}
	p.end()
	p.out.Close()
	switch {
	case died != nil && p.started() && hungUp(err):
		return nil, nil, fmt.Errorf("it did not start: %w (%w)", died, errSilent)
	case died != nil && p.started():
		return nil, nil, fmt.Errorf("it did not start: %w", err)
	case died != nil:
		return nil, nil, fmt.Errorf("it did not start: %w", died)
	}
	return nil, nil, err
}

// hungUp reports whether err is that the other side is gone, which says
// nothing of why.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// started reports whether a program that ended was running before.
func (p *process) started() bool {
	var exit *workspace.ExitError
	return p.err == nil || errors.As(p.err, &exit)
}
