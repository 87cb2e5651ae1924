package tools

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/openmanus-go/openmanus/workspace"
)

// A pythonProcess is an interpreter that runs python.py.
type pythonProcess struct {
	in     *io.PipeWriter
	out    *pythonWire
	cancel context.CancelFunc
	ended  chan struct{} // closed when it has, with err set
	err    error
}

// start starts an interpreter. That there is none shows when it runs.
func (p *Python) start() *pythonProcess {
	ctx, cancel := context.WithCancel(p.alive)
	r, w := io.Pipe()
	proc := &pythonProcess{in: w, out: &pythonWire{replied: make(chan struct{}, 1)}, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(proc.ended)
		proc.err = p.interpret(ctx, r, proc.out)
		r.CloseWithError(errPythonEnded)
	}()
	return proc
}

// errPythonEnded says that an interpreter ended by itself, with exit code 0.
var errPythonEnded = errors.New("the interpreter has ended")

// interpret runs the interpreter to its end.
func (p *Python) interpret(ctx context.Context, in io.Reader, out io.Writer) error {
	tries := [][]string{{"python3"}, {"python"}}
	if len(p.Interpreter) > 0 {
		tries = [][]string{p.Interpreter}
	}
	var err error
	for _, program := range tries {
		err = p.ws.Run(ctx, &workspace.Cmd{
			Args:  append(append([]string{}, program...), "-u", "-c", pythonRunner),
			Env:   []string{"MPLBACKEND=Agg", "PYTHONUTF8=1", "PYTHONIOENCODING=utf-8:backslashreplace", "PYTHONDONTWRITEBYTECODE=1"},
			Stdin: in, Stdout: out, Stderr: out,
		})
		if err == nil || !notFound(err) {
			return err
		}
	}
	return err
}

// kill ends the interpreter with everything that it started, and waits for it.
func (proc *pythonProcess) kill() {
	proc.cancel()
	<-proc.ended
}

func (proc *pythonProcess) dead() bool {
	select {
	case <-proc.ended:
		return true
	default:
		return false
	}
}

// A pythonEnd is what python.py says at the end of a request.
type pythonEnd struct {
	Code   int      `json:"code"`
	Images []string `json:"images"` // base64 of PNG
}

// run has code run, and returns how it ended. If it ended the interpreter, or
// ctx ended, which kills it, that is the error.
func (proc *pythonProcess) run(ctx context.Context, in pythonInput, out *procOutput) (pythonEnd, error) {
	half1, half2 := rand.Text(), rand.Text()
	request, err := json.Marshal(struct {
		Code string   `json:"code"`
		Mark []string `json:"mark"`
		Keep bool     `json:"keep"`
	}{in.Code, []string{half1, half2}, in.Keep})
	if err != nil {
		return pythonEnd{}, err
	}
	proc.out.begin(half1+half2, out)
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = proc.in.Write(append(request, '\n')) // an interpreter that does not read it has ended
	}()
	defer func() { <-written }()
	select {
	case <-proc.out.replied:
	case <-proc.ended:
	case <-ctx.Done():
		proc.kill()
	}
	if !in.Keep {
		select { // what it printed has been read when it has ended
		case <-proc.ended:
		case <-ctx.Done():
			proc.kill()
		}
	}
	return proc.out.end(ctx, proc)
}

// A pythonWire is the output of an interpreter: what the code prints, the mark,
// and the reply.
type pythonWire struct {
	replied chan struct{} // gets one when a reply is complete

	mu       sync.Mutex
	split    procSplitter
	between  procOutput // printed while no request runs
	marked   bool
	reply    []byte
	complete bool
}

// maxPythonReply is how long a reply, with its images, may be.
const maxPythonReply = 64 << 20

func (w *pythonWire) begin(mark string, out *procOutput) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.replied:
	default:
	}
	w.marked, w.complete, w.reply = false, false, nil
	w.split.rest = &w.between
	w.split.begin(mark, out)
}

// Write implements [io.Writer]. It never fails.
func (w *pythonWire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	if !w.marked {
		w.between = procOutput{}
		if w.marked = w.split.write(p); !w.marked {
			return n, nil
		}
		p = append(w.between.head, w.between.tail...)
	}
	if !w.complete && len(w.reply) < maxPythonReply {
		w.reply = append(w.reply, p...)
		if i := bytes.IndexByte(w.reply, '\n'); i >= 0 {
			w.reply, w.complete = w.reply[:i], true
			w.replied <- struct{}{}
		}
	}
	return n, nil
}

// end returns the reply, or why there is none.
func (w *pythonWire) end(ctx context.Context, proc *pythonProcess) (pythonEnd, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var e pythonEnd
	if !w.complete {
		w.split.end()
		if err := ctx.Err(); err != nil {
			return e, err
		}
		if proc.dead() && proc.err != nil {
			return e, proc.err
		}
		return e, errPythonEnded
	}
	if err := json.Unmarshal(w.reply, &e); err != nil {
		return e, fmt.Errorf("the reply of the interpreter: %w", err)
	}
	return e, nil
}
