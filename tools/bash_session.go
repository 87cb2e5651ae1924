package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// A bashSession is the shell of one session, if there is one, and what the next
// one begins with.
type bashSession struct {
	ws       workspace.Workspace
	patience time.Duration
	turn     chan struct{} // held by the call that runs; guards state
	state    bashState

	mu      sync.Mutex
	shell   *bashShell
	stopped bool
}

// stop ends the shell for good. A call that runs ends with it.
func (s *bashSession) stop() {
	s.mu.Lock()
	s.stopped = true
	shell := s.shell
	s.mu.Unlock()
	if shell != nil {
		shell.kill()
	}
}

// restart ends the shell and forgets its state.
func (s *bashSession) restart() {
	s.mu.Lock()
	shell := s.shell
	s.shell = nil
	s.mu.Unlock()
	if shell != nil {
		shell.kill()
	}
	s.state = bashState{}
}

// ready returns the shell, and whether it is a fresh one and replaces one that
// was lost.
func (s *bashSession) ready() (shell *bashShell, fresh, lost bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, false, false, errors.New("the session's shell was closed")
	}
	if s.shell != nil {
		select {
		case <-s.shell.ended:
			s.shell, lost = nil, true
			s.state.flags = ""
		default:
			return s.shell, false, false, nil
		}
	}
	s.shell, err = startBash(s.ws, s.state.env, s.patience)
	return s.shell, true, lost, err
}

// forget forgets a shell that has ended.
func (s *bashSession) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shell = nil
}

// run runs a command in the shell.
func (s *bashSession) run(ctx context.Context, in bashInput, live io.Writer) (openmanus.Result, error) {
	began := time.Now()
	shell, fresh, lost, err := s.ready()
	if err != nil {
		return openmanus.Result{}, err
	}
	command := in.Command
	if fresh && s.state.cwd != "" {
		command = "builtin cd -- " + bashQuote(s.state.cwd) + "\n" + command // says so if it is gone
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
	defer cancel()
	out := &procOutput{live: live}
	end := shell.run(limited, command, s.state.flags, out)
	if end.state != nil {
		s.state = *end.state
	}
	if end.died {
		s.state.flags = "" // options are lost with the shell
		s.forget()
	}
	d := BashDetail{Command: in.Command, Seconds: seconds(began), Cwd: cmp.Or(s.state.cwd, s.ws.Dir())}
	text, err := s.report(ctx, in, end, out, &d)
	if lost {
		text = "[the shell had ended since the last command; this is a new one]\n" + text
	}
	res := openmanus.Result{Detail: d}
	if text != "" {
		res.Parts = llm.Parts{llm.Text{Text: text}}
	}
	return res, err
}

// report says what came of a command: the text for the model, and the error if
// the command was killed or could not run.
func (s *bashSession) report(ctx context.Context, in bashInput, end bashEnd, out *procOutput, d *BashDetail) (string, error) {
	text := out.text()
	if end.between != "" {
		text = "[printed by background jobs since the last command:]\n" + newlineAfter(end.between) + "[the output of this command:]\n" + text
	}
	var lost string
	if end.died {
		lost = fmt.Sprintf("the shell has ended; the next command gets a new one in %s with the same exported variables, but other variables, functions, aliases, options and background jobs are gone", d.Cwd)
	}
	if end.gaveUp {
		d.ExitCode = -1
		d.TimedOut = ctx.Err() == nil
		return strings.TrimRight(text, "\n"), givenUp(ctx, in.Timeout, lost)
	}
	var err error
	d.ExitCode, err = end.code()
	if err != nil {
		d.ExitCode = -1
		return strings.TrimRight(text, "\n"), err
	}
	text = fmt.Sprintf("%s[exit code %d]", newlineAfter(text), d.ExitCode)
	if lost != "" {
		text += "\n[" + lost + "]"
	}
	return text, nil
}

// givenUp is the error for a command that was killed.
func givenUp(ctx context.Context, timeout float64, lost string) error {
	if lost != "" {
		lost = "; " + lost
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted: the command and everything that it started were killed%s: %w", lost, err)
	}
	return fmt.Errorf("timed out after %v s: the command and everything that it started were killed%s. Give a longer timeout (up to %v), or run it in the background with & and look at it later",
		timeout, lost, bashMaxTimeout)
}

// code is the exit code of a command. The error is that of a shell which did
// not run at all, or was closed.
func (e *bashEnd) code() (int, error) {
	if e.state != nil {
		return e.state.code, nil
	}
	var exit *workspace.ExitError
	switch {
	case e.err == nil:
		return 0, nil
	case errors.As(e.err, &exit):
		return exit.Code, nil
	case errors.Is(e.err, context.Canceled):
		return -1, errors.New("the shell was closed while the command ran")
	default:
		return -1, errNoBash(e.err)
	}
}
