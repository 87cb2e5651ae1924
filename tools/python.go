package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

const (
	pythonTimeout = 30.0    // seconds
	pythonMaxCode = 1 << 20 // bytes
)

const pythonDescription = `
Run Python code and see what it prints: standard output and standard error together in the order they came, with the traceback if it fails, and a last line [exit code N] if that is not 0.
- The code runs like a script, in the workspace. The value of the last expression is not shown: print it.
- Each call is a new process, unless keep_state is true: then variables and imports stay for the next call with keep_state.
- There is no input: input() raises EOFError.
- Code that takes longer than timeout (seconds, default 30, at most 600) is killed with everything that it started; what it printed until then is returned.
- Figures drawn with matplotlib, where it is installed, come back as images.
Examples: {"code": "import csv\nrows = list(csv.DictReader(open('sales.csv')))\nprint(len(rows), rows[0])"}, {"code": "df = load()", "keep_state": true, "timeout": 300}`

const pythonSchema = `{
	"type": "object",
	"properties": {
		"code": {"type": "string", "description": "The code to run."},
		"timeout": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Seconds until the code is killed; 30 if left out."},
		"keep_state": {"type": "boolean", "description": "Run in an interpreter that keeps its variables for later calls with keep_state."}
	},
	"required": ["code"],
	"additionalProperties": false
}`

//go:embed python.py
var pythonRunner string

// Python is the tool python_execute: Python code in a workspace, in a process
// of its own or, for each session, in one that is kept. Calls of one session
// that keep state run one after the other. It is safe for concurrent use; its
// fields are set before use.
//
// The detail of a result is a [PythonDetail].
type Python struct {
	// Interpreter is the program and its first arguments. If it is empty,
	// python3 is looked for, and then python.
	Interpreter []string

	ws    workspace.Workspace
	alive context.Context // ends with Close, and every interpreter with it
	end   context.CancelFunc

	mu       sync.Mutex
	sessions map[string]*pythonSession
}

var (
	_ openmanus.Tool = (*Python)(nil)
	_ io.Closer      = (*Python)(nil)
)

// A PythonDetail is the Detail of a result of [Python].
type PythonDetail struct {
	ExitCode int     `json:"exit_code"` // 128+n if a signal ended it; -1 if it was killed by us
	Seconds  float64 `json:"seconds"`
	TimedOut bool    `json:"timed_out"`
	Images   int     `json:"images"`
}

// NewPython returns the tool for ws, which must outlive it.
func NewPython(ws workspace.Workspace) *Python {
	p := &Python{ws: ws, sessions: make(map[string]*pythonSession)}
	p.alive, p.end = context.WithCancel(context.Background())
	return p
}

// Spec implements [openmanus.Tool].
func (p *Python) Spec() openmanus.Spec {
	return newSpec("python_execute", pythonDescription, pythonSchema, openmanus.Hints{Destructive: true})
}

// A pythonSession is the interpreter that a session keeps, if it has one.
type pythonSession struct {
	turn    chan struct{} // held by the call that runs
	process *pythonProcess
}

// Close ends every interpreter. Calls that run fail, and so do later ones.
func (p *Python) Close() error {
	p.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.sessions {
		s.turn <- struct{}{}
		if s.process != nil {
			s.process.kill()
		}
		<-s.turn
	}
	p.sessions = nil
	return nil
}

func (p *Python) session(name string) (*pythonSession, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive.Err() != nil {
		return nil, errors.New("the Python tool is closed")
	}
	s := p.sessions[name]
	if s == nil {
		s = &pythonSession{turn: make(chan struct{}, 1)}
		p.sessions[name] = s
	}
	return s, nil
}

type pythonInput struct {
	Code    string  `json:"code"`
	Timeout float64 `json:"timeout"`
	Keep    bool    `json:"keep_state"`
}

