package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	testscript.Main(testbed.Func(func() int { return testbed.Run(m) }), map[string]func(){"openmanus": main, "mcpserver": mcpServer})
}

// TestScripts plays the scripts in testdata/script: what a person types, and
// what they see. Each has a home of its own, and no key.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		// [lacks:PROGRAM] is where a program does not run, which is a failure in CI.
		Condition: func(cond string) (bool, error) {
			program, ok := strings.CutPrefix(cond, "lacks:")
			if !ok {
				return false, fmt.Errorf("there is no condition %q", cond)
			}
			err := testbed.Runs(program)
			if err != nil && os.Getenv("CI") != "" {
				return false, err
			}
			return err != nil, nil
		},
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(home, "data"))
			e.Setenv("NO_COLOR", "1")
			e.Defer(func() { replayAll(t, e) })
			return os.MkdirAll(home, 0o700)
		},
	})
}

// replayAll replays the sessions that a script has left behind.
func replayAll(t *testing.T, e *testscript.Env) {
	openmanus := func(args ...string) ([]byte, error) {
		c := exec.Command("openmanus", args...)
		c.Dir, c.Env = e.Getenv("HOME"), e.Vars
		return c.CombinedOutput()
	}
	out, err := openmanus("sessions", "list", "--json", "--limit", "1000")
	var list []struct{ Session string }
	if err != nil || json.Unmarshal(out, &list) != nil {
		if !bytes.Contains(out, []byte("config.toml:")) { // a script may leave a wrong configuration behind
			t.Errorf("%s: its sessions cannot be listed: %v\n%s", filepath.Base(e.WorkDir), err, out)
		}
		return
	}
	for _, s := range list {
		out, err := openmanus("sessions", "replay", "--check", s.Session)
		if bytes.Contains(out, []byte("cannot be compared with today's agent")) { // its models were in a file of the script's directory
			out, err = openmanus("sessions", "replay", s.Session)
		}
		if err != nil && !bytes.Contains(out, []byte("cannot be replayed")) {
			t.Errorf("%s: replay %s: %v\n%s", filepath.Base(e.WorkDir), s.Session, err, out)
		}
	}
}
