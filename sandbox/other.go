//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"

	"github.com/openmanus-go/openmanus/workspace"
)

// errOther is the error of every kind here.
func errOther(kind Kind) error {
	return fmt.Errorf("%w: %s needs Linux, and this is %s", ErrNone, kind, runtime.GOOS)
}

func newBubblewrap(context.Context, Options) (workspace.Cage, error) {
	return nil, errOther(Bubblewrap)
}
func newLandlock(context.Context, Options) (workspace.Cage, error)      { return nil, errOther(Landlock) }
func newContainer(_ context.Context, o Options) (workspace.Cage, error) { return nil, errOther(o.Kind) }

// measureMachine has nothing to measure.
func (o *Options) measureMachine() error { return nil }

// refuseGit refuses nothing: there is no sandbox here.
func refuseGit(string) func(string) error { return nil }

// advice says how to get a sandbox, or how to do without.
func advice() string {
	return "Work in a Linux container or virtual machine, or choose to go without: --sandbox none lets " +
		"commands do whatever you can do."
}

// Explain returns a text for people about what commands can and cannot do in the
// sandbox that o describes.
func Explain(ctx context.Context, o Options) (string, error) {
	ws, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	return "There is no sandbox: commands can do whatever you can do.\n", ws.Close()
}

// Describe returns lines for the model about what commands reach.
func Describe(Options) []string {
	return []string{"commands: no sandbox, they run with all rights of the person"}
}

// Main does nothing here: no part of a sandbox is this program again.
func Main() {}
