package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/openmanus-go/openmanus/internal/regular"
)

// A Dir is a [Workspace] in a directory of this machine. [os.Root] keeps file
// names inside. Without a [Cage], commands have all the rights of this process.
//
// # Commands
//
// A command runs in a session and process group of its own, without a
// terminal. When the command or its context ends, everything that it started is
// killed before Run returns. A process belongs to a command
//
//   - on Linux, if it is a descendant, a member of the command's session or
//     process group, or has the command's mark in its environment variable
//     OPENMANUS_RUN. The mark finds daemons, which leave their session and
//     their parents. A process escapes if it leaves both and also clears or
//     hides its environment (as set-user-ID programs do). If such a process
//     holds the command's output open, Run stops reading it and returns an
//     error that says so;
//   - on Windows, if it is in the command's job object. A process escapes that
//     was started before the command was put into the job;
//   - elsewhere, if it is in the command's process group.
//
// If this process is killed, its commands go on.
//
// # Environment
//
// So that no secret reaches a command, it sees few variables of this process:
// PATH, HOME, USER, LOGNAME, SHELL, TERM, TMPDIR, TZ, LANG, LANGUAGE and LC_*,
// and on Windows those that programs cannot do without. Then come [NoBytecode], Env
// and [Cmd].Env.
type Dir struct {
	// Env is added to the environment of every command, KEY=VALUE. It must
	// not change after the first use.
	Env []string

	// Cage, if not nil, starts the commands, and decides what they may do and
	// how their processes are found. Close closes it. It must not change after
	// the first use.
	Cage Cage

	// Guard, if not nil, is called before a file is written or removed, with
	// the name that remains when symbolic links are resolved. If it returns an
	// error, the file is not changed. It must not change after the first use.
	Guard func(name string) error

	// Access, if not nil, says how far a file can be reached by its name, from
	// which symbolic links are resolved. It is called often, from any
	// goroutine, and must not change after the first use. It does not confine
	// commands; that is for the Cage.
	Access func(name string) Access

	path   string
	root   *os.Root
	info   fs.FileInfo // of root
	hidden []hiddenDir

	open   context.Context // canceled by Close
	close  context.CancelFunc
	mu     sync.Mutex // orders the count of a Run against Close
	closed bool
	runs   sync.WaitGroup
}

var (
	_ Workspace = (*Dir)(nil)
	_ Sandboxed = (*Dir)(nil)
	_ Adviser   = (*Dir)(nil)
)

// NewDir returns the workspace in the directory at path, which must exist. It
// resolves symbolic links once: [Dir.Dir] is the real path.
func NewDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the workspace %s does not exist: make the directory or choose another: %w",
			abs, fs.ErrNotExist)
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
	root, err := regular.OpenDir(real)
	if err == nil {
		if info, err = root.Stat("."); err != nil {
			err = errors.Join(err, root.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("workspace %s: %w", abs, err)
	}
	d := &Dir{path: real, root: root, info: info}
	d.open, d.close = context.WithCancel(context.Background())
	return d, nil
}

// Dir returns the absolute path of the workspace, without symbolic links.
func (d *Dir) Dir() string { return d.path }

// Identity returns what [os.SameFile] knows the directory by. Whoever shows it to a command
// by its path compares what is there.
func (d *Dir) Identity() fs.FileInfo { return d.info }

// inPlace returns an error if the path of the workspace leads to another directory than the
// one that was opened: a session in a directory above may have put a link there. That there
// is none is for those who start the command to say.
func (d *Dir) inPlace() error {
	now, err := os.Stat(d.path)
	if err != nil || os.SameFile(d.info, now) {
		return nil
	}
	return &ReplacedError{d.path}
}

// A ReplacedError says that a workspace is not at its path any more, where something else is
// now.
type ReplacedError struct{ Path string }

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the workspace %s was moved or replaced while it was in use: another directory, or a link to one, is there now, "+
		"so nothing was started. Put the directory back, or begin a session in another workspace", e.Path)
}

// Sandbox returns the name of the cage in which commands run, such as
// "bubblewrap", or "" if they run with the rights of this process.
func (d *Dir) Sandbox() string {
	if d.Cage == nil {
		return ""
	}
	return d.Cage.Name()
}

// Contained implements [Sandboxed].
func (d *Dir) Contained() bool { return d.Cage != nil && d.Cage.Contained() }

// ReadOnly is explained at the function [ReadOnly]. The cage says it, by a method of the
// same name; one without it is not read-only.
func (d *Dir) ReadOnly() bool {
	c, ok := d.Cage.(interface{ ReadOnly() bool })
	return ok && c.ReadOnly()
}

// Advise implements [Adviser].
func (d *Dir) Advise(output string, code int) string {
	if a, ok := d.Cage.(Adviser); ok {
		return a.Advise(output, code)
	}
	return ""
}

// Close implements [Workspace]. It may be called more than once.
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

// begin counts a Run, for Close to wait for. It returns a context that ends
// with ctx or with the workspace, and a function to call when the Run ends. It
// fails once the workspace is closed.
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
