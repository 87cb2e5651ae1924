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

// patience is how long the output of a dead command may stay open without any
// data, before it is given up. A process that escaped holds it then.
const patience = 250 * time.Millisecond

var errSurvivor = errors.New("a process that the command started escaped and still runs: it holds the " +
	"output open")

// pipes carry a command's input and output, where those are not files. The
// command gets one end of each pipe; a feed or a drain copies at the other.
// They exist because os/exec waits for the end of all output, which a process
// that escaped could hold open forever.
type pipes struct {
	inside []*os.File // the ends of the command, open until it has started
	feed   *feed      // nil if the command reads a file, or nothing
	drains []*drain
}

// connect sets the files of s for the input and output that c asks for. If it
// fails, it has closed what it opened.
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

// same reports whether a and b are the same writer.
func same(a, b io.Writer) bool {
	defer func() { _ = recover() }() // comparing incomparable types panics: they are not the same
	return a == b
}

// in returns the file from which the command reads what r has.
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

// out returns the file to which the command writes what w gets.
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

// begin starts to copy. The command has started and has its own copies of the
// inside ends.
func (p *pipes) begin() {
	closeAll(p.inside)
	if p.feed != nil {
		go p.feed.run()
	}
	for _, d := range p.drains {
		go d.run()
	}
}

// abandon closes everything. It is called if the command did not start.
func (p *pipes) abandon() {
	closeAll(p.inside)
	if p.feed != nil {
		p.feed.w.Close()
	}
	for _, d := range p.drains {
		d.r.Close()
	}
}

// finish returns when all output of the command has been copied. The command is
// dead.
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

// A feed copies a reader into a command's input.
type feed struct {
	w    *os.File
	r    io.Reader
	done chan error
}

// run copies until the reader or the command ends, and closes the input.
func (f *feed) run() {
	_, err := io.Copy(f.w, f.r)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) || isBrokenPipe(err) {
		err = nil // the command ended without reading everything
	}
	f.done <- errors.Join(err, f.w.Close())
}

// finish closes the input. It does not wait for the reader, which may never
// return.
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

// A drain copies a command's output to a writer.
type drain struct {
	r       *os.File
	w       io.Writer
	reading atomic.Int64 // incremented before and after each read: odd while a read waits for output
	done    chan struct{}
	err     error // set before done is closed
}

// run copies until the end of the output. If the writer fails it stops, and the
// command gets SIGPIPE.
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

// finish waits for the end of the output. It gives up if no data comes within
// patience, unless the writer is what takes so long.
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
