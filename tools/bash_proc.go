package tools

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// procRetell is how often a process is told to give up a call.
const procRetell = 300 * time.Millisecond

// procBetween is how many bytes are kept of what comes between two calls.
const procBetween = 64 << 10

// A procShell is a process that carries out one call after the other: a bash
// or a Python. It reads calls from its standard input. After each it writes
// the mark of the call behind the output, and a record to standard error.
//
// It has a relay between itself and its input, which does one thing after the
// other and can stop a call with all that it started.
type procShell struct {
	patience time.Duration      // how long it has to give up a call
	lines    chan string        // for its input
	cancel   context.CancelFunc // kills it
	ended    chan struct{}      // closed when nothing of it is left
	err      error              // of its Run, once it ended

	mu      sync.Mutex
	split   procSplitter
	between procOutput
	records procRecords
	mark    string // of the call that runs
	marked  bool   // its output is complete
	record  bool   // its record has come
	done    chan struct{}
}

// procRecords reads records.
type procRecords interface {
	// write takes what was written, and reports whether the record of the
	// call with that mark was in it.
	write(p []byte, mark string) bool
}

// A procCall is what a procShell is told.
type procCall struct {
	text string // carries out the call
	mark string // what ends it
	stop string // gives it up, with everything that it started
	// fence returns a call that does nothing.
	fence func() (text, mark string)
}

// A procEnd is how a call ended.
type procEnd struct {
	gaveUp  bool   // the context ended, and the call was stopped
	died    bool   // the process ended
	err     error  // of its Run, if it died
	between string // what was printed before the call
}

// startProc starts a process with args and env.
func startProc(ws workspace.Runner, args, env []string, records procRecords, patience time.Duration) (*procShell, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	sh := &procShell{
		patience: patience, records: records, cancel: cancel,
		lines: make(chan string, 64), ended: make(chan struct{}),
	}
	sh.between.limit = procBetween
	sh.split.rest = &sh.between
	go sh.feed(w)
	go func() {
		sh.err = ws.Run(ctx, &workspace.Cmd{
			Args: args, Env: env, Stdin: r,
			Stdout: procWriter(sh.printed), Stderr: procWriter(sh.told),
		})
		cancel()
		r.Close()
		close(sh.ended)
	}()
	return sh, nil
}

type procWriter func(p []byte)

func (f procWriter) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// feed writes the input until the process ends.
func (sh *procShell) feed(w io.WriteCloser) {
	defer w.Close()
	for {
		select {
		case line := <-sh.lines:
			if _, err := io.WriteString(w, line); err != nil {
				return // it has ended or will, and says why
			}
		case <-sh.ended:
			return
		}
	}
}

// send gives the process a line, unless it is too busy ever to read it.
func (sh *procShell) send(line string) {
	select {
	case sh.lines <- line:
	default:
	}
}

// kill ends the process and waits until nothing of it is left.
func (sh *procShell) kill() {
	sh.cancel()
	<-sh.ended
}

// locked calls do while no record is being read.
func (sh *procShell) locked(do func()) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	do()
}

func (sh *procShell) printed(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.split.write(p) {
		sh.marked = true
		sh.check()
	}
}

func (sh *procShell) told(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.records.write(p, sh.mark) && !sh.record {
		sh.record = true
		sh.check()
	}
}

func (sh *procShell) check() {
	if sh.marked && sh.record && sh.done != nil {
		close(sh.done)
		sh.done = nil
	}
}

// expect makes ready for a call whose output goes to out. The channel is
// closed when its mark and its record have come.
func (sh *procShell) expect(mark string, out *procOutput) <-chan struct{} {
	done := make(chan struct{})
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.mark, sh.marked, sh.record, sh.done = mark, false, false, done
	sh.split.begin(mark, out)
	return done
}

// run carries out a call. Its output goes to out. It returns as soon as the
// process is ready for another one, or has ended.
func (sh *procShell) run(ctx context.Context, call procCall, out *procOutput) procEnd {
	var end procEnd
	sh.mu.Lock()
	end.between = sh.between.text()
	sh.between = procOutput{limit: procBetween}
	sh.mu.Unlock()
	done := sh.expect(call.mark, out)
	sh.lines <- call.text
	select {
	case <-done:
	case <-sh.ended:
	case <-ctx.Done():
		end.gaveUp = true
		sh.giveUp(done, call, out)
	}
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.split.end()
	out.finish()
	sh.mark, sh.done = "", nil
	select {
	case <-sh.ended:
		end.died, end.err = true, sh.err
	default:
	}
	return end
}

// giveUp stops a call, and returns when everything that it started is dead. If
// the process does not obey, it is ended.
func (sh *procShell) giveUp(done <-chan struct{}, call procCall, out *procOutput) {
	patience := time.NewTimer(sh.patience)
	defer patience.Stop()
	retell := time.NewTicker(procRetell)
	defer retell.Stop()
	fenced := false
	sh.send(call.stop)
	for {
		select {
		case <-done:
			if fenced {
				return
			}
			// The relay does one thing after the other: when this comes back, it
			// has done its killing.
			fenced = true
			text, mark := call.fence()
			done = sh.expect(mark, out)
			sh.send(text)
		case <-sh.ended:
			return
		case <-patience.C:
			sh.kill()
			return
		case <-retell.C:
			if !fenced {
				sh.send(call.stop)
			}
		}
	}
}

// code is the exit code of a process that has ended. The error is that of one
// that could not be started, or was closed.
func (e procEnd) code() (int, error) {
	var exit *workspace.ExitError
	switch {
	case e.err == nil:
		return 0, nil
	case errors.As(e.err, &exit):
		return exit.Code, nil
	case errors.Is(e.err, context.Canceled):
		return -1, errors.New("it was closed while it ran")
	default:
		return -1, e.err
	}
}
