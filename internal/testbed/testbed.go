// Package testbed is what the tests of every package stand on. It gives them a home
// directory, an identity for git, a locale and a PATH of their own, so that they see
// nothing of who runs them. It says which programs they need, and fails if they leak
// goroutines.
package testbed

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// Tests are those of a package: a [*testing.M], or what wraps one.
type Tests interface{ Run() int }

// Func is a function as tests, for what must be done before and after them.
type Func func() int

// Run calls f.
func (f Func) Run() int { return f() }

// Main is for TestMain: it does what [Run] does, and exits.
func Main(m Tests, ignored ...goleak.Option) { os.Exit(Run(m, ignored...)) }

// Run gives the process an environment in which nothing is the person's, and runs the
// tests. After them it looks for goroutines other than the ignored ones that do not end.
// It returns the exit code.
func Run(m Tests, ignored ...goleak.Option) (code int) {
	remove, err := furnish()
	if err == nil {
		code = m.Run()
		if code == 0 {
			err = Leaks(ignored...)
		}
		err = errors.Join(err, remove())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// timeout is how long goroutines may take to end. goleak's own timeout is under
// half a second, which is too short on a busy machine.
const timeout = time.Minute

// Leaks waits until the only goroutines are those of the test framework and the
// ignored ones. The error lists the goroutines that do not end.
func Leaks(ignored ...goleak.Option) error {
	for end := time.Now().Add(timeout); ; {
		err := goleak.Find(ignored...) // it retries for a moment
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
