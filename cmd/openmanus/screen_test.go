//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/hinshun/vt10x"
)

// A seat is the program with a person in front of its full screen.
type seat struct {
	t   *testing.T
	tty *os.File
	cmd *exec.Cmd
	vt  vt10x.Terminal
	got chan struct{} // something was written
	end chan struct{} // closed when the program has closed the terminal
}

// takeSeat starts the program in dir on a terminal of 90 columns.
func takeSeat(t *testing.T, dir string, args ...string) *seat {
	t.Helper()
	return seatFor(t, dir, exec.Command("openmanus", args...))
}

// seatFor starts a command in dir on a terminal of 90 columns.
func seatFor(t *testing.T, dir string, cmd *exec.Cmd) *seat {
	t.Helper()
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "TERM=xterm-256color", "NO_COLOR=1", "OPENMANUS_SANDBOX_KIND=none")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 90})
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, tty: tty, cmd: cmd, vt: vt10x.New(vt10x.WithSize(90, 30)), got: make(chan struct{}, 1), end: make(chan struct{})}
	go func() {
		defer close(s.end)
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.vt.Write(buf[:n])
			select {
			case s.got <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); tty.Close(); <-s.end })
	return s
}

// sees waits until the screen has all these texts.
func (s *seat) sees(texts ...string) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		screen := s.vt.String()
		all := true
		for _, text := range texts {
			all = all && strings.Contains(screen, text)
		}
		if all {
			return
		}
		select {
		case <-s.got:
		case <-s.end:
			if screen == s.vt.String() {
				s.t.Fatalf("the program ended without %q:\n%s", texts, screen)
			}
		case <-deadline:
			s.t.Fatalf("no %q:\n%s", texts, screen)
		}
	}
}

// presses presses a key again and again until the screen has a text.
func (s *seat) presses(key, text string) {
	s.t.Helper()
	again, deadline := time.NewTicker(200*time.Millisecond), time.After(patience)
	defer again.Stop()
	for !strings.Contains(s.vt.String(), text) {
		select {
		case <-again.C:
			s.types(key)
		case <-deadline:
			s.t.Fatalf("no %q:\n%s", text, s.vt.String())
		}
	}
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// leaves waits for the end of the program, after which the terminal is as it was.
func (s *seat) leaves() {
	s.t.Helper()
	select {
	case <-s.end:
	case <-time.After(patience):
		s.t.Fatalf("the program does not end:\n%s", s.vt.String())
	}
	if s.vt.Mode()&vt10x.ModeAltScreen != 0 || !s.vt.CursorVisible() {
		s.t.Error("the terminal was not restored")
	}
}

// A signal ends the program, and the terminal is as it was; what was typed is in the
// history of the next one.
func TestSignalsOnTheFullScreen(t *testing.T) {
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := write(t, "s", "-- any --\nDone.\n")
			s := takeSeat(t, dir, "chat", "--model", "scripted:"+filepath.Join(dir, "s"))
			s.sees("/help lists the commands")
			s.types("half a thought")
			s.sees("half a thought")
			if err := s.cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			s.leaves()
			s = takeSeat(t, dir, "chat", "--model", "scripted:"+filepath.Join(dir, "s"))
			s.sees("/help lists the commands")
			s.presses("\x1b[A", "half a thought")
		})
	}
}

// Ctrl-Z gives the terminal back to the shell as it was, and fg draws the screen anew with
// what was typed.
func TestSuspendTheFullScreen(t *testing.T) {
	dir := write(t, "s", "-- any --\nDone.\n")
	shell := exec.Command("bash", "--norc", "-c", `set -m; openmanus chat --model scripted:`+filepath.Join(dir, "s")+`; echo "the shell is back"; stty -a | tr '\n' ' ' | grep -o ' icanon.* echo ' >/dev/null && echo "and hears lines"; read -r line; fg >/dev/null; echo "over"; read -r line`)
	s := seatFor(t, dir, shell)
	s.sees("/help lists the commands")
	s.types("half a thought")
	s.sees("half a thought")
	s.types("\x1a")
	s.sees("the shell is back", "and hears lines")
	if s.vt.Mode()&vt10x.ModeAltScreen != 0 || !s.vt.CursorVisible() {
		t.Fatalf("the terminal was not restored:\n%s", s.vt.String())
	}
	s.types("\r")
	s.sees("half a thought", "/help lists the commands")
	s.types(" and more\r")
	s.sees("half a thought and more", "Done.")
	s.types("\x04")
	s.sees("over")
}

