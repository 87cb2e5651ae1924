//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/run/durable"
)

// One user's sessions do not wait until all of another user's have run.
func TestFairness(t *testing.T) {
	f := start(t, 1, 0, linesScript(1))
	const many = 30
	var alice, bob []string
	for n := range many {
		alice = append(alice, f.task(f.servers[0], "alice", "Write the lines.", map[string]any{"workspace": fmt.Sprint("w", n)}))
	}
	for n := range 2 {
		bob = append(bob, f.task(f.servers[0], "bob", "Write the lines.", map[string]any{"workspace": fmt.Sprint("w", n)}))
	}
	f.run("worker0", true, binary(t), "worker", "--sessions", "1")
	for _, id := range bob {
		f.waits("a session of bob", func() bool { return f.status(f.servers[0], "bob", id) == "finished" })
	}
	left := 0
	for _, id := range alice {
		if f.status(f.servers[0], "alice", id) != "finished" {
			left++
		}
	}
	t.Logf("%d of %d earlier sessions of alice waited when both of bob had ended", left, many)
	if left < many/2 {
		t.Errorf("bob waited for alice")
	}
}

// A worker leaves a session to newer ones that a newer version has begun, says so, and takes
// it when it can.
func TestNewerSession(t *testing.T) {
	f := start(t, 1, 1, linesScript(1))
	db := f.open()
	id := "20300101-0000-newer"
	workspace := filepath.Join(f.dir, "data", "workspaces", "alice", "w")
	opened := openmanus.Opened{Flow: "manus", Owner: "alice", Version: openmanus.FormatVersion + 1}
	said := openmanus.UserSaid{ID: "1", Message: llm.Say(llm.User, "Write the lines.")}
	if _, err := db.Append(t.Context(), id, opened, openmanus.Configured{Spec: openmanus.Spec{Workspace: workspace}}, said); err != nil {
		t.Fatal(err)
	}
	err := f.call(f.servers[0], "alice", "POST", "/api/v1/sessions/"+id+"/messages", map[string]any{"text": "Go on."}, nil)
	if err == nil || !strings.Contains(err.Error(), "of a newer version: it can be read but not continued") {
		t.Errorf("an old server says %v", err)
	}
	newer, err := durable.Dial(t.Context(), durable.Options{Address: f.temporal}, func(context.Context, string) (durable.Route, error) { return durable.Route{Owner: "alice"}, nil })
	if err != nil {
		t.Fatal(err)
	}
	defer newer.Close()
	if err := newer.Wake(t.Context(), id); err != nil { // as a newer server does
		t.Fatal(err)
	}
	f.waits("the worker to leave it", func() bool {
		data, err := os.ReadFile(f.workers[0].log.Name())
		return err == nil && strings.Contains(string(data), "left to newer workers") && strings.Contains(string(data), id)
	})
	n := len(f.journal(db, id).events[id])
	other := f.task(f.servers[0], "alice", "Write the lines.", map[string]any{"workspace": "w"})
	f.waits("another session", func() bool { return f.status(f.servers[0], "alice", other) == "finished" })
	if got := len(f.journal(db, id).events[id]); got != n || f.status(f.servers[0], "alice", id) != "running" {
		t.Errorf("the session has %d events, had %d, and is %s", got, n, f.status(f.servers[0], "alice", id))
	}
}

// A session's changes are undone, redone, and copied with its files, at any server, and the
// workers go on from there.
func TestBackAndForks(t *testing.T) {
	f := start(t, 2, 2, `-- any --
@when results contains done
It is done.
-- any --
@when user contains Read it
@call bash {"command": "echo done: the files are $(ls)"}
-- any --
@when user contains Make another
@call bash {"command": "echo second > second.txt; echo done"}
-- any --
@call bash {"command": "echo first > first.txt; echo done"}
`)
	db := f.open()
	id := f.task(f.servers[0], "alice", "Make it.", map[string]any{"workspace": "w"})
	ends := func(id string) {
		t.Helper()
		f.waits("session "+id, func() bool { return f.status(f.servers[1], "alice", id) == "finished" })
	}
	post := func(server int, id, what string, in, out any) {
		t.Helper()
		f.waits("the workspace to be free", func() bool {
			err := f.call(f.servers[server], "alice", "POST", "/api/v1/sessions/"+id+"/"+what, in, out)
			if err != nil && !strings.Contains(err.Error(), "409") {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	ends(id)
	post(1, id, "messages", map[string]any{"text": "Make another."}, nil)
	ends(id)
	var fork struct {
		ID string `json:"id"`
	}
	post(0, id, "fork", map[string]any{}, &fork)
	post(1, id, "rewind", map[string]any{"last": true}, nil)
	read := func(id, want string) {
		t.Helper()
		post(0, id, "messages", map[string]any{"text": "Read it."}, nil)
		ends(id)
		s, err := openmanus.Load(t.Context(), db, id)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, m := range s.Said {
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok && strings.Contains(r.Parts.Text(), "the files are") {
					got, _, _ = strings.Cut(r.Parts.Text()[strings.Index(r.Parts.Text(), "done: "):], "\n")
					if strings.Contains(r.Parts.Text(), "No such") {
						t.Errorf("session %s: %s", id, r.Parts.Text())
					}
				}
			}
		}
		if got != want {
			t.Errorf("session %s: %q, want %q", id, got, want)
		}
	}
	read(id, "done: the files are first.txt")
	read(fork.ID, "done: the files are first.txt second.txt")
}
