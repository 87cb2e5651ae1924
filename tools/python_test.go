package tools

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/internal/testbed"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// systemPython is the interpreter of the tests: Debian's, which has the
// matplotlib that make deps installs (apt-get install python3-matplotlib).
const systemPython = testbed.Python

// TestPython plays the sessions in testdata/python, see playProcs.
func TestPython(t *testing.T) {
	playProcs(t, "testdata/python", func(t *testing.T, ws workspace.Workspace) openmanus.Tool { return newPython(t, ws) })
}

// newPython returns a tool whose interpreter is there.
func newPython(t testing.TB, ws workspace.Workspace) *Python {
	t.Helper()
	testbed.Need(t, systemPython)
	return maybePython(t, ws)
}

// maybePython returns a tool whose interpreter may not be there.
func maybePython(t testing.TB, ws workspace.Workspace) *Python {
	p := NewPython(ws)
	p.patience = patience
	p.Interpreter = []string{systemPython}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// python runs code and returns the text of its result.
func python(t testing.TB, tool openmanus.Tool, code string, keep bool) string {
	t.Helper()
	res, err := runProc(t, tool, map[string]any{"code": code, "keep_state": keep}, nil)
	if err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	return res.Parts.Text()
}

func TestPythonShowsOutputAsItComes(t *testing.T) {
	for _, keep := range []bool{false, true} {
		ws := newProcWorkspace(t)
		p := newPython(t, ws)
		if err := ws.Run(t.Context(), &workspace.Cmd{Args: []string{"mkfifo", "gate"}}); err != nil {
			t.Fatal(err)
		}
		live := newSeenWriter("one")
		go func() {
			<-live.seen
			_ = os.WriteFile(filepath.Join(ws.Dir(), "gate"), []byte("two"), 0) // else the code hangs, and the test says so
		}()
		res, err := runProc(t, p, map[string]any{"code": "print('one', end='')\nprint(open('gate').read())", "keep_state": keep}, live)
		if err != nil || res.Parts.Text() != "onetwo" || live.String() != "onetwo\n" {
			t.Errorf("keep %v: %v, result %q, shown %q", keep, err, res.Parts.Text(), live)
		}
	}
}

func TestPythonDetail(t *testing.T) {
	p := newPython(t, newProcWorkspace(t))
	for _, keep := range []bool{false, true} {
		res, err := runProc(t, p, map[string]any{"code": "raise SystemExit(3)", "keep_state": keep}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d := res.Detail.(PythonDetail)
		if d.Seconds <= 0 {
			t.Error("it took no time")
		}
		d.Seconds = 0
		if d != (PythonDetail{ExitCode: 3, Keeps: keep}) {
			t.Errorf("keep %v: detail %+v", keep, d)
		}
		res, err = runProc(t, p, map[string]any{"code": "while True: pass", "keep_state": keep, "timeout": 0.4}, nil)
		if d, ok := res.Detail.(PythonDetail); err == nil || !ok || !d.TimedOut || d.ExitCode != -1 || d.Seconds < 0.4 {
			t.Errorf("keep %v: %v, detail %+v after the timeout", keep, err, res.Detail)
		}
	}
}

// figure is code that draws, and says so where it cannot.
const figure = `
import sys
try:
    import matplotlib.pyplot as plt
except ImportError:
    sys.exit("this test needs matplotlib for ` + systemPython + `: make deps, or apt-get install python3-matplotlib")
`

func TestPythonFigures(t *testing.T) {
	testbed.Need(t, "matplotlib")
	tests := []struct {
		name, code, text string
		images           int
	}{
		{"one, open at the end", "plt.plot([1, 3, 2])", "[figures: 1, as images]", 1},
		{"two, shown one after the other", "plt.plot([1, 2]); plt.show(); plt.plot([2, 1]); plt.show(); print('done')", "done\n[figures: 2, as images]", 2},
		{"one, and not again by a child", "plt.plot([1])\nimport os\npid = os.fork()\nif pid: os.waitpid(pid, 0)", "[figures: 1, as images]", 1},
		{"none that was closed", "plt.plot([1]); plt.savefig('kept.png'); plt.close()", "", 0},
		{"none that was only paused for", "plt.plot([1]); plt.pause(0.01); plt.pause(0.01)", "[figures: 1, as images]", 1},
		{"before an error", "plt.plot([1]); 1/0", "ZeroDivisionError: division by zero\n[figures: 1, as images]\n[exit code 1]", 1},
		{"before an exit", "plt.plot([1]); sys.exit(2)", "[figures: 1, as images]\n[exit code 2]", 1},
		{"one that cannot be drawn", "plt.title('$\\\\nonsense$'); plt.figure(); plt.plot([1])", "[figures: 1, as images]", 1},
		{"a huge one", "plt.figure(figsize=(300, 100)); plt.plot([1])", "[figures: 1, as images]", 1},
		{"too many", "for i in range(25): plt.figure(figsize=(1, 1))", "[figure 21 and what follows is not shown: there are too many for one call]\n[figures: 20, as images]", 20},
	}
	ws := newProcWorkspace(t)
	p := newPython(t, ws)
	for i, tt := range tests {
		for _, keep := range []bool{false, true} {
			if !keep && i > 3 {
				continue // to import matplotlib takes long
			}
			t.Run(fmt.Sprintf("%s, keep %v", tt.name, keep), func(t *testing.T) {
				res, err := runProc(t, p, map[string]any{"code": figure + tt.code, "keep_state": keep, "timeout": 300}, nil)
				if err != nil || !strings.HasSuffix(res.Parts.Text(), tt.text) {
					t.Errorf("%v, %q, want %q", err, res.Parts.Text(), tt.text)
				}
				images := 0
				for _, part := range res.Parts {
					if b, ok := part.(llm.Blob); ok {
						images++
						checkPNG(t, b, fmt.Sprintf("figure-%d.png", images))
					}
				}
				if images != tt.images || res.Detail.(PythonDetail).Images != images {
					t.Errorf("%d images, detail %+v; want %d", images, res.Detail, tt.images)
				}
			})
		}
	}
}

func checkPNG(t *testing.T, b llm.Blob, name string) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(b.Data))
	if err != nil || b.MIME != "image/png" || b.Name != name {
		t.Fatalf("%s %s: %v", b.MIME, b.Name, err)
	}
	if size := img.Bounds().Size(); size.X > 2100 || size.Y > 2100 || size.X < 50 {
		t.Errorf("%s is %v large", name, size)
	}
}

