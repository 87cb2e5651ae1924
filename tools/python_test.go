package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"github.com/openmanus-go/openmanus"
	"github.com/openmanus-go/openmanus/llm"
	"github.com/openmanus-go/openmanus/workspace"
)

// systemPython is the interpreter of the tests: Debian's, which has the
// matplotlib that make deps installs.
var systemPython = []string{"/usr/bin/python3"}

func newPython(t *testing.T) *Python {
	t.Helper()
	ws, err := workspace.NewDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := NewPython(ws)
	p.Interpreter = systemPython
	t.Cleanup(func() { p.Close(); ws.Close() })
	return p
}

func python(t *testing.T, ctx context.Context, p *Python, in pythonInput) (string, openmanus.Result, error) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if in.Timeout == 0 {
		data = bytes.Replace(data, []byte(`,"timeout":0`), nil, 1)
	}
	res, err := p.Run(ctx, openmanus.Call{Call: llm.Call{Name: "python_execute", Input: string(data)}, Session: "s"})
	return res.Parts.Text(), res, err
}

func TestPythonShows(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"what is printed (case 27)", "print(1+1)", "2"},
		{"output and traceback (case 27)", "print('before')\n1/0",
			"before\nTraceback (most recent call last):\n  File \"<code>\", line 2, in <module>\n    1/0\n" + "ZeroDivisionError: division by zero\n[exit code 1]"},
		{"both streams in order", "import sys\nprint('a'); print('b', file=sys.stderr); print('c')", "a\nb\nc"},
		{"the code of sys.exit", "import sys\nprint('x')\nsys.exit(3)", "x\n[exit code 3]"},
		{"the text of sys.exit", "import sys\nsys.exit('no good')", "no good\n[exit code 1]"},
		{"that there is no input", "input()", "EOFError: EOF when reading a line\n[exit code 1]"},
		{"what children print", "import subprocess\nsubprocess.run(['echo', 'child'])", "child"},
		{"what threads print after the end", "import threading, time\nthreading.Timer(0.05, lambda: print('late')).start()", "late"},
		{"what is printed at exit", "import atexit\natexit.register(lambda: print('bye'))", "bye"},
		{"other alphabets", "print('日本語 é')", "日本語 é"},
		{"os._exit", "import os\nprint('x')\nos._exit(7)", "x\n[exit code 7]"},
		{"a signal", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "[exit code 137]"},
		{"a syntax error", "print(", "SyntaxError"},
		{"a fork that comes out of the code", "import os\nif os.fork() == 0:\n    print('child')\nelse:\n    os.wait()\n    print('parent')", "child\nparent"},
		{"no output", "x = 1", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := python(t, t.Context(), newPython(t), pythonInput{Code: c.code})
			if err != nil {
				t.Fatal(err)
			}
			got = regexp.MustCompile(`(?m)^ *~\^~\n`).ReplaceAllString(got, "") // newer versions point at the place
			if c.want == "" && got != "" || !strings.HasSuffix(got, c.want) && !strings.Contains(got, c.want) {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestPythonStopsAnEndlessLoop(t *testing.T) {
	got, res, err := python(t, t.Context(), newPython(t), pythonInput{Code: "print('before', flush=True)\nwhile True: pass", Timeout: 0.5})
	if err == nil || !strings.Contains(err.Error(), "timed out after 0.5 s") || got != "before" {
		t.Errorf("%q, %v", got, err)
	}
	if d := res.Detail.(PythonDetail); !d.TimedOut || d.ExitCode != -1 {
		t.Errorf("%+v", d)
	}
}

func TestPythonKeepsState(t *testing.T) {
	p := newPython(t)
	run := func(in pythonInput) string {
		t.Helper()
		got, _, err := python(t, t.Context(), p, in)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	run(pythonInput{Code: "x = 41", Keep: true})
	if got := run(pythonInput{Code: "print(x + 1)", Keep: true}); got != "42" {
		t.Errorf("%q", got)
	}
	if got := run(pythonInput{Code: "print(x)"}); !strings.Contains(got, "NameError") {
		t.Errorf("a process of its own knows x: %q", got)
	}
	if got := run(pythonInput{Code: "1/0", Keep: true}); !strings.Contains(got, "ZeroDivisionError") {
		t.Errorf("%q", got)
	}
	if got := run(pythonInput{Code: "print(x)", Keep: true}); got != "41" {
		t.Errorf("lost after an error: %q", got)
	}
	if got := run(pythonInput{Code: "import os\nos._exit(2)", Keep: true}); !strings.Contains(got, "its variables are gone") {
		t.Errorf("%q", got)
	}
	if got := run(pythonInput{Code: "print(x)", Keep: true}); !strings.Contains(got, "NameError") {
		t.Errorf("%q", got)
	}
}

func TestPythonIsInterrupted(t *testing.T) {
	p := newPython(t)
	ctx, cancel := context.WithCancel(t.Context())
	live := writerFunc(func(b []byte) (int, error) { cancel(); return len(b), nil })
	in, _ := json.Marshal(map[string]any{"code": "print('on')\nwhile True: pass", "keep_state": true})
	_, err := p.Run(ctx, openmanus.Call{Call: llm.Call{Input: string(in)}, Session: "s", Live: live})
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestPythonDraws(t *testing.T) {
	code := "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()\nplt.figure()\nprint('drawn')"
	got, res, err := python(t, t.Context(), newPython(t), pythonInput{Code: code, Timeout: 120})
	if err != nil || got != "drawn" {
		t.Fatalf("%q, %v (make deps installs python3-matplotlib)", got, err)
	}
	images := 0
	for _, part := range res.Parts {
		if b, ok := part.(llm.Blob); ok {
			images++
			if _, err := png.Decode(bytes.NewReader(b.Data)); err != nil {
				t.Error(err)
			}
		}
	}
	if images != 2 {
		t.Errorf("%d images", images)
	}
}

func TestPythonIsMissing(t *testing.T) {
	p := newPython(t)
	p.Interpreter = []string{"no-such-python"}
	_, _, err := python(t, t.Context(), p, pythonInput{Code: "print(1)"})
	if err == nil || !strings.Contains(err.Error(), "no-such-python is not found") || !strings.Contains(err.Error(), "apt-get install python3") {
		t.Error(err)
	}
}

func TestPythonPrintsMuch(t *testing.T) {
	got, _, err := python(t, t.Context(), newPython(t), pythonInput{Code: "print('x' * 300_000)"})
	if err != nil || len(got) != 300_000 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
