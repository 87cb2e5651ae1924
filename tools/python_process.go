package tools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

//go:embed python.py
var pythonRunner string

// pythonBoot runs the runner under a name by which it can leave its own frames
// out of tracebacks.
const pythonBoot = `import sys; exec(compile(sys.argv.pop(1), "<python_execute>", "exec"))`

// pythonArgs returns the command of an interpreter. mode is once or keep; see
// python.py.
func pythonArgs(program []string, mode string) []string {
	return append(append([]string{}, program...), "-c", pythonBoot, pythonRunner, mode)
}

// pythonEnv makes matplotlib draw without a screen, and keeps compiled modules
// out of the workspace.
func pythonEnv() []string {
	return []string{"MPLBACKEND=Agg", "PYTHONDONTWRITEBYTECODE=1", "TERM=dumb"}
}

// pythonRequest returns the input that makes the runner run code. It prints
// mark at the end; tag names the call for stop.
func pythonRequest(tag, mark, code string) string {
	return fmt.Sprintf("run %s %s %d\n%s", tag, mark, len(code), code)
}

// A pythonSession is the interpreter that a session keeps, if it has one.
type pythonSession struct {
	procSlot
	records *pythonRecords
}

// A pythonRun is a call of python_execute with one interpreter.
type pythonRun struct {
	p       *Python
	in      pythonInput
	reach   openmanus.Reach
	program []string
	out     *procOutput
	began   time.Time
	kept    bool // the session had an interpreter that was kept
}

// do runs the code in a process of its own, or in the one that the session
// keeps.
func (r *pythonRun) do(ctx context.Context, s *pythonSession) (openmanus.Result, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(r.in.Timeout*float64(time.Second)))
	defer cancel()
	if r.in.Keep {
		return r.keep(ctx, limited, s)
	}
	return r.once(ctx, limited)
}

// once runs the code in a process of its own. limited ends when ctx ends or the
// time is up.
func (r *pythonRun) once(ctx, limited context.Context) (openmanus.Result, error) {
	records := new(pythonRecords)
	err := r.p.ws.Run(limited, cmd(r.reach, workspace.Cmd{
		Args:   pythonArgs(r.program, "once"),
		Env:    pythonEnv(),
		Stdin:  strings.NewReader(pythonRequest("-", "-", r.in.Code)),
		Stdout: r.out,
		Stderr: procWriter(func(p []byte) { records.write(p, "") }),
	}))
	r.out.finish()
	end := procEnd{gaveUp: limited.Err() != nil && errors.Is(err, limited.Err()), died: true, err: err}
	return r.result(ctx, end, records, "")
}

// keep runs the code in the interpreter that the session keeps, and starts that if there
// is none. The result says so if variables were lost.
func (r *pythonRun) keep(ctx, limited context.Context, s *pythonSession) (openmanus.Result, error) {
	goesOn := r.kept && s.records == nil // it had one elsewhere, or before it was closed
	shell, fresh, lost, err := s.ready(func() (*procShell, error) {
		s.records = new(pythonRecords)
		return startProc(r.p.ws, pythonArgs(r.program, "keep"), pythonEnv(), s.records, r.p.patience)
	})
	if err != nil {
		return openmanus.Result{}, err
	}
	shell.locked(func() { s.records.begin() })
	end := shell.run(limited, newPythonCall(r.in.Code), r.out)
	var told pythonRecords
	shell.locked(func() { told = *s.records })
	if end.died {
		s.forget()
	}
	note := ""
	switch {
	case goesOn:
		note = "[this is a new interpreter: the last one was ended while the session was idle, and its " +
			"variables " +
			"are gone]\n"
	case lost:
		note = "[the interpreter had ended since the last call; this is a new one without its variables]\n"
	}
	if !fresh && end.between != "" {
		note += "[printed since the last call:]\n" + newlineAfter(end.between) +
			"[the output of this call:]\n"
	}
	return r.result(ctx, end, &told, note)
}

// newPythonCall returns the call that runs code in an interpreter that is kept.
func newPythonCall(code string) procCall {
	tag, mark := rand.Text(), rand.Text()
	return procCall{
		text: pythonRequest(tag, mark, code), mark: mark, stop: "stop " + tag + "\n",
		fence: func() (string, string) {
			mark := rand.Text()
			return pythonRequest("-", mark, ""), mark
		},
	}
}

