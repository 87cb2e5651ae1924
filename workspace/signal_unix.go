//go:build unix

package workspace

import (
	"cmp"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalOf returns the name of the signal that ended a process, and the exit
// status by which shells report it; or "" if no signal ended it.
func signalOf(state *os.ProcessState) (code int, name string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return 0, ""
	}
	name = unix.SignalName(ws.Signal())
	name = cmp.Or(name, fmt.Sprintf("signal %d", int(ws.Signal())))
	return 128 + int(ws.Signal()), name
}

// isBrokenPipe is about errors other than [syscall.EPIPE]. There are none here.
func isBrokenPipe(error) bool { return false }
