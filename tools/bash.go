package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/args"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

const (
	bashTimeout    = 120.0   // seconds
	bashMaxCommand = 1 << 20 // bytes
)

// Bash is the tool bash: one persistent shell for each session, in a
// workspace. Calls of one session run one after the other. It is safe for
// concurrent use.
//
// The result of a call is the output of the command and a last line
// `[exit code N]`. If the command was killed, because its time was up or the
// call was canceled, the result is the output until then, with an error. The
// Detail is a [BashDetail].
//
// If the shell ends (by exit, exec, a failure under set -e or a crash), the next
// call gets a new one in the same directory, with the same exported variables,
// and its result says what was lost. The same happens at the first call after
// [Bash.CloseSession] and in another process, where the exported variables are
// lost as well.
//
// In a workspace whose commands can change nothing ([workspace.ReadOnly]) calls are
// read-only, and none can go beyond the sandbox.
type Bash struct {
	// Timeout is how long a command may take if the call does not say; 0
	// means two minutes. It must not change after the first use.
	Timeout time.Duration

	ws       workspace.Workspace
	patience time.Duration // how long a shell may take to stop a command before it is killed itself
	sessions procSessions[*bashSession]
}

var (
	_ openmanus.Tool          = (*Bash)(nil)
	_ openmanus.SessionCloser = (*Bash)(nil)
	_ io.Closer               = (*Bash)(nil)
)

// A BashDetail is the Detail of a result of [Bash].
type BashDetail struct {
	Command  string  `json:"command"`
	ExitCode int     `json:"exit_code"` // 128+n if a signal ended it; -1 if this tool killed it
	Seconds  float64 `json:"seconds"`
	TimedOut bool    `json:"timed_out"`
	Cwd      string  `json:"cwd"` // working directory of the shell after the command; "": it has none yet
	Dir      string  `json:"dir"` // the workspace of Cwd; a fork of the session has another one; "": not known

	// Reach says how far the command went beyond the sandbox. Then it did not run
	// in the shell, but in a process of its own.
	Reach openmanus.Reach `json:"reach,omitempty"`
}

// NewBash returns the tool for ws, which must outlive it. The caller closes the
// tool.
func NewBash(ws workspace.Workspace) *Bash {
	b := &Bash{ws: ws, patience: 4 * time.Second}
	b.sessions.open = func() *bashSession {
		return &bashSession{procSlot: newProcSlot(), ws: ws, patience: b.patience, limit: b.limit()}
	}
	return b
}

// BashName is the name of the tool that runs commands of the shell.
const BashName = "bash"

// Spec implements [openmanus.Tool]. In a workspace that only allows reading, the
// description says so, and hints let calls run without an approval.
func (b *Bash) Spec() openmanus.ToolSpec {
	file := "bash"
	if workspace.ReadOnly(b.ws) {
		file = "bash_reading"
	}
	return filledSpec(BashName, file, b.limit().placeholders(),
		b.hints(),
		openmanus.Argument{Name: "command", Kind: openmanus.CommandArgument, Does: openmanus.Runs, Local: workspace.Opens(b.ws)})
}

// hints returns the hints of most calls. Those of commands that can change nothing come
// one after the other, as the shell has them.
func (b *Bash) hints() openmanus.Hints {
	if workspace.ReadOnly(b.ws) {
		return openmanus.Hints{ReadOnly: true, Idempotent: true, Ordered: true, Sandboxed: true}
	}
	return openmanus.Hints{Destructive: true, Sandboxed: workspace.Contained(b.ws)}
}

// limit returns the time limits of calls.
func (b *Bash) limit() procTime { return procTimeOf(b.Timeout, bashTimeout) }

// Close kills every shell and everything that the shells started. Later calls
// fail.
func (b *Bash) Close() error {
	b.sessions.closeAll()
	return nil
}

// CloseSession implements [openmanus.SessionCloser]. It kills the session's
// shell and everything that the shell started.
func (b *Bash) CloseSession(session string) error {
	b.sessions.close(session)
	return nil
}

type bashInput struct {
	Command string  `json:"command"`
	Timeout float64 `json:"timeout"`
	Restart bool    `json:"restart"`
	reachInput
}

