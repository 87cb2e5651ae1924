//go:build linux

package cluster_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
)

// However long a session is, Temporal keeps some kilobytes of it: CLUSTER_STEPS model calls
// in place of 300.
func TestHistoryStaysSmall(t *testing.T) {
	steps := number("CLUSTER_STEPS", 300)
	f := start(t, 1, 1, fmt.Sprintf(`-- 1 --
@call bash {"command": "seq -f 'line %%.0f' 1 20000 > a.txt"}
-- 2-%d --
@call str_replace_editor <<END
{"command": "view", "path": "a.txt", "view_range": [{{n}}, {{n}}]}
END
-- any --
The end.
`, steps))
	begun := time.Now()
	id := f.task(f.servers[0], "alice", "Take all steps.", map[string]any{"workspace": "w"})
	for end := begun.Add(patience(steps)); f.status(f.servers[0], "alice", id) != "finished"; time.Sleep(time.Second) {
		if st := f.status(f.servers[0], "alice", id); time.Now().After(end) || st == "failed" || st == "stopped" {
			t.Fatalf("the session is %s\n%s", st, f.logs())
		}
	}
	db := f.open()
	said, tokens := 0, 0
	for ev, err := range db.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b, ok := ev.Body.(openmanus.ModelSaid); ok {
			said, tokens = said+1, max(tokens, b.Usage.Input+b.Usage.Cached)
		}
	}
	bytes, events := f.history(id)
	t.Logf("%d model calls over a conversation of %d tokens in %v: %d bytes of history in %d events",
		said, tokens, time.Since(begun).Round(time.Second), bytes, events)
	if said != steps+1 || bytes == 0 || bytes > 20_000 {
		t.Errorf("%d model calls, %d bytes of history", said, bytes)
	}
}

// patience is how long so many steps may take.
func patience(steps int) time.Duration {
	return time.Minute + time.Duration(steps)*200*time.Millisecond
}

// history returns the size of the history of a session's workflow, over all of its runs.
func (f *fleet) history(id string) (bytes, events int) {
	f.t.Helper()
	out, err := exec.Command(temporalBinary(f.t), "workflow", "list", "--address", f.temporal, "--output", "json",
		"--query", fmt.Sprintf("WorkflowId='session/%s'", id)).Output()
	if err != nil {
		f.t.Fatal(err)
	}
	var runs []struct {
		HistoryLength    string `json:"historyLength"`
		HistorySizeBytes string `json:"historySizeBytes"`
	}
	if err := json.Unmarshal(out, &runs); err != nil {
		f.t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
	}
	for _, r := range runs {
		size, _ := strconv.Atoi(r.HistorySizeBytes)
		length, _ := strconv.Atoi(r.HistoryLength)
		bytes, events = bytes+size, events+length
	}
	return bytes, events
}
