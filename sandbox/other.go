//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"runtime"

	"github.com/openmanus-go/openmanus/workspace"
)

func errOther(kind Kind) error {
	return fmt.Errorf("%w: %s needs Linux, and this is %s", ErrNone, kind, runtime.GOOS)
}

func newBubblewrap(context.Context, Options) (workspace.Cage, error) {
	return nil, errOther(Bubblewrap)
}
func newLandlock(context.Context, Options) (workspace.Cage, error)      { return nil, errOther(Landlock) }
func newContainer(_ context.Context, o Options) (workspace.Cage, error) { return nil, errOther(o.Kind) }

func (o *Options) machine() error { return nil }

func refuseProtected(string) error { return nil }

func advice() string {
	return "Work in a Linux container or virtual machine, or choose to go without: --sandbox none lets commands do whatever you can do."
}

// Explain says in words what commands can and cannot do in the cage that o asks
// for.
func Explain(ctx context.Context, o Options) (string, error) {
	ws, err := Open(ctx, o)
	if err != nil {
		return "", err
	}
	return "There is no sandbox: commands can do whatever you can do.\n", ws.Close()
}

// Main does nothing here: no part of a sandbox is this program again.
func Main() {}
