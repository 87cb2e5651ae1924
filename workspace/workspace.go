// Package workspace defines what tools work on: the files below one directory,
// and commands that run there.
//
// [Workspace] is the interface, made of [Files] and [Runner]. [Dir] implements
// it for a directory of this machine. Its commands run with the rights of this
// process unless it has a [Cage], which is how package sandbox confines them.
//
//	ws, err := workspace.NewDir(".")
//	...
//	defer ws.Close()
//	data, err := fs.ReadFile(ws.FS(), "README.md")
//	err = ws.Run(ctx, &workspace.Cmd{Args: []string{"go", "test", "./..."}, Stdout: os.Stdout})
//
// A Dir can have files that its users must not reach ([Dir].Access) or must not
// change ([Dir].Guard). Both are asked with the name that remains when symbolic
// links are resolved. Directories are entered one by one then, so that a link that
// appears between the decision and the act leads nowhere. Commands are not confined
// by them: that is for the Cage.
//
// Reading is an [io/fs.FS], so code that walks a tree needs the standard
// library alone. Every implementation of Workspace passes the suite in package
// workspacetest.
package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/openmanus-go/openmanus/internal/meant"
	"github.com/openmanus-go/openmanus/internal/sight"
)

// A Workspace is a directory of files, and commands that run in it.
// Implementations are safe for concurrent use.
type Workspace interface {
	Files
	Runner

	// Dir returns the absolute path of the root, without symbolic links.
	// Commands see the root at the same path, however they are confined.
	Dir() string

	// Close kills every command that is still running, waits until it is dead,
	// and releases the workspace; later calls fail with [fs.ErrClosed]. The
	// files stay.
	Close() error
}

// Files are the files of a workspace. Names are slash-separated and relative to
// the root, as in [io/fs]; [Name] makes them from what people and models write.
// No name, symbolic link or race leads out of the root.
//
// A call of a session replaces and removes only files that the session has seen as they
// are: package sight says which these are, and its errors why one is not replaced. They
// are decided on at the moment of the write.
//
// Errors are [*fs.PathError] with the name that the caller gave, and match
// [fs.ErrNotExist], [fs.ErrPermission] and [fs.ErrInvalid].
type Files interface {
	// FS returns the file system for reading. It implements [fs.StatFS],
	// [fs.ReadFileFS] and [fs.ReadDirFS]. Pipes, sockets and devices cannot be
	// read.
	FS() fs.FS

	// WriteFile replaces the file, and makes its parent directories as needed.
	// It writes a new file, with the mode, the owner and the extended attributes of the
	// old one, and renames it over that. So a reader sees either the old or the new
	// content, and a file outside that is hard linked to the old one does not change. If
	// all names of a file are in the root, they all have the new content then: it is
	// written into the file, and a reader may see a part. WriteFile
	// follows a symbolic link within the root; one that leads out is an error.
	// When it returns nil, the content is on the disk.
	WriteFile(ctx context.Context, name string, data []byte) error

	// Remove removes a file or a symbolic link. It does not remove directories.
	Remove(ctx context.Context, name string) error
}

// A StreamWriter is implemented by [Files] that write what need not fit into memory.
type StreamWriter interface {
	// WriteFrom is [Files].WriteFile with the content that data has, up to its end. If
	// reading data fails, the file stays as it was.
	WriteFrom(ctx context.Context, name string, data io.Reader) error
}

// A Runner runs commands. Implementations are safe for concurrent use.
type Runner interface {
	// Run runs cmd until it ends. It returns nil if the command exited with 0,
	// an [*ExitError] if it exited otherwise, and the error of ctx if ctx ended
	// first. When Run returns, nothing that the command started is running, in
	// any of these cases.
	Run(ctx context.Context, cmd *Cmd) error
}

