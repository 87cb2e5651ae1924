package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A Dir is a [Workspace] that is a plain directory: its files are kept in by
// [os.Root], its commands are not caged and may touch whatever this process
// may.
//
// # Commands
//
// A command runs in a session and process group of its own, without a
// terminal. When it ends, and when its context does, everything that it
// started is killed before Run returns. What belongs to it is found so:
//
//   - On Linux: its descendants, the members of its session and process
//     group, and every process that carries the mark which each command gets
//     in the environment variable OPENMANUS_RUN, so that a daemon which left
//     its session and its parents is found too. A process escapes if it leaves
//     its session and its parents and also wipes its environment, or hides it
//     (set-user-ID programs, and those that refuse to be traced). If such a
//     one holds the command's output, Run gives the output up and says so.
//   - On Windows: the job object of the command. What it started in the moment
//     before it was put there escapes.
//   - Elsewhere: its process group. What left the group escapes.
//
// If this process is killed itself, its commands go on.
//
// # Environment
//
// A command sees a short list of this process's variables, so that no secret
// reaches it: PATH, HOME, USER, LOGNAME, SHELL, TERM, TMPDIR, TZ, LANG,
// LANGUAGE and LC_*, and on Windows those that programs cannot do without;
// then Env, then what [Cmd].Env adds.
type Dir struct {
	// Env is added to the environment of every command, KEY=VALUE. It must
	// not change after the first use.
	Env []string

	// Cage, if it is not nil, starts the commands instead: what is said of
	// commands above does not hold then. Close closes it. It must not change
	// after the first use.
	Cage Cage

	// Guard, if it is not nil, is asked before a file is written or removed.
	// It gets the name without symbolic links; its error is the reason why
	// not. It must not change after the first use.
	Guard func(name string) error

	path string
	root *os.Root

	open   context.Context // ends with Close
	close  context.CancelFunc
	mu     sync.Mutex // orders the count of a Run against Close
	closed bool
	runs   sync.WaitGroup
}

var (
	_ Workspace = (*Dir)(nil)
	_ Sandboxed = (*Dir)(nil)
)

// NewDir returns the workspace in the directory at path, which must exist.
func NewDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the workspace %s does not exist: make the directory or choose another: %w", abs, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", abs, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", abs, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("the workspace %s is a file: choose a directory", abs)
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", abs, err)
	}
	d := &Dir{path: real, root: root}
	d.open, d.close = context.WithCancel(context.Background())
	return d, nil
}

// Dir is the absolute path of the workspace, without symbolic links.
func (d *Dir) Dir() string { return d.path }

// Sandbox is the name of the cage in which commands run, such as "bubblewrap";
// it is empty if they run with the rights of this process.
func (d *Dir) Sandbox() string {
	if d.Cage == nil {
		return ""
	}
	return d.Cage.Name()
}

// Contained implements [Sandboxed].
func (d *Dir) Contained() bool { return d.Cage != nil && d.Cage.Contained() }

// Close kills what still runs, waits until it is dead, and makes every later
// use fail with [fs.ErrClosed].
func (d *Dir) Close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	d.close()
	d.runs.Wait()
	var err error
	if first && d.Cage != nil {
		err = d.Cage.Close()
	}
	return join(err, d.root.Close())
}

// begin counts a Run. It returns a context that ends with ctx or with the
// workspace, and what to call at the end.
func (d *Dir) begin(ctx context.Context) (context.Context, func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, nil, d.errClosed()
	}
	d.runs.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(d.open, cancel)
	return ctx, func() { stop(); cancel(); d.runs.Done() }, nil
}

func (d *Dir) errClosed() error {
	return fmt.Errorf("the workspace %s is closed: %w", d.path, fs.ErrClosed)
}
