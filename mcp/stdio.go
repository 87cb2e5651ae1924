package mcp

import (
	"bufio"
	"bytes"
	"cmp"
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

	"github.com/openmanus-go/openmanus/internal/clip"
	"github.com/openmanus-go/openmanus/workspace"
)

// maxMessage is how many bytes a message of a server may have. A longer one
// ends the connection.
const maxMessage = 16 << 20

// How long a program may take to end by itself: after its input was closed, and
// after SIGTERM.
const (
	patience = 2 * time.Second
	grace    = 2 * time.Second
)

// A process is a server that is a program, while it runs. Its standard error is
// kept for the message when it dies.
type process struct {
	in, out *os.File // our ends of the pipes to its input and output
	stderr  *tail
	stop    context.CancelFunc
	done    chan struct{}
	err     error // how it ended, once done is closed
}

// spawn starts the server's program.
func (l *link) spawn() (*process, error) {
	if l.c.opts.Runner == nil {
		return nil, errors.New("programs cannot be run here: use a server with a URL")
	}
	if check := l.c.opts.Check; check != nil {
		if err := check(l.life, l.cfg); err != nil {
			return nil, err
		}
	}
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), in.Close())
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(l.c.life)) // end closes its input first
	p := &process{in: in, out: out, stderr: &tail{}, stop: stop, done: make(chan struct{})}
	cmd := &workspace.Cmd{
		Args: append([]string{l.cfg.Command}, l.cfg.Args...), Dir: cmp.Or(l.cfg.Dir, l.c.opts.Dir), Env: environment(l.cfg.Env),
		Stdin: theirIn, Stdout: theirOut, Stderr: p.stderr, Grace: grace,
	}
	if !l.c.background(func() {
		defer close(p.done)
		defer stop()
		p.err = l.c.opts.Runner.Run(ctx, cmd)
		theirIn.Close()
		theirOut.Close() // ends the messages
	}) {
		stop()
		return nil, errors.Join(errClosed, theirIn.Close(), theirOut.Close(), in.Close(), out.Close())
	}
	return p, nil
}

// environment returns variables in a fixed order.
func environment(env map[string]string) []string {
	var list []string
	for name, v := range env {
		list = append(list, name+"="+v)
	}
	slices.Sort(list)
	return list
}

// transport returns the SDK's transport to the program.
func (p *process) transport() sdk.Transport {
	out := &messages{r: bufio.NewReaderSize(p.out, 64<<10), c: p.out}
	return &sdk.IOTransport{Reader: out, Writer: p.in, MaxLineLength: maxMessage}
}

// end ends the program: it closes the input, then sends a signal, then kills
// it. If the program had ended by itself, the error says how.
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

// died returns how a program ended by itself.
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

// messages reads the lines of an output that can be messages. It skips other
// lines, which programs print by mistake.
type messages struct {
	r    *bufio.Reader
	c    io.Closer
	rest []byte // what is left of the current piece
	in   bool   // the next piece continues a message
	cut  bool   // the next piece continues a line that is not a message
}

// Read implements [io.Reader]. It passes on the lines that begin like JSON, and drops
// others, which careless servers print to standard output.
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

// A tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 4 << 10

// Write implements [io.Writer]. It keeps the last maxTail bytes, and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-maxTail):]...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

// last returns the last non-empty lines, in one line.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for l := range strings.Lines(clip.Clean(string(t.buf))) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return line(strings.Join(lines[max(0, len(lines)-3):], " / "), 300)
}

// dialProgram starts the server's program and connects to it. protocol is the
// version of the protocol, or "" for the newest.
func (l *link) dialProgram(ctx context.Context, protocol string) (*sdk.ClientSession, func() error, error) {
	p, err := l.spawn()
	if err != nil {
		return nil, nil, err
	}
	sess, err := l.client().Connect(ctx, p.transport(), &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err == nil {
		return sess, func() error {
			err := p.end()
			sess.Close() // it cannot fail once the program has ended
			return err
		}, nil
	}
	var died error
	select { // a program that could not start has printed why
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

// hungUp reports whether err says only that the other side is gone, and not
// why.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) ||
		errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE)
}

// started reports whether a program that has ended had started.
func (p *process) started() bool {
	var exit *workspace.ExitError
	return p.err == nil || errors.As(p.err, &exit)
}
