//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus/internal/schedule"
)

// A report that is due every morning arrives once a day, whoever looks after it: each
// morning of a week, several programs do at once, and some are killed.
func TestAReportEveryMorning(t *testing.T) {
	dir := write(t, "s", "The report.\n@pace 1ms\n-- 1 --\n@call file_saver {\"file_path\": \"seen\", \"content\": \"x\"}\n-- 2 --\nAll is well.\n")
	ws := filepath.Join(dir, "ws")
	if err := os.Mkdir(ws, 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=")
	program := func(args ...string) *exec.Cmd {
		cmd := exec.Command("openmanus", append([]string{"schedule"}, args...)...)
		cmd.Dir, cmd.Env = ws, env
		return cmd
	}
	must := func(args ...string) []byte {
		t.Helper()
		out, err := program(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	must("add", "report", "--cron", "0 9 * * *", "--zone", "UTC", "--model", "scripted:"+filepath.Join(dir, "s"), "--approve", "all",
		"--result", "{date}.md", "Report.")
	const days = 5
	first := time.Date(2036, 5, 1, 9, 0, 0, 0, time.UTC)
	for day := range days {
		now := first.AddDate(0, 0, day).Add(10 * time.Second).Format(time.RFC3339)
		var all sync.WaitGroup
		for n := range 4 {
			cmd := program("run-due", "--now", now)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if n < 2 {
				after := time.Duration(rand.Int64N(int64(300 * time.Millisecond)))
				kill := time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) // it may have ended
				defer kill.Stop()
			}
			all.Go(func() { _ = cmd.Wait() }) // killed, or not: the history says how it ended
		}
		all.Wait()
		must("run-due", "--now", now)
	}
	var history []schedule.Entry
	if err := json.Unmarshal(must("history", "report", "--json"), &history); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, e := range history {
		if e.Status == schedule.Skip { // the years until then
			continue
		}
		want := first.AddDate(0, 0, runs)
		if !e.Slot.Equal(want) || e.Status != "finished" {
			t.Errorf("%+v, want the run of %v to be finished", e, want)
		}
		if data, err := os.ReadFile(filepath.Join(ws, want.Format("2006-01-02")+".md")); string(data) != "All is well.\n" {
			t.Errorf("the report of %v: %q %v", want, data, err)
		}
		runs++
	}
	if runs != days {
		t.Errorf("%d reports in %d days: %s", runs, days, fmt.Sprint(history))
	}
}

// A server runs schedules, and its API lists, runs and pauses them.
func TestServedSchedules(t *testing.T) {
	dir := write(t, "s", "-- any --\nAll is well.\n")
	d := &desk{t, dir, map[string]string{"HOME": filepath.Join(dir, ".home")}}
	d.must("schedule", "add", "report", "--cron", "0 9 * * *", "--zone", "UTC", "--model", "scripted:"+filepath.Join(dir, "s"), "Report.")
	d.must("schedule", "add", "gone", "--cron", "0 9 * * *", "--zone", "UTC", "--model", "scripted:"+filepath.Join(dir, "s"), "--agent", "nobody", "Look.")
	d.must("schedule", "add", "hers", "--cron", "0 9 * * *", "--zone", "UTC", "--user", "ann", "Look.")
	s := serve(t, dir, "127.0.0.1:0")
	const at = "/api/v1/schedules"
	items := s.call("GET", at, "")["items"].([]any)
	if len(items) != 2 || items[1].(map[string]any)["name"] != "report" || items[1].(map[string]any)["state"] != "waits" || items[1].(map[string]any)["when"] != "0 9 * * *" {
		t.Errorf("the schedules are %v", items)
	}
	id := s.call("POST", at+"/report/run", "")["session"].(string)
	if x := s.call("GET", "/api/v1/sessions/"+id+"?wait=60", ""); x["status"] != "finished" {
		t.Errorf("its session is %v", x)
	}
	if status, answer := s.send("POST", at+"/report/pause", ""); status != http.StatusNoContent {
		t.Errorf("a pause: %d %s", status, answer)
	}
	if x := s.call("GET", at, "")["items"].([]any)[1].(map[string]any); x["state"] != "paused" || x["next"] != nil {
		t.Errorf("a paused schedule is %v", x)
	}
	if status, answer := s.send("POST", at+"/report/resume", ""); status != http.StatusNoContent {
		t.Errorf("its end: %d %s", status, answer)
	}
	if x := s.call("GET", at+"/report/history", "")["items"].([]any)[0].(map[string]any); x["session"] != id || x["manual"] != true || x["count"] != 1.0 {
		t.Errorf("its history begins with %v", x)
	}
	if status, answer := s.send("POST", at+"/gone/run", ""); status != http.StatusUnprocessableEntity || !strings.Contains(string(answer), "nobody") {
		t.Errorf("an agent that is gone: %d %s", status, answer)
	}
	for _, path := range []string{"/hers/run", "/hers/pause", "/none/resume"} {
		if status, answer := s.send("POST", at+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, status, answer)
		}
	}
	if status, answer := s.send("GET", at+"/hers/history", ""); status != http.StatusNotFound {
		t.Errorf("the history of somebody else's: %d %s", status, answer)
	}
}
