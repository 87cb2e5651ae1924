package workspace

import "os/exec"

// A Cage starts the commands of a [Dir] so that they can do less than this
// process can. Implementations are safe for concurrent use.
type Cage interface {
	// Name says which cage it is, in a word.
	Name() string

	// Contained: see [Sandboxed].
	Contained() bool

	// Start starts c in the working directory dir, as x: x has its input and
	// output and nothing else. That there is no such program in PATH is an
	// error that is [exec.ErrNotFound]; at a path, [io/fs.ErrNotExist], as it
	// is if dir is not there.
	Start(x *exec.Cmd, c *Cmd, dir string) (Process, error)

	// Close lets go of what the cage is made of. It is called once, when no
	// command is running.
	Close() error
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
