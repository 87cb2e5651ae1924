package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/workspace"
)

// bash runs a command and returns the text of its result.
func bash(t testing.TB, tool openmanus.Tool, command string) string {
	t.Helper()
	res, err := runProc(t, tool, map[string]any{"command": command}, nil)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return res.Parts.Text()
}

// A life is a pipe that processes hold open once they have run `exec 9>NAME`.
type life struct {
	t    testing.TB
	pipe *os.File
}

func newLife(t testing.TB, ws workspace.Workspace, name string) *life {
	t.Helper()
	if err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"mkfifo", name}}); err != nil {
		t.Fatalf("mkfifo: %v", err)
	}
	f, err := os.OpenFile(filepath.Join(ws.Dir(), name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return &life{t, f}
}

// over fails unless every process that held the pipe is dead.
func (l *life) over() {
	l.t.Helper()
	if err := l.pipe.SetReadDeadline(time.Now().Add(hang)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.pipe.Read(make([]byte, 1)); err != io.EOF {
		l.t.Fatalf("a process is still alive: %v", err)
	}
}

// goesOn fails if no process holds the pipe any more.
func (l *life) goesOn() {
	l.t.Helper()
	if err := l.pipe.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.pipe.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		l.t.Errorf("a process that was to live is dead: %v", err)
	}
}

// A seenWriter closes seen when text was written to it.
type seenWriter struct {
	text string
	seen chan struct{}

	mu  sync.Mutex
	got strings.Builder
}

func newSeenWriter(text string) *seenWriter {
	return &seenWriter{text: text, seen: make(chan struct{})}
}

func (w *seenWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := strings.Contains(w.got.String(), w.text)
	w.got.Write(p)
	if !before && strings.Contains(w.got.String(), w.text) {
		close(w.seen)
	}
	return len(p), nil
}

func (w *seenWriter) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.got.String()
}

// The output is shown while the command runs: it does not end before somebody
// has seen its first line.
func TestBashShowsOutputAsItComes(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	bash(t, b, "mkfifo gate")
	live := newSeenWriter("one\n")
	go func() {
		<-live.seen
		_ = os.WriteFile(filepath.Join(ws.Dir(), "gate"), []byte("two\n"), 0) // else the command hangs, and the test says so
	}()
	res, err := runProc(t, b, map[string]any{"command": "echo one; cat gate >&2; printf '\\xe6\\x97'; printf '\\xa5\\n'"}, live)
	if err != nil || res.Parts.Text() != "one\ntwo\n日\n[exit code 0]" || live.String() != "one\ntwo\n日\n" {
		t.Errorf("%v, result %q, shown %q", err, res.Parts.Text(), live)
	}
}

