//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus/internal/clip"
)

// deskAt is another window on the directory of a sitting.
func deskAt(t *testing.T, dir string) *desk {
	return &desk{t, dir, map[string]string{"HOME": filepath.Join(dir, ".home"), "OPENMANUS_SANDBOX_KIND": "none"}}
}

// TestSteerFromAnotherWindow: whoever drives a session hears what is said,
// allowed and answered elsewhere.
func TestSteerFromAnotherWindow(t *testing.T) {
	dir := write(t, "s", `-- 1 --
@call file_saver {"file_path": "a.txt", "content": "a"}
-- 2 --
@call ask_human {"inquire": "Which colour?"}
-- 3 --
@call file_saver {"file_path": "b.txt", "content": "b"}
-- 4 --
@call ask_human {"inquire": "And now?"}
-- 5 --
@expect user is never mind
Done with it.
`)
	s, d := sit(t, dir, "run", "--model", "scripted:s", "work"), deskAt(t, dir)
	s.sees(`May file_saver change`)
	s.sees(`\[y\]es`)
	d.must("sessions", "approve", "last")
	s.sees(`Which colour\?`)
	s.sees(`> `)
	d.must("sessions", "answer", "last", "blue")
	s.sees(`May file_saver change`)
	s.sees(`\[y\]es`)
	d.must("sessions", "deny", "last", "--reason", "enough")
	s.sees(`And now\?`)
	s.sees(`> `)
	d.must("sessions", "say", "last", "never mind")
	s.sees(`Done with it\.`)
	s.leaves(0)
}

// TestInterruptFromAnotherWindow: nobody else may drive or delete a session
// that is at work; but an interrupt is heard as if Ctrl-C had been pressed
// there.
func TestInterruptFromAnotherWindow(t *testing.T) {
	dir := write(t, "s", "-- 1 --\n@pace 50ms\n"+strings.Repeat("word ", 2000)+"\n-- 2 --\nAfter all.\n")
	s, d := sit(t, dir, "run", "--model", "scripted:s", "talk"), deskAt(t, dir)
	s.sees(`word word`)
	for args, want := range map[string]string{"resume last": "openmanus sessions say", "resume last more": "was added to the session", "delete last --yes": ""} {
		out, err, code := d.run(append([]string{"sessions"}, strings.Fields(args)...)...)
		if code != exitFailed || out != "" || !strings.Contains(err, "driven by another process") || !strings.Contains(err, want) {
			t.Errorf("sessions %s beside the driver: exit code %d\n%s%s", args, code, out, err)
		}
	}
	d.must("sessions", "interrupt", "last")
	s.sees(`interrupted; continue with`)
	s.leaves(exitInterrupted)
}

// TestFollow: a log that is followed shows what another process appends, until
// Ctrl-C.
func TestFollow(t *testing.T) {
	dir := write(t, "s", "-- 1 --\nHello.\n-- 2 --\nAgain.\n")
	d := deskAt(t, dir)
	d.must("run", "--model", "scripted:s", "hi")
	s := sit(t, dir, "sessions", "log", "last", "--follow", "--after", "3")
	s.sees(`^ +4  .*  model_said .*Hello\.\r\n`)
	d.must("sessions", "say", "last", "more")
	s.sees(`^ +5  .*  user_said +more\r\n`)
	d.must("sessions", "resume", "last")
	s.sees(`model_said .*Again\.`)
	s.types("\x03")
	s.leaves(exitInterrupted)
}

// TestPersonDeletes: what is deleted is shown, and only yes means yes.
func TestPersonDeletes(t *testing.T) {
	dir := write(t, "s", "-- 1 --\nHello.\n")
	d := deskAt(t, dir)
	d.must("run", "--model", "scripted:s", "remember me")
	for _, answer := range []string{"\r", "n\r", "x\r", "\x04"} {
		s := sit(t, dir, "sessions", "delete", "last")
		s.sees(`remember me\r\n`)
		s.sees(`Delete 1 session\? This cannot be undone\. \[y/N\] `)
		s.types(answer)
		s.sees(`nothing was deleted`)
		s.leaves(exitFailed)
	}
	s := sit(t, dir, "sessions", "delete", "last")
	s.sees(`\[y/N\] `)
	s.types("y\r")
	s.sees(`deleted 20`)
	s.leaves(0)
	if out := d.must("sessions", "list"); !strings.Contains(out, "no sessions yet") {
		t.Errorf("it is there still:\n%s", out)
	}
}

// TestTerminalIsNotDriven: on a terminal, JSON too comes without control
// characters, and a table fits.
func TestTerminalIsNotDriven(t *testing.T) {
	dir := write(t, "s", "-- 1 --\nred \u009b31m \u202e\x1b[2J"+strings.Repeat(" and on", 100)+"\n")
	d := deskAt(t, dir)
	d.must("run", "--model", "scripted:s", "say \u009b31m\x1b[2J red"+strings.Repeat(" and on", 100))
	for _, args := range []string{"log last", "log last --full", "log last --json", "show last", "show last --json", "list", "list --json", "export last", "request last 4"} {
		s := sit(t, dir, append([]string{"sessions"}, strings.Fields(args)...)...)
		s.sees(`red`)
		s.leaves(0)
		if screen := s.screen(); strings.ContainsAny(screen, "\x1b\u009b\u202e") {
			t.Errorf("sessions %s: %q", args, screen)
		}
		if args == "list" {
			for line := range strings.Lines(s.screen()) {
				if n := clip.Width(strings.TrimRight(line, "\r\n")); n > 200 {
					t.Errorf("a line of %d columns on a terminal of 200: %s", n, line)
				}
			}
		}
	}
}

// TestChangedInstructionsAreShown: a person who is there sees what changed in
// AGENTS.md, and decides whether agents read it.
func TestChangedInstructionsAreShown(t *testing.T) {
	dir := write(t, "s", "-- 1 --\nHello.\n")
	d := deskAt(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.must("run", "--model", "scripted:s", "hi")
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("two\x1b[2J\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sit(t, dir, "run", "--model", "scripted:s", "hi")
	s.sees(`│ -one\r\n`)
	s.sees(`│ \+two\\x1b\[2J\r\n`)
	s.sees(`AGENTS\.md\r\nThis tells agents what to do in .* Let them read it\? \[y/N\] `)
	s.types("y\n")
	s.sees(`Hello\.`)
	s.leaves(0)
	if out := d.must("trust"); !strings.Contains(out, "nothing in") {
		t.Errorf("%s", out)
	}
}
