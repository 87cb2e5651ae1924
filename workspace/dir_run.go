package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// marker is the environment variable by which a command's processes are found.
// Its value is a list, separated by colons, because a command of one workspace
// may itself use another one.
const marker = "OPENMANUS_RUN"

// Run implements [Runner]. If PATH has no such program, the error is
// [exec.ErrNotFound]; if there is no file at the program's path, or no working
// directory, it is [fs.ErrNotExist]. The command gets an [*os.File] as input or
// output directly. For other readers and writers Run copies: it waits for a
// slow writer, but not for a reader that returns nothing.
func (d *Dir) Run(ctx context.Context, c *Cmd) error {
	defer c.Door.pass(nil)
	if err := ctx.Err(); err != nil {
		return err
	}
	running, end, err := d.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	t, pipes, err := d.start(c)
	if err != nil {
		return err
	}
	c.Door.pass(t)
	stopped := wait(running, t, c.Grace)
	killErr := t.Kill()
	status := t.Status()
	err = errors.Join(pipes.finish(), killErr)
	switch {
	case !stopped:
		return join(status, err)
	case ctx.Err() != nil:
		return join(ctx.Err(), err)
	default:
		return join(d.errClosed(), err)
	}
}

// join is [errors.Join] without a wrapper around a single error.
func join(a, b error) error {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return errors.Join(a, b)
}

// start resolves what c asks for, connects its input and output, and starts it.
func (d *Dir) start(c *Cmd) (Process, *pipes, error) {
	if len(c.Args) == 0 {
		return nil, nil, errors.New("the command has no program: Args is empty")
	}
	if c.Reach != InCage && d.ReadOnly() {
		return nil, nil, fmt.Errorf("%s: the commands of this workspace change nothing, and so run nowhere but in the "+
			"sandbox, without a network: %w", c.Args[0], fs.ErrPermission)
	}
	if err := d.inPlace(); err != nil {
		return nil, nil, err
	}
	dir := d.path
	if filepath.IsAbs(c.Dir) {
		dir = c.Dir
	} else if c.Dir != "" {
		dir = filepath.Join(dir, filepath.FromSlash(c.Dir))
	}
	s := &Spawn{Args: c.Args, Dir: dir, Env: c.Env, Networked: c.Reach == WithNetwork}
	pipes, err := connect(s, c)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Args[0], err)
	}
	start := d.startFree
	if d.Cage != nil && c.Reach != OutsideCage {
		start = d.Cage.Start
	}
	p, err := start(s)
	if err != nil {
		pipes.abandon()
		return nil, nil, err
	}
	pipes.begin()
	return p, pipes, nil
}

// startFree starts a command without a cage, with the rights of this process.
func (d *Dir) startFree(s *Spawn) (Process, error) {
	token := rand.Text()
	mark := marker + "=" + token
	if outer := os.Getenv(marker); outer != "" {
		mark = marker + "=" + outer + ":" + token
	}
	env := d.environ(s.Env, mark)
	prog, err := LookPath(s.Args[0], env)
	if err != nil {
		return nil, err
	}
	if err := IsDir(s.Dir); err != nil {
		return nil, err
	}
	x := s.Cmd(prog)
	x.Args, x.Dir, x.Env = s.Args, s.Dir, env
	t := &tree{cmd: x, mark: token}
	if err := t.start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", s.Args[0], err)
	}
	return t, nil
}

// IsDir returns an [fs.ErrNotExist] error if dir, the working directory of a
// command, is no directory.
func IsDir(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("the working directory %s does not exist: %w", dir, fs.ErrNotExist)
	}
	return nil
}

// wait waits until the command itself has ended, and reports whether that was
// because ctx ended. After the end of ctx, the command has the time grace to
// end by itself.
func wait(ctx context.Context, t Process, grace time.Duration) (stopped bool) {
	ended := make(chan struct{})
	go func() {
		t.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return false
	case <-ctx.Done():
	}
	if grace > 0 && t.Terminate() == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-ended:
			return true
		case <-timer.C:
		}
	}
	t.Stop()
	<-ended
	return true
}

// exitStatus converts the error of [exec.Cmd.Wait]: nil, an [*ExitError], or
// the error itself if waiting failed.
func exitStatus(err error) error {
	var x *exec.ExitError
	if !errors.As(err, &x) {
		return err
	}
	if code, name := signalOf(x.ProcessState); name != "" {
		return &ExitError{Code: code, Signal: name}
	}
	return &ExitError{Code: x.ExitCode()}
}
