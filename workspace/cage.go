package workspace

import (
	"os"
	"os/exec"
)

// A Cage starts the commands of a [Dir] so that they can do less than this
// process can. Implementations are safe for concurrent use.
type Cage interface {
	// Name says which cage it is, in a word.
	Name() string

	// Contained: see [Sandboxed].
	Contained() bool

	// Start starts s. The files of s stay open and belong to the caller. If
	// PATH has no such program, the error is [exec.ErrNotFound]; if there is
	// no file at the program's path or no directory s.Dir, it is
	// [io/fs.ErrNotExist].
	Start(s *Spawn) (Process, error)

	// Close lets go of what the cage is made of. It is called once, when no
	// command is running.
	Close() error
}

// A Spawn is a [Cmd] that is ready to start: its directory is resolved, and
// its input and output are files.
type Spawn struct {
	Args []string // the program, looked up in PATH, and its arguments
	Dir  string   // absolute
	Env  []string // added to the cage's own environment, KEY=VALUE

	// Nil files are an empty input and a discarded output. Stdout and Stderr
	// are the same file if one writer gets both.
	Stdin, Stdout, Stderr *os.File
}

// Cmd returns an [exec.Cmd] of program, a path, that has the input and output
// of s. The cage sets its arguments, directory and environment.
func (s *Spawn) Cmd(program string) *exec.Cmd {
	x := exec.Command(program)
	if s.Stdin != nil {
		x.Stdin = s.Stdin
	}
	if s.Stdout != nil {
		x.Stdout = s.Stdout
	}
	if s.Stderr != nil {
		x.Stderr = s.Stderr
	}
	return x
}

// A Process is a command that was started, and every process that it started.
// Its methods are called in the order in which they stand here, each at most
// once; Terminate and Stop while Wait waits.
type Process interface {
	// Wait returns when the command itself has ended.
	Wait()

	// Terminate asks every process to end. An error says that none was
	// asked.
	Terminate() error

	// Stop kills the command itself, so that Wait returns soon.
	Stop()

	// Kill kills every process that is left, and returns when all are dead.
	Kill() error

	// Status says how the command ended: nil, or an [*ExitError].
	Status() error
}
