package workspace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// patience is how long the output of a dead command may be silent without
// ending, before it is given up: somebody who could not be found holds it.
const patience = 250 * time.Millisecond

var errSurvivor = errors.New("a process that the command started could not be found and still runs: it holds the output")

// pipes carry a command's input and output.
type pipes struct {
	inside []*os.File // the command's ends
	feed   *feed
	drains []*drain
}

// connect gives s the files for the input and output that c asks for.
func connect(s *Spawn, c *Cmd) (_ *pipes, err error) {
	p := new(pipes)
	defer func() {
		if err != nil {
			p.abandon()
		}
	}()
	if c.Stdin != nil {
		if s.Stdin, err = p.in(c.Stdin); err != nil {
			return nil, err
		}
	}
	if c.Stdout != nil {
		if s.Stdout, err = p.out(c.Stdout); err != nil {
			return nil, err
		}
	}
	if c.Stderr != nil && same(c.Stdout, c.Stderr) {
		s.Stderr = s.Stdout
	} else if c.Stderr != nil {
		if s.Stderr, err = p.out(c.Stderr); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// same reports whether a and b are one writer.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }() // the dynamic types cannot be compared: they differ
	return a == b
}

func (p *pipes) in(r io.Reader) (*os.File, error) {
	if f, ok := r.(*os.File); ok {
		return f, nil
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.inside = append(p.inside, pr)
	p.feed = &feed{w: pw, r: r, done: make(chan error, 1)}
	return pr, nil
}

func (p *pipes) out(w io.Writer) (*os.File, error) {
	if f, ok := w.(*os.File); ok {
		return f, nil
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.inside = append(p.inside, pw)
	p.drains = append(p.drains, &drain{r: pr, w: w, done: make(chan struct{})})
	return pw, nil
}

// begin starts to carry, once the command has its ends.
func (p *pipes) begin() {
	closeAll(p.inside)
	if p.feed != nil {
		go p.feed.run()
	}
	for _, d := range p.drains {
		go d.run()
	}
}

// abandon closes everything, if the command did not start.
func (p *pipes) abandon() {
	closeAll(p.inside)
	if p.feed != nil {
		p.feed.w.Close()
	}
	for _, d := range p.drains {
		d.r.Close()
	}
}

// finish waits until all that a dead command wrote has been carried.
func (p *pipes) finish() error {
	var errs []error
	if p.feed != nil {
		errs = append(errs, p.feed.finish())
	}
	for _, d := range p.drains {
		errs = append(errs, d.finish())
	}
	return errors.Join(errs...)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// A feed writes what it reads into a command's input.
type feed struct {
	w    *os.File
	r    io.Reader
	done chan error
}

func (f *feed) run() {
	_, err := io.Copy(f.w, f.r)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || isBrokenPipe(err) {
		err = nil // the command does not want the rest
	}
	f.done <- errors.Join(err, f.w.Close())
}

// finish does not wait: the reader may never answer.
func (f *feed) finish() error {
	select {
	case err := <-f.done:
		if err != nil && !errors.Is(err, os.ErrClosed) {
			return fmt.Errorf("the command's input: %w", err)
		}
	default:
		f.w.Close()
	}
	return nil
}

// A drain reads a command's output and writes it on.
type drain struct {
	r       *os.File
	w       io.Writer
	reading atomic.Int64 // counts up before and after every read: odd while it waits for output
	done    chan struct{}
	err     error
}

func (d *drain) run() {
	defer close(d.done)
	defer d.r.Close()
	buf := make([]byte, 32<<10)
	for {
		d.reading.Add(1)
		n, err := d.r.Read(buf)
		d.reading.Add(1)
		if n > 0 {
			if _, werr := d.w.Write(buf[:n]); werr != nil {
				d.err = fmt.Errorf("the command's output: %w", werr)
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				d.err = err
			}
			return
		}
	}
}

// finish waits for the end of the output. It gives up when nothing comes and
// nothing ends, but not when the writer is slow.
func (d *drain) finish() error {
	seen := d.reading.Load()
	for {
		timer := time.NewTimer(patience)
		select {
		case <-d.done:
			timer.Stop()
			return d.err
		case <-timer.C:
		}
		now := d.reading.Load()
		if now == seen && now%2 == 1 {
			d.r.Close()
			<-d.done
			return errSurvivor
		}
		seen = now
	}
}