// check returns an error for the model if the call cannot run, and sets the
// default timeout.
func (in *bashInput) check(limit procTime) (err error) {
	blank := strings.TrimSpace(in.Command) == ""
	switch {
	case blank && !in.Restart:
		return errors.New("no command: the argument command is missing or empty")
	case strings.ContainsRune(in.Command, 0):
		return errors.New("the command contains a NUL character, which bash cannot read: write it as '\\0' " +
			"for printf")
	case len(in.Command) > bashMaxCommand:
		return fmt.Errorf("the command has %d bytes, more than %d: write the data into a file first, in "+
			"pieces", len(in.Command), bashMaxCommand)
	}
	if blank {
		in.Command = ""
	}
	if in.Timeout, err = limit.of(in.Timeout); err != nil {
		return fmt.Errorf("%w; run a longer command in the background", err)
	}
	return nil
}

// read returns the arguments of a call, and how far it goes beyond the sandbox. The
// error is for the model: the call cannot run.
func (b *Bash) read(call openmanus.Call) (in bashInput, r openmanus.Reach, err error) {
	if err := args.Decode(call.Input, &in); err != nil {
		return in, "", fmt.Errorf("arguments: %w", err)
	}
	if err := in.check(b.limit()); err != nil {
		return in, "", err
	}
	r, other := in.of(b.ws), ""
	if in.Restart {
		other = "restart"
	}
	return in, r, in.reachInput.check(r, other)
}

// Run implements [openmanus.Tool]. The command runs in the session's shell, which keeps
// its state between calls; calls of one session wait for each other. A call with a reach
// beyond the sandbox runs in a shell of its own. A restart ends the shell and everything
// that it has started.
func (b *Bash) Run(ctx context.Context, call openmanus.Call) (openmanus.Result, error) {
	in, r, err := b.read(call)
	if err != nil {
		return openmanus.Result{}, err
	}
	if r != "" {
		return b.apart(ctx, in, r, call)
	}
	s, err := b.sessions.get(call.Session)
	if err != nil {
		return openmanus.Result{}, err
	}
	if err := s.acquire(ctx); err != nil {
		return openmanus.Result{}, err
	}
	defer s.release()
	if in.Restart {
		s.end()
		s.state = bashState{}
	}
	if in.Command != "" {
		res, err := s.run(ctx, in, call)
		b.sawPrinted(ctx, in.Command, res, call.ResultSize().Output)
		return res, err
	}
	res := openmanus.TextResult("[the shell was restarted in %s]", b.ws.Dir())
	res.Detail = BashDetail{Cwd: b.ws.Dir(), Dir: b.ws.Dir()}
	return res, nil
}

// apart runs a command that goes as far as r, in a shell of its own: the session's shell
// stays in the sandbox. It has no state of the session, and its changes of directory and
// variables end with it.
func (b *Bash) apart(ctx context.Context, in bashInput, r openmanus.Reach, call openmanus.Call) (openmanus.Result, error) {
	began, out := time.Now(), &procOutput{live: call.Live}
	limited, cancel := context.WithTimeout(ctx, time.Duration(in.Timeout*float64(time.Second)))
	defer cancel()
	err := b.ws.Run(limited, cmd(r, workspace.Cmd{
		Args:   []string{"bash", "--noprofile", "--norc", "-c", in.Command},
		Env:    []string{"TERM=dumb", "BASH_ENV=", "ENV="},
		Stdout: out, Stderr: out,
	}))
	out.finish()
	var last BashDetail // says where the shell is
	if json.Unmarshal(call.Last, &last) != nil {
		last = BashDetail{}
	}
	end := procEnd{gaveUp: limited.Err() != nil && errors.Is(err, limited.Err()), err: err}
	d := BashDetail{Command: in.Command, Seconds: seconds(began), Cwd: last.Cwd, Dir: last.Dir, Reach: r}
	text, err := report(ctx, in, b.limit(), end, nil, out, &d)
	if err == nil {
		text += reached(r, b.ws)
	}
	res := openmanus.Result{Detail: d, Waited: waits(d)}
	if text != "" {
		res.Parts = llm.Parts{llm.Text{Text: text}}
	}
	return res, err
}

// errNoBash adds to err what to do if the reason is that there is no bash.
func errNoBash(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("there is no bash here: install it (Debian: apt-get install bash; "+
			"Alpine: apk add bash; Windows: Git for Windows) and put it into PATH: %w", err)
	}
	return err
}
