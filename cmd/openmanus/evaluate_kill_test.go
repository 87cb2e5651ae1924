//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

const evaluateScript = `An evaluation that is killed.
@pace 1ms
-- 1 --
@when system contains You compare attempts
@call create_chat_completion {"attempts": [{"attempt": 1, "done": true, "score": 1, "reason": "so"}, {"attempt": 2, "done": true, "score": 2, "reason": "so"}], "reason": "It is longer."}
-- 1 --
@call file_saver {"file_path": "log", "content": "1\n", "mode": "a"}
-- 2 --
@call file_saver {"file_path": "log", "content": "2\n", "mode": "a"}
-- 3 --
All is done.
`

// TestKillEvaluate kills an evaluation at random moments, and resumes: no
// attempt is made twice, no call of one runs twice, and the best is kept.
func TestKillEvaluate(t *testing.T) {
	dir := write(t, "s", evaluateScript)
	home := filepath.Join(dir, ".home")
	env := append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	longest, resumes := 2*time.Second, 0
	for n := range max(4, kills(t)/20) {
		ws := filepath.Join(dir, fmt.Sprint("ws", n))
		if err := os.Mkdir(ws, 0o755); err != nil {
			t.Fatal(err)
		}
		var id string
		for first := true; ; first = false {
			args := []string{"evaluate", "--model", "scripted:" + filepath.Join(dir, "s"), "--attempts", "2", "--sandbox", "none", "--approve", "all", "--workspace", ws, "--quiet", "count"}
			if !first && id != "" {
				args = []string{"sessions", "resume", id, "--quiet"}
				resumes++
			}
			begin := time.Now()
			after := time.Duration(rand.Int64N(int64(longest)))
			if n == 0 {
				after = time.Hour // to see how long one takes
			}
			_, killed := runAndKill(t, dir, env, after, args...)
			if n == 0 {
				longest = time.Since(begin)
			}
			if id == "" {
				id = sessionIn(t, home, ws)
			}
			if !killed {
				break
			}
		}
		evaluated(t, home, id, ws)
	}
	t.Logf("%d resumes, a whole evaluation takes %v", resumes, longest)
	if resumes == 0 {
		t.Error("nothing was killed in time: the test shows nothing")
	}
}

// evaluated checks that an evaluation has finished with one round, and that
// nothing in it ran twice.
func evaluated(t *testing.T, home, id, ws string) {
	t.Helper()
	db := openStore(t, home)
	defer db.Close()
	s, err := openmanus.Load(t.Context(), db, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Status() != openmanus.Finished || !strings.Contains(s.Answer, "Attempt 2 is the best: It is longer.") || len(s.Children) != 3 {
		t.Fatalf("session %s: %s with %d children, %q", id, s.Status(), len(s.Children), s.Answer)
	}
	kept, err := os.ReadFile(filepath.Join(ws, "log"))
	if err != nil {
		kept = nil // both calls of the best may be in doubt
	}
	for n, log := range []string{string(kept), logOf(s, 1), logOf(s, 2)} {
		for _, l := range []string{"1", "2"} {
			if strings.Count(log, l) > 1 {
				t.Fatalf("session %s: call %s ran more than once: %d: %q", id, l, n, log)
			}
		}
	}
	if log := logOf(s, 2); string(kept) != log {
		t.Fatalf("session %s: kept was %q of %q", id, kept, log)
	}
	for _, c := range s.Children {
		child, err := openmanus.Load(t.Context(), db, c.Child)
		if err != nil || child.Status() != openmanus.Finished {
			t.Fatalf("session %s: %v %v", c.Child, child.Status(), err)
		}
	}
}

// logOf is what an attempt wrote: nothing, if its calls are in doubt.
func logOf(s *openmanus.State, attempt int) string {
	_, dir, _ := strings.Cut(s.Answer, "The copies are in ")
	data, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("attempt-", attempt), "log"))
	if err != nil {
		return ""
	}
	return string(data)
}