// result makes the result of the call from what the interpreter told and
// printed.
func (r *pythonRun) result(ctx context.Context, end procEnd, told *pythonRecords,
	note string) (openmanus.Result, error) {
	d := PythonDetail{ExitCode: told.code, Seconds: seconds(r.began), Images: len(told.images),
		Keeps: r.in.Keep || r.kept}
	text := note + r.out.text()
	var err error
	switch {
	case end.gaveUp:
		d.ExitCode, d.TimedOut = -1, ctx.Err() == nil
		err = givenUp(ctx, "code", r.in.Timeout, r.p.limit(), r.state(end), "")
	case end.died && !told.ready:
		d.ExitCode, err = -1, r.unusable(told, end.err, text)
	case end.died:
		d.ExitCode, err = end.code()
	}
	if n := len(told.images); n > 0 {
		text = fmt.Sprintf("%s[figures: %d, as images]", newlineAfter(text), n)
	}
	if err == nil && d.ExitCode != 0 {
		text = advised(r.p.ws, fmt.Sprintf("%s[exit code %d]", newlineAfter(text), d.ExitCode), text, d.ExitCode)
	}
	if err == nil && end.died && r.in.Keep {
		text = newlineAfter(text) + "[" + r.state(end) + "]"
	}
	if err == nil && r.reach != "" {
		text = strings.TrimRight(text, "\n") + reached(r.reach, r.p.ws)
	}
	res := openmanus.Result{Detail: d, Failed: d.ExitCode != 0}
	if text = strings.TrimRight(text, "\n"); text != "" {
		res.Parts = append(res.Parts, llm.Text{Text: text})
	}
	for i, image := range told.images {
		res.Parts = append(res.Parts, llm.Blob{MIME: "image/png", Name: fmt.Sprintf("figure-%d.png", i+1),
			Data: image})
	}
	return res, err
}

// state says whether the variables of the interpreter are kept.
func (r *pythonRun) state(end procEnd) string {
	switch {
	case !r.in.Keep:
		return ""
	case end.died:
		return "the interpreter has ended and its variables are gone"
	default:
		return "the variables are kept"
	}
}

// unusable returns an errNoPython if r.program is no usable interpreter, or
// another reason why it did not start.
func (r *pythonRun) unusable(told *pythonRecords, err error, printed string) error {
	reason := ""
	var exit *workspace.ExitError
	switch {
	case told.old != "":
		reason = "version " + told.old + " is too old, 3.7 is needed"
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) &&
		strings.ContainsRune(r.program[0], filepath.Separator):
		reason = "not found"
	case err == nil || errors.As(err, &exit):
		said := strings.TrimSpace(string(told.other) + printed)
		reason = cut(fmt.Sprintf("it is not Python 3: it ended with %v %s",
			cmp.Or(exit, new(workspace.ExitError)), said), 500)
	case errors.Is(err, context.Canceled):
		return errors.New("the session was closed while this ran")
	default:
		return err
	}
	return &errNoPython{strings.Join(r.program, " "), reason}
}

const (
	maxPythonImages = 64 << 20 // bytes of all images of a call
	maxPythonOther  = 8 << 10  // bytes of what is no record
)

// pythonRecords reads the records of an interpreter. Their format is described
// in python.py.
type pythonRecords struct {
	buf    []byte // the beginning of the next record
	ready  bool   // the interpreter has come up
	old    string // its version, if it is too old
	code   int    // exit code of the call
	images [][]byte
	size   int    // of the images
	skip   int    // how many bytes are left of an image that is too large
	other  []byte // what was no record, such as the usage text of another program
}

// begin forgets the last call.
func (r *pythonRecords) begin() { r.code, r.images, r.size = 0, nil, 0 }

// write implements procRecords.
func (r *pythonRecords) write(p []byte, mark string) (found bool) {
	r.buf = append(r.buf, p...)
	rest := r.buf
	for {
		n, done := r.read(rest, mark)
		if n == 0 {
			break
		}
		found = found || done
		rest = rest[n:]
	}
	if !r.ready && len(rest) > maxPythonOther {
		r.keep(rest)
		rest = nil
	}
	if len(rest) < len(r.buf) {
		r.buf = bytes.Clone(rest)
	}
	return found
}

// read reads the record at the beginning of p. It returns its length, or 0 if
// it is incomplete, and whether it is the end of the call with the mark.
func (r *pythonRecords) read(p []byte, mark string) (n int, done bool) {
	if r.skip > 0 {
		n = min(r.skip, len(p))
		r.skip -= n
		return n, false
	}
	n = bytes.IndexByte(p, '\n') + 1
	words := strings.Fields(string(p[:n]))
	switch {
	case n == 0:
	case len(words) == 1 && words[0] == "ready":
		r.ready = true
	case len(words) == 2 && words[0] == "old":
		r.old = words[1]
	case len(words) == 3 && words[0] == "done":
		if code, err := strconv.Atoi(words[2]); err == nil && words[1] == mark && mark != "" {
			r.code, done = code, true
		}
	case len(words) == 2 && words[0] == "image":
		size, err := strconv.Atoi(words[1])
		if err != nil || size < 0 || size > maxPythonImages-r.size {
			r.skip = max(0, size)
			break
		}
		if len(p) < n+size {
			return 0, false
		}
		r.images, r.size = append(r.images, bytes.Clone(p[n:n+size])), r.size+size
		n += size
	default:
		r.keep(p[:n])
	}
	return n, done
}

// keep keeps the beginning of what is no record.
func (r *pythonRecords) keep(p []byte) {
	r.other = append(r.other, p[:min(len(p), maxPythonOther-len(r.other))]...)
}
