//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
)

// If two programs take one session back at the same time, one does, and the other says
// why it does not. Nothing is put back twice, and redo brings everything again.
func TestTwoProgramsGoBackAtOnce(t *testing.T) {
	const files = 30
	var script strings.Builder
	script.WriteString("Files.\n")
	for i := range files {
		fmt.Fprintf(&script, "-- reply --\n@call file_saver {\"file_path\": \"f%d\", \"content\": \"%d\"}\n", i, i)
	}
	script.WriteString("-- reply --\nAll are there.\n")
	dir := write(t, "s", script.String())
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	program := func(args ...string) ([]byte, error) {
		cmd := exec.Command("openmanus", args...)
		cmd.Dir, cmd.Env = ws, env
		return cmd.CombinedOutput()
	}
	there := func() int {
		names, err := filepath.Glob(filepath.Join(ws, "f*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	if out, err := program("run", "--model", "scripted:"+filepath.Join(dir, "s"), "--approve", "all", "--max-steps", "100", "go"); err != nil || there() != files {
		t.Fatalf("%v, %d files\n%s", err, there(), out)
	}
	id := sessionIn(t, filepath.Join(dir, ".home"), ws)
	for round := range 5 {
		type ended struct {
			out []byte
			err error
		}
		all := make(chan ended)
		for range 2 {
			go func() {
				out, err := program("sessions", "rewind", id, "--last", "--yes")
				all <- ended{out, err}
			}()
		}
		won, lost := <-all, <-all
		if won.err != nil {
			won, lost = lost, won
		}
		if won.err != nil || !strings.Contains(string(won.out), fmt.Sprintf("%d files put back, 1 message taken back", files)) {
			t.Fatalf("round %d: no one goes back: %v\n%s\n%v\n%s", round, won.err, won.out, lost.err, lost.out)
		}
		clear := false
		for _, says := range []string{"it goes back there", "it has just gone back there", "there is nothing to take back"} {
			clear = clear || strings.Contains(string(lost.out), says)
		}
		var exit *exec.ExitError
		if !errors.As(lost.err, &exit) || !clear {
			t.Errorf("round %d: the other: %v\n%s", round, lost.err, lost.out)
		}
		if n, backs := there(), timesBack(t, filepath.Join(dir, ".home"), id); n != 0 || backs != 2*round+1 {
			t.Errorf("round %d: %d files are there, and it went back %d times", round, n, backs)
		}
		if out, err := program("sessions", "redo", id, "--yes"); err != nil || there() != files {
			t.Fatalf("round %d: redo: %v, %d files\n%s", round, err, there(), out)
		}
	}
}

// timesBack returns how often a session went back, or forward again.
func timesBack(t *testing.T, home, id string) (n int) {
	t.Helper()
	db := openStore(t, home)
	defer db.Close()
	for ev, err := range db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.Body.(openmanus.Rewound); ok {
			n++
		}
	}
	return n
}
