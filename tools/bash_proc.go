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

// procRetell is the interval at which the request to stop a call is repeated.
const procRetell = 300 * time.Millisecond

// procAsk is the interval at which a process is asked whether its call is over.
const procAsk = time.Second

// procBetween is how many bytes are kept of the output between two calls.
const procBetween = 64 << 10

// A procShell is a process that carries out calls, one after the other: a bash
// or a Python. It reads calls from its standard input. At the end of each it
// prints the mark of the call, and writes a record to standard error. Both are
// needed: the mark says that the output is complete, the record how the call
// ended, and the two streams are read independently.
//
// A relay inside the process (see bash.sh and python.py) reads its input. It
// does one thing after the other, and can stop a call with all that it started.
//
// Run is called by one goroutine at a time (see procSlot). mu guards what the
// readers of the two streams share with it.
type procShell struct {
	patience time.Duration      // how long it has to give up a call
	lines    chan string        // for its input
	cancel   context.CancelFunc // kills it
	ended    chan struct{}      // closed when the process and all that it started are dead
	err      error              // of its Run; valid once ended is closed
	door     workspace.Door     // to servers on this machine

	mu      sync.Mutex
	split   procSplitter
	between procOutput
	records procRecords
	mark    string        // of the call that runs
	marked  bool          // the mark has come: its output is complete
	record  bool          // its record has come
	done    chan struct{} // closed when both have come; nil if there is no call
}

// procRecords reads the records of a process.
type procRecords interface {
	// write takes what the process wrote to standard error, and reports whether
	// that completed the record of the call with the mark.
	write(p []byte, mark string) bool
}

// A procCall is a call as a procShell gets it.
type procCall struct {
	text string // the input that makes the process carry out the call
	mark string // what the process prints at its end
	stop string // the input that kills the call and everything that it started
	ask  string // the input that ends a process which cannot say that the call is over; "" if there is none

	// fence returns the text and the mark of a call that does nothing.
	fence func() (text, mark string)
}

// A procEnd is how a call ended.
type procEnd struct {
	gaveUp  bool   // the context ended, and the call was stopped
	died    bool   // the process ended
	mute    bool   // because it could not say that the call was over
	err     error  // of the process, if it died
	between string // the output since the last call
}

// startProc starts a process in the workspace, which runs until it ends by itself or is
// killed. patience is how long it may take to end after a signal.
func startProc(ws workspace.Runner, args, env []string, records procRecords,
	patience time.Duration) (*procShell, error) {
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
			Args: args, Env: env, Stdin: r, Door: &sh.door,
			Stdout: procWriter(sh.printed), Stderr: procWriter(sh.told),
		})
		cancel()
		r.Close()
		close(sh.ended)
	}()
	return sh, nil
}

// A procWriter is a writer that passes everything to a function and never
// fails. The function must not keep p.
type procWriter func(p []byte)

func (f procWriter) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

// feed writes the input of the process until the process ends.
func (sh *procShell) feed(w io.WriteCloser) {
	defer w.Close()
	for {
		select {
		case line := <-sh.lines:
			if _, err := io.WriteString(w, line); err != nil {
				return // the process has ended or is about to, and its Run says why
			}
		case <-sh.ended:
			return
		}
	}
}

// send gives the process a line. It drops the line if the process has not read
// the many lines before it, and so never blocks.
func (sh *procShell) send(line string) {
	select {
	case sh.lines <- line:
	default:
	}
}

// kill kills the process, and returns when everything that it started is dead.
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

// printed takes standard output of the process.
func (sh *procShell) printed(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.split.write(p) {
		sh.marked = true
		sh.check()
	}
}

// told takes standard error of the process.
func (sh *procShell) told(p []byte) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.records.write(p, sh.mark) && !sh.record {
		sh.record = true
		sh.check()
	}
}

// check closes done when both the mark and the record of the call have come.
// sh.mu is locked.
func (sh *procShell) check() {
	if sh.marked && sh.record && sh.done != nil {
		close(sh.done)
		sh.done = nil
	}
}

// expect prepares for a call whose output goes to out. The returned channel is
// closed when the mark and the record of the call have come.
func (sh *procShell) expect(mark string, out *procOutput) <-chan struct{} {
	done := make(chan struct{})
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.mark, sh.marked, sh.record, sh.done = mark, false, false, done
	sh.split.begin(mark, out)
	return done
}

// run carries out a call, whose output goes to out. It returns as soon as the
// process is ready for another call, or has ended. If ctx ends, it stops the
// call first.
func (sh *procShell) run(ctx context.Context, call procCall, out *procOutput) procEnd {
	var end procEnd
	sh.mu.Lock()
	end.between = sh.between.text()
	sh.between = procOutput{limit: procBetween}
	sh.mu.Unlock()
	done := sh.expect(call.mark, out)
	sh.lines <- call.text
	if !sh.await(ctx, done, call.ask) {
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

// await returns true when done is closed or the process has ended, and false when ctx has
// ended before. Every procAsk it sends what asks the process whether the call is over.
func (sh *procShell) await(ctx context.Context, done <-chan struct{}, ask string) bool {
	tick := time.NewTicker(procAsk)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return true
		case <-sh.ended:
			return true
		case <-ctx.Done():
			return false
		case <-tick.C:
			if ask != "" {
				sh.send(ask)
			}
		}
	}
}

// giveUp stops a call, and returns when everything that the call started is
// dead. If the process does not do it in time, giveUp kills the process.
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
			// The relay does one thing after the other: when the fence comes
			// back, it has finished killing.
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

// code returns the exit code of a process that has ended. The error says why it
// could not be started, or that it was closed.
func (e procEnd) code() (int, error) {
	var exit *workspace.ExitError
	switch {
	case e.err == nil:
		return 0, nil
	case errors.As(e.err, &exit):
		return exit.Code, nil
	case errors.Is(e.err, context.Canceled):
		return -1, errors.New("the session was closed while this ran")
	default:
		return -1, e.err
	}
}
