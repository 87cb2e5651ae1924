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
	"github.com/openmanus-go/openmanus/host"
)

// asked are the arguments by which a command gets its task.
type asked struct {
	Prompt string `arg:"" optional:"" help:"The task, or - to read it from standard input. What is piped in beside a task is attached to it."`
	File   string `help:"Read the task from a file." placeholder:"FILE"`
}

// request returns the message of the task, with attached files and what was
// piped in. command is the name of the command, for errors.
func (q asked) request(ctx context.Context, t *terminal, command string, attach []string) (openmanus.UserSaid, error) {
	prompt, input, err := q.read(ctx, t)
	if err == nil && prompt == "" {
		err = fmt.Errorf(`there is no task: openmanus %s "what you want done"`, command)
	}
	if err != nil {
		return openmanus.UserSaid{}, usage(err)
	}
	m, err := host.Message(t.dir, prompt, attach)
	if err == nil && len(input) > 0 {
		m.Message.Parts = append(m.Message.Parts, host.TextAttachment("standard input", input, int64(len(input))))
	}
	return m, err
}

// read returns the task, and the piped input that is not the task itself.
func (q asked) read(ctx context.Context, t *terminal) (prompt string, input []byte, err error) {
	if q.Prompt != "" && q.File != "" {
		return "", nil, errors.New("give the task as an argument or with --file, not both")
	}
	if input, err = t.piped(ctx); err != nil {
		return "", nil, fmt.Errorf("reading standard input: %w", err)
	}
	switch {
	case q.File != "":
		var data []byte
		data, err = os.ReadFile(t.abs(q.File))
		prompt = string(data)
	case q.Prompt == "-" || q.Prompt == "" && len(input) > 0:
		if len(input) == 0 && isTerminal(t.in) {
			input, err = io.ReadAll(t.in)
		}
		prompt, input = string(input), nil
	default:
		prompt = q.Prompt
	}
	return strings.TrimSpace(prompt), input, err
}

// piped reads standard input to its end if it is a pipe or a file. After two
// seconds without an end it says what it waits for.
func (t *terminal) piped(ctx context.Context) ([]byte, error) {
	info, err := t.in.Stat()
	if err != nil || info.Mode()&(fs.ModeCharDevice|fs.ModeDir) != 0 {
		return nil, nil
	}
	type read struct {
		data []byte
		err  error
	}
	done := make(chan read, 1)
	go func() {
		data, err := io.ReadAll(io.LimitReader(t.in, host.MaxAttachedImage))
		done <- read{data, err}
	}()
	slow := time.NewTimer(2 * time.Second)
	defer slow.Stop()
	for {
		select {
		case r := <-done:
			return r.data, r.err
		case <-slow.C:
			fmt.Fprintln(t.err, "openmanus: reading standard input to its end (use </dev/null if there is none)")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
