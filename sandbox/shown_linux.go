package sandbox

import (
	"fmt"
	"os"
	"time"

	"github.com/openmanus-go/openmanus/workspace"
)

// checkShown returns an error if the first process of a sandbox that bwrap has made, child,
// sees another directory than the workspace at its path. bwrap mounts what is there when it
// mounts, and a session in a directory above may have put a link there a moment before. The
// command has not begun: bwrap waits when everything is mounted.
//
// It is mounted when the root is. If the child cannot be looked at, because it has ended or
// this system does not let us, the look before the start has to do.
func (b *bubblewrap) checkShown(p *process, child int) error {
	if b.o.root == nil {
		return nil
	}
	root, err := os.Stat(b.private.path("root"))
	if err != nil {
		return err
	}
	at := fmt.Sprintf("/proc/%d/root", child)
	for begin := time.Now(); ; {
		now, err := os.Stat(at)
		if err != nil {
			return nil
		}
		if os.SameFile(root, now) {
			break
		}
		select {
		case <-p.ended:
			return nil // and says why itself
		case <-time.After(100 * time.Microsecond):
		}
		if time.Since(begin) > time.Minute {
			return errNotMade
		}
	}
	ws, err := os.Stat(at + b.view.ws)
	if err == nil && !os.SameFile(b.o.root, ws) {
		return &workspace.ReplacedError{Path: b.view.ws}
	}
	return nil
}