const screenScript = `A story on the full screen.
-- 1 --
I wait first.
@call bash {"command": "while ! [ -e go ]; do sleep 0.05; done; echo went"}
-- 2 --
@when conversation contains be brief
Brief it is.
-- 2 without --
Nobody said how.
`

// TestFullScreen goes through a task: a question about a call, a message while it runs,
// a kill in the middle, and going on in another process.
func TestFullScreen(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(screenScript), 0o600); err != nil {
		t.Fatal(err)
	}
	s := takeSeat(t, dir, "chat", "--approve", "edits", "--model", "scripted:"+filepath.Join(dir, "s"), "wait for me")
	s.sees("wait for me", "I wait first", "May bash run")
	s.presses("y", "allowed by the person") // a dialog does not hear what was typed when it came
	s.sees("Esc interrupts")
	s.types("be brief\r")
	s.sees("be brief", "will be read at the next step")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.end
	s.cmd.Wait()

	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = takeSeat(t, dir, "chat", "--session", "last", "--model", "scripted:"+filepath.Join(dir, "s"))
	s.sees("wait for me", "be brief", "broken off: Enter goes on")
	s.types("\r")
	s.sees("Brief it is", "finished")
	s.types("/undo\r")
	s.sees("Go back?", "be brief", "yes, do that")
	s.types("\r")
	s.sees("went back to event")
	s.types("\x04")
	s.leaves()
}

// TestFullScreenWithoutModel starts where nothing is configured: the screen leads to a
// setup, which has the terminal for itself and gives it back, keeps what was typed, and
// leaves as it came.
func TestFullScreenWithoutModel(t *testing.T) {
	s := takeSeat(t, t.TempDir())
	s.sees("There is no model yet", "set one up now", "watch the demo", "Three ways on")
	s.types("\r")
	s.sees("1. Provider:")
	s.types("nobody\r")
	s.sees("nobody", "1. Provider:")
	s.types("\x03")
	s.sees("Enter goes back")
	s.types("\r")
	s.sees("There is no model yet")
	s.presses("\x1b[B", "› later")
	s.types("\r")
	s.sees("\n> ") // the line to type in is back
	s.types("hello there\r")
	s.sees("There is no model yet")
	s.types("\x03")
	s.sees("> hello there", "/help lists the commands")
	s.types("\x03\x04") // Ctrl-C puts it away, Ctrl-D leaves
	s.leaves()
}

// TestPlanOnTheFullScreen: nothing is changed before the person has seen the plan and
// approved it, whose end they reach by scrolling.
func TestPlanOnTheFullScreen(t *testing.T) {
	dir := t.TempDir()
	var plan strings.Builder
	for range 60 {
		plan.WriteString("1. One step of many.\n")
	}
	script := "A plan.\n-- 1 --\n" + plan.String() + "1. Write the last file.\n-- 2 --\n@call str_replace_editor {\"command\": \"create\", \"path\": \"a.txt\", \"file_text\": \"x\"}\n-- 3 --\nIt is written.\n"
	if err := os.WriteFile(filepath.Join(dir, "s"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	s := takeSeat(t, dir, "chat", "--model", "scripted:"+filepath.Join(dir, "s"))
	s.sees("ask ·", "/help lists the commands")
	s.types("/mode plan\r")
	s.sees("plan ·")
	s.types("write it\r")
	s.sees("Carry out this plan?", "more lines below (PgDn)", "not yet: say what to change")
	s.presses("\x1b[6~", "Write the last file")
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a file was written before the plan was approved")
	}
	s.types("edits of")
	s.sees("› carry it out; edits")
	s.types("\r")
	s.sees("It is written.", "finished", "edits ·")
	if got, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(got) != "x" {
		t.Errorf("a.txt is %q, %v", got, err)
	}
	s.types("\x04")
	s.leaves()
}