func TestBashDetail(t *testing.T) {
	ws := newProcWorkspace(t)
	res, err := runProc(t, newBash(t, ws), map[string]any{"command": "mkdir d; cd d; false"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := res.Detail.(BashDetail)
	d.Seconds = 0
	if want := (BashDetail{Command: "mkdir d; cd d; false", ExitCode: 1, Cwd: filepath.Join(ws.Dir(), "d"), Dir: ws.Dir()}); d != want {
		t.Errorf("detail %+v, want %+v", d, want)
	}
	res, err = runProc(t, newBash(t, ws), map[string]any{"command": "sleep 1000", "timeout": 0.05}, nil)
	if d, ok := res.Detail.(BashDetail); err == nil || !ok || !d.TimedOut || d.ExitCode != -1 || d.Seconds < 0.05 {
		t.Errorf("%v, detail %+v after the timeout", err, res.Detail)
	}
}

// Everything that a command started dies with it when it is given up, wherever
// it has gone; what earlier commands left in the background lives on.
func TestBashGivesUpTheWholeTree(t *testing.T) {
	const clan = `
		(trap '' HUP INT TERM; sleep 1000) &
		(setsid sleep 1000 &)
		(setsid sh -c '(sleep 1000 &); exec sleep 1000' &)
		(f() { while :; do sleep 0.1; done; }; f) &
		((while :; do sleep 0.1; done) &)
	`
	for _, how := range []string{"timeout", "cancel"} {
		t.Run(how, func(t *testing.T) {
			ws := newProcWorkspace(t)
			b := newBash(t, ws)
			old, young := newLife(t, ws, "old"), newLife(t, ws, "young")
			bash(t, b, "exec 9>old; sleep 1000 & exec 9>&-; kept=yes")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			in := map[string]any{"command": "exec 9>young;" + clan + "echo ready; sleep 1000"}
			live := newSeenWriter("ready")
			if how == "timeout" {
				in["timeout"] = 0.3
			} else {
				go func() { <-live.seen; cancel() }()
			}
			res, err := runProcIn(t, b, ctx, "s", in, live)
			if err == nil || res.Parts.Text() != "ready" && how == "cancel" {
				t.Errorf("%v, result %q", err, res.Parts.Text())
			}
			if (how == "cancel") != errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
			bash(t, b, "exec 9>&-")
			young.over()
			old.goesOn()
			if got := bash(t, b, "echo $kept"); got != "yes\n[exit code 0]" {
				t.Errorf("the shell did not live on: %q", got)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			old.over()
		})
	}
}

// A shell that does not obey is killed itself.
func TestBashKillsAShellThatDoesNotGiveUp(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	b.patience = 100 * time.Millisecond
	l := newLife(t, ws, "alive")
	ctx, cancel := context.WithCancel(t.Context())
	live := newSeenWriter("ready")
	go func() { <-live.seen; cancel() }()
	_, err := runProcIn(t, b, ctx, "s", map[string]any{"command": "cd /; exec 9>" + ws.Dir() + "/alive; trap '' URG INT; echo ready; while :; do :; done"}, live)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the shell has ended") {
		t.Errorf("%v, want an interruption that took the shell with it", err)
	}
	l.over()
	if got := bash(t, b, "echo again"); got != "again\n[exit code 0]" {
		t.Errorf("got %q", got)
	}
}

func TestBashManyGivenUpInARow(t *testing.T) {
	b := newBash(t, newProcWorkspace(t))
	bash(t, b, "n=0")
	for i := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		live := newSeenWriter("ready")
		go func() { <-live.seen; cancel() }()
		_, err := runProcIn(t, b, ctx, "s", map[string]any{"command": "n=$((n+1)); echo ready; sleep 1000 & wait; echo not reached"}, live)
		if err == nil || strings.Contains(err.Error(), "ended") {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	if got := bash(t, b, "echo $n"); got != "10\n[exit code 0]" {
		t.Errorf("got %q: a shell or a round was lost", got)
	}
}

func TestBashBigAndBinaryOutput(t *testing.T) {
	b := newBash(t, newProcWorkspace(t))
	if got := bash(t, b, "head -c 300000 /dev/zero | tr '\\0' x"); got != strings.Repeat("x", 300000)+"\n[exit code 0]" {
		t.Errorf("300 kB: got %d bytes", len(got))
	}
	got := bash(t, b, "printf 'a\\xff\\xfe\\0b'")
	if got != "a\uFFFDb\n[3 bytes are not text and shown as \uFFFD]\n[exit code 0]" {
		t.Errorf("binary: got %q", got)
	}
	got = bash(t, b, "echo head; head -c 12000000 /dev/zero | tr '\\0' x; echo; echo tail")
	if !strings.HasPrefix(got, "head\nxxx") || !strings.HasSuffix(got, "xxx\ntail\n[exit code 0]") || !strings.Contains(got, "bytes in the middle were not kept") {
		t.Errorf("12 MB: got %d bytes, %.40q ... %q", len(got), got, got[max(0, len(got)-40):])
	}
	if len(got) > procLimit+1000 {
		t.Errorf("12 MB: %d bytes were kept", len(got))
	}
}

func TestBashLongCommand(t *testing.T) {
	b := newBash(t, newProcWorkspace(t))
	line := strings.Repeat("0123456789'\\", 10) + "\n"
	if got := bash(t, b, "wc -c <<'END'\n"+strings.Repeat(line, 300)+"END"); got != fmt.Sprintf("%d\n[exit code 0]", 300*len(line)) {
		t.Errorf("got %q", got)
	}
	_, err := runProc(t, b, map[string]any{"command": strings.Repeat("#", bashMaxCommand+1)}, nil)
	if err == nil || !strings.Contains(err.Error(), "in pieces") {
		t.Errorf("a command that is too long: %v", err)
	}
	_, err = runProc(t, b, map[string]any{"command": "echo a\x00b"}, nil)
	if err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("a NUL: %v", err)
	}
}

func TestBashBackgroundOutputComesWithTheNextCommand(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	l := newLife(t, ws, "alive")
	bash(t, b, "mkfifo gate; exec 9>alive; cat gate & exec 9>&-")
	if err := os.WriteFile(filepath.Join(ws.Dir(), "gate"), []byte("from the job\n"), 0); err != nil {
		t.Fatal(err)
	}
	l.over()
	// The output of the job may still be on its way, but it was printed first.
	got := strings.NewReplacer("[printed by background jobs since the last command:]\n", "", "[the output of this command:]\n", "").Replace(bash(t, b, "echo mine"))
	if got != "from the job\nmine\n[exit code 0]" {
		t.Errorf("got %q", got)
	}
}

func TestBashSessionsAreApart(t *testing.T) {
	b := newBash(t, newProcWorkspace(t))
	var all sync.WaitGroup
	for i := range 5 {
		session := fmt.Sprint("s", i)
		all.Go(func() {
			for n := range 5 {
				in := map[string]any{"command": fmt.Sprintf("n=${n:-%d00}; echo $((n+%d))", i, n)}
				res, err := runProcIn(t, b, t.Context(), session, in, nil)
				if want := fmt.Sprintf("%d\n[exit code 0]", i*100+n); err != nil || res.Parts.Text() != want {
					t.Errorf("%s: %v, %q; want %q", session, err, res.Parts.Text(), want)
				}
			}
		})
	}
	all.Wait()
}

func TestBashCallsOfOneSessionComeOneAfterTheOther(t *testing.T) {
	b := newBash(t, newProcWorkspace(t))
	bash(t, b, "n=0")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { bash(t, b, "m=$n; sleep 0; n=$((m+1))") })
	}
	all.Wait()
	if got := bash(t, b, "echo $n"); got != "20\n[exit code 0]" {
		t.Errorf("got %q", got)
	}
}

