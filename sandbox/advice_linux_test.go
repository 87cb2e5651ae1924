package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdvice holds what a failed command is explained with, and that nothing is said
// where the sandbox is not the reason.
func TestAdvice(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	bin := filepath.Join(home, "go/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "staticcheck"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const network, module, hidden, tools = "commands have no network", "is not among the packages", "which the sandbox does not show",
		"which commands can only read"
	for _, row := range []struct {
		output string
		code   int
		want   string
	}{
		{"bash: line 3: staticcheck: command not found\n", 127, hidden},
		{"sh: 1: staticcheck: not found", 127, hidden},
		{"env: ‘staticcheck’: No such file or directory", 127, hidden},
		{"/usr/bin/env: 'staticcheck': No such file or directory", 127, hidden},
		{"make: staticcheck: No such file or directory", 2, ""},
		{"bash: line 1: staticcheck: command not found", 0, hidden},
		{"bash: line 1: staticcheck: command not found\nbut the script went on", 0, ""},
		{"bash: line 3: nosuchprogram: command not found", 127, ""},
		{"the key x was not found", 1, ""},
		{"curl: (6) Could not resolve host: example.org", 6, network},
		{"fatal: unable to access 'https://example.org/': Could not resolve host: example.org", 128, network},
		{"WARNING: Retrying … NewConnectionError … [Errno -3] Temporary failure in name resolution", 1, network},
		{"ERROR: Could not find a version that satisfies the requirement pytest", 1, network},
		{"go: example.org/x: module lookup disabled by GOPROXY=off", 1, network},
		{"error: the crate `serde` could not be found in registry index.", 101, network},
		{"npm error code EAI_AGAIN", 1, network},
		{"npm error code ENOTCACHED", 1, network},
		{"[ERROR] Cannot access central in offline mode and the artifact x:y:1 has not been downloaded", 1, network},
		{"curl: (7) Failed to connect to 127.0.0.1 port 8000: Connection refused", 7, "localhost is the sandbox itself"},
		{"Error: connect ECONNREFUSED 127.0.0.1:3000", 1, "localhost is the sandbox itself"},
		{"ModuleNotFoundError: No module named 'numpy'", 1, module},
		{"/usr/bin/python3: No module named pytest", 1, module},
		{"Error: Cannot find module 'express'", 1, module},
		{"Error: Cannot find module './mine'", 1, ""},
		{"main.go:3:8: no required module provides package example.org/x; to add it:", 1, module},
		{"bash: line 1: /T/tools/bin/x: Read-only file system", 1, tools},
		{"touch: cannot touch '/usr/x': Read-only file system", 1, "the workspace, HOME and TMPDIR, and nothing else"},
		{"bash: line 1: /ws/a: Permission denied\nsandbox: a is protected, because …", 1, ""},
		{"chmod: /ws/a: Permission denied", 1, ""},
		{"cat: " + home + "/data.csv: No such file or directory", 1, "[sandbox] read"},
		{"cat: /ws/data.csv: No such file or directory", 1, ""},
		{"FAIL: TestX: got 3, want 4", 1, ""},
		{"", 1, ""},
		{"Could not resolve host: example.org", 0, ""},
		{strings.Repeat("x\n", adviceTail) + "curl: (6) Could not resolve host: a", 6, network},
	} {
		v := &mountView{ws: "/ws", tooled: []string{"/T/tools"}, tools: &toolchains{unseen: []string{bin}}}
		b := &base{o: Options{Network: NoNetwork, Toolchains: []string{AutoToolchains}}, view: v, limits: &limits{}, prevents: true}
		got := b.Advise(row.output, row.code)
		if row.want == "" && got != "" || !strings.Contains(got, row.want) || strings.Contains(got, "\n") {
			t.Errorf("%.100q, %d:\n%q, want %q", row.output, row.code, got, row.want)
		}
	}
}
