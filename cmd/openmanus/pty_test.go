//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/openmanus-go/openmanus/internal/testbed"
)

// A sitting is the program with a person in front of it: a pseudo-terminal.
type sitting struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	dir  string
	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{}
	read int // how much of seen was expected already
}

// sit starts the program in dir, at a terminal that obeys no escape sequences.
func sit(t *testing.T, dir string, args ...string) *sitting {
	t.Helper()
	return sitAt(t, "dumb", dir, args...)
}

// sitAt starts the program in dir at a terminal of a kind.
func sitAt(t *testing.T, kind, dir string, args ...string) *sitting {
	t.Helper()
	cmd := exec.Command("openmanus", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, ".home"), "XDG_DATA_HOME=", "XDG_CONFIG_HOME=", "TERM="+kind, "NO_COLOR=1", "OPENMANUS_SANDBOX_KIND=none")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 200})
	if err != nil {
		t.Fatal(err)
	}
	s := &sitting{t: t, tty: tty, cmd: cmd, dir: dir, more: make(chan struct{}, 1)}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := tty.Read(buf)
			s.mu.Lock()
			s.seen.Write(buf[:n])
			s.mu.Unlock()
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				close(s.more)
				return
			}
		}
	}()
	t.Cleanup(func() { cmd.Process.Kill(); tty.Close() })
	return s
}

// patience is how long a test waits for what must come; it is no measure.
const patience = 30 * time.Second

// sees waits until the screen shows what matches, after what was seen before.
func (s *sitting) sees(pattern string) {
	s.t.Helper()
	re := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		rest := s.seen.Bytes()[s.read:]
		if at := re.FindIndex(rest); at != nil {
			s.read += at[1]
			s.mu.Unlock()
			return
		}
		screen := s.seen.String()
		s.mu.Unlock()
		select {
		case _, ok := <-s.more:
			if !ok && !re.Match(rest) {
				s.t.Fatalf("the program ended without %q:\n%s", pattern, screen)
			}
		case <-deadline:
			s.t.Fatalf("no %q:\n%s", pattern, screen)
		}
	}
}