func TestBashClose(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	l := newLife(t, ws, "alive")
	live := newSeenWriter("ready")
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		<-live.seen
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err := runProc(t, b, map[string]any{"command": "exec 9>alive; setsid sleep 1000 & echo ready; sleep 1000"}, live)
	if err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v, want word of the closing", err)
	}
	<-closed
	l.over()
	if _, err := runProc(t, b, map[string]any{"command": "true"}, nil); err == nil {
		t.Error("it works after Close")
	}
}

func TestBashCloseSession(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	l := newLife(t, ws, "alive")
	bash(t, b, "cd /; x=1; exec 9>"+ws.Dir()+"/alive; sleep 1000 & exec 9>&-")
	for _, session := range []string{"other", "s"} {
		l.goesOn()
		if err := b.CloseSession(session); err != nil {
			t.Error(err)
		}
	}
	l.over()
	if got := bash(t, b, "echo $x; pwd"); got != "\n"+ws.Dir()+"\n[exit code 0]" {
		t.Errorf("the session's next shell is not a new one: %q", got)
	}
}

func TestBashShellThatDiesBetweenCalls(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	l := newLife(t, ws, "alive")
	bash(t, b, "export X=kept; mkfifo gate; exec 9>alive; (exec 9>&-; cat gate; kill -9 $$) &")
	if err := os.WriteFile(filepath.Join(ws.Dir(), "gate"), nil, 0); err != nil {
		t.Fatal(err)
	}
	l.over()
	<-b.sessions.byName["s"].shell.ended
	if got := bash(t, b, "echo $X"); got != "[the shell had ended since the last command; this is a new one]\nkept\n[exit code 0]" {
		t.Errorf("got %q", got)
	}
}

func TestBashWithoutBash(t *testing.T) {
	ws := newProcWorkspace(t)
	ws.Env = []string{"PATH=" + t.TempDir()}
	_, err := runProc(t, newBash(t, ws), map[string]any{"command": "true"}, nil)
	if err == nil || !strings.Contains(err.Error(), "there is no bash here: install it") {
		t.Errorf("%v, want the remedy", err)
	}
}

func TestBashInAClosedWorkspace(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	bash(t, b, "true")
	if err := ws.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := runProc(t, b, map[string]any{"command": "true"}, nil); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("%v, want that the workspace is closed", err)
	}
}

