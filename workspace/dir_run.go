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

// marker is the variable by which the processes of a command are known. Its
// value is a list, since a workspace may run within a command of another.
const marker = "OPENMANUS_RUN"

// Run implements [Runner]. That there is no such program in PATH is an error
// that is [exec.ErrNotFound]; at a path, [fs.ErrNotExist]. An [*os.File] as input or output is handed to the
// command itself. Run waits for a writer that is slow, but not for an input
// that has nothing to read.
func (d *Dir) Run(ctx context.Context, c *Cmd) error {
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
	stopped := t.wait(running, c.Grace)
	killErr := t.kill()
	status := t.status()
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

// start starts c.
func (d *Dir) start(c *Cmd) (*tree, *pipes, error) {
	if len(c.Args) == 0 {
		return nil, nil, errors.New("a command without a program")
	}
	token := rand.Text()
	mark := marker + "=" + token
	if outer := os.Getenv(marker); outer != "" {
		mark = marker + "=" + outer + ":" + token
	}
	env := d.environ(c.Env, mark)
	prog, err := lookPath(c.Args[0], env)
	if err != nil {
		return nil, nil, err
	}
	dir := d.path
	if filepath.IsAbs(c.Dir) {
		dir = c.Dir
	} else if c.Dir != "" {
		dir = filepath.Join(dir, filepath.FromSlash(c.Dir))
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("the working directory %s does not exist: %w", dir, fs.ErrNotExist)
	}
	x := exec.Command(prog)
	x.Args, x.Dir, x.Env = c.Args, dir, env
	pipes, err := connect(x, c)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Args[0], err)
	}
	t := &tree{cmd: x, mark: token}
	if err := t.start(); err != nil {
		pipes.abandon()
		return nil, nil, fmt.Errorf("cannot start %s: %w", c.Args[0], err)
	}
	pipes.begin()
	return t, pipes, nil
}

// wait waits until the command itself has ended, and reports whether it was
// stopped because ctx ended. Then the command has the time grace to end itself.
func (t *tree) wait(ctx context.Context, grace time.Duration) (stopped bool) {
	ended := make(chan struct{})
	go func() {
		t.waitLeader()
		close(ended)
	}()
	select {
	case <-ended:
		return false
	case <-ctx.Done():
	}
	if grace > 0 && t.terminate() == nil {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-ended:
			return true
		case <-timer.C:
		}
	}
	t.killLeader()
	<-ended
	return true
}

// exitStatus is how the command ended: nil, or an [*ExitError].
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