// Sandboxed is implemented by a [Workspace] that may run its commands in a
// cage.
type Sandboxed interface {
	// Sandbox returns the name of the cage, such as "bubblewrap", or "" if
	// there is none.
	Sandbox() string

	// Contained reports whether the cage confines what a command does: it
	// changes nothing but the workspace, and connects only to hosts that the
	// configuration names.
	Contained() bool
}

// Contained reports whether commands of w run in a cage that confines what they
// do: see [Sandboxed]. It is false for a Runner that does not say.
func Contained(w Runner) bool {
	s, ok := w.(Sandboxed)
	return ok && s.Contained()
}

// ReadOnly reports whether commands of w can change nothing that is left when they have
// ended, the files of the workspace included, and reach no other machine. It is false
// for a Runner that does not say, and without a cage. A [Reach] is refused there.
func ReadOnly(w Runner) bool {
	r, ok := w.(interface{ ReadOnly() bool })
	return ok && r.ReadOnly()
}

// A Reach says how far a command may go in a workspace whose commands run in a cage.
// It is for a command that a person has allowed more than others.
type Reach int

// The reaches.
const (
	InCage      Reach = iota // as every command
	WithNetwork              // in the cage, and it connects to whatever this machine reaches
	OutsideCage              // with all rights of this process
)

// Confines reports whether commands of w cannot go as far as r by themselves. It is
// false for a Runner that does not say whether it has a cage.
func Confines(w Runner, r Reach) bool {
	s, ok := w.(Sandboxed)
	if !ok || s.Sandbox() == "" {
		return false
	}
	return r == OutsideCage || r == WithNetwork && s.Contained()
}

// An Adviser says why a command failed, where that is because of the cage it ran in.
type Adviser interface {
	// Advise returns one line for whoever reads the output of a command that ended
	// with the exit code, or "" if it has nothing to say. It says what was
	// confined and what would help.
	Advise(output string, code int) string
}

// Advise returns what w, if it is an [Adviser], says about a command that ended.
func Advise(w Runner, output string, code int) string {
	if a, ok := w.(Adviser); ok {
		return a.Advise(output, code)
	}
	return ""
}

// A Cmd is a command to run. It reads like [os/exec.Cmd], and is used once.
type Cmd struct {
	Args []string // the program and its arguments; a name without a slash is looked up in PATH
	Dir  string   // the working directory: absolute, or relative to the root; empty for the root
	Env  []string // KEY=VALUE, added to the workspace's environment; later entries win

	// Reach is how far the command may go. It matters only if there is a cage.
	Reach Reach

	// Door, if not nil, can let the command connect to servers on this machine while
	// it runs. It matters only if there is a cage.
	Door *Door

	Stdin  io.Reader // nil: an empty input
	Stdout io.Writer // nil: discarded; if it equals Stderr, one writer gets both in order
	Stderr io.Writer

	// Grace is how long the command may take to end by itself after ctx ended.
	// It gets SIGTERM then, and SIGKILL when the time is up. If Grace is 0, it
	// is killed at once.
	Grace time.Duration
}

// An ExitError says how a command ended that did not exit with status 0.
type ExitError struct {
	Code   int    // the exit status; 128+n if a signal ended it, as shells count
	Signal string // its name, if a signal ended it
}

func (e *ExitError) Error() string {
	if e.Signal != "" {
		return "ended by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Name returns the name, as [io/fs] has them but for bytes that are not UTF-8, of the file
// that a person or a model calls p in the workspace dir: package meant decides that, and
// looks at what is there. If p leads out of dir, that is an error. [Files] keep symbolic
// links inside.
func Name(dir, p string) (string, error) {
	m, err := meant.In(dir, p)
	return m.Name, err
}

// NameIn is [Name] for the call of ctx, whose result says it if p is not how the file is
// called.
func NameIn(ctx context.Context, dir, p string) (string, error) {
	m, err := meant.In(dir, p)
	if m.Said != "" {
		sight.Say(ctx, m.Said)
	}
	return m.Name, err
}
