package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/workspace"
)

const (
	pythonTimeout = 30.0    // seconds
	pythonMaxCode = 1 << 20 // bytes
)

// Python is the tool python_execute: Python code in a workspace, in a process
// of its own or, for each session, in one that is kept. Calls of one session
// that keep state run one after the other. It is safe for concurrent use.
//
// The result of a call is the output of the code, a last line `[exit code N]` if
// N is not 0, and the figures. If the code was stopped, because its time was up
// or the call was canceled, the result is the output until then, with an error.
// The Detail is a [PythonDetail].
//
// An interpreter that is kept survives an error, sys.exit, and in most cases a
// timeout. If it does not, the result says that the state is lost. So does the
// result of the first call that keeps state after [Python.CloseSession], or in
// another process.
type Python struct {
	// Interpreter is the program and its first arguments. If it is empty, the
	// tool tries python3 and then python. It must not change after the first
	// use.
	Interpreter []string

	// Timeout is how long code may take if the call does not say; 0 means half
	// a minute. It must not change after the first use.
	Timeout time.Duration

	// Matplotlib, if not nil, is called before code that imports Matplotlib runs with an
	// interpreter that does not have it. nil means that it should be there now; the
	// error is that of the call, and may be an [openmanus.Ask]. It must not change
	// after the first use.
	Matplotlib func(ctx context.Context, call openmanus.Call, i Figureless) error

	ws       workspace.Workspace
	patience time.Duration            // how long an interpreter may take to stop code before it is killed
	program  atomic.Pointer[[]string] // the interpreter that worked last
	figures  atomic.Bool              // an interpreter with Matplotlib was seen
	sessions procSessions[*pythonSession]
}

var (
	_ openmanus.Tool          = (*Python)(nil)
	_ openmanus.SessionCloser = (*Python)(nil)
	_ io.Closer               = (*Python)(nil)
)

// A PythonDetail is the Detail of a result of [Python].
type PythonDetail struct {
	ExitCode int     `json:"exit_code"` // 128+n if a signal ended it; -1 if this tool stopped it
	Seconds  float64 `json:"seconds"`
	TimedOut bool    `json:"timed_out"`
	Images   int     `json:"images"`          // figures in the result
	Keeps    bool    `json:"keeps,omitempty"` // the session has used an interpreter that is kept
}

// NewPython returns the tool for ws, which must outlive it. The caller closes
// the tool.
func NewPython(ws workspace.Workspace) *Python {
	p := &Python{ws: ws, patience: 4 * time.Second}
	p.sessions.open = func() *pythonSession { return &pythonSession{procSlot: newProcSlot()} }
	return p
}

// Spec implements [openmanus.Tool].
func (p *Python) Spec() openmanus.ToolSpec {
	return filledSpec("python_execute", "python_execute", p.limit().placeholders(),
		p.hints(),
		openmanus.Argument{Name: "code", Kind: openmanus.CodeArgument, Does: openmanus.Runs})
}

// hints returns the hints of most calls.
func (p *Python) hints() openmanus.Hints {
	return openmanus.Hints{Destructive: true, Sandboxed: workspace.Contained(p.ws)}
}

func (p *Python) limit() procTime { return procTimeOf(p.Timeout, pythonTimeout) }

// Close kills every interpreter that is kept, and returns when none is left. Later calls
// that keep state fail.
func (p *Python) Close() error {
	p.sessions.closeAll()
	return nil
}

// CloseSession implements [openmanus.SessionCloser]. It kills the interpreter
// that the session keeps.
func (p *Python) CloseSession(session string) error {
	p.sessions.close(session)
	return nil
}

type pythonInput struct {
	Code    string  `json:"code"`
	Timeout float64 `json:"timeout"`
	Keep    bool    `json:"keep_state"`
	reachInput
}

// check returns an error for the model if the call cannot run, and sets the
// default timeout.
func (in *pythonInput) check(limit procTime) (err error) {
	switch {
	case strings.TrimSpace(in.Code) == "":
		return errors.New("no code: the argument code is empty")
	case len(in.Code) > pythonMaxCode:
		return fmt.Errorf("the code has %d bytes, more than %d: write the data into a file first, in pieces",
			len(in.Code), pythonMaxCode)
	}
	in.Timeout, err = limit.of(in.Timeout)
	return err
}

// read returns the arguments of a call, and how far it goes beyond the sandbox. The
// error is for the model: the call cannot run.
func (p *Python) read(call openmanus.Call) (in pythonInput, r openmanus.Reach, err error) {
	if err := args.Decode(call.Input, &in); err != nil {
		return in, "", fmt.Errorf("arguments: %w", err)
	}
	if err := in.check(p.limit()); err != nil {
		return in, "", err
	}
	r, other := in.of(p.ws), ""
	if in.Keep {
		other = "keep_state"
	}
	return in, r, in.reachInput.check(r, other)
}

// Run implements [openmanus.Tool]. Without keep the code runs in an interpreter of its
// own; with it, in the session's, which has the variables of earlier calls. If the first
// interpreter cannot be used, the next one is tried, and the result names the reason.
func (p *Python) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	in, reach, err := p.read(call)
	if err != nil {
		return openmanus.Result{}, err
	}
	s, err := p.sessions.get(call.Session)
	if err != nil {
		return openmanus.Result{}, err
	}
	if in.Keep {
		if err := s.acquire(ctx); err != nil {
			return openmanus.Result{}, err
		}
		defer s.release()
	}
	var unusable []string
	for _, program := range p.programs() {
		if err := p.ensureFigures(ctx, call, in, program); err != nil {
			return openmanus.Result{}, err
		}
		run := pythonRun{p: p, in: in, reach: reach, program: program, began: time.Now(), kept: keeps(call.Last)}
		run.out = &procOutput{live: call.Live}
		res, err := run.do(ctx, s)
		reason := (*errNoPython)(nil)
		if !errors.As(err, &reason) {
			p.program.Store(&program)
			return res, err
		}
		unusable = append(unusable, reason.Error())
	}
	return openmanus.Result{}, fmt.Errorf("there is no Python 3 here (%s): install it "+
		"(Debian: apt-get install python3), or name one in the configuration, [tools.python] interpreter",
		strings.Join(unusable, "; "))
}

// keeps reports whether the session had an interpreter that was kept, by the
// Detail of its last result.
func keeps(last json.RawMessage) bool {
	var d PythonDetail
	return json.Unmarshal(last, &d) == nil && d.Keeps
}

// programs returns the interpreters to try: the configured one alone, or first the one
// that worked before, and then those that systems have.
func (p *Python) programs() [][]string {
	if len(p.Interpreter) > 0 {
		return [][]string{p.Interpreter}
	}
	programs := [][]string{{"python3"}, {"python"}}
	if worked := p.program.Load(); worked != nil {
		programs = slices.Insert(programs, 0, *worked)
	}
	return programs
}

// An errNoPython says why a program cannot be used as an interpreter.
type errNoPython struct{ program, reason string }

func (e *errNoPython) Error() string { return e.program + ": " + e.reason }