// Run implements [openmanus.Tool].
func (p *Python) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	var in pythonInput
	if err := json.Unmarshal([]byte(call.Input), &in); err != nil {
		return openmanus.Result{}, fmt.Errorf("arguments: %w", err)
	}
	in.Timeout = cmp.Or(in.Timeout, pythonTimeout)
	switch {
	case strings.TrimSpace(in.Code) == "":
		return openmanus.Result{}, errors.New("the code is empty")
	case len(in.Code) > pythonMaxCode:
		return openmanus.Result{}, fmt.Errorf("the code has %d bytes, more than %d: write it into a file, and run that", len(in.Code), pythonMaxCode)
	}
	s, err := p.session(call.Session)
	if err != nil {
		return openmanus.Result{}, err
	}
	if !in.Keep {
		return p.once(ctx, in, call.Live)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return openmanus.Result{}, ctx.Err()
	}
	return p.kept(ctx, s, in, call.Live)
}

// once runs code in a process of its own.
func (p *Python) once(ctx context.Context, in pythonInput, live io.Writer) (openmanus.Result, error) {
	proc := p.start()
	defer proc.kill()
	return p.run(ctx, proc, in, live, "")
}

// kept runs code in the interpreter that the session keeps.
func (p *Python) kept(ctx context.Context, s *pythonSession, in pythonInput, live io.Writer) (openmanus.Result, error) {
	note := ""
	if s.process != nil && s.process.dead() {
		s.process, note = nil, "[the interpreter had ended since the last call; this is a new one without its variables]\n"
	}
	if s.process == nil {
		s.process = p.start()
	}
	res, err := p.run(ctx, s.process, in, live, note)
	if s.process.dead() {
		s.process = nil
	}
	return res, err
}

// run runs code in proc and says what came of it.
func (p *Python) run(ctx context.Context, proc *pythonProcess, in pythonInput, live io.Writer, note string) (openmanus.Result, error) {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
	defer cancel()
	out := &procOutput{live: live}
	end, runErr := proc.run(limited, in, out)
	out.finish()
	d := PythonDetail{ExitCode: end.Code, Seconds: seconds(began), Images: len(end.Images)}
	text := note + out.text()
	var err error
	switch {
	case runErr == nil:
	case limited.Err() != nil:
		lost := ""
		if in.Keep {
			lost = "the interpreter's variables are gone"
		}
		d.ExitCode, d.TimedOut = -1, ctx.Err() == nil
		err = givenUp(ctx, "code", in.Timeout, lost, "")
	case notFound(runErr):
		d.ExitCode, err = -1, p.missing()
	default:
		d.ExitCode, err = exitCode(runErr)
	}
	if err == nil && d.ExitCode != 0 {
		text = fmt.Sprintf("%s[exit code %d]", newlineAfter(text), d.ExitCode)
		if in.Keep && runErr != nil {
			text += "\n[the interpreter has ended: its variables are gone]"
		}
	}
	res := openmanus.Result{Detail: d}
	if text = strings.TrimRight(text, "\n"); text != "" {
		res.Parts = append(res.Parts, llm.Text{Text: text})
	}
	for i, image := range end.Images {
		data, derr := base64.StdEncoding.DecodeString(image)
		if derr != nil {
			return res, errors.Join(err, fmt.Errorf("figure %d: %w", i+1, derr))
		}
		res.Parts = append(res.Parts, llm.Blob{MIME: "image/png", Name: fmt.Sprintf("figure-%d.png", i+1), Data: data})
	}
	return res, err
}

func (p *Python) missing() error {
	tried := "python3 and python are not"
	if len(p.Interpreter) > 0 {
		tried = p.Interpreter[0] + " is not"
	}
	return fmt.Errorf("there is no Python here: %s found; the person can install it (apt-get install python3) or name one in the configuration ([tools.python] interpreter); until then, use bash", tried)
}

// notFound reports whether err says that there is no such program.
func notFound(err error) bool {
	var exit *workspace.ExitError
	return errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) && exit.Code == 127
}

// exitCode is the exit code of a process that ended without saying how.
func exitCode(err error) (int, error) {
	var exit *workspace.ExitError
	if errors.As(err, &exit) {
		return exit.Code, nil
	}
	if errors.Is(err, errPythonEnded) {
		return 0, nil
	}
	return -1, err
}
