package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/act"
	"github.com/openmanus-go/openmanus/config"
	"github.com/openmanus-go/openmanus/host"
)

// asked are the arguments by which a command gets its task.
type asked struct {
	Prompt string `arg:"" optional:"" help:"The task, or - to read it from standard input. What is piped in beside a task is attached to it."`
	File   string `help:"Read the task from a file." placeholder:"FILE"`
}

// A request is what a person asks for on the command line.
type request struct {
	message openmanus.UserSaid
	input   []byte        // what was piped in beside the task
	waited  time.Duration // how long standard input was waited for
}

// request returns the task with attached files, and what was piped in beside it. command
// is the name of the command, for errors, and timeout the time limit that was given for
// all of it, or "".
func (q asked) request(ctx context.Context, t *terminal, command string, attach []string, timeout string) (request, error) {
	var r request
	prompt, err := q.read(ctx, t, timeout, &r)
	if err == nil && prompt == "" {
		err = fmt.Errorf(`there is no task: openmanus %s "what you want done"`, command)
	}
	if e := (exit{}); err != nil && !errors.As(err, &e) {
		err = usage(err)
	}
	if err != nil {
		return r, err
	}
	r.message, err = t.message(prompt, attach)
	return r, err
}

// message returns the message of a prompt with files, and says which file that the prompt
// names is not there.
func (t *terminal) message(prompt string, attach []string) (openmanus.UserSaid, error) {
	m, err := host.Message(t.dir, prompt, attach)
	if text := host.NotAttached(t.dir, prompt); err == nil && text != "" {
		fmt.Fprintln(t.err, "openmanus: "+text)
	}
	return m, err
}

// read returns the task. Piped input that is not the task itself becomes r.input.
func (q asked) read(ctx context.Context, t *terminal, timeout string, r *request) (prompt string, err error) {
	if q.Prompt != "" && q.File != "" {
		return "", errors.New("give the task as an argument or with --file, not both")
	}
	begun := time.Now()
	if limit, err := config.ParseDuration(timeout); err == nil && limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errNoTimeLeft)
		defer cancel()
	}
	need := q.Prompt == "-" || q.Prompt == "" && q.File == "" && !isTerminal(t.in)
	input, err := t.piped(ctx, need)
	if err == errNoTimeLeft {
		return "", noTimeLeft(time.Since(begun).Round(time.Second))
	}
	if err != nil {
		return "", fmt.Errorf("reading standard input: %w", err)
	}
	if len(input) == 0 && q.Prompt == "-" && isTerminal(t.in) {
		input, err = t.readAll(ctx)
	}
	r.waited = time.Since(begun)
	switch {
	case q.File != "":
		var data []byte
		data, err = os.ReadFile(t.abs(q.File))
		prompt, r.input = string(act.Text(data)), input
	case need:
		prompt = string(act.Text(input))
	default:
		prompt, r.input = q.Prompt, input
	}
	r.input = act.Text(r.input)
	return strings.TrimSpace(prompt), err
}

// said returns the message of a request for a session whose model reads so many tokens,
// or 0: with what was piped in. A text that is too long is kept whole for read_output.
// The time that standard input took counts as time of the session.
func (a *app) said(ctx context.Context, r request, window int) (openmanus.UserSaid, error) {
	if limit := a.Config.Run.Timeout; limit > 0 && r.waited >= slowInput {
		left := (limit - r.waited).Truncate(100 * time.Millisecond)
		if left <= 0 {
			return r.message, noTimeLeft(limit)
		}
		a.Config.Run.Timeout = left
	}
	if len(r.input) == 0 {
		return r.message, nil
	}
	err := act.AttachText(ctx, a.Secrets.Blobs(a.db), &r.message, "standard input", r.input, window)
	return r.message, err
}

// window returns how many tokens the model of a new session reads, or 0 if that is not
// known without asking anybody.
func (a *app) window() int {
	m, err := a.Config.Choose(func(string, config.Secret) ([]string, error) { return nil, errors.ErrUnsupported })
	if err != nil {
		return 0
	}
	return a.Config.Window(m).Tokens
}