func TestPythonDoesNotImportMatplotlibByItself(t *testing.T) {
	p := newPython(t, newProcWorkspace(t))
	for _, keep := range []bool{false, true} {
		if got := python(t, p, "import sys\nprint([m for m in sys.modules if m.startswith(('matplotlib', 'numpy', 'io.'))])", keep); got != "[]" {
			t.Errorf("keep %v: %s", keep, got)
		}
	}
}

// Everything that code started dies with it when it is stopped, wherever it has
// gone; what earlier calls of a kept interpreter left running lives on.
func TestPythonStopsTheWholeTree(t *testing.T) {
	const job = `
import os, subprocess, time
alive = os.open("old", os.O_WRONLY)
subprocess.Popen(["sleep", "1000"], pass_fds=[alive])
os.close(alive)
kept = "yes"
`
	const clan = `
import os, subprocess, time
alive = os.open("young", os.O_WRONLY)
subprocess.Popen(["sleep", "1000"], pass_fds=[alive])
subprocess.Popen(["sh", "-c", "trap '' HUP INT TERM; (setsid sleep 1000 &); sleep 1000"], pass_fds=[alive], start_new_session=True)
if os.fork() == 0:
    if os.fork() == 0:
        os.setsid()
        time.sleep(1000)
    os._exit(0)
if os.fork() == 0:
    time.sleep(1000)
print("ready")
time.sleep(1000)
`
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("keep %v", keep), func(t *testing.T) {
			ws := newProcWorkspace(t)
			p := newPython(t, ws)
			old, young := newLife(t, ws, "old"), newLife(t, ws, "young")
			python(t, p, job, true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			live := newSeenWriter("ready")
			go func() { <-live.seen; cancel() }()
			_, err := runProcIn(t, p, ctx, "s", map[string]any{"code": clan, "keep_state": keep}, live)
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "interrupted") {
				t.Errorf("%v, want an interruption", err)
			}
			if keep {
				python(t, p, "os.close(alive)", true)
			}
			young.over()
			old.goesOn()
			if got := python(t, p, "kept", true); got != "'yes'" {
				t.Errorf("the interpreter did not live on: %q", got)
			}
			if err := p.CloseSession("s"); err != nil {
				t.Error(err)
			}
			old.over()
		})
	}
}

