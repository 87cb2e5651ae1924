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

// start starts c.
func (d *Dir) start(c *Cmd) (Process, *pipes, error) {
	if len(c.Args) == 0 {
		return nil, nil, errors.New("a command without a program")
	}
	dir := d.path
	if filepath.IsAbs(c.Dir) {
		dir = c.Dir
	} else if c.Dir != "" {
		dir = filepath.Join(dir, filepath.FromSlash(c.Dir))
	}
	cage := d.Cage
	if cage == nil {
		cage = bare{d}
	}
	s := &Spawn{Args: c.Args, Dir: dir, Env: c.Env}
	pipes, err := connect(s, c)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Args[0], err)
	}
	p, err := cage.Start(s)
	if err != nil {
		pipes.abandon()
		return nil, nil, err
	}
	pipes.begin()
	return p, pipes, nil
}

// bare is the cage of a Dir that has none.
type bare struct{ d *Dir }

// Start implements [Cage].
func (b bare) Start(s *Spawn) (Process, error) {
	token := rand.Text()
	mark := marker + "=" + token
	if outer := os.Getenv(marker); outer != "" {
		mark = marker + "=" + outer + ":" + token
	}
	env := b.d.environ(s.Env, mark)
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

// Name implements [Cage].
func (bare) Name() string { return "" }

// Contained implements [Cage].
func (bare) Contained() bool { return false }

// Close implements [Cage].
func (bare) Close() error { return nil }

// IsDir returns an error that says so if the working directory dir is not
// there.
func IsDir(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("the working directory %s does not exist: %w", dir, fs.ErrNotExist)
	}
	return nil
}

// wait waits until the command itself has ended, and reports whether it was
// stopped because ctx ended. Then the command has the time grace to end itself.
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
