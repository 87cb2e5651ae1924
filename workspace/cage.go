package workspace

import (
	"os"
	"os/exec"
)

// A Cage starts the commands of a [Dir] with fewer rights than this process
// has. Implementations are safe for concurrent use.
type Cage interface {
	// Name returns the name of the cage in one word, for people and the record.
	Name() string

	// Contained is explained at [Sandboxed].
	Contained() bool

	// Start starts s. The files of s stay open and belong to the caller. If
	// PATH has no such program, the error is [exec.ErrNotFound]; if there is
	// no file at the program's path or no directory s.Dir, it is
	// [io/fs.ErrNotExist].
	Start(s *Spawn) (Process, error)

	// Close releases what the cage is made of. It is called once, when no
	// command is running.
	Close() error
}

// A Spawn is a [Cmd] that is ready to start: its directory is resolved, and
// its input and output are files.
type Spawn struct {
	Args []string // the program, looked up in PATH, and its arguments
	Dir  string   // absolute
	Env  []string // added to the cage's own environment, KEY=VALUE

	// Networked means that this command connects to whatever this machine
	// reaches, although the cage's other commands do not.
	Networked bool

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

// A Process is a command that was started, and every process that the command
// started. The methods are called in the order in which they stand here, each
// at most once. Terminate and Stop are called while Wait waits, from another
// goroutine.
type Process interface {
	// Wait returns when the command itself has ended. Processes that it started
	// may still run.
	Wait()

	// Terminate asks every process to end (SIGTERM). It returns an error if no
	// process could be asked; the caller kills the command then.
	Terminate() error

	// Stop kills the command itself, so that Wait returns soon.
	Stop()

	// Kill kills every process that is left, and returns when all are dead. The
	// error names processes that could not be killed.
	Kill() error

	// Status returns how the command ended: nil for exit status 0, or an
	// [*ExitError].
	Status() error
}