func TestPythonKillsAnInterpreterThatDoesNotStop(t *testing.T) {
	ws := newProcWorkspace(t)
	p := newPython(t, ws)
	p.patience = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	live := newSeenWriter("ready")
	go func() { <-live.seen; cancel() }()
	_, err := runProcIn(t, p, ctx, "s", map[string]any{"code": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready')\nwhile True: pass", "keep_state": true}, live)
	if err == nil || !strings.Contains(err.Error(), "its variables are gone") {
		t.Errorf("%v, want word of the loss", err)
	}
	if got := python(t, p, "1", true); got != "1" {
		t.Errorf("got %q", got)
	}
}

func TestPythonManyStoppedInARow(t *testing.T) {
	p := newPython(t, newProcWorkspace(t))
	python(t, p, "import time, threading\nn = 0", true)
	for i := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		live := newSeenWriter("ready")
		go func() { <-live.seen; cancel() }()
		_, err := runProcIn(t, p, ctx, "s", map[string]any{"code": "n += 1\nprint('ready')\ntime.sleep(1000)", "keep_state": true}, live)
		if err == nil || strings.Contains(err.Error(), "ended") {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	if got := python(t, p, "n", true); got != "10" {
		t.Errorf("%s rounds were counted: an interpreter was lost", got)
	}
}

func TestPythonSessionsAreApart(t *testing.T) {
	p := newPython(t, newProcWorkspace(t))
	var all sync.WaitGroup
	for i := range 3 {
		session := fmt.Sprint("s", i)
		all.Go(func() {
			for n := range 4 {
				in := map[string]any{"code": fmt.Sprintf("n = globals().get('n', %d00) + 1\nn", i), "keep_state": true}
				res, err := runProcIn(t, p, t.Context(), session, in, nil)
				if want := fmt.Sprint(i*100 + n + 1); err != nil || res.Parts.Text() != want {
					t.Errorf("%s: %v, %q; want %q", session, err, res.Parts.Text(), want)
				}
			}
		})
	}
	all.Wait()
}

func TestPythonClose(t *testing.T) {
	ws := newProcWorkspace(t)
	p := newPython(t, ws)
	live := newSeenWriter("ready")
	go func() {
		<-live.seen
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	_, err := runProc(t, p, map[string]any{"code": "print('ready')\nimport time\ntime.sleep(1000)", "keep_state": true}, live)
	if err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v, want word of the closing", err)
	}
	if _, err := runProc(t, p, map[string]any{"code": "1"}, nil); err == nil {
		t.Error("it works after Close")
	}
}

func TestPythonBigOutput(t *testing.T) {
	p := newPython(t, newProcWorkspace(t))
	for _, keep := range []bool{false, true} {
		if got := python(t, p, "print('x' * 300_000)", keep); got != strings.Repeat("x", 300_000) {
			t.Errorf("keep %v: got %d bytes", keep, len(got))
		}
	}
	if got := python(t, p, "x = '"+strings.Repeat("日本", 50_000)+"'\nprint(len(x))", true); got != "100000" {
		t.Errorf("long code: %.100q", got)
	}
}

func TestPythonWithoutPython(t *testing.T) {
	old := filepath.Join(t.TempDir(), "python2")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho 'old 2.7.18' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	stub := filepath.Join(t.TempDir(), "stub")
	if err := os.WriteFile(stub, []byte("#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name        string
		interpreter []string
		want        string
	}{
		{"none in PATH", nil, "there is no Python 3 here (python3: not found; python: not found): install it (Debian: apt-get install python3), or name one"},
		{"not where it was said to be", []string{"/no/python"}, "(/no/python: not found)"},
		{"Python 2", []string{old}, "version 2.7.18 is too old, 3.7 is needed"},
		{"a stub", []string{stub}, "it is not Python 3: it ended with exit status 127 pyenv: python3: command not found"},
		{"something else", []string{"/bin/true"}, "it is not Python 3: it ended with exit status 0"},
	}
	for _, tt := range tests {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, keep %v", tt.name, keep), func(t *testing.T) {
				ws := newProcWorkspace(t)
				ws.Env = []string{"PATH=" + t.TempDir()}
				p := maybePython(t, ws)
				p.Interpreter = tt.interpreter
				_, err := runProc(t, p, map[string]any{"code": "print(1)", "keep_state": keep}, nil)
				if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "there is no Python 3 here") {
					t.Errorf("%v, want %q", err, tt.want)
				}
			})
		}
	}
}

