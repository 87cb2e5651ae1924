package sandbox_test

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openmanus-go/openmanus/sandbox"
	"github.com/openmanus-go/openmanus/workspace"
)

// TestSignalsLoseNoAnswer has commands open files to write while this process gets
// signals all the time, as Go's scheduler sends them. An answer of the broker that a
// signal interrupts makes the kernel return the descriptor 0 for a file that it did
// not open.
func TestSignalsLoseNoAnswer(t *testing.T) {
	ws := open(t, sandbox.Options{Dir: t.TempDir(), Kind: sandbox.Bubblewrap})
	defer ws.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			threads, err := os.ReadDir("/proc/self/task")
			if err != nil {
				t.Error(err)
			}
			for _, e := range threads {
				select {
				case <-stop:
					return
				default:
				}
				if id, err := strconv.Atoi(e.Name()); err == nil {
					_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG) // it may be gone
				}
			}
		}
	}()
	err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"bash", "-c",
		`for ((i = 0; i < 3000; i++)); do echo $i > n && read j < n && [ "$j" = $i ] || exit 7; done`}})
	if err != nil {
		t.Error(err)
	}
	close(stop)
	<-stopped
}