func (s *sitting) types(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// leaves waits for the end and checks the exit code.
func (s *sitting) leaves(code int) {
	s.t.Helper()
	done := make(chan struct{})
	go func() { s.cmd.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
		s.t.Fatalf("the program does not end:\n%s", s.screen())
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Fatalf("exit code %d, want %d:\n%s", got, code, s.screen())
	}
}

func (s *sitting) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// write puts files into a new directory.
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, []byte(files[i+1]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const makeFile = `-- reply --
I make it.
@call file_saver {"file_path": "a.txt", "content": "one\ntwo\n"}
-- reply --
Done with it.
`

func TestPersonAllows(t *testing.T) {
	dir := write(t, "s", makeFile)
	s := sit(t, dir, "run", "--model", "scripted:s", "make a file")
	s.sees(`\? May file_saver change`)
	s.sees(`\+one\r\n.*\+two`) // all of it is shown
	s.sees(`\[y\]es`)
	s.types("y\r")
	s.sees(`Done with it\.`)
	s.leaves(0)
	if strings.Count(s.screen(), "Done with it.") != 1 {
		t.Errorf("the answer stands there twice:\n%s", s.screen())
	}
	if data, err := os.ReadFile(filepath.Join(dir, "a.txt")); string(data) != "one\ntwo\n" {
		t.Errorf("a.txt: %q, %v", data, err)
	}
}

func TestPersonSaysNo(t *testing.T) {
	dir := write(t, "s", strings.Replace(makeFile, "Done", "@expect last contains the person said: call it b.txt\nDone", 1))
	s := sit(t, dir, "run", "--model", "scripted:s", "make a file")
	s.sees(`\[y\]es`)
	s.types("call it b.txt\r")
	s.sees(`Done with it\.`)
	s.leaves(0)
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a.txt was written")
	}
}

func TestPersonAnswersAQuestion(t *testing.T) {
	dir := write(t, "s", `-- reply --
@call ask_human {"inquire": "Which colour?"}
-- reply --
@expect last matches blue
Blue it is.
`)
	s := sit(t, dir, "run", "--model", "scripted:s", "paint")
	s.sees(`\? Which colour\?`)
	s.types("blue\r")
	s.sees(`Blue it is\.`)
	s.leaves(0)
}

func TestCtrlCInterruptsAReply(t *testing.T) {
	dir := write(t, "s", "-- reply --\n@pace 50ms\n"+strings.Repeat("word ", 2000)+"\n-- reply --\nAfter all.\n")
	s := sit(t, dir, "run", "--model", "scripted:s", "talk")
	s.sees(`word word`)
	s.types("\x03")
	s.sees(`interrupted; continue with: openmanus sessions resume (\S+)`)
	s.leaves(130)
}

func TestCtrlCAtAQuestion(t *testing.T) {
	dir := write(t, "s", makeFile)
	s := sit(t, dir, "run", "--model", "scripted:s", "make a file")
	s.sees(`\[y\]es`)
	s.types("\x03")
	s.leaves(130)
}

func TestChat(t *testing.T) {
	dir := write(t, "s", `-- reply --
@usage input=100 output=20
First answer.
-- reply --
@expect last matches second
Second answer.
-- reply --
@call file_saver {"file_path": "a.txt", "content": "x"}
-- reply --
Third answer.
`)
	s := sit(t, dir, "chat", "--model", "scripted:s")
	s.sees(`/help`)
	s.types("first\r")
	s.sees(`First answer\.`)
	s.types("/cost\r")
	s.sees(`100 tokens in`)
	s.types("the second\\\rone\r")
	s.sees(`Second answer\.`)
	s.types("/nonsense\r")
	s.sees(`no command /nonsense`)
	s.types("third\r")
	s.sees(`May file_saver change`)
	s.types("y\r")
	s.sees(`Third answer\.`)
	s.sees(`> `)
	s.types("\x04")
	s.sees(`continue with: openmanus chat --session`)
	s.leaves(0)
}

// A message that is entered while the agent works is read at its next step, a paste of
// several lines is one message, a question is not answered by what was typed before it,
// and Esc loses nothing.
func TestChatHearsWhileItWorks(t *testing.T) {
	dir := write(t, "s", `-- 1 --
@call bash {"command": "until [ -e go ]; do sleep 0.1; done"}
-- 2 --
@expect user contains keep
@expect user contains line two
@call file_saver {"file_path": "a.txt", "content": "x"}
-- 3 --
@pace 50ms
`+strings.Repeat("word ", 2000)+"\n")
	s := sitAt(t, "xterm", dir, "chat", "--plain", "--approve", "edits", "--model", "scripted:s")
	s.sees(`/help`)
	s.types("begin\r")
	s.sees(`May bash run`)
	s.types("y\r")
	s.sees(`Running until .* Ctrl-C interrupts`)
	s.types("\x1b[200~keep it short\rline two\x1b[201~\r")
	s.sees(`(?s)> keep it short\s+line two.*reads this at its next step`)
	s.types("/mode ask\r")
	s.types("/nonsense\r")
	s.sees(`/nonsense waits until the agent has answered`)
	s.types("a draft")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.sees(`May file_saver change`)
	s.types("y\r")
	s.sees(`word word`)
	s.sees(`a draft`)
	s.types("\x1b")
	s.sees(`interrupted; /retry goes on`)
	s.sees(`no command /nonsense`)
	s.sees(`a draft`)
	s.types("\x03")
	s.types("/quit\r")
	s.leaves(0)
}

func TestChatInterruptsTheTurnAndGoesOn(t *testing.T) {
	dir := write(t, "s", "-- any --\n@when last contains slow\n@pace 50ms\n"+strings.Repeat("word ", 2000)+"\n-- any --\n@when last contains quick\nHere you are.\n")
	s := sit(t, dir, "chat", "--model", "scripted:s")
	s.sees(`/help`)
	s.types("be slow\r")
	s.sees(`word word`)
	s.types("\x03")
	s.sees(`interrupted`)
	s.types("be quick\r")
	s.sees(`Here you are\.`)
	s.types("/quit\r")
	s.leaves(0)
}

func TestChatGoesBack(t *testing.T) {
	dir := write(t, "s", `-- any --
@when user contains first
First answer.
-- any --
@when user contains wrong
Wrong answer.
-- any --
@when user contains right
@expect conversation not contains wrong
Right answer.
`, "other", `-- any --
Another model's answer.
`)
	s := sit(t, dir, "chat", "--model", "scripted:s")
	s.sees(`/help`)
	s.types("first\r")
	s.sees(`First answer\.`)
	s.types("wrong\r")
	s.sees(`Wrong answer\.`)
	s.types("/undo\r")
	s.sees(`the conversation goes back to event [0-9]+, without:`)
	s.sees(`Do that\? \[y/N\] `)
	s.types("n\r")
	s.sees(`nothing was changed`)
	s.types("/undo\r")
	s.sees(`Do that\? \[y/N\] `)
	s.types("y\r")
	s.sees(`back to event`)
	s.types("/redo\r")
	s.sees(`Do that\? \[y/N\] `)
	s.types("y\r")
	s.sees(`forward again to event`)
	s.types("/rewind\r")
	s.sees(`to which event\?`)
	s.types("/undo\r")
	s.sees(`Do that\? \[y/N\] `)
	s.types("y\r")
	s.sees(`back to event`)
	s.types("right\r")
	s.sees(`Right answer\.`)
	s.types("/retry\r")
	s.sees(`in the new session`)
	s.sees(`Right answer\.`)
	s.types("/fork\r")
	s.sees(`in the new session`)
	s.types("/model scripted:other\r")
	s.types("go on\r")
	s.sees(`Another model's answer\.`)
	s.types("/quit\r")
	s.leaves(0)
}

const networked = `-- reply --
@call bash {"command": "echo one", "network": true, "why": "to try it"}
-- reply --
@call bash {"command": "echo one", "network": true, "why": "to try it again"}
-- reply --
@call bash {"command": "echo two", "network": true, "why": "and another"}
-- reply --
@expect last contains the person said: use what is there
Done with it.
`

// A person allows a command with the network for the session: this very command, and no
// other. "all" is no answer.
func TestPersonAllowsTheNetwork(t *testing.T) {
	testbed.Need(t, "bwrap")
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox here")
	}
	dir := write(t, "s", networked)
	s := sit(t, dir, "run", "--sandbox", "auto", "--approve", "all", "--model", "scripted:s", "try it")
	s.sees(`\? May bash run this with the network\? It can then connect to whatever this machine reaches\.`)
	s.sees(`The agent's reason: "to try it"`)
	s.sees(`│ echo one`)
	s.sees(`\[s\]ession: always allow echo one, with the network in this session`)
	s.types("a\r")
	s.sees(`this is asked each time`)
	s.types("s\r")
	s.sees(`The agent's reason: "and another"`) // not about the same command again
	s.types("use what is there\r")
	s.sees(`Done with it\.`)
	s.leaves(0)
}