func TestBashCancelledWhileItWaitsForItsTurn(t *testing.T) {
	ws := newProcWorkspace(t)
	b := newBash(t, ws)
	live := newSeenWriter("ready")
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		_, _ = runProcIn(t, b, ctx, "s", map[string]any{"command": "echo ready; sleep 1000"}, live) // cancelled
	})
	<-live.seen
	second, giveUp := context.WithCancel(t.Context())
	giveUp()
	if _, err := runProcIn(t, b, second, "s", map[string]any{"command": "true"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	cancel()
	first.Wait()
}

// If the program that drives the shell is killed, nobody else is there to end
// what the shell runs: its relay does.
func TestBashScriptEndsEverythingWhenItsDriverIsGone(t *testing.T) {
	ws := newProcWorkspace(t)
	l := newLife(t, ws, "alive")
	cmd := exec.Command("bash", "--noprofile", "--norc", "-c", bashText().script)
	cmd.Dir = ws.Dir()
	cmd.Env = append(os.Environ(), "OPENMANUS_RUN="+t.Name()) // as workspace.Dir does
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	call := newBashCall("exec 9>alive; sleep 1000 & (setsid sleep 1000 &); echo ready; sleep 1000", bashState{}).text
	if _, err := io.WriteString(in, call); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "ready\n" {
		t.Fatalf("%v: %q", err, said)
	}
	in.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("the shell ended by itself")
	}
	l.over()
}

// A file that a session has sourced does not stand between a command and its result.
func TestBashAfterStartUpFiles(t *testing.T) {
	a, err := txtar.ParseFile("testdata/shell/startup.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			ws := newProcWorkspace(t)
			tool := newBash(t, ws)
			first, _, _ := strings.Cut(string(f.Data), "\n")
			var all, text string
			play := func(command string) {
				t.Helper()
				res, err := runProc(t, tool, map[string]any{"command": command}, nil)
				if err != nil {
					t.Fatalf("%s: %v", command, err)
				}
				text = res.Parts.Text()
				all += text + "\n"
			}
			check := func(command string, want ...string) {
				t.Helper()
				play(command)
				switch {
				case first == "# ends" && strings.Contains(all, "; the next command gets a new one in "):
				case first == "# says":
					for _, line := range want {
						if !strings.Contains("\n"+text, "\n"+line) {
							t.Errorf("%s: no line %q in %s", command, line, text)
						}
					}
				case text != strings.Join(want, "\n"):
					t.Errorf("%s: %s, want %q", command, text, want)
				}
			}
			play(string(f.Data))
			check("echo out; echo err >&2; /bin/sh -c 'exit 3'", "out", "err", "[exit code 3]")
			check("cd /; echo $PWD; /bin/sh -c 'exit 0'", "/", "[exit code 0]")
			check("/bin/cat; echo $PWD; /bin/sh -c 'exit 4'", "/", "[exit code 4]")
			if strings.Contains(all, "__om") {
				t.Errorf("what the tool does can be seen: %s", all)
			}
		})
	}
}

// A result says whether its command waited.
func TestBashSaysThatItWaited(t *testing.T) {
	for command, want := range map[string]bool{
		"sleep 1.1; test -f done || echo running":                                    true,
		"for i in 1 2 3; do sleep 0.4; done; (exit 3)":                               true,
		"bash -c 'read x < <(sleep 1.1)'; wait":                                      true,
		"sleep 1000 & echo begun":                                                    false,
		"end=$((SECONDS+2)); while [ $SECONDS -lt $end ]; do :; done; echo my-sleep": false,
		"echo sleep": false,
	} {
		tool := newBash(t, newProcWorkspace(t)) // one of its own: wait waits for what others began
		if res, err := runProc(t, tool, map[string]any{"command": command}, nil); err != nil || res.Waited != want {
			t.Errorf("%s: waited %v, %v", command, res.Waited, err)
		}
	}
}

func BenchmarkBash(b *testing.B) {
	tool := newBash(b, newProcWorkspace(b))
	bash(b, tool, "true")
	for b.Loop() {
		bash(b, tool, "true")
	}
}

// A command that does not say how long it may take has the time that was set.
func TestTimeoutThatWasSet(t *testing.T) {
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	bash, python := newBash(t, ws), newPython(t, ws)
	bash.Timeout, python.Timeout = 300*time.Millisecond, 300*time.Millisecond
	for tool, in := range map[openmanus.Tool]map[string]any{
		bash:   {"command": "sleep 1000"},
		python: {"code": "import time; time.sleep(1000)"},
	} {
		if _, err := runProc(t, tool, in, nil); err == nil || !strings.Contains(err.Error(), "timed out after 0.3 s") {
			t.Errorf("%s: %v", tool.Spec().Name, err)
		}
	}
	bash.Timeout, python.Timeout = 15*time.Minute, 15*time.Minute
	for _, tool := range []openmanus.Tool{bash, python} {
		spec := tool.Spec()
		if !strings.Contains(spec.Description, "default 900, at most 900") || !strings.Contains(string(spec.Input), `"maximum":900`) {
			t.Errorf("%s says\n%s\n%s", spec.Name, spec.Description, spec.Input)
		}
	}
}
