//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const painterScript = `An agent elsewhere.
-- reply --
@call ask_human {"inquire": "Which colour?"}
-- reply --
@call file_saver {"file_path": "house.txt", "content": "a blue house"}
-- reply --
The house is painted.
`

// TestA2AStory plays what a person does with an agent elsewhere, which is another
// process of this program.
func TestA2AStory(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/a2a",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			for name, value := range map[string]string{
				"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "config"), "XDG_DATA_HOME": filepath.Join(home, "data"),
				"NO_COLOR": "1", "OPENMANUS_SANDBOX_KIND": "none",
			} {
				e.Setenv(name, value)
			}
			far := serveTo(t, write(t, "s", painterScript), "127.0.0.1:0", os.Stderr, "OPENMANUS_SERVE_A2A=true")
			e.Setenv("REMOTE", far.api)
			e.Setenv("REMOTE_TOKEN", strings.TrimPrefix(far.auth, "Bearer "))
			return os.MkdirAll(home, 0o700)
		},
	})
}

// TestA2AKilled: a session that is killed while it sends, and while it follows, goes on
// with the same task of the agent elsewhere, and sends each message once.
func TestA2AKilled(t *testing.T) {
	far := serveTo(t, write(t, "s", painterScript), "127.0.0.1:0", os.Stderr, "OPENMANUS_SERVE_A2A=true")
	near := write(t, "unused", "No model is asked.\n-- reply --\nNothing.\n")
	env := append(os.Environ(), "HOME="+filepath.Join(near, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "NO_COLOR=1",
		"OPENMANUS_SANDBOX_KIND=none", "TOKEN_OF_FAR="+strings.TrimPrefix(far.auth, "Bearer "))
	openmanus := func(args ...string) *exec.Cmd {
		cmd := exec.Command("openmanus", args...)
		cmd.Dir, cmd.Env = near, env
		return cmd
	}
	killedAt := func(word string, args ...string) {
		t.Helper()
		cmd := openmanus(args...)
		said, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for in := bufio.NewScanner(said); in.Scan() && !strings.Contains(in.Text(), word); {
		}
		_ = cmd.Process.Kill() // it may have come to its question
		_ = cmd.Wait()         // the same
	}
	if out, err := openmanus("a2a", "add", "painter", far.api, "--token-env", "TOKEN_OF_FAR").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	killedAt("a2a_painter_send", "run", "--model", "scripted:unused", "--approve", "all", "--agent", "a2a:painter", "Paint it.")
	killedAt("a2a_painter_follow", "sessions", "resume", "last")
	for _, step := range []struct{ answer, asks string }{{"blue", "Which colour?"}, {"yes", "May file_saver run"}} {
		out, err := openmanus("sessions", "resume", "last").CombinedOutput()
		if err == nil || !strings.Contains(string(out), step.asks) {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := openmanus("sessions", "answer", "last", step.answer).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		killedAt("a2a_painter_send", "sessions", "resume", "last")
	}
	out, err := openmanus("sessions", "resume", "last").Output()
	if err != nil && len(out) == 0 { // the killed one had come to its end
		out, err = openmanus("sessions", "show", "last").Output()
	}
	if err != nil || !strings.Contains(string(out), "The house is painted.") {
		t.Fatalf("%v %q", err, out)
	}
	if list, _ := far.call("GET", "/api/v1/sessions", "")["items"].([]any); len(list) != 1 {
		t.Errorf("the agent has %d sessions, not 1", len(list))
	}
}
