// Package leaktest makes the tests of a package fail if they leak goroutines.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// timeout is how long goroutines may take to end. goleak's own timeout is under
// half a second, which is too short on a busy machine.
const timeout = time.Minute

// Main is for TestMain: it runs the tests, checks for leaks, and exits.
func Main(m *testing.M, ignored ...goleak.Option) {
	code := m.Run()
	if err := Find(ignored...); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Find waits until the only goroutines are those of the test framework and the
// ignored ones. The error lists the goroutines that do not end.
func Find(ignored ...goleak.Option) error {
	for end := time.Now().Add(timeout); ; {
		err := goleak.Find(ignored...) // it retries for a moment
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
