//go:build linux

package attempts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/openmanus-go/openmanus/internal/hostexec"
	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// A request is a line of JSON that an outside script writes; a reply is the line
// that it then reads. The functions of scripts/outside.py say what each Op does.
type request struct {
	Op          string
	Name, Value string
	Until       string
	Env         []string
	Cancel      bool
	Options     json.RawMessage // of the sandbox, in place of those that Run was given
}

type reply struct {
	Text    string
	Bytes   int64 // of all of the output, of which Text is at most the first MiB
	Error   string
	Refused bool // the sandbox cannot be had with these options
}

// committer are the variables of scripts, inside and outside, by which git commits where
// the person has not said who they are: an attempt that cannot commit tries nothing.
var committer = []string{"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"}

// play runs the scripts.
func (t *trial) play() error {
	if t.parts["outside.py"] != "" {
		return t.playOutside()
	}
	r := t.answer(request{Op: "start"})
	if r.Error == "" {
		r = t.answer(request{Op: "wait"})
	}
	if !strings.Contains(r.Text, tried) {
		return fmt.Errorf("the attempt could not be made: %s: %s", r.Error, r.Text)
	}
	return t.judge(r.Text)
}

// judge returns a breach if the output of a script tells of one.
func (t *trial) judge(text string) error {
	if strings.Contains(text, t.canary) || strings.Contains(text, "REACHED") {
		return reached("%s", strings.ReplaceAll(text, t.canary, "(the secret)"))
	}
	return nil
}

// playOutside runs the outside script, and does what it asks for.
func (t *trial) playOutside() error {
	cmd := hostexec.Outside(t.dir).Command(t.ctx, python, "-ISc", library("outside.py"),
		t.parts["shared outside.py"]+t.parts["outside.py"])
	cmd.Env = append(slices.Clone(committer), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TOP="+t.top,
		"CANARY="+t.canary, "KIND="+string(t.o.Kind))
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return err
	}
	err := t.serve(json.NewDecoder(stdout), json.NewEncoder(stdin))
	stdin.Close() // the script cleans up and ends, if it has not
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case ended != nil:
		return fmt.Errorf("the attempt could not be made: outside.py: %w: %s", ended, stderr)
	}
	return nil
}

// serve answers requests until there are no more, or there was a breach.
func (t *trial) serve(requests *json.Decoder, replies *json.Encoder) error {
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if r.Op == "reached" {
			return reached("%s", r.Value)
		}
		answered := make(chan reply, 1)
		go func() { answered <- t.answer(r) }()
		select {
		case a := <-answered:
			if err := errors.Join(t.judge(a.Text), replies.Encode(a)); err != nil {
				return err
			}
		case <-t.ctx.Done():
			return t.ctx.Err() // a file tool hangs, perhaps
		}
	}
}

// answer does what a request asks for. The first makes the sandbox.
func (t *trial) answer(r request) (a reply) {
	var err error
	if r.Op == "setenv" {
		was, there := os.LookupEnv(r.Name)
		t.undo = append(t.undo, func() {
			if os.Unsetenv(r.Name); there {
				os.Setenv(r.Name, was)
			}
		})
		err = os.Setenv(r.Name, r.Value)
	} else if r.Op == "again" {
		if t.ws != nil {
			<-t.cmd.ended
			err = t.ws.Close()
		}
		t.ws = nil
	} else {
		err = t.open(r.Options)
		a.Refused = errors.Is(err, sandbox.ErrNone)
	}
	switch {
	case err != nil:
	case r.Op == "start":
		t.start(r)
	case r.Op == "wait":
		if r.Cancel {
			t.cmd.cancel()
		}
		<-t.cmd.ended
		a.Text, a.Bytes, err = t.cmd.text(), t.cmd.bytes, t.cmd.err
	case r.Op == "read":
		var data []byte
		data, err = fs.ReadFile(t.ws.FS(), r.Name)
		a.Text = string(data)
	case r.Op == "write":
		err = t.ws.WriteFile(t.ctx, r.Name, []byte(r.Value))
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// open makes the sandbox, unless there is one.
func (t *trial) open(options json.RawMessage) (err error) {
	if t.ws != nil {
		return nil
	}
	o := t.o
	o.Dir = t.dir
	if len(options) > 0 {
		d := json.NewDecoder(bytes.NewReader(options))
		d.DisallowUnknownFields()
		err = d.Decode(&o)
	}
	if err == nil {
		t.ws, err = sandbox.Open(t.ctx, o)
	}
	return err
}

// A command is an inside script that was started.
type command struct {
	cancel context.CancelFunc
	ended  chan struct{} // closed when err is set
	err    error
	wrote  chan struct{} // receives after something was written

	mu    sync.Mutex
	kept  bytes.Buffer // the beginning of the output
	bytes int64
}

// start starts the inside script, and returns when it has printed r.Until or has
// ended.
func (t *trial) start(r request) {
	ctx, cancel := context.WithCancel(t.ctx)
	c := &command{cancel: cancel, ended: make(chan struct{}), wrote: make(chan struct{}, 1)}
	t.cmd = c
	env := append(slices.Concat(committer, r.Env), "OUT="+t.out, "NAME="+filepath.Base(t.top), fmt.Sprint("RUNNER=", os.Getpid()))
	go func() {
		defer close(c.ended)
		defer cancel()
		c.err = t.ws.Run(ctx, &workspace.Cmd{Args: t.command(), Env: env, Stdout: c, Stderr: c})
	}()
	for !strings.Contains(c.text(), r.Until) {
		select {
		case <-c.wrote:
		case <-c.ended:
			return
		}
	}
}

// Write implements [io.Writer].
func (c *command) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += int64(len(p))
	c.kept.Write(p[:min(len(p), max(0, 1<<20-c.kept.Len()))])
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (c *command) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.String()
}
