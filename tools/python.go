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
// The result of a call is the output of the code and, on a line of its own,
// `[exit code N]` if that is not 0; then the figures. If the code was stopped,
// because its time was up or the call was cancelled, the output until then
// comes with an error that says so. The detail is a [PythonDetail].
//
// An interpreter that is kept survives an error, sys.exit, and in most cases a
// timeout; where it does not, the result says that the state is lost. So does
// that of the first call that keeps state after the session was closed, or has
// gone on in another process.
type Python struct {
	// Interpreter is the program and its first arguments. If it is empty,
	// python3 is looked for, and then python. It is set before use.
	Interpreter []string

	// Timeout is how long code may take that does not say; 0: half a minute.
	// It is set before use.
	Timeout time.Duration

	ws       workspace.Workspace
	patience time.Duration // how long an interpreter has to stop before it is killed
	program  atomic.Pointer[[]string]
	sessions procSessions[*pythonSession]
}

var (
	_ openmanus.Tool          = (*Python)(nil)
	_ openmanus.SessionCloser = (*Python)(nil)
	_ io.Closer               = (*Python)(nil)
)

// A PythonDetail is the Detail of a result of [Python].
type PythonDetail struct {
	ExitCode int     `json:"exit_code"` // 128+n if a signal ended it; -1 if it was stopped by us
	Seconds  float64 `json:"seconds"`
	TimedOut bool    `json:"timed_out"`
	Images   int     `json:"images"`
	Keeps    bool    `json:"keeps,omitempty"` // the session has asked for an interpreter that is kept
}

// NewPython returns the tool for ws, which must outlive it.
func NewPython(ws workspace.Workspace) *Python {
	p := &Python{ws: ws, patience: 4 * time.Second}
	p.sessions.open = func() *pythonSession { return &pythonSession{procSlot: newProcSlot()} }
	return p
}

// Spec implements [openmanus.Tool].
func (p *Python) Spec() openmanus.ToolSpec {
	return filledSpec("python_execute", "python_execute", p.limit().placeholders(),
		openmanus.Hints{Destructive: true, Sandboxed: workspace.Contained(p.ws)},
		openmanus.Argument{Name: "code", Kind: openmanus.CodeArgument, Does: openmanus.Runs})
}

func (p *Python) limit() procTime { return procTimeOf(p.Timeout, pythonTimeout) }

// Close ends every interpreter that is kept. Later calls fail.
func (p *Python) Close() error {
	p.sessions.closeAll()
	return nil
}

// CloseSession implements [openmanus.SessionCloser]: it ends the interpreter
// that the session keeps.
func (p *Python) CloseSession(session string) error {
	p.sessions.close(session)
	return nil
}

type pythonInput struct {
	Code    string  `json:"code"`
	Timeout float64 `json:"timeout"`
	Keep    bool    `json:"keep_state"`
}

func (in *pythonInput) check(limit procTime) (err error) {
	switch {
	case strings.TrimSpace(in.Code) == "":
		return errors.New("no code: the argument code is empty")
	case len(in.Code) > pythonMaxCode:
		return fmt.Errorf("the code has %d bytes, more than %d: write the data into a file first, in pieces", len(in.Code), pythonMaxCode)
	}
	in.Timeout, err = limit.of(in.Timeout)
	return err
}

// Run implements [openmanus.Tool].
func (p *Python) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var in pythonInput
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return openmanus.Result{}, fmt.Errorf("arguments: %w", err)
	}
	if err := in.check(p.limit()); err != nil {
		return openmanus.Result{}, err
	}
	s, err := p.sessions.get(call.Session)
	if err != nil {
		return openmanus.Result{}, err
	}
	if in.Keep {
		if err := s.take(ctx); err != nil {
			return openmanus.Result{}, err
		}
		defer s.leave()
	}
	var unusable []string
	for _, program := range p.programs() {
		run := pythonRun{p: p, in: in, program: program, out: &procOutput{live: call.Live}, began: time.Now(), kept: keeps(call.Last)}
		res, err := run.do(ctx, s)
		reason := (*errNoPython)(nil)
		if !errors.As(err, &reason) {
			p.program.Store(&program)
			return res, err
		}
		unusable = append(unusable, reason.Error())
	}
	return openmanus.Result{}, fmt.Errorf("there is no Python 3 here (%s): install it (Debian: apt-get install python3), or name one in the configuration, [tools.python] interpreter", strings.Join(unusable, "; "))
}

// keeps reports whether the session has had an interpreter that was kept.
func keeps(last json.RawMessage) bool {
	var d PythonDetail
	return json.Unmarshal(last, &d) == nil && d.Keeps
}

// programs are the interpreters to try, the one that worked before first.
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

// An errNoPython is why a program cannot be used as an interpreter.
type errNoPython struct{ program, reason string }

func (e *errNoPython) Error() string { return e.program + ": " + e.reason }
