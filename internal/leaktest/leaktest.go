// Package leaktest fails the tests of a package that leave goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end: goleak's own is under half a
// second, which a busy machine exceeds.
const patience = time.Minute

// Main is a TestMain. It runs the tests, and exits.
func Main(m *testing.M, ignored ...goleak.Option) {
	code := m.Run()
	if err := Find(ignored...); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// Find waits until there are no goroutines but those of the tests and those
// that are ignored. The error names those that do not end.
func Find(ignored ...goleak.Option) error {
	for end := time.Now().Add(patience); ; {
		err := goleak.Find(ignored...) // looks again and again for a moment
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
