package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/openmanus-go/openmanus/internal/cli"
)

// full is standard output on a disk that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Every command that prints ends with 1 and a sentence where nothing can be written, and
// nothing of the session is lost.
func TestOutputThatCannotBeWritten(t *testing.T) {
	d := newDesk(t, nil)
	d.write("s", "-- any --\n@when last contains save\n@call file_saver {\"file_path\":\"a\",\"content\":\"x\"}\n-- any --\nDone.\n")
	d.write("wait", "-- any --\n@when last contains save\n@call ask_human {\"inquire\":\"Which?\"}\n-- any --\nDone.\n")
	saved := d.begin("--approve", "all", "--model", "scripted:s", "save it")
	d.must("sessions", "export", "last", "--out", "export.jsonl")
	asks := d.begin("--model", "scripted:wait", "save it")
	plan := d.begin("--plan", "--model", "scripted:s", "plan it")
	two := []string{d.begin("--model", "scripted:s", "save it"), d.begin("--model", "scripted:s", "save it"), d.begin("--model", "scripted:s", "save it")}
	d.must("run", "--approve", "all", "--model", "scripted:s", "save it")
	covered := []string{
		"serve", "worker", "mcp serve", "acp", // they end when they are stopped
		"setup",                                                                                                                           // with a person
		"sessions retry",                                                                                                                  // as sessions resume
		"sessions apply", "sessions discard", "mcp test", "mcp approve", "mcp remove", "approvals forget", "models check", "models probe", // see checked
		"hooks test", "hooks approve", "a2a add", "a2a test", "a2a approve", "a2a remove",
		"sandbox run", "sandbox check", // what commands print
		"update", // of a release
	}
	for _, args := range []string{
		"--help", "run --help", "sessions --help", "version", "completion bash", "tools", "tools bash", "agents", "models", "models known", "usage",
		"run -q --model scripted:s hi", "run --model scripted:s --output json hi", "run --model scripted:s --output jsonl hi",
		"flow -q --model scripted:s hi", "flow --model scripted:s --output json hi", "flow --model scripted:s --output jsonl hi",
		"evaluate -q --approve all --attempts 1 --model scripted:s hi", "evaluate --approve all --attempts 1 --model scripted:s --output jsonl hi",
		"research -q --model scripted:s hi", "chat --model scripted:s hi", "demo -q",
		"sessions resume last more", "sessions resume last more --output jsonl", "sessions resume last --output json", "sessions resume last",
		"sessions list", "sessions list --json", "sessions show last", "sessions show last --json", "sessions log last", "sessions log last --json",
		"sessions audit last", "sessions export last", "sessions request last 4", "sessions replay last", "schedule add daily --cron @daily --model scripted:s hi", "schedule list", "schedule list --json", "schedule show daily", "schedule show daily --json",
		"schedule run daily", "schedule run daily --output json", "schedule run-due --now 2036-01-01T00:00:00Z", "schedule history daily", "schedule pause daily", "schedule resume daily", "schedule remove daily", "sessions why c0-1 " + saved,
		"sessions diff " + saved, "sessions files " + saved, "sessions fork last", "sessions say last x", "sessions import export.jsonl --to imported",
		"sessions answer " + asks + " blue", "sessions plan " + plan, "sessions prune --json",
		"sessions approve " + two[0], "sessions deny " + two[1], "sessions interrupt " + two[2], "sessions rewind --last --yes " + saved, "sessions redo --yes " + saved, "sessions delete imported --yes",
		"config show", "config check", "config init new.toml", "config path", "config trust new.toml --yes", "approvals list",
		"trust", "hooks list", "a2a list", "sessions copy last --to copied", "mcp list", "mcp add other https://127.0.0.1:1/", "mcp show other", "mcp show other --json", "models list", "sandbox explain", "doctor", "completion zsh", "completion fish", "completion powershell", "completion words ses",
		"docs --list", "docs sandbox --print", "man", "man run",
	} {
		t.Run(args, func(t *testing.T) {
			in, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var errs bytes.Buffer
			code := Main(context.Background(), strings.Fields(args), &terminal{in: in, out: full{}, err: &errs, dir: d.dir,
				env: func(name string) (string, bool) { v, ok := d.env[name]; return v, ok }})
			if said := errs.String(); code != exitFailed || !strings.Contains(said, syscall.ENOSPC.Error()) {
				t.Errorf("exit code %d, want 1 and why:\n%s", code, said)
			}
		})
		covered = append(covered, args)
	}
	var walk func(c *cli.Command)
	walk = func(c *cli.Command) {
		for _, below := range c.Commands {
			walk(c.Command(below.Name))
		}
		name := strings.TrimPrefix(c.Path(), "openmanus ")
		if len(c.Commands) == 0 && !slices.ContainsFunc(covered, func(args string) bool { return strings.HasPrefix(args+" ", name+" ") }) {
			t.Errorf("there is no case for %s", name)
		}
	}
	walk(cli.New("openmanus", about, new(commands)))
}

// begin runs the program, and returns the session that it opened.
func (d *desk) begin(args ...string) string {
	d.t.Helper()
	out, err, _ := d.run(append([]string{"run", "--output", "json"}, args...)...)
	var sum struct{ Session string }
	if json.Unmarshal([]byte(out), &sum) != nil || sum.Session == "" {
		d.t.Fatal(out, err)
	}
	return sum.Session
}
