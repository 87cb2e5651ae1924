package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const restingScript = `Something runs on in the background.
-- reply --
@call bash {"command": "sleep 100000 & echo $! > pid"}
-- reply --
It runs.
-- reply --
@call bash {"command": "jobs | wc -l"}
-- reply --
It ran.
`

// A hundred sessions leave a shell and a program each. When they have rested,
// the server has no more processes and files open than before them; who is
// spoken to again is told that its shell is new.
func TestIdleSessionsReleaseTheirResources(t *testing.T) {
	const most = 100
	dir := write(t, "s", restingScript)
	r, w := io.Pipe()
	s := serveTo(t, dir, "127.0.0.1:0", w, "OPENMANUS_SERVE_IDLE=2s", "OPENMANUS_RUN_APPROVE=all")
	t.Cleanup(func() { w.Close() })
	rests := make(chan string, 2*most)
	go func() {
		for lines := bufio.NewScanner(r); lines.Scan(); {
			if _, id, ok := strings.Cut(lines.Text(), `released resources of idle session" session=`); ok {
				rests <- id
			} else if strings.Contains(lines.Text(), "level=ERROR") {
				t.Error(lines.Text())
			}
		}
	}()
	start := func(n int) string {
		id := s.call("POST", "/api/v1/sessions", fmt.Sprintf(`{"workspace":"w%d","approve":"all"}`, n))["id"].(string)
		s.call("POST", "/api/v1/sessions/"+id+"/messages", `{"text":"go"}`)
		if x := s.call("GET", "/api/v1/sessions/"+id+"?wait=120", ""); x["status"] != "finished" {
			t.Fatalf("session %d: %v", n, x)
		}
		return id
	}
	wait := func(ids map[string]bool) {
		t.Helper()
		for over := time.After(2 * time.Minute); len(ids) > 0; {
			select {
			case id := <-rests:
				delete(ids, id)
			case <-over:
				t.Fatalf("%d sessions did not release their resources", len(ids))
			}
		}
	}
	first := start(0)
	wait(map[string]bool{first: true})
	procs, files := processes(t, s.cmd.Process.Pid), descriptors(t, s.cmd.Process.Pid)
	if procs != 1 {
		t.Errorf("after the first session there are %d processes", procs)
	}

	ids := make(map[string]bool)
	for n := range most {
		ids[start(n+1)] = true
	}
	wait(ids)
	for n := range most + 1 {
		if pid := pidIn(t, filepath.Join(dir, ".home/.local/share/openmanus/workspaces", fmt.Sprintf("w%d", n), "pid")); alive(t, pid) {
			t.Errorf("what session %d started is alive", n)
		}
	}
	// A connection of ours may still be about to close.
	for over := time.Now().Add(time.Minute); ; {
		p, f := processes(t, s.cmd.Process.Pid), descriptors(t, s.cmd.Process.Pid)
		if p <= procs && f <= files {
			break
		}
		if time.Now().After(over) {
			t.Fatalf("%d processes and %d files are open, and there were %d and %d", p, f, procs, files)
		}
		s.call("GET", "/api/v1/usage", "")
	}

	s.call("POST", "/api/v1/sessions/"+first+"/messages", `{"text":"does it run?"}`)
	if x := s.call("GET", "/api/v1/sessions/"+first+"?wait=120", ""); x["status"] != "finished" || x["answer"] != "It ran." {
		t.Errorf("spoken to again: %v", x)
	}
	if text := fmt.Sprint(s.call("GET", "/api/v1/sessions/"+first+"/log?limit=1000", "")); !strings.Contains(text, "this is a new shell, in ") {
		t.Errorf("the agent is not told of its new shell: %s", text)
	}
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// alive reports whether a process lives. One that is dead and that nobody has
// asked after does not.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// processes is how many there are of pid and of what it started.
func processes(t *testing.T, pid int) int {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 1
	for _, task := range tasks {
		data, err := os.ReadFile(task)
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
		for _, child := range strings.Fields(string(data)) {
			id, err := strconv.Atoi(child)
			if err != nil {
				t.Fatal(err)
			}
			n += processes(t, id)
		}
	}
	return n
}

// descriptors is how many files pid has open, besides the journal: of that it
// opens as many as are asked at the same time.
func descriptors(t *testing.T, pid int) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range open {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd.Name()))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if !strings.Contains(name, "/journal.db") {
			n++
		}
	}
	return n
}
