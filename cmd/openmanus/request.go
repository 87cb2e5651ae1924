package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/ids"
	"github.com/openmanus-go/openmanus/llm"
)

// The bounds of what is attached to a request.
const (
	maxAttachedText  = 200 << 10 // bytes of a text file, or of standard input
	maxAttachedImage = 20 << 20
)

// asked is the task that a command is given.
type asked struct {
	Prompt string `arg:"" optional:"" help:"The task, or - to read it from standard input. What is piped in beside a task is attached to it."`
	File   string `help:"Read the task from a file." placeholder:"FILE"`
}

// request is the message of the task, with the files to attach and what was
// piped in beside it. command is which one it was given to.
func (q asked) request(ctx context.Context, t *terminal, command string, attach []string) (openmanus.UserSaid, error) {
	prompt, input, err := q.read(ctx, t)
	if err == nil && prompt == "" {
		err = fmt.Errorf(`there is no task: openmanus %s "what you want done"`, command)
	}
	if err != nil {
		return openmanus.UserSaid{}, usage(err)
	}
	m, err := t.request(prompt, attach)
	if err == nil && len(input) > 0 {
		m.Message.Parts = append(m.Message.Parts, textAttachment("standard input", input, int64(len(input))))
	}
	return m, err
}

// read returns the task, and what was piped in beside it.
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

// request makes the message of a request: what was asked, and what came with
// it.
func (t *terminal) request(prompt string, attach []string) (openmanus.UserSaid, error) {
	m := openmanus.UserSaid{ID: ids.New()}
	parts := llm.Parts{llm.Text{Text: prompt}}
	for _, name := range append(attach, mentioned(prompt, t.dir)...) {
		p, err := attachment(t.abs(name), name)
		if err != nil {
			return m, usage(fmt.Errorf("cannot attach %s: %w", name, err))
		}
		parts = append(parts, p)
	}
	m.Message = llm.Message{Role: llm.User, Parts: parts}
	return m, nil
}

// mentioned returns the files that the prompt names as @path.
func mentioned(prompt, dir string) []string {
	var names []string
	for _, word := range strings.Fields(prompt) {
		name, ok := strings.CutPrefix(word, "@")
		if !ok {
			continue
		}
		for _, n := range []string{name, strings.TrimRight(name, ".,;:!?)\"'")} {
			full := n
			if !filepath.IsAbs(n) {
				full = filepath.Join(dir, n)
			}
			if info, err := os.Stat(full); n != "" && err == nil && info.Mode().IsRegular() {
				names = append(names, n)
				break
			}
		}
	}
	return names
}

// attachment reads a file for the model: text as text, an image as an image,
// and of anything else where it is.
func attachment(path, name string) (llm.Part, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 512)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	kind := http.DetectContentType(head[:n])
	if byName := mime.TypeByExtension(filepath.Ext(path)); !strings.HasPrefix(kind, "text/") && byName != "" {
		kind = byName
	}
	rest := io.MultiReader(strings.NewReader(string(head[:n])), f)
	switch {
	case strings.HasPrefix(kind, "image/"):
		if info.Size() > maxAttachedImage {
			return nil, fmt.Errorf("the image has %d bytes, more than the %d that are sent", info.Size(), maxAttachedImage)
		}
		data, err := io.ReadAll(rest)
		return llm.Blob{MIME: kind, Name: name, Data: data}, err
	case strings.HasPrefix(http.DetectContentType(head[:n]), "text/"):
		data, err := io.ReadAll(io.LimitReader(rest, maxAttachedText+utf8.UTFMax))
		if err != nil {
			return nil, err
		}
		return textAttachment(name, data, info.Size()), nil
	}
	return llm.Text{Text: fmt.Sprintf("\n\n[attached: %s, %s, %d bytes, at %s]", name, kind, info.Size(), path)}, nil
}

// textAttachment is a text as the model reads it, the beginning alone if it is
// long.
func textAttachment(name string, data []byte, size int64) llm.Part {
	note := ""
	if len(data) > maxAttachedText {
		data = data[:maxAttachedText]
		for len(data) > 0 && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
		data = data[:max(0, len(data)-1)]
		note = fmt.Sprintf("\n[the first %d of %d bytes]", len(data), size)
	}
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	return llm.Text{Text: fmt.Sprintf("\n\n<file name=%q>\n%s\n</file>%s", name, strings.TrimSuffix(text, "\n"), note)}
}

// piped reads what is piped into the program, if anything is.
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
		data, err := io.ReadAll(io.LimitReader(t.in, maxAttachedImage))
		done <- read{data, err}
	}()
	slow := time.NewTimer(2 * time.Second)
	defer slow.Stop()
	for {
		select {
		case r := <-done:
			return r.data, r.err
		case <-slow.C:
			fmt.Fprintln(t.err, "openmanus: reading standard input to its end (</dev/null if there is none)")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