// Where there is no python3, python does.
func TestPythonByItsOtherName(t *testing.T) {
	bin := t.TempDir()
	if err := os.Symlink(systemPython, filepath.Join(bin, "python")); err != nil {
		t.Fatal(err)
	}
	ws := newProcWorkspace(t)
	ws.Env = []string{"PATH=" + bin}
	p := newPython(t, ws)
	p.Interpreter = nil
	for _, keep := range []bool{false, true} {
		for range 2 {
			if got := python(t, p, "print('here')", keep); got != "here" {
				t.Errorf("got %q", got)
			}
		}
	}
}

func TestPythonBadArguments(t *testing.T) {
	p := maybePython(t, newProcWorkspace(t))
	for want, in := range map[string]map[string]any{
		"no code":   {"code": " \n"},
		"more than": {"code": strings.Repeat("#", pythonMaxCode+1)},
	} {
		if _, err := runProc(t, p, in, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// If the program that drives a kept interpreter is killed, its relay ends what
// the interpreter runs.
func TestPythonScriptEndsEverythingWhenItsDriverIsGone(t *testing.T) {
	testbed.Need(t, testbed.Python)
	ws := newProcWorkspace(t)
	l := newLife(t, ws, "alive")
	args := pythonArgs([]string{systemPython}, "keep")
	cmd := exec.Command(args[0], args[1:]...)
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
	code := "import os, subprocess, time\nos.set_inheritable(os.open('alive', os.O_WRONLY), True)\n" +
		"subprocess.Popen(['setsid', 'sleep', '1000'], close_fds=False)\nprint('ready')\ntime.sleep(1000)"
	if _, err := io.WriteString(in, newPythonCall(code).text); err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "ready\n" {
		t.Fatalf("%v: %q", err, said)
	}
	in.Close()
	if err := cmd.Wait(); err == nil {
		t.Error("the interpreter ended by itself")
	}
	l.over()
}

func TestPythonRecords(t *testing.T) {
	stream := "ready\nnoise\nimage 5\na\nb\x00cimage 99999999999\nwhat is too big is skippeddone other 1\n"
	for _, chunk := range []int{1, 3, len(stream)} {
		var r pythonRecords
		for i := 0; i < len(stream); i += chunk {
			if r.write([]byte(stream[i:min(i+chunk, len(stream))]), "mark") {
				t.Error("found a mark that is not there")
			}
		}
		if !r.ready || string(r.other) != "noise\n" || len(r.images) != 1 || string(r.images[0]) != "a\nb\x00c" {
			t.Errorf("by %d bytes: %+v", chunk, r)
		}
	}
	var r pythonRecords
	if !r.write([]byte("done mark 3\n"), "mark") || r.code != 3 {
		t.Errorf("did not find the mark: %+v", r)
	}
}

func FuzzPythonRecords(f *testing.F) {
	f.Add([]byte("ready\nimage 3\nabcdone mark 7\n"))
	f.Add([]byte("image -1\nimage 99999999999999999999\nold 2\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole, bytewise pythonRecords
		found := false
		for i := range data {
			found = bytewise.write(data[i:i+1], "mark") || found
		}
		if whole.write(data, "mark") != found || whole.code != bytewise.code || len(whole.images) != len(bytewise.images) || whole.ready != bytewise.ready {
			t.Errorf("at once %+v, byte by byte %+v", whole, bytewise)
		}
	})
}

func BenchmarkPythonKept(b *testing.B) {
	p := newPython(b, newProcWorkspace(b))
	python(b, p, "1", true)
	for b.Loop() {
		python(b, p, "1", true)
	}
}