// The times and the size that standard input may take.
const (
	slowInput    = 100 * time.Millisecond // a time that counts
	firstInput   = 3 * time.Second        // until its first byte, if there is another task
	nextInput    = time.Minute            // between two bytes
	maxInput     = 256 << 20
	tellOfWaited = 2 * time.Second // before a line says that openmanus waits for the task
)

// noTimeLeft is the error of a command whose time limit was used up before its session
// began.
func noTimeLeft(limit time.Duration) error {
	return exit{code: exitLimit, err: fmt.Errorf("stopped (time): the time limit of %v was used up while standard input was waited for", limit)}
}

// errNoTimeLeft is why standard input is not waited for any longer.
var errNoTimeLeft = errors.New("the time limit is used up")

// piped reads standard input to its end if it is a pipe or a file. Whoever started this
// program may have left a pipe open and write nothing to it. So piped waits without a bound
// only if the task must come from there, and otherwise prints a line about what it left.
func (t *terminal) piped(ctx context.Context, need bool) ([]byte, error) {
	info, err := t.in.Stat()
	if err != nil || info.Mode()&(fs.ModeCharDevice|fs.ModeDir) != 0 {
		return nil, nil
	}
	return t.input(ctx, need, firstInput, nextInput)
}

// readAll reads standard input to its end, which is needed, whatever it is.
func (t *terminal) readAll(ctx context.Context) ([]byte, error) {
	return t.input(ctx, true, firstInput, nextInput)
}

// input reads standard input to its end. Unless it is needed, it is waited for as long as
// first says for its first byte, and next for each further one.
func (t *terminal) input(ctx context.Context, need bool, first, next time.Duration) (data []byte, err error) {
	chunks, ended := make(chan []byte), make(chan error, 1)
	done := make(chan struct{})
	defer close(done)
	go func() { // it may wait for ever in Read, and then ends with the program
		for {
			chunk := make([]byte, 64<<10)
			n, err := t.in.Read(chunk)
			select {
			case chunks <- chunk[:n]:
			case <-done:
				return
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	patience := time.NewTimer(first)
	if need {
		patience.Reset(tellOfWaited)
	}
	defer patience.Stop()
	for told := false; ; {
		select {
		case chunk := <-chunks:
			if data = append(data, chunk...); len(data) > maxInput {
				return nil, fmt.Errorf("it has more than %d MiB: write it to a file, and name the file in the task", maxInput>>20)
			}
			if !need && len(chunk) > 0 {
				patience.Reset(next)
			}
		case err := <-ended:
			if err != io.EOF {
				return nil, err
			}
			return data, nil
		case <-patience.C:
			if !need {
				return t.unread(data, first, next), nil
			}
			if !told && !isTerminal(t.in) {
				fmt.Fprintln(t.err, "openmanus: reading standard input to its end (use </dev/null if there is none)")
			}
			told = true
		case <-ctx.Done():
			if need && context.Cause(ctx) == errNoTimeLeft {
				return nil, errNoTimeLeft
			}
			if context.Cause(ctx) == errNoTimeLeft {
				return data, nil // no session begins
			}
			return nil, ctx.Err()
		}
	}
}

// unread tells the person that standard input is not read to its end, and returns what is
// attached of it.
func (t *terminal) unread(data []byte, first, next time.Duration) []byte {
	if len(data) == 0 {
		fmt.Fprintf(t.err, "openmanus: nothing came on standard input within %v, so nothing of it was read. If something is still to come, write it to a file first, and name the file in the task\n", first)
		return nil
	}
	fmt.Fprintf(t.err, "openmanus: standard input has been silent for %v and has no end: the task has the %d bytes that came\n", next, len(data))
	return fmt.Appendf(data, "\n[standard input had no end: what may have come after a silence of %v is not here]\n", next)
}
