// Package workspace is the world that tools touch: the files below one
// directory, and commands that run beside them. [Dir] is the plain one;
// sandboxes are others. Every implementation passes the suite in
// workspacetest.
package workspace

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// A Workspace is a directory of files, and commands that run in it.
// Implementations are safe for concurrent use.
type Workspace interface {
	Files
	Runner

	// Dir is the absolute path of the root. It is the same for a command
	// inside, however it is caged, as for us outside.
	Dir() string

	// Close ends every command that is still running and lets go of the
	// workspace. The files stay.
	Close() error
}

// Files are the files of a workspace. Names are slash-separated and relative
// to the root, as in [io/fs]; [Name] makes them from what people write. No
// name, symbolic link or race leads out of the root.
type Files interface {
	// FS reads. It implements [fs.StatFS], [fs.ReadFileFS] and
	// [fs.ReadDirFS].
	FS() fs.FS

	// WriteFile replaces the file, making its parent directories as needed.
	// It writes a new file and renames it over the old one, whose mode it
	// keeps: a reader sees the old or the new content, and an inode that is
	// linked from outside is never written through. A symbolic link inside
	// the root is followed, one that leads out is an error.
	WriteFile(ctx context.Context, name string, data []byte) error

	// Remove removes a file.
	Remove(ctx context.Context, name string) error
}

// A Runner runs commands.
type Runner interface {
	// Run runs cmd until it ends and returns nil if it exited with 0, an
	// [*ExitError] if it exited otherwise, the context's error if ctx ended
	// first. In every case, when Run returns, nothing that the command
	// started is running.
	Run(ctx context.Context, cmd *Cmd) error
}

// Sandboxed is a [Workspace] that may run its commands in a cage.
type Sandboxed interface {
	// Sandbox is the name of the cage, such as "bubblewrap", or "" if there
	// is none.
	Sandbox() string

	// Contained reports whether what a command does stays inside: it changes
	// nothing but the workspace, and reaches nobody who was not named before.
	Contained() bool
}

// Contained reports whether what commands of w do stays inside a cage.
func Contained(w Runner) bool {
	s, ok := w.(Sandboxed)
	return ok && s.Contained()
}

// A Cmd is a command to run. It reads like [os/exec.Cmd]. A Cmd is used once.
type Cmd struct {
	Args []string // the program, looked up in PATH, and its arguments
	Dir  string   // absolute, or relative to the root; empty for the root
	Env  []string // added to the workspace's own environment, KEY=VALUE

	Stdin  io.Reader // nil is an empty input
	Stdout io.Writer // nil discards; if equal to Stderr, one writer gets both in order
	Stderr io.Writer

	// Grace is how long the command has to end itself after ctx ended, from
	// SIGTERM on, until it is killed. 0 kills at once.
	Grace time.Duration
}

// An ExitError says how a command ended that did not exit with 0.
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

// Name returns the name, as [io/fs] has them, of the file that a person or a
// model calls p: an absolute path below dir, or a path relative to it. It is
// an error if p leads out of dir by its letters; symbolic links are the
// business of [Files].
func Name(dir, p string) (string, error) {
	if p == "" {
		return "", fmt.Errorf("the path is empty")
	}
	if strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("the path %q contains a NUL byte", p)
	}
	rel := p
	if filepath.IsAbs(p) {
		var err error
		if rel, err = filepath.Rel(dir, p); err != nil {
			return "", outside(p, dir)
		}
	}
	name := path.Clean(filepath.ToSlash(rel))
	if !fs.ValidPath(name) {
		return "", outside(p, dir)
	}
	return name, nil
}

func outside(p, dir string) error {
	return fmt.Errorf("the path %s is outside the workspace %s", p, dir)
}
