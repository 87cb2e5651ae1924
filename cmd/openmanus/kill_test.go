//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/journal"
	"github.com/openmanus-go/openmanus/store"
)

// kills is how often TestKill kills: 200, or KILLS.
func kills(t *testing.T) int {
	v := os.Getenv("KILLS")
	if v == "" {
		return 200
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// steps is how many calls the run that is killed makes. Each adds its number
// to a file, so that what ran twice is seen there.
const steps = 6

func killScript() string {
	var b strings.Builder
	b.WriteString("A run that is killed.\n@pace 1ms\n")
	for i := 1; i <= steps; i++ {
		fmt.Fprintf(&b, "-- reply --\nThis is step %d.\n@call file_saver {\"file_path\": \"log\", \"content\": \"%d\\n\", \"mode\": \"a\"}\n", i, i)
	}
	b.WriteString("-- reply --\nAll is done.\n")
	return b.String()
}

// TestKill kills the program at random moments, and resumes: nothing that was
// acknowledged is lost, nothing runs twice, and every session comes to its end:
// each try may take longer than the one before, should the machine be busier
// than it was when a whole run was timed.
func TestKill(t *testing.T) {
	dir := write(t, "s", killScript())
	env := append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	longest := wholeRun(t, dir, env)
	inDoubt, resumes := 0, 0
	for n := range kills(t) {
		ws := filepath.Join(dir, fmt.Sprint("ws", n))
		if err := os.Mkdir(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		var id string
		for first, within := true, longest; ; first, within = false, within+longest/4 {
			args := []string{"run", "--model", "scripted:" + filepath.Join(dir, "s"), "--approve", "all", "--workspace", ws, "--output", "jsonl", "--quiet", "count"}
			if !first {
				args = []string{"sessions", "resume", id, "--output", "jsonl", "--quiet"}
				resumes++
			}
			out, killed := runAndKill(t, dir, env, time.Duration(rand.Int64N(int64(within))), args...)
			if id == "" {
				id = sessionIn(t, filepath.Join(dir, ".home"), ws)
			}
			if id == "" {
				break // killed before there was a session: nothing was acknowledged
			}
			acknowledged(t, filepath.Join(dir, ".home"), id, out)
			if !killed {
				break
			}
		}
		if id != "" {
			inDoubt += comesToItsEnd(t, filepath.Join(dir, ".home"), id, ws)
		}
	}
	t.Logf("%d runs, %d resumes, %d calls in doubt, a whole run takes %v", kills(t), resumes, inDoubt, longest)
	if resumes == 0 {
		t.Error("nothing was killed in time: the test shows nothing")
	}
}

// wholeRun is how long a run takes that nobody kills.
func wholeRun(t *testing.T, dir string, env []string) time.Duration {
	t.Helper()
	ws := filepath.Join(dir, "whole")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	cmd := exec.Command("openmanus", "run", "--model", "scripted:"+filepath.Join(dir, "s"), "--approve", "all", "--workspace", ws, "--quiet", "count")
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return time.Since(begin)
}

// runAndKill runs the program and kills it after a while, unless it has ended.
// It returns the events that the program said are stored.
func runAndKill(t *testing.T, dir string, env []string, after time.Duration, args ...string) (out []byte, killed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "openmanus", args...) // kills with SIGKILL
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return stdout.Bytes(), true
	}
	if err != nil {
		t.Fatalf("openmanus %v: %v\n%s", args, err, stderr.Bytes())
	}
	return stdout.Bytes(), false
}

func openStore(t *testing.T, home string) *store.DB {
	t.Helper()
	db, err := store.Open(filepath.Join(home, ".local", "share", "openmanus"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// sessionIn returns the session that works in ws, or "".
func sessionIn(t *testing.T, home, ws string) string {
	t.Helper()
	db := openStore(t, home)
	defer db.Close()
	for info, err := range db.Sessions(t.Context(), journal.ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		if info.Workspace == ws {
			return info.ID
		}
	}
	return ""
}

// acknowledged checks that the journal has every event that was shown as
// stored. The last line may be half of one.
func acknowledged(t *testing.T, home, id string, out []byte) {
	t.Helper()
	db := openStore(t, home)
	defer db.Close()
	kept := make(map[int64]string)
	for ev, err := range db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kept[ev.Seq] = ev.Body.Key()
	}
	for l := range bytes.Lines(out) {
		var ev openmanus.Event
		if !bytes.HasSuffix(l, []byte("\n")) || json.Unmarshal(l, &ev) != nil {
			continue
		}
		if kept[ev.Seq] != ev.Body.Key() {
			t.Fatalf("session %s: event %d (%s) was shown and is lost", id, ev.Seq, ev.Body.Key())
		}
	}
}

// comesToItsEnd checks that the session has finished and that no step ran
// twice, and returns how many calls were in doubt.
func comesToItsEnd(t *testing.T, home, id, ws string) (inDoubt int) {
	t.Helper()
	db := openStore(t, home)
	defer db.Close()
	s, err := openmanus.Load(t.Context(), db, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Status() != openmanus.Finished || s.Answer != "All is done." {
		t.Fatalf("session %s: %s, %q", id, s.Status(), s.Answer)
	}
	doubted := make(map[string]bool)
	for ev := range db.Events(t.Context(), id, 0) {
		if d, ok := ev.Body.(openmanus.CallDone); ok && d.IsError {
			if !strings.Contains(d.Parts.Text(), "may or may not have happened") {
				t.Fatalf("session %s: %s", id, d.Parts.Text())
			}
			doubted[d.Call] = true
		}
	}
	data, err := os.ReadFile(filepath.Join(ws, "log"))
	if err != nil && len(doubted) < steps {
		t.Fatal(err)
	}
	count := make(map[string]int)
	for _, l := range strings.Fields(string(data)) {
		count[l]++
	}
	for i := 1; i <= steps; i++ {
		n, call := count[strconv.Itoa(i)], fmt.Sprintf("c%d-1", i-1)
		if n > 1 || n == 0 && !doubted[call] {
			t.Fatalf("session %s: step %d ran %d times (in doubt: %v)", id, i, n, doubted[call])
		}
	}
	return len(doubted)
}
