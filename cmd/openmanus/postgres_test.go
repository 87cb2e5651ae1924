//go:build unix

package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/openmanus-go/openmanus/internal/pgtest"
)

// Two machines share their sessions in PostgreSQL: one dies in the middle of a task, and
// the other one goes on with it.
func TestMachinesShareSessions(t *testing.T) {
	pg := pgtest.Start(t)
	url, ws := pg.URL("shared"), t.TempDir()
	dir := write(t, "s", `-- 1 --
@call bash {"command": "until [ -e go ]; do sleep 0.1; done; echo begun > begun"}
-- 2 --
@expect conversation contains interrupted
@call bash {"command": "echo done > done"}
-- 3 --
Both are there.
`)
	machine := func(name, url string, args ...string) *exec.Cmd {
		home := filepath.Join(dir, name)
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("openmanus", args...)
		cmd.Dir = ws
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_STORE_URL="+url)
		return cmd
	}
	says := func(cmd *exec.Cmd, code int, wants ...string) {
		t.Helper()
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v, want exit code %d\n%s", cmd.Args, err, code, out)
		}
		for _, want := range wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%v does not say %q:\n%s", cmd.Args, want, out)
			}
		}
		if strings.Contains(string(out), "hidden-word") {
			t.Errorf("%v shows the password:\n%s", cmd.Args, out)
		}
	}

	first := machine("first", url, "run", "--sandbox", "none", "--approve", "all", "--model", "scripted:"+filepath.Join(dir, "s"), "do both")
	out, err := first.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for seen, part := "", make([]byte, 4096); !strings.Contains(seen, "until [ -e go ]"); {
		n, err := out.Read(part)
		if seen += string(part[:n]); err != nil {
			t.Fatalf("%v\n%s", err, seen)
		}
	}
	says(machine("second", url, "sessions", "list"), 0, "do both")
	says(machine("second", url, "sessions", "resume", "last"), 1, "driven by another process")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // its result is that of a kill
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "UPDATE leases SET expires = 0"); err != nil { // as 15 seconds later
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(ws, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says(machine("second", url, "sessions", "resume", "last"), 0, "Both are there.")
	says(machine("first", url, "sessions", "list", "--search", "both there"), 0, "do both")
	says(machine("first", url, "sessions", "replay", "last"), 0)
	if _, err := os.Stat(filepath.Join(ws, "done")); err != nil {
		t.Error(err)
	}
	// one takes the sessions along, and brings them back
	third := filepath.Join(dir, "third-data")
	says(machine("first", url, "sessions", "copy", "last", "--to", third), 0)
	says(machine("first", url, "sessions", "copy", "--all", "--to", third), 0, "was there")
	says(machine("third", "", "--data-dir", third, "sessions", "list", "--search", "both there"), 0, "do both")
	says(machine("third", "", "--data-dir", third, "sessions", "copy", "last", "--to", pg.URL("again")), 0)
	says(machine("fourth", pg.URL("again"), "sessions", "replay", "last"), 0)
	says(machine("third", "", "--data-dir", third, "sessions", "retry", "last"), 1, "nothing to retry")
	says(machine("first", url, "sessions", "copy", "--to", third), 0, "was there")
	says(machine("first", url, "sessions", "copy", "last", "--all", "--to", third), 2, "not both")
	says(machine("third", "sqlite://"+third, "sessions", "list", "--search", "both there"), 0, "do both")
	says(machine("third", "", "sessions", "list"), 0, "no sessions")
	says(machine("third", "postgres://me:hidden-word@127.0.0.1:1/db", "sessions", "list"), 2, "127.0.0.1:1")
	says(machine("third", "redis://me:hidden-word@example.org/", "sessions", "list"), 2, "store")
	says(machine("first", url, "doctor", "--offline"), 1, "sessions are in PostgreSQL", "no model is configured")
}

// On a new machine nothing has made the data directory where the sessions are elsewhere.
func TestServeOnANewMachine(t *testing.T) {
	url := pgtest.Start(t).URL("new")
	home := t.TempDir()
	cmd := exec.Command("openmanus", "serve", "--addr", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENMANUS_STORE_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() // its result is that of a kill
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "http://127.0.0.1:") {
		t.Fatalf("it prints %q, %v: %s", line, err, said.String())
	}
	data := filepath.Join(home, ".local", "share", "openmanus")
	if info, err := os.Stat(data); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory: %v, %v", info, err)
	}
	if _, err := os.Stat(filepath.Join(data, "serve.token")); err != nil {
		t.Error(err)
	}
}
